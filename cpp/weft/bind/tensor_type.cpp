// The Tensor type: a raw CPython type, because making and freeing one must cost next to nothing.
#include "ops.h"
#include "weft/autograd/in_place.h"
#include "weft/bind/look.h"
#include "weft/bind/python.h"
#include "weft/graph/modes.h"
#include "weft/graph/program.h"
#include "weft/graph/record.h"
#include "weft/graph/ties.h"
#include "weft/tensor/promotion.h"

namespace weft::bind {

PyTypeObject* tensor_type = nullptr;

namespace {

PyTensor* free_tensors = nullptr;  // linked through `dict`
int free_count = 0;
constexpr int free_limit = 1 << 15;  // a batch of examples in plain Python has that many

// Python 3.11 finds methods fast, without looking them up, in an object that has a dictionary: this
// one, of nobody's, as long as there are no attributes. Later versions do so where there is none.
PyObject* no_attributes = nullptr;

PyTensor* allocate() {
  PyTensor* self = free_tensors;
  if (self) {
    free_tensors = reinterpret_cast<PyTensor*>(self->dict);
    --free_count;
    Py_INCREF(tensor_type);
    Py_SET_REFCNT(reinterpret_cast<PyObject*>(self), 1);
  } else {
    self = PyObject_GC_New(PyTensor, tensor_type);
    if (!self) throw PythonError{};
  }
  self->tensor = nullptr;
  std::construct_at(&self->value);
  self->dict = no_attributes;
  self->weak_references = nullptr;
  self->tracked = false;
  return self;
}

void hold(PyTensor& self, TensorData& tensor) {
  tensor.retain();
  tensor.wrapper = &self;
  self.tensor = &tensor;
}

// An object of this class or one made from it; Python's own way tracks them.
Object make_object(PyTypeObject* type, TensorData& tensor) {
  const TensorRef kept(&tensor);
  Object object = Object::check(type->tp_alloc(type, 0));
  auto& self = *reinterpret_cast<PyTensor*>(object.get());
  self.tracked = true;
  hold(self, tensor);
  return object;
}

void let_go(PyTensor* self) {
  if (TensorData* tensor = std::exchange(self->tensor, nullptr)) {
    tensor->release();
  } else if (self->value) {
    --self->value->handles;
    const Value last = std::move(self->value);
  }
}

void clear_attributes(PyTensor& self) {
  PyObject* dict = std::exchange(self.dict, nullptr);
  if (dict != no_attributes) Py_XDECREF(dict);
}

void dealloc(PyObject* object) {
  auto* self = reinterpret_cast<PyTensor*>(object);
  PyTypeObject* type = Py_TYPE(object);
  // Python itself has tracked an object of a subclass again before it comes here.
  if (self->tracked || type != tensor_type) PyObject_GC_UnTrack(object);
  // From here on nobody may be given this object, not even the callbacks of weak references.
  if (self->tensor && self->tensor->wrapper == self) self->tensor->wrapper = nullptr;
  if (self->weak_references) PyObject_ClearWeakRefs(object);
  let_go(self);
  clear_attributes(*self);
  if (type == tensor_type && free_count < free_limit) {
    self->dict = reinterpret_cast<PyObject*>(free_tensors);
    free_tensors = self;
    ++free_count;
  } else {
    type->tp_free(object);
  }
  Py_DECREF(type);
}

int traverse(PyObject* object, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(object));
  PyObject* dict = reinterpret_cast<PyTensor*>(object)->dict;
  if (dict != no_attributes) Py_VISIT(dict);
  return visit_graph(*reinterpret_cast<PyTensor*>(object), visit, arg);
}

int clear(PyObject* object) {
  clear_graph(*reinterpret_cast<PyTensor*>(object));
  clear_attributes(*reinterpret_cast<PyTensor*>(object));
  return 0;
}

// Does what may give a tensor attributes.
template <class Do>
auto with_attributes(PyObject* object, Do&& work) {
  auto& self = *reinterpret_cast<PyTensor*>(object);
  const bool had_none = self.dict && self.dict == no_attributes;
  if (had_none) self.dict = nullptr;
  const auto result = work();  // which may come here again
  if (self.dict) {
    track(object);
  } else if (had_none && Py_TYPE(object) == tensor_type) {
    self.dict = no_attributes;
  }
  return result;
}

int set_attribute(PyObject* object, PyObject* name, PyObject* value) {
  return with_attributes(object, [&] { return PyObject_GenericSetAttr(object, name, value); });
}
PyObject* get_dict(PyObject* object, void*) {
  return with_attributes(object, [&] { return PyObject_GenericGetDict(object, nullptr); });
}
int set_dict(PyObject* object, PyObject* dict, void*) {
  return with_attributes(object, [&] { return PyObject_GenericSetDict(object, dict, nullptr); });
}

// An int, also one of NumPy's.
bool is_size(PyObject* object) {
  return PyLong_Check(object) ||
         (PyIndex_Check(object) && !is_tensor(object) && !PySequence_Check(object));
}

// Tensor(data) and Tensor(*sizes), as PyTorch's old constructor.
PyObject* make_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  return guarded([&]() -> PyObject* {
    if (kwargs && PyDict_GET_SIZE(kwargs))
      raise(PyExc_TypeError, "Tensor() takes no keyword arguments");
    const Py_ssize_t count = PyTuple_GET_SIZE(args);
    Value value;
    PyObject* data = count == 1 ? PyTuple_GET_ITEM(args, 0) : nullptr;
    if (data && is_array(data)) {
      value = array_from_python(data, Memory::shared, tensor::default_dtype);
      if (!value) raise(PyExc_TypeError, "Tensor(): give the plain array, by numpy.asarray()");
      if (value.dtype() != tensor::default_dtype) {
        value = tensor_from_python(Object(wrap(value)).get(), tensor::default_dtype);
      }
    } else if (data && !is_size(data)) {
      value = tensor_from_python(data, tensor::default_dtype);
    } else {
      Dims sizes;
      for (Py_ssize_t i = 0; i < count; ++i) {
        Object index = Object::check(PyNumber_Index(PyTuple_GET_ITEM(args, i)));
        const int64_t size = PyLong_AsLongLong(index.get());
        if (size == -1 && PyErr_Occurred()) throw PythonError{};
        sizes.push_back(size);
      }
      if (count == 0) sizes.push_back(0);
      value = ops::zeros(sizes, tensor::default_dtype);
    }
    return make_object(type, *new TensorData(std::move(value))).release();
  });
}

