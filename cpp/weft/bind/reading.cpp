// Python numbers and lists to tensors and back; dtype and Size objects.
#include <cmath>

#include "ops.h"
#include "weft/bind/binding.h"
#include "weft/bind/look.h"
#include "weft/graph/record.h"
#include "weft/graph/tape.h"
#include "weft/graph/vmap.h"
#include "weft/kernels/map.h"
#include "weft/tensor/promotion.h"

namespace weft::bind {

PyObject* size_type = nullptr;

namespace {

// --- dtype objects ---

struct DTypeObject {
  DType dtype;
  std::string name() const { return std::string(tensor::name_of(dtype)); }
};
PyTypeObject* dtype_type = nullptr;
PyObject* dtypes[tensor::dtype_count];

// --- reading single elements ---

void require_single(const Value& value) {
  if (value.count() != 1) {
    base::fail(ErrorKind::shape, "a Tensor with ", value.count(),
               " elements cannot be converted to a Python number; its shape is ", value.sizes());
  }
}

// The only element, converted to T's dtype.
template <class T>
T read_as(const Value& value, DType dtype) {
  require_single(value);
  if (is_looked_at()) [[unlikely]]
    return static_cast<T>(decide(value, false));
  const Array& array = graph::demand(value).array();
  if (array.dtype == dtype) return *array.as<T>();
  Array target = Array::allocate(array.sizes, dtype);
  kernels::copy(array, target);
  return *target.as<T>();
}

PyObject* element(DType dtype, const char* at) {
  return tensor::dispatch(dtype, [&]<class T>(T*) -> PyObject* {
    [[maybe_unused]] const T* value = reinterpret_cast<const T*>(at);
    if constexpr (std::is_same_v<T, bool>) {
      return PyBool_FromLong(*at != 0);
    } else if constexpr (std::is_integral_v<T>) {
      return PyLong_FromLongLong(*value);
    } else if constexpr (std::is_floating_point_v<T>) {
      return PyFloat_FromDouble(*value);
    } else {
      return PyFloat_FromDouble(to_float(*value));
    }
  });
}

PyObject* nested_list(const Array& array, int64_t dim, const char* at) {
  if (dim == array.rank()) return element(array.dtype, at);
  const int64_t step = array.strides[dim] * tensor::item_size(array.dtype);
  Object list = Object::check(PyList_New(array.sizes[dim]));
  for (int64_t i = 0; i < array.sizes[dim]; ++i) {
    PyList_SET_ITEM(list.get(), i,
                    Object::check(nested_list(array, dim + 1, at + i * step)).release());
  }
  return list.release();
}

// --- tensors from nested sequences ---

bool is_sequence(PyObject* object) { return PyList_Check(object) || PyTuple_Check(object); }

// Those of NumPy's numbers that are of a dtype of ours; the others count as Python's.
std::optional<DType> dtype_of_numpy_scalar(PyObject* object) {
  std::string_view name = Py_TYPE(object)->tp_name;
  if (!name.starts_with("numpy.")) return std::nullopt;
  name.remove_prefix(6);
  if (name == "bool_") return DType::boolean;  // until NumPy 2
  if (name == "longlong") return DType::i64;   // where C's long is as long
  if (name == "intc") return DType::i32;       // where C's long is no longer
  for (int i = 0; i < tensor::dtype_count; ++i) {
    if (tensor::name_of(static_cast<DType>(i)) == name) return static_cast<DType>(i);
  }
  return std::nullopt;
}

bool is_numpy_bool(PyObject* object) {
  return std::string_view(Py_TYPE(object)->tp_name).starts_with("numpy.bool");
}

bool is_complex(PyObject* object) {
  const std::string_view name = Py_TYPE(object)->tp_name;
  return PyComplex_Check(object) || name.starts_with("numpy.complex") ||
         name == "numpy.clongdouble";
}

class Reader {
 public:
  Value read(PyObject* data, std::optional<DType> dtype) {
    wanted_ = dtype;
    shape_of(data);
    tensor::checked_count("tensor", sizes_);
    inspect(data, 0);
    if (!dtype) dtype = any_ ? kind_ : tensor::default_dtype;
    Array array = Array::allocate(sizes_, *dtype);
    // Numbers go through double or int64, whichever holds them exactly; arrays alone need not.
    const bool real = any_ && tensor::is_floating(kind_);
    const DType through = !numbers_ ? *dtype : real ? DType::f64 : DType::i64;
    buffer_ = *dtype == through ? array : Array::allocate(sizes_, through);
    next_ = buffer_.data();
    if (array.count() > 0) fill(data, 0, real);
    if (*dtype != through) kernels::copy(buffer_, array);
    return Value(std::move(array));
  }

