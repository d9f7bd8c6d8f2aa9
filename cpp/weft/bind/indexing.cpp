// x[...] for reading and writing: ints, slices and None become views; integer tensors and masks
// become one `index` or `index_put`.
#include "ops.h"
#include "weft/autograd/in_place.h"
#include "weft/bind/python.h"
#include "weft/graph/modes.h"
#include "weft/graph/record.h"

namespace weft::bind {
namespace {

// A view made step by step, and the index tensors that are left for it.
struct Selection {
  Value view;
  Values indices;
  Dims dims;  // which dimension of the view each index tensor is for
};

int64_t integer_of(PyObject* object) {
  Object index = Object::check(PyNumber_Index(object));
  const int64_t value = PyLong_AsLongLong(index.get());
  if (value == -1 && PyErr_Occurred()) {
    PyErr_Clear();
    raise(PyExc_IndexError, "an index does not fit in 64 bits");
  }
  return value;
}

// One end of a slice; ints beyond 64 bits mean "as far as possible".
std::optional<int64_t> slice_end(PyObject* object) {
  if (object == Py_None) return std::nullopt;
  if (!PyIndex_Check(object)) {
    raise(PyExc_TypeError, "slice indices must be integers or None or have an __index__ method");
  }
  const Py_ssize_t value = PyNumber_AsSsize_t(object, nullptr);
  if (value == -1 && PyErr_Occurred()) throw PythonError{};
  return value;
}

bool is_mask(const Value& value) {
  return value.dtype() == DType::boolean || value.dtype() == DType::u8;
}

// How many dimensions of the tensor one index takes.
int64_t dims_taken(PyObject* item) {
  if (item == Py_None || item == Py_Ellipsis || PyBool_Check(item)) return 0;
  if (is_tensor(item) && is_mask(value_of(item))) return value_of(item).rank();
  return 1;
}

Value sequence_as_tensor(PyObject* sequence) {
  Value value = tensor_from_python(sequence, std::nullopt);
  if (value.count() == 0) value = ops::cast(value, DType::i64);
  return value;
}

// NumPy's masks are of bools alone: bytes are numbers.
Value array_as_indices(PyObject* array) {
  Value value = array_from_python(array, Memory::copied, DType::i64);
  if (!value) {
    Object list = Object::check(PyObject_CallMethod(array, "tolist", nullptr));
    return sequence_as_tensor(list.get());
  }
  const bool is_empty_list = value.count() == 0 && tensor::is_floating(value.dtype());
  return is_empty_list || value.dtype() == DType::u8 ? ops::cast(value, DType::i64) : value;
}

class Parser {
 public:
  explicit Parser(const Value& value) : view_(value) {}

  Selection parse(PyObject* index) {
    Object items =
        PyTuple_Check(index) ? Object::borrow(index) : Object::check(PyTuple_Pack(1, index));
    const Py_ssize_t count = PyTuple_GET_SIZE(items.get());
    // Lists, ranges and arrays become tensors first: a mask takes several dimensions.
    std::vector<Object> converted;
    int64_t taken = 0;
    for (Py_ssize_t i = 0; i < count; ++i) {
      converted.push_back(convert(PyTuple_GET_ITEM(items.get(), i)));
      taken += dims_taken(converted.back().get());
    }
    const int64_t rank = view_.rank();
    if (taken > rank) {
      base::fail(ErrorKind::index, "too many indices for tensor of dimension ", rank, ": ", taken,
                 " were given; its shape is ", view_.sizes());
    }
    bool ellipsis = false;
    for (const Object& item : converted) {
      if (item.get() == Py_Ellipsis) {
        if (std::exchange(ellipsis, true)) {
          base::fail(ErrorKind::index, "an index can only have a single ellipsis ('...')");
        }
        dim_ += rank - taken;
      } else {
        apply(item.get());
      }
    }
    return {std::move(view_), std::move(indices_), std::move(dims_)};
  }

 private:
  static Object convert(PyObject* item) {
    if (item == Py_None || item == Py_Ellipsis || PySlice_Check(item) || is_tensor(item) ||
        PyBool_Check(item) || PyLong_Check(item)) {
      return Object::borrow(item);
    }
    if (PyList_Check(item) || PyTuple_Check(item)) {
      return Object(wrap(sequence_as_tensor(item)));
    }
    if (PyIndex_Check(item) && !PyObject_HasAttrString(item, "__len__"))
      return Object::borrow(item);
    if (is_array(item)) return Object(wrap(array_as_indices(item)));
    if (PySequence_Check(item) && !PyUnicode_Check(item) && !PyBytes_Check(item)) {
      Object list = Object::check(PyObject_HasAttrString(item, "tolist")
                                      ? PyObject_CallMethod(item, "tolist", nullptr)
                                      : PySequence_List(item));
      return Object(wrap(sequence_as_tensor(list.get())));
    }
    raise(PyExc_TypeError,
          base::text("only integers, slices (`:`), ellipsis (`...`), None and long or bool tensors "
                     "are valid indices (got ",
                     Py_TYPE(item)->tp_name, ")"));
  }