// --- operators ---

// An operand as a Value; empty if it is neither a tensor nor a number.
Value operand(PyObject* object) {
  if (is_tensor(object)) return value_of(object);
  return number_from_python(object);
}

// A product wants one dtype, and arrays are float64 more often than tensors are.
void promote_together(std::span<Value> operands) {
  const DType dtype = tensor::promote(operands[0].dtype(), operands[1].dtype());
  for (Value& value : operands) {
    if (!value->is_number && value.dtype() != dtype) value = ops::cast(value, dtype);
  }
}

PyObject* binary(const Op& op, PyObject* a, PyObject* b) noexcept {
  return guarded([&]() -> PyObject* {
    Value operands[] = {operand(a), operand(b)};
    if (!operands[0] || !operands[1]) [[unlikely]] {
      if (!operands[0]) operands[0] = array_operand(a, operands[1]);
      if (!operands[1]) operands[1] = array_operand(b, operands[0]);
      if (!operands[0] || !operands[1]) Py_RETURN_NOTIMPLEMENTED;
      if (&op == &ops::op_matmul) promote_together(operands);
    }
    return wrap(op.pointwise() ? graph::record_pointwise(op, operands)
                               : std::move(graph::record(op, operands)[0]));
  });
}

PyObject* in_place(const Op& op, PyObject* self, PyObject* other) noexcept {
  return guarded([&]() -> PyObject* {
    Values operands{value_of(self), operand(other)};
    // Copied: the array may lie in the memory that is written.
    if (!operands[1]) operands[1] = array_from_python(other, Memory::copied);
    if (!operands[1]) Py_RETURN_NOTIMPLEMENTED;
    autograd::apply_in_place(tensor_of(self), op, std::move(operands), {});
    Py_INCREF(self);
    return self;
  });
}