 private:
  void shape_of(PyObject* data) {
    while (is_sequence(data)) {
      if (sizes_.size() >= tensor::max_rank) {
        raise(PyExc_ValueError, base::text("tensor(): the data is nested more than ",
                                           tensor::max_rank, " levels deep"));
      }
      sizes_.push_back(PySequence_Fast_GET_SIZE(data));
      if (sizes_.back() == 0) return;
      data = PySequence_Fast_GET_ITEM(data, 0);
    }
    if (!is_array(data)) return;
    const Value first = array_from_python(data, Memory::shared, wanted_);
    if (!first) return;
    if (sizes_.size() + first.rank() > tensor::max_rank) {
      raise(PyExc_ValueError, base::text("tensor(): the data is nested more than ",
                                         tensor::max_rank, " levels deep"));
    }
    for (const int64_t size : first.sizes()) sizes_.push_back(size);
  }

  // Checks that an array has the dimensions that are left.
  void inspect_array(Value array, size_t depth) {
    for (size_t dim = depth; dim < depth + array.rank() || dim < sizes_.size(); ++dim) {
      if (dim >= sizes_.size() || dim >= depth + array.rank()) {
        raise(PyExc_ValueError,
              base::text("tensor(): expected data of ", sizes_.size() - depth,
                         " dimensions at dim ", depth, ", got an array of ", array.rank()));
      }
      if (array.size(dim - depth) != sizes_[dim]) {
        raise(PyExc_ValueError,
              base::text("tensor(): expected sequence of length ", sizes_[dim], " at dim ", dim,
                         " (got ", array.size(dim - depth), ")"));
      }
    }
    note(array.dtype());
    arrays_.push_back(std::move(array));
  }

  void note(DType kind) {
    kind_ = any_ ? tensor::promote(kind_, kind) : kind;
    any_ = true;
  }

  // Checks that the nesting is regular and finds the kind of numbers.
  void inspect(PyObject* data, size_t depth) {
    if (!PyFloat_CheckExact(data) && is_array(data)) {
      if (Value array = array_from_python(data, Memory::shared, wanted_)) {
        return inspect_array(std::move(array), depth);
      }
    }
    if (depth < sizes_.size()) {
      if (!is_sequence(data)) {
        raise(PyExc_ValueError,
              base::text("tensor(): expected a sequence of length ", sizes_[depth], " at dim ",
                         depth, ", got ", Py_TYPE(data)->tp_name));
      }
      const Py_ssize_t length = PySequence_Fast_GET_SIZE(data);
      if (length != sizes_[depth]) {
        raise(PyExc_ValueError, base::text("tensor(): expected sequence of length ", sizes_[depth],
                                           " at dim ", depth, " (got ", length, ")"));
      }
      for (Py_ssize_t i = 0; i < length && PySequence_Fast_GET_SIZE(data) == length; ++i) {
        inspect(PySequence_Fast_GET_ITEM(data, i), depth + 1);
      }
      return;
    }
    DType kind;
    if (PyFloat_CheckExact(data)) {
      kind = tensor::default_dtype;
    } else if (const auto own = dtype_of_numpy_scalar(data)) {
      kind = *own;
    } else if (PyFloat_Check(data)) {
      kind = tensor::default_dtype;
    } else if (PyBool_Check(data)) {
      kind = DType::boolean;
    } else if (PyLong_Check(data)) {
      kind = DType::i64;
    } else if (is_tensor(data)) {
      kind = meta_of(data).dtype;
      if (meta_of(data).count() != 1) {
        raise(PyExc_ValueError, "tensor(): only tensors of one element can stand in a list");
      }
    } else if (is_complex(data)) {
      base::fail(ErrorKind::unsupported, "tensor(): complex numbers are not supported yet");
    } else if (const Value number = number_from_python(data)) {
      kind = number.dtype() == DType::f64 ? tensor::default_dtype : number.dtype();
    } else {
      raise(PyExc_TypeError,
            base::text("tensor(): cannot make a tensor element of ", Py_TYPE(data)->tp_name));
    }
    note(kind);
    numbers_ = true;
  }