  void apply(PyObject* item) {
    if (item == Py_None) {
      view_ = ops::unsqueeze(view_, dim_++);
    } else if (PyBool_Check(item)) {
      // A 0-d mask: adds a dimension of size 1 or 0.
      view_ = ops::unsqueeze(view_, dim_);
      Array array = Array::allocate({item == Py_True ? 1 : 0}, DType::i64);
      if (item == Py_True) *array.as<int64_t>() = 0;
      add(Value(std::move(array)));
    } else if (PySlice_Check(item)) {
      apply_slice(item);
    } else if (is_tensor(item)) {
      apply_tensor(value_of(item));
    } else {
      const int64_t index = integer_of(item);
      const int64_t size = view_.size(dim_);
      if (index < -size || index >= size) {
        base::fail(ErrorKind::index, "index ", index, " is out of bounds for dimension ", dim_,
                   " with size ", size);
      }
      view_ = ops::select(view_, dim_, index);
    }
  }

  void apply_slice(PyObject* item) {
    auto* slice = reinterpret_cast<PySliceObject*>(item);
    const auto start = slice_end(slice->start), stop = slice_end(slice->stop);
    const int64_t step = slice_end(slice->step).value_or(1);
    if (step == 0) raise(PyExc_ValueError, "slice step cannot be zero");
    if (step < 0) raise(PyExc_ValueError, "step must be greater than zero");
    if (start || stop || step != 1) view_ = ops::slice(view_, dim_, start, stop, step);
    ++dim_;
  }

  void apply_tensor(const Value& index) {
    if (is_mask(index)) {
      for (int64_t i = 0; i < index.rank(); ++i) {
        if (index.size(i) != view_.size(dim_ + i)) {
          base::fail(ErrorKind::index, "The shape of the mask ", index.sizes(), " at index ", i,
                     " does not match the shape of the indexed tensor ", view_.sizes(),
                     " at index ", dim_ + i);
        }
      }
      if (index.rank() == 0) {
        apply(read_bool(index) ? Py_True : Py_False);
        return;
      }
      graph::ModesGuard guard;
      graph::modes.grad = false;
      const Value positions = ops::nonzero(index);
      for (const Value& column : ops::unbind(positions, 1)) add(column);
      return;
    }
    if (tensor::is_floating(index.dtype())) {
      base::fail(ErrorKind::index,
                 "tensors used as indices must be long, int, byte or bool tensors; "
                 "this one is ",
                 tensor::name_of(index.dtype()));
    }
    if (index.rank() == 0 && !index->mapped) {
      Object number = Object::check(PyLong_FromLongLong(read_integer(index)));
      apply(number.get());
      return;
    }
    add(index.dtype() == DType::i64 ? index : ops::cast(index, DType::i64));
  }

  void add(Value index) {
    indices_.push_back(std::move(index));
    dims_.push_back(dim_++);
  }

  Value view_;
  Values indices_;
  Dims dims_;
  int64_t dim_ = 0;
};

Value value_to_assign(PyObject* object, const Value& target) {
  if (is_tensor(object)) return value_of(object);
  if (Value number = number_from_python(object)) return number;
  if (Value array = array_from_python(object, Memory::copied)) return array;
  return tensor_from_python(object, target.dtype());
}

// PyTorch drops leading dimensions of size 1 that the target does not have.
Value drop_leading_ones(Value value, int64_t rank) {
  while (value.rank() > rank && value.size(0) == 1) value = ops::select(value, 0, 0);
  return value;
}

}  // namespace

PyObject* get_item(PyObject* self, PyObject* index) {
  const Value value = value_of(self);
  Selection selection = Parser(value).parse(index);
  if (selection.indices.empty()) {
    // Even x[...] is a tensor of its own.
    if (selection.view == value) selection.view = ops::alias(value);
    return wrap_result(std::move(selection.view), self);
  }
  return wrap(ops::index(selection.view, selection.indices, selection.dims));
}

void set_item(PyObject* self, PyObject* index, PyObject* object) {
  const Value value = value_of(self);
  Selection selection = Parser(value).parse(index);
  const bool whole = selection.view == value;
  Object target = whole ? Object::borrow(self) : Object(wrap_result(selection.view, self));
  Value assigned = value_to_assign(object, value);
  TensorData& tensor = tensor_of(target.get());
  if (selection.indices.empty()) {
    assigned = drop_leading_ones(std::move(assigned), selection.view.rank());
    autograd::apply_in_place(tensor, ops::op_copy, {selection.view, assigned}, {});
    return;
  }
  if (assigned->is_number || assigned.dtype() != value.dtype()) {
    assigned = ops::cast(assigned, value.dtype());
  }
  Values inputs{selection.view};
  for (Value& tensor_index : selection.indices) inputs.push_back(std::move(tensor_index));
  inputs.push_back(std::move(assigned));
  autograd::apply_in_place(tensor, ops::op_index_put, std::move(inputs),
                           graph::Attributes({selection.dims, false, true}));
}

}  // namespace weft::bind