PyObject* unary(const Op& op, PyObject* self) noexcept {
  return guarded([&]() -> PyObject* {
    const Value input = value_of(self);
    return wrap(graph::record_pointwise(op, std::span(&input, 1)));
  });
}

template <const Op& op>
PyObject* binary_slot(PyObject* a, PyObject* b) {
  return binary(op, a, b);
}
template <const Op& op>
PyObject* in_place_slot(PyObject* a, PyObject* b) {
  return in_place(op, a, b);
}
template <const Op& op>
PyObject* unary_slot(PyObject* a) {
  return unary(op, a);
}

PyObject* power_slot(PyObject* a, PyObject* b, PyObject* modulus) {
  if (modulus != Py_None) Py_RETURN_NOTIMPLEMENTED;
  return binary(ops::op_pow, a, b);
}
PyObject* in_place_power_slot(PyObject* a, PyObject* b, PyObject*) {
  return in_place(ops::op_pow, a, b);
}
PyObject* positive_slot(PyObject* self) {
  Py_INCREF(self);
  return self;
}
PyObject* invert_slot(PyObject* self) {
  const bool boolean = meta_of(self).dtype == DType::boolean;
  return unary(boolean ? ops::op_logical_not : ops::op_bitwise_not, self);
}

PyObject* compare(PyObject* a, PyObject* b, int how) {
  constexpr const Op* in_order[] = {&ops::op_lt, &ops::op_le, &ops::op_eq,
                                    &ops::op_ne, &ops::op_gt, &ops::op_ge};
  static_assert(Py_LT == 0 && Py_GE == 5);
  return binary(*in_order[how], a, b);
}

// A number has no graph: a message may have to say later where it was read.
Value value_to_read(PyObject* self) {
  const Value value = value_of(self);
  if (value->requires_grad) graph::last_item_read = graph::current_position();
  return value;
}

int truth(PyObject* self) {
  return guarded(
      [&] {
        const Value value = value_of(self);
        const bool result = read_bool(value);
        note_read(value, "bool", result);
        return static_cast<int>(result);
      },
      -1);
}
PyObject* to_int(PyObject* self) {
  return guarded([&]() -> PyObject* {
    const Value value = value_to_read(self);
    Object number = Object::check(to_python_number(value));
    note_read(value, "int", read_double(value));
    return PyNumber_Long(number.get());
  });
}
PyObject* to_float(PyObject* self) {
  return guarded([&] {
    const Value value = value_to_read(self);
    const double number = read_double(value);
    note_read(value, "float", number);
    return PyFloat_FromDouble(number);
  });
}
PyObject* to_index(PyObject* self) {
  return guarded([&]() -> PyObject* {
    const Value value = value_of(self);
    if (tensor::is_floating(value.dtype()) || value.count() != 1) {
      raise(PyExc_TypeError,
            "only integer tensors of a single element can be converted to an index");
    }
    const int64_t number = read_integer(value);
    note_read(value, "int", static_cast<double>(number));
    return PyLong_FromLongLong(number);
  });
}

Py_ssize_t length(PyObject* self) {
  return guarded(
      [&]() -> Py_ssize_t {
        const Value value = value_of(self);
        if (value.rank() == 0) raise(PyExc_TypeError, "len() of a 0-d tensor");
        return value.size(0);
      },
      Py_ssize_t{-1});
}
PyObject* subscript(PyObject* self, PyObject* index) {
  return guarded([&] { return get_item(self, index); });
}
int assign_subscript(PyObject* self, PyObject* index, PyObject* value) {
  return guarded(
      [&] {
        if (!value) raise(PyExc_TypeError, "tensor elements cannot be deleted");
        set_item(self, index, value);
        return 0;
      },
      -1);
}
PyObject* item_at(PyObject* self, Py_ssize_t index) {
  return guarded([&]() -> PyObject* {
    const Value value = value_of(self);
    if (value.rank() == 0) raise(PyExc_TypeError, "iteration over a 0-d tensor");
    if (index < 0 || index >= value.size(0)) raise(PyExc_IndexError, "tensor index out of range");
    return wrap_result(ops::select(value, 0, index), self);
  });
}
PyObject* iterate(PyObject* self) {
  return guarded([&]() -> PyObject* {
    const Value value = value_of(self);
    if (value.rank() == 0) raise(PyExc_TypeError, "iteration over a 0-d tensor");
    Object all = Object::check(wrap_all(ops::unbind(value, 0), self, false));
    return PyObject_GetIter(all.get());
  });
}