  // The memory of this and all later elements, as an array of these sizes.
  Array rest(const Dims& sizes) const {
    Dims strides(sizes);
    int64_t stride = 1;
    for (size_t i = sizes.size(); i-- > 0;) {
      strides[i] = stride;
      stride *= sizes[i];
    }
    const int64_t filled = (next_ - buffer_.data()) / tensor::item_size(buffer_.dtype);
    return buffer_.view(sizes, strides, buffer_.offset + filled);
  }

  void fill(PyObject* data, size_t depth, bool real) {
    if (next_array_ < arrays_.size() && is_array(data)) {
      const Array& array = arrays_[next_array_++].array();
      if (static_cast<size_t>(array.rank()) + depth != sizes_.size()) refuse_change();
      kernels::copy(array, rest(array.sizes));
      next_ += array.count() * tensor::item_size(buffer_.dtype);
      return;
    }
    if (depth < sizes_.size()) {
      for (int64_t i = 0; i < sizes_[depth]; ++i) {
        if (!is_sequence(data) || PySequence_Fast_GET_SIZE(data) != sizes_[depth]) {
          refuse_change();
        }
        fill(PySequence_Fast_GET_ITEM(data, i), depth + 1, real);
      }
      return;
    }
    if (!numbers_) refuse_change();
    if (real) {
      *reinterpret_cast<double*>(next_) =
          PyFloat_Check(data) ? PyFloat_AS_DOUBLE(data) : PyFloat_AsDouble(data);
    } else if (is_numpy_bool(data)) {
      *reinterpret_cast<int64_t*>(next_) = PyObject_IsTrue(data);
    } else {
      Object index = Object::check(PyNumber_Index(data));
      *reinterpret_cast<int64_t*>(next_) = PyLong_AsLongLong(index.get());
    }
    if (PyErr_Occurred()) throw PythonError{};
    next_ += 8;
  }

  [[noreturn]] static void refuse_change() {
    raise(PyExc_ValueError, "tensor(): the data changed while it was read");
  }

  std::optional<DType> wanted_;
  Dims sizes_;
  DType kind_ = DType::boolean;
  bool any_ = false, numbers_ = false;
  Values arrays_;  // that stand in the data, in order
  size_t next_array_ = 0;
  Array buffer_;
  char* next_ = nullptr;
};

// int, float and bool stand for the dtype that has their values.
std::optional<DType> dtype_of_python_type(PyObject* object) {
  const auto* type = reinterpret_cast<PyTypeObject*>(object);
  if (type == &PyLong_Type) return DType::i64;
  if (type == &PyFloat_Type) return DType::f64;
  if (type == &PyBool_Type) return DType::boolean;
  return std::nullopt;
}

void set_default_dtype(nb::handle dtype) {
  if (Py_TYPE(dtype.ptr()) != dtype_type || !tensor::is_floating(dtype_from(dtype.ptr()))) {
    raise(PyExc_TypeError,
          "set_default_dtype(): only floating-point dtypes are supported as the default type");
  }
  graph::set_default_dtype(dtype_from(dtype.ptr()));
}

std::string shown_package = "weft";  // what dtypes say that they belong to

void set_size_type(const nb::type_object& type) {
  if (!PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(type.ptr()), &PyTuple_Type)) {
    raise(PyExc_TypeError, "a subclass of tuple is needed");
  }
  Py_XSETREF(size_type, Py_NewRef(type.ptr()));
}

}  // namespace