// --- properties ---

PyObject* get_shape(PyObject* self, void*) {
  const Dims sizes = meta_of(self).sizes;  // making an object may run anybody's code
  return size_object(sizes);
}
PyObject* get_dtype(PyObject* self, void*) {
  PyObject* result = dtype_object(meta_of(self).dtype);
  Py_INCREF(result);
  return result;
}
PyObject* get_ndim(PyObject* self, void*) { return PyLong_FromLongLong(meta_of(self).rank()); }
PyObject* get_requires_grad(PyObject* self, void*) {
  return guarded([&] {
    if (tensor::is_floating(meta_of(self).dtype))
      graph::refuse_in_program("asks whether a gradient is needed");
    return PyBool_FromLong(tensor_of(self).requires_grad());
  });
}
int set_requires_grad(PyObject* self, PyObject* wanted, void*) {
  return guarded(
      [&] {
        if (!wanted || !PyBool_Check(wanted))
          raise(PyExc_TypeError, "requires_grad must be a bool");
        tensor_of(self).set_requires_grad(wanted == Py_True);
        return 0;
      },
      -1);
}
PyObject* get_is_leaf(PyObject* self, void*) {
  return guarded([&] {
    graph::refuse_in_program("asks for a place in the graph");
    return PyBool_FromLong(tensor_of(self).is_leaf());
  });
}
PyObject* get_grad_fn(PyObject* self, void*) {
  return guarded([&] {
    graph::refuse_in_program("asks for a place in the graph");
    return grad_function(value_of(self));
  });
}
PyObject* get_grad(PyObject* self, void*) {
  return guarded([&] {
    graph::refuse_in_program("asks for a gradient");
    return wrap(tensor_of(self).grad);
  });
}
int set_grad(PyObject* self, PyObject* gradient, void*) {
  return guarded(
      [&] {
        TensorData& tensor = tensor_of(self);
        if (!gradient || gradient == Py_None) {
          tensor.grad.reset();
          return 0;
        }
        if (!is_tensor(gradient)) raise(PyExc_TypeError, "grad must be a Tensor or None");
        if (gradient == self) raise(PyExc_RuntimeError, "can't assign Variable as its own grad");
        const Value value = value_of(gradient);
        if (value.sizes() != tensor.array().sizes) {
          base::fail(ErrorKind::shape, "grad: assigned grad has shape ", value.sizes(),
                     ", the tensor is ", tensor.array().sizes);
        }
        if (value.dtype() != tensor.array().dtype) {
          base::fail(ErrorKind::dtype, "grad: assigned grad has dtype ",
                     tensor::name_of(value.dtype()), ", the tensor is ",
                     tensor::name_of(tensor.array().dtype));
        }
        tensor.grad = TensorRef(&tensor_of(gradient));
        return 0;
      },
      -1);
}
PyObject* get_data(PyObject* self, void*) {
  return guarded([&] { return wrap(graph::detach(tensor_of(self))); });
}
int set_data(PyObject* self, PyObject* data, void*) {
  return guarded(
      [&] {
        if (!data || !is_tensor(data)) raise(PyExc_TypeError, "data must be a Tensor");
        graph::share_memory(tensor_of(self));
        graph::demand(value_of(self));
        const Value value = computed_value_of(data);
        value.array().storage->aliased() = true;
        tensor_of(self).replace(value);
        return 0;
      },
      -1);
}
PyObject* get_base(PyObject* self, void*) {
  return guarded([&] {
    graph::refuse_in_program("asks for a place in the graph");
    return wrap(TensorRef(tensor_of(self).base()));
  });
}
PyObject* get_version(PyObject* self, void*) {
  return guarded(
      [&] { return PyLong_FromUnsignedLong(computed_value_of(self).array().storage->version); });
}
PyObject* get_transposed(PyObject* self, void*) {
  return guarded([&]() -> PyObject* {
    const Value value = value_of(self);
    Dims order;
    for (int64_t i = value.rank(); i-- > 0;) order.push_back(i);
    return wrap_result(ops::permute(value, order), self);
  });
}
PyObject* get_matrix_transposed(PyObject* self, void*) {
  return guarded([&]() -> PyObject* {
    const Value value = value_of(self);
    if (value.rank() < 2) {
      base::fail(ErrorKind::shape, "mT: needs at least 2 dimensions, the tensor is ",
                 value.sizes());
    }
    return wrap_result(ops::transpose(value, -2, -1), self);
  });
}
PyObject* get_item_size(PyObject* self, void*) {
  return PyLong_FromLongLong(tensor::item_size(meta_of(self).dtype));
}
PyObject* get_is_inference(PyObject* self, void*) {
  return guarded([&] { return PyBool_FromLong(value_of(self)->inference); });
}
PyObject* get_position(PyObject* self, void*) {
  return guarded([&]() -> PyObject* {
    const Value value = value_of(self);
    return PyLong_FromUnsignedLong(value->producer ? value->producer->position : 0);
  });
}
PyObject* get_cut(PyObject* self, void*) {
  return guarded([&]() -> PyObject* {
    const Value value = value_of(self);
    constexpr const char* names[] = {"",    "detach", "no_grad", "integer", "not_differentiable",
                                     "leaf"};
    const bool is_cut = value->cut != graph::Cut::none;
    return Py_BuildValue("(sI)", names[static_cast<int>(value->cut)], is_cut ? value->cut_at : 0);
  });
}

PyGetSetDef properties[] = {
    {"__dict__", get_dict, set_dict, "Attributes that the user has set.", nullptr},
    {"shape", get_shape, nullptr, "The sizes of the dimensions.", nullptr},
    {"dtype", get_dtype, nullptr, "The type of the elements.", nullptr},
    {"ndim", get_ndim, nullptr, "The number of dimensions.", nullptr},
    {"requires_grad", get_requires_grad, set_requires_grad, "Whether gradients are wanted.",
     nullptr},
    {"is_leaf", get_is_leaf, nullptr, "Whether no recorded op made this tensor.", nullptr},
    {"grad_fn", get_grad_fn, nullptr, "The graph node that made this tensor, or None.", nullptr},
    {"grad", get_grad, set_grad, "The gradient that backward accumulated, or None.", nullptr},
    {"data", get_data, set_data, "The same memory without history.", nullptr},
    {"_base", get_base, nullptr, "The tensor that this one is a view of, or None.", nullptr},
    {"_version", get_version, nullptr, "How often the memory was written in place.", nullptr},
    {"_position", get_position, nullptr, "Source position of the op that made this tensor.",
     nullptr},
    {"_cut", get_cut, nullptr, "Why and where the path of gradients ended.", nullptr},
    {"T", get_transposed, nullptr, "A view with the dimensions in reverse order.", nullptr},
    {"mT", get_matrix_transposed, nullptr, "A view with the last two dimensions swapped.", nullptr},
    {"itemsize", get_item_size, nullptr, "Bytes of one element.", nullptr},
    {"_inference", get_is_inference, nullptr, "Whether it was made in inference mode.", nullptr},
    {},
};

// --- methods that are not ops ---