PyObject* dtype_object(DType dtype) { return dtypes[static_cast<int>(dtype)]; }
bool is_dtype(PyObject* object) {
  return Py_TYPE(object) == dtype_type || dtype_of_python_type(object);
}

DType dtype_from(PyObject* object) {
  if (Py_TYPE(object) == dtype_type) return nb::inst_ptr<DTypeObject>(object)->dtype;
  return *dtype_of_python_type(object);
}

void define_dtypes(nb::module_& module) {
  const nb::object type =
      nb::class_<DTypeObject>(module, "dtype", "The type of a tensor's elements.", nb::is_final())
          .def_prop_ro(
              "is_floating_point", [](DTypeObject self) { return tensor::is_floating(self.dtype); },
              "Whether elements are floating-point numbers.")
          .def_prop_ro(
              "is_complex", [](DTypeObject) { return false; },
              "Always False: complex numbers come later.")
          .def_prop_ro(
              "is_signed",
              [](DTypeObject self) {
                return self.dtype != DType::u8 && self.dtype != DType::boolean;
              },
              "Whether elements may be negative.")
          .def_prop_ro(
              "itemsize", [](DTypeObject self) { return tensor::item_size(self.dtype); },
              "Bytes of one element.")
          .def_prop_ro("name", &DTypeObject::name, "The name, such as 'float32'.")
          .def("__repr__", [](DTypeObject self) { return shown_package + "." + self.name(); })
          .def("__reduce__", &DTypeObject::name, "Pickle by name.");
  type.attr("__module__") = "weft";
  dtype_type = reinterpret_cast<PyTypeObject*>(type.ptr());
  for (int i = 0; i < tensor::dtype_count; ++i) {
    const DTypeObject dtype{static_cast<DType>(i)};
    dtypes[i] = nb::cast(dtype).release().ptr();
    module.attr(dtype.name().c_str()) = nb::handle(dtypes[i]);
  }
}

void define_reading(nb::module_& module) {
  module.def(
      "tensor",
      [](nb::handle data, std::optional<DType> dtype) {
        return wrapped(tensor_from_python(data.ptr(), dtype));
      },
      nb::arg().none(), nb::arg() = nb::none(), "Make a tensor from numbers or nested lists.");
  module.def(
      "get_default_dtype", [] { return tensor::default_dtype; },
      "Return the default floating-point dtype.");
  module.def("set_default_dtype", set_default_dtype, nb::arg().none(),
             "Set the default floating-point dtype.");
  module.def(
      "as_dtype", [](DType dtype) { return dtype; },
      "Return the dtype that a dtype, or int, float or bool, stands for.");
  module.def("promote_types", tensor::promote, "Return the common dtype of two dtypes.");
  module.def(
      "become",
      [](const TensorObject& tensor, const TensorObject& view) {
        TensorData& data = tensor.data();
        graph::follow_memory(data.value(), view.value());
        // Held by its Python object, by this view, and by other views, which do not follow.
        if (data.base() || data.use_count() <= 2) return data.become(view.value());
        if (data.requires_grad()) {
          base::fail(ErrorKind::gradient,
                     "a tensor with a graph that has views cannot change its shape in place: write "
                     "x = x.unsqueeze(0), or make the views afterwards");
        }
        view.data().grad = std::move(data.grad);
        exchange_tensors(tensor.ptr(), view.ptr());
      },
      "Make a view of a tensor its value.");
  module.def(
      "set_shown_package",
      [](std::string name) { return std::exchange(shown_package, std::move(name)); },
      "Set the package that dtypes and sizes print as theirs, and return the one before.");
  module.def(
      "shown_package", [] { return shown_package; },
      "Return the package that dtypes and sizes print as theirs.");
  module.def("set_size_type", set_size_type, "Set the class of Tensor.shape.");
}