// All of a tensor's sizes or strides, or that of one dimension.
PyObject* one_or_all(const char* name, const Dims all, PyObject* const* args, Py_ssize_t count,
                     PyObject* (*to_python)(std::span<const int64_t>)) {
  return guarded([&]() -> PyObject* {
    if (count == 0) return to_python(all);
    const int64_t dim = PyLong_AsLongLong(args[0]);
    if (dim == -1 && PyErr_Occurred()) throw PythonError{};
    if (all.empty()) base::fail(ErrorKind::index, name, ": a 0-d tensor has no dimension ", dim);
    return PyLong_FromLongLong(all[tensor::wrap_dim(name, dim, all.size())]);
  });
}
PyObject* method_size(PyObject* self, PyObject* const* args, Py_ssize_t count) {
  return one_or_all("size", meta_of(self).sizes, args, count, size_object);
}
// A view whose base was written lies where it is made again.
PyObject* method_stride(PyObject* self, PyObject* const* args, Py_ssize_t count) {
  return guarded([&] {
    return one_or_all("stride", value_of(self).array().strides, args, count,
                      [](std::span<const int64_t> strides) {
                        PyObject* result = PyTuple_New(strides.size());
                        for (size_t i = 0; result && i < strides.size(); ++i)
                          PyTuple_SET_ITEM(result, i, PyLong_FromLongLong(strides[i]));
                        return result;
                      });
  });
}
PyObject* method_dim(PyObject* self, PyObject*) { return get_ndim(self, nullptr); }
PyObject* method_numel(PyObject* self, PyObject*) {
  return PyLong_FromLongLong(meta_of(self).count());
}
PyObject* method_offset(PyObject* self, PyObject*) {
  return guarded([&] {
    const Value value = value_of(self);
    if (is_looked_at() && is_given(value))
      graph::refuse_in_program("asks where a tensor lies in memory");
    const bool moves = value->in_batch && !value->pending;
    return PyLong_FromLongLong(
        (moves ? graph::in_own_place(tensor_of(self)) : value).array().offset);
  });
}
PyObject* method_pointer(PyObject* self, PyObject*) {
  return guarded(
      [&] { return PyLong_FromVoidPtr(graph::in_own_place(tensor_of(self)).array().data()); });
}
PyObject* method_is_contiguous(PyObject* self, PyObject*) {
  return PyBool_FromLong(meta_of(self).is_contiguous());
}
PyObject* method_item(PyObject* self, PyObject*) {
  return guarded([&] {
    const Value value = value_to_read(self);
    PyObject* number = to_python_number(value);
    if (number) note_read(value, "item", read_double(value));
    return number;
  });
}
PyObject* method_tolist(PyObject* self, PyObject*) {
  return guarded([&] { return to_python_list(note_copy(value_to_read(self), "list")); });
}
PyObject* method_detach(PyObject* self, PyObject*) {
  return guarded([&] { return wrap(graph::detach(tensor_of(self))); });
}
PyObject* method_detach_in_place(PyObject* self, PyObject*) {
  return guarded([&]() -> PyObject* {
    if (tensor_of(self).base()) {
      base::fail(ErrorKind::gradient,
                 "Can't detach views in-place. Use detach() instead. If you are using a view, "
                 "make a copy with clone() first.");
    }
    tensor_of(self).rebind(graph::detach(value_of(self)));
    Py_INCREF(self);
    return self;
  });
}
PyObject* method_requires_grad_(PyObject* self, PyObject* const* args, Py_ssize_t count,
                                PyObject* names) {
  return guarded([&]() -> PyObject* {
    const Py_ssize_t given = count + (names ? PyTuple_GET_SIZE(names) : 0);
    if (given > 1) raise(PyExc_TypeError, "requires_grad_() takes at most one argument");
    const int wanted = given == 0 ? 1 : PyObject_IsTrue(args[0]);
    if (wanted < 0) throw PythonError{};
    tensor_of(self).set_requires_grad(wanted != 0);
    Py_INCREF(self);
    return self;
  });
}

// _make_subclass(cls, data, require_grad=False): shares data's memory, without its history.
PyObject* method_make_subclass(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    PyObject* type = nullptr;
    PyObject* data = nullptr;
    int requires_grad = 0;
    if (!PyArg_ParseTuple(args, "OO|p", &type, &data, &requires_grad)) throw PythonError{};
    if (!PyType_Check(type) ||
        !PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(type), tensor_type)) {
      raise(PyExc_TypeError, "_make_subclass: cls must be a subclass of Tensor");
    }
    if (!is_tensor(data)) raise(PyExc_TypeError, "_make_subclass: data must be a Tensor");
    auto* tensor_class = reinterpret_cast<PyTypeObject*>(type);
    const bool has_memory = !value_of(data)->mapped;
    const Value value = has_memory ? graph::in_own_place(tensor_of(data)) : value_of(data);
    if (has_memory) value.array().storage->aliased() = true;
    auto* tensor = new TensorData(without_history(value));
    Object self = make_object(tensor_class, *tensor);
    if (requires_grad) tensor->set_requires_grad(true);
    return self.release();
  });
}

Py_hash_t hash_by_identity(PyObject* self) { return _Py_HashPointer(self); }

#define FAST(function) reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function))
PyMethodDef methods[] = {
    {"size", FAST(method_size), METH_FASTCALL, "Return the sizes, or the size of one dimension."},
    {"stride", FAST(method_stride), METH_FASTCALL, "Return the strides, or that of one dimension."},
    {"dim", method_dim, METH_NOARGS, "Return the number of dimensions."},
    {"numel", method_numel, METH_NOARGS, "Return the number of elements."},
    {"nelement", method_numel, METH_NOARGS, "Return the number of elements."},
    {"storage_offset", method_offset, METH_NOARGS,
     "Return the offset into the memory, in elements."},
    {"data_ptr", method_pointer, METH_NOARGS, "Return the address of the first element."},
    {"is_contiguous", method_is_contiguous, METH_NOARGS, "Tell whether elements lie in order."},
    {"item", method_item, METH_NOARGS, "Return the only element as a Python number."},
    {"tolist", method_tolist, METH_NOARGS, "Return the elements as nested lists."},
    {"detach", method_detach, METH_NOARGS, "Return the same memory without history."},
    {"detach_", method_detach_in_place, METH_NOARGS, "Forget the history of this tensor."},
    {"requires_grad_", FAST(method_requires_grad_), METH_FASTCALL | METH_KEYWORDS,
     "Set whether gradients are wanted; return the tensor."},
    {"_make_subclass", method_make_subclass, METH_VARARGS | METH_STATIC,
     "Make an instance of a subclass that shares data's memory."},
    {},
};
#undef FAST

PyMemberDef members[] = {
    {"__dictoffset__", T_PYSSIZET, offsetof(PyTensor, dict), READONLY, nullptr},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(PyTensor, weak_references), READONLY, nullptr},
    {},
};

template <class F>
PyType_Slot slot(int id, F* function) {
  return {id, reinterpret_cast<void*>(function)};
}

}  // namespace

PyObject* wrap(Value value) {
  // A TensorData knows inside which call of vmap it was made.
  if (graph::modes.vmap) [[unlikely]]
    return wrap(TensorRef(new TensorData(std::move(value))));
  PyTensor* self = allocate();
  ++value->handles;
  self->value = std::move(value);
  return reinterpret_cast<PyObject*>(self);
}

void exchange_tensors(PyObject* a, PyObject* b) {
  TensorData &first = tensor_of(a), &second = tensor_of(b);
  reinterpret_cast<PyTensor*>(a)->tensor = &second;
  reinterpret_cast<PyTensor*>(b)->tensor = &first;
  std::swap(first.wrapper, second.wrapper);
}

void give_tensor(PyTensor& self) {
  --self.value->handles;
  hold(self, *new TensorData(std::move(self.value)));
  self.tensor->made_in = 0;
}

PyObject* wrap(const TensorRef& tensor) {
  if (!tensor) Py_RETURN_NONE;
  if (tensor->wrapper) {
    auto* existing = static_cast<PyObject*>(tensor->wrapper);
    Py_INCREF(existing);
    return existing;
  }
  PyTensor* self = allocate();
  hold(*self, *tensor);
  return reinterpret_cast<PyObject*>(self);
}

PyObject* wrap_result(Value value, PyObject* parent) {
  if (!parent || (!value->view && value != value_of(parent))) return wrap(std::move(value));
  if (value == value_of(parent)) {
    Py_INCREF(parent);
    return parent;
  }
  PyObject* result = wrap(std::move(value));
  tensor_of(result).set_view_of(tensor_of(parent));
  return result;
}