PyObject* size_object(std::span<const int64_t> sizes) {
  const auto count = static_cast<Py_ssize_t>(sizes.size());
  auto* type = size_type ? reinterpret_cast<PyTypeObject*>(size_type) : &PyTuple_Type;
  PyObject* result = size_type ? type->tp_alloc(type, count) : PyTuple_New(count);
  if (!result) return nullptr;
  for (Py_ssize_t i = 0; i < count; ++i) PyTuple_SET_ITEM(result, i, PyLong_FromLongLong(sizes[i]));
  return result;
}

Value number_from_python(PyObject* object) {
  if (PyFloat_Check(object)) return graph::number_value(PyFloat_AS_DOUBLE(object));
  if (PyBool_Check(object)) return graph::number_value_bool(object == Py_True);
  if (PyLong_Check(object)) {
    const int64_t number = PyLong_AsLongLong(object);
    if (number == -1 && PyErr_Occurred()) {
      PyErr_Clear();
      raise(PyExc_OverflowError,
            "a Python int that does not fit in 64 bits cannot become a tensor element");
    }
    return graph::number_value(number);
  }
  // NumPy scalars behave like Python numbers.
  if (!std::string_view(Py_TYPE(object)->tp_name).starts_with("numpy.") || is_sequence(object) ||
      is_array(object)) {
    return {};
  }
  if (is_numpy_bool(object)) return graph::number_value_bool(PyObject_IsTrue(object) == 1);
  if (is_complex(object)) {
    base::fail(ErrorKind::unsupported, "complex numbers are not supported yet");
  }
  if (PyIndex_Check(object)) {
    Object index = Object::check(PyNumber_Index(object));
    return number_from_python(index.get());
  }
  if (!PyNumber_Check(object) || PyObject_HasAttrString(object, "__len__")) return {};
  const double number = PyFloat_AsDouble(object);
  if (number == -1 && PyErr_Occurred()) {
    PyErr_Clear();
    return {};
  }
  return graph::number_value(number);
}

Value tensor_from_python(PyObject* data, std::optional<DType> dtype) {
  if (PyLong_CheckExact(data) && !dtype) {  // an index or a label, in programs for one example
    Array array = Array::allocate({}, DType::i64);
    *array.as<int64_t>() = PyLong_AsLongLong(data);
    if (PyErr_Occurred()) throw PythonError{};
    return Value(std::move(array));
  }
  if (!is_tensor(data)) return Reader().read(data, dtype);
  const Array array = computed_value_of(data).array();
  Array copy = Array::allocate(array.sizes, dtype.value_or(array.dtype));
  kernels::copy(array, copy);
  return Value(std::move(copy));
}

double read_double(const Value& value) { return read_as<double>(value, DType::f64); }
int64_t read_integer(const Value& value) { return read_as<int64_t>(value, DType::i64); }

bool read_bool(const Value& value) {
  if (value.count() != 1) {
    base::fail(ErrorKind::shape, "Boolean value of Tensor with ",
               value.count() == 0 ? "no values" : "more than one value",
               " is ambiguous; its shape is ", value.sizes());
  }
  if (is_looked_at()) [[unlikely]]
    return decide(value, true);
  if (tensor::is_floating(value.dtype())) return read_double(value) != 0;  // NaN is true
  return read_integer(value) != 0;
}

PyObject* to_python_number(const Value& value) {
  require_single(value);
  if (is_looked_at()) [[unlikely]] {
    const int64_t number = decide(value, false);
    return value.dtype() == DType::boolean ? PyBool_FromLong(number != 0)
                                           : PyLong_FromLongLong(number);
  }
  return element(value.dtype(), graph::demand(value).array().data());
}

PyObject* to_python_list(const Value& value) {
  constexpr int64_t most_decisions = 16;
  if (is_looked_at() && value.rank() == 1 && value.count() <= most_decisions &&
      !tensor::is_floating(value.dtype())) [[unlikely]] {
    Object list = Object::check(PyList_New(value.count()));
    for (int64_t i = 0; i < value.count(); ++i)
      PyList_SET_ITEM(list.get(), i, to_python_number(ops::select(value, 0, i)));
    return list.release();
  }
  graph::demand(value);
  return nested_list(value.array(), 0, value.array().data());
}

}  // namespace weft::bind