PyObject* wrap_all(Values values, PyObject* parent, bool as_list) {
  const auto count = static_cast<Py_ssize_t>(values.size());
  Object result = Object::check(as_list ? PyList_New(count) : PyTuple_New(count));
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject* item = values[i] ? wrap_result(std::move(values[i]), parent) : Py_NewRef(Py_None);
    if (as_list) {
      PyList_SET_ITEM(result.get(), i, item);
    } else {
      PyTuple_SET_ITEM(result.get(), i, item);
    }
  }
  return result.release();
}

void define_tensor_type(PyObject* module) {
  PyType_Slot slots[] = {
      slot(Py_tp_dealloc, dealloc),
      slot(Py_tp_traverse, traverse),
      slot(Py_tp_clear, clear),
      slot(Py_tp_new, make_new),
      slot(Py_tp_setattro, set_attribute),
      slot(Py_tp_hash, hash_by_identity),
      slot(Py_tp_richcompare, compare),
      slot(Py_tp_iter, iterate),
      {Py_tp_getset, properties},
      {Py_tp_methods, methods},
      {Py_tp_members, members},
      slot(Py_mp_length, length),
      slot(Py_mp_subscript, subscript),
      slot(Py_mp_ass_subscript, assign_subscript),
      slot(Py_sq_item, item_at),
      slot(Py_nb_bool, truth),
      slot(Py_nb_int, to_int),
      slot(Py_nb_float, to_float),
      slot(Py_nb_index, to_index),
      slot(Py_nb_add, binary_slot<ops::op_add>),
      slot(Py_nb_subtract, binary_slot<ops::op_sub>),
      slot(Py_nb_multiply, binary_slot<ops::op_mul>),
      slot(Py_nb_true_divide, binary_slot<ops::op_div>),
      slot(Py_nb_floor_divide, binary_slot<ops::op_floor_divide>),
      slot(Py_nb_remainder, binary_slot<ops::op_remainder>),
      slot(Py_nb_power, power_slot),
      slot(Py_nb_matrix_multiply, binary_slot<ops::op_matmul>),
      slot(Py_nb_and, binary_slot<ops::op_bitwise_and>),
      slot(Py_nb_or, binary_slot<ops::op_bitwise_or>),
      slot(Py_nb_xor, binary_slot<ops::op_bitwise_xor>),
      slot(Py_nb_lshift, binary_slot<ops::op_bitwise_left_shift>),
      slot(Py_nb_rshift, binary_slot<ops::op_bitwise_right_shift>),
      slot(Py_nb_negative, unary_slot<ops::op_neg>),
      slot(Py_nb_absolute, unary_slot<ops::op_abs>),
      slot(Py_nb_positive, positive_slot),
      slot(Py_nb_invert, invert_slot),
      slot(Py_nb_inplace_add, in_place_slot<ops::op_add>),
      slot(Py_nb_inplace_subtract, in_place_slot<ops::op_sub>),
      slot(Py_nb_inplace_multiply, in_place_slot<ops::op_mul>),
      slot(Py_nb_inplace_true_divide, in_place_slot<ops::op_div>),
      slot(Py_nb_inplace_floor_divide, in_place_slot<ops::op_floor_divide>),
      slot(Py_nb_inplace_remainder, in_place_slot<ops::op_remainder>),
      slot(Py_nb_inplace_power, in_place_power_slot),
      slot(Py_nb_inplace_and, in_place_slot<ops::op_bitwise_and>),
      slot(Py_nb_inplace_or, in_place_slot<ops::op_bitwise_or>),
      slot(Py_nb_inplace_xor, in_place_slot<ops::op_bitwise_xor>),
      {Py_tp_doc,
       const_cast<char*>("An array of numbers of one dtype that remembers how it was computed.")},
      {0, nullptr},
  };
  PyType_Spec spec{"weft.Tensor", sizeof(PyTensor), 0,
                   Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, slots};
  tensor_type = reinterpret_cast<PyTypeObject*>(Object::check(PyType_FromSpec(&spec)).release());
  if (PY_VERSION_HEX < 0x030c0000) no_attributes = Object::check(PyDict_New()).release();
  if (PyModule_AddObjectRef(module, "Tensor", reinterpret_cast<PyObject*>(tensor_type)) < 0) {
    throw PythonError{};
  }
}

}  // namespace weft::bind
