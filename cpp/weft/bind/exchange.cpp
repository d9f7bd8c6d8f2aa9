// Memory shared with others: the buffer protocol (NumPy) and DLPack, without copies.
#include <vector>

#include "weft/bind/python.h"

namespace weft::bind {
namespace {

// --- out: an object that exports a tensor's memory and keeps it alive ---

struct PyMemory {
  PyObject_HEAD Array* array;
  std::vector<Py_ssize_t>* layout;  // sizes, then strides in bytes
};
PyTypeObject* memory_type = nullptr;

const char* buffer_format(DType dtype) {
  constexpr const char* formats[] = {"f", "d", "e", "H", "b", "h", "i", "q", "B", "?"};
  return formats[static_cast<int>(dtype)];
}

int get_buffer(PyObject* object, Py_buffer* buffer, int flags) {
  const auto* self = reinterpret_cast<PyMemory*>(object);
  const Array& array = *self->array;
  if ((flags & PyBUF_WRITABLE) && array.storage->read_only()) {
    PyErr_SetString(PyExc_BufferError, "the memory is read-only");
    buffer->obj = nullptr;
    return -1;
  }
  if (!(flags & PyBUF_STRIDES) && !array.is_contiguous()) {
    PyErr_SetString(PyExc_BufferError, "the memory is not contiguous");
    buffer->obj = nullptr;
    return -1;
  }
  buffer->buf = array.data();
  buffer->obj = Py_NewRef(object);
  buffer->len = array.count() * tensor::item_size(array.dtype);
  buffer->readonly = array.storage->read_only();
  buffer->itemsize = tensor::item_size(array.dtype);
  buffer->format = (flags & PyBUF_FORMAT) ? const_cast<char*>(buffer_format(array.dtype)) : nullptr;
  buffer->ndim = static_cast<int>(array.rank());
  buffer->shape = (flags & PyBUF_ND) ? self->layout->data() : nullptr;
  buffer->strides = (flags & PyBUF_STRIDES) ? self->layout->data() + array.rank() : nullptr;
  buffer->suboffsets = nullptr;
  buffer->internal = nullptr;
  return 0;
}

void memory_dealloc(PyObject* object) {
  auto* self = reinterpret_cast<PyMemory*>(object);
  if (self->array) --self->array->storage->exposed;
  delete self->array;
  delete self->layout;
  PyTypeObject* type = Py_TYPE(object);
  type->tp_free(object);
  Py_DECREF(type);
}

PyObject* memory_of(PyObject*, PyObject* tensor) {
  return guarded([&]() -> PyObject* {
    if (!is_tensor(tensor)) raise(PyExc_TypeError, "memory_of() takes a Tensor");
    const Array& array = computed_value_of(tensor).array();
    Object object = Object::check(memory_type->tp_alloc(memory_type, 0));
    auto* self = reinterpret_cast<PyMemory*>(object.get());
    self->array = new Array(array);
    ++array.storage->exposed;
    self->layout = new std::vector<Py_ssize_t>(array.sizes.begin(), array.sizes.end());
    for (int64_t stride : array.strides) {
      self->layout->push_back(stride * tensor::item_size(array.dtype));
    }
    return object.release();
  });
}

// --- in: a tensor over somebody else's memory ---

Value borrow_memory(void* data, Dims sizes, Dims strides, DType dtype, tensor::Foreign foreign) {
  Array array{nullptr, std::move(sizes), std::move(strides), 0, dtype};
  const auto [low, high] = array.extent();
  const int64_t item = tensor::item_size(dtype);
  array.offset = -low;
  array.storage =
      tensor::Storage::borrow(static_cast<char*>(data) + low * item, (high - low) * item, foreign);
  return Value(std::move(array));
}

// The dtype of a buffer's elements, if Weft has it in this byte order.
std::optional<DType> dtype_of_format(const char* format) {
  if (!format || !format[0] || format[1]) return std::nullopt;
  if (format[0] == 'l') return DType::i64;  // NumPy's int64
  for (int i = 0; i < tensor::dtype_count; ++i) {
    const auto dtype = static_cast<DType>(i);
    if (dtype != DType::bf16 && buffer_format(dtype)[0] == format[0]) return dtype;
  }
  return std::nullopt;
}

// A tensor over the object's memory; without a dtype, None when the memory's own is not one of
// ours.
PyObject* borrow_buffer(PyObject* object, std::optional<DType> wanted) {
  return guarded([&]() -> PyObject* {
    auto buffer = std::make_unique<Py_buffer>();
    bool read_only = false;
    if (PyObject_GetBuffer(object, buffer.get(), PyBUF_STRIDES | PyBUF_FORMAT | PyBUF_WRITABLE) <
        0) {
      PyErr_Clear();
      read_only = true;
      if (PyObject_GetBuffer(object, buffer.get(), PyBUF_STRIDES | PyBUF_FORMAT) < 0) {
        if (wanted) throw PythonError{};
        PyErr_Clear();
        Py_RETURN_NONE;
      }
    }
    struct Release {
      Py_buffer* buffer;
      ~Release() {
        if (buffer) PyBuffer_Release(buffer);
      }
    } release{buffer.get()};
    if (!wanted) wanted = dtype_of_format(buffer->format);
    if (!wanted) Py_RETURN_NONE;
    const DType dtype = *wanted;
    const int64_t item = tensor::item_size(dtype);
    Dims sizes, strides;
    if (buffer->itemsize != item || buffer->ndim > tensor::max_rank) {
      raise(PyExc_ValueError, "from_buffer(): the memory's layout does not fit the dtype");
    }
    for (int i = 0; i < buffer->ndim; ++i) {
      if (buffer->strides[i] % item != 0) {
        raise(PyExc_ValueError,
              "given numpy array strides not a multiple of the element byte size. "
              "Copy the numpy array to reallocate the memory.");
      }
      if (buffer->strides[i] < 0 && buffer->shape[i] > 1) {
        raise(PyExc_ValueError,
              "at least one stride in the given numpy array is negative, and tensors "
              "with negative strides are not supported. (You can copy the array to "
              "work around this: array.copy().)");
      }
      sizes.push_back(buffer->shape[i]);
      strides.push_back(buffer->strides[i] / item);
    }
    release.buffer = nullptr;
    Py_buffer* kept = buffer.release();
    return wrap(borrow_memory(kept->buf, std::move(sizes), std::move(strides), dtype,
                              {kept,
                               [](void* owner) {
                                 auto* held = static_cast<Py_buffer*>(owner);
                                 PyBuffer_Release(held);
                                 delete held;
                               },
                               read_only}));
  });
}

PyObject* from_buffer(PyObject*, PyObject* args) {
  PyObject *object, *dtype;
  if (!PyArg_ParseTuple(args, "OO", &object, &dtype)) return nullptr;
  if (!is_dtype(dtype)) {
    PyErr_SetString(PyExc_TypeError, "from_buffer() needs a dtype");
    return nullptr;
  }
  return borrow_buffer(object, dtype_from(dtype));
}

// NumPy's arrays say themselves what they hold; None for anything else.
PyObject* from_array(PyObject*, PyObject* object) {
  if (std::string_view(Py_TYPE(object)->tp_name) != "numpy.ndarray") Py_RETURN_NONE;
  return borrow_buffer(object, std::nullopt);
}

// --- DLPack: the structures of its binary interface, version 0 ---

struct DLDevice {
  int32_t type, id;
};
struct DLDataType {
  uint8_t code, bits;
  uint16_t lanes;
};
struct DLTensor {
  void* data;
  DLDevice device;
  int32_t ndim;
  DLDataType dtype;
  int64_t* shape;
  int64_t* strides;
  uint64_t byte_offset;
};
struct DLManagedTensor {
  DLTensor tensor;
  void* manager;
  void (*deleter)(DLManagedTensor*);
};

DLDataType to_dlpack_type(DType dtype) {
  const auto bits = static_cast<uint8_t>(8 * tensor::item_size(dtype));
  uint8_t code = 0;  // signed integer
  if (dtype == DType::u8) code = 1;
  if (tensor::is_floating(dtype)) code = 2;
  if (dtype == DType::bf16) code = 4;
  if (dtype == DType::boolean) code = 6;
  return {code, bits, 1};
}

DType from_dlpack_type(DLDataType type) {
  for (int i = 0; i < tensor::dtype_count; ++i) {
    const DLDataType known = to_dlpack_type(static_cast<DType>(i));
    if (known.code == type.code && known.bits == type.bits && type.lanes == 1)
      return static_cast<DType>(i);
  }
  base::fail(ErrorKind::unsupported, "from_dlpack(): there is no dtype for DLPack's type code ",
             int{type.code}, " with ", int{type.bits}, " bits (complex numbers come later)");
}

struct Exported {
  DLManagedTensor managed;
  Array array;
};

PyObject* to_dlpack(PyObject*, PyObject* tensor) {
  return guarded([&]() -> PyObject* {
    if (!is_tensor(tensor)) raise(PyExc_TypeError, "to_dlpack() takes a Tensor");
    const Value& value = computed_value_of(tensor);
    if (value->requires_grad) {
      raise(PyExc_BufferError, "Can't export tensors that require gradient, use tensor.detach()");
    }
    auto* exported = new Exported{{}, value.array()};
    Array& array = exported->array;
    exported->managed.tensor = {array.data(),
                                {1, 0},
                                static_cast<int32_t>(array.rank()),
                                to_dlpack_type(array.dtype),
                                array.sizes.data(),
                                array.strides.data(),
                                0};
    exported->managed.manager = exported;
    ++array.storage->exposed;
    exported->managed.deleter = [](DLManagedTensor* managed) {
      const PyGILState_STATE state = PyGILState_Ensure();
      auto* owner = static_cast<Exported*>(managed->manager);
      --owner->array.storage->exposed;
      delete owner;
      PyGILState_Release(state);
    };
    PyObject* capsule = PyCapsule_New(&exported->managed, "dltensor", [](PyObject* object) {
      if (!PyCapsule_IsValid(object, "dltensor")) return;
      auto* managed = static_cast<DLManagedTensor*>(PyCapsule_GetPointer(object, "dltensor"));
      managed->deleter(managed);
    });
    if (!capsule) {
      delete exported;
      throw PythonError{};
    }
    return capsule;
  });
}

PyObject* from_dlpack(PyObject*, PyObject* capsule) {
  return guarded([&]() -> PyObject* {
    if (!PyCapsule_CheckExact(capsule)) {
      raise(
          PyExc_TypeError,
          base::text("from_dlpack(): expected an object with __dlpack__ or a DLPack capsule, not ",
                     Py_TYPE(capsule)->tp_name));
    }
    if (!PyCapsule_IsValid(capsule, "dltensor")) {
      raise(PyExc_ValueError, "from_dlpack(): a DLPack capsule can be read only once");
    }
    auto* managed = static_cast<DLManagedTensor*>(PyCapsule_GetPointer(capsule, "dltensor"));
    if (!managed) throw PythonError{};
    const DLTensor& source = managed->tensor;
    if (source.device.type != 1) {
      base::fail(ErrorKind::unsupported, "from_dlpack(): only memory of the CPU is supported");
    }
    if (source.ndim > tensor::max_rank || source.ndim < 0) {
      base::fail(ErrorKind::shape, "from_dlpack(): too many dimensions (", source.ndim, ")");
    }
    const DType dtype = from_dlpack_type(source.dtype);
    Dims sizes(source.shape, source.shape + source.ndim);
    Dims strides = source.strides ? Dims(source.strides, source.strides + source.ndim)
                                  : tensor::contiguous_strides(sizes);
    for (int64_t stride : strides) {
      if (stride < 0)
        base::fail(ErrorKind::shape, "from_dlpack(): negative strides are not supported");
    }
    PyCapsule_SetName(capsule, "used_dltensor");
    return wrap(borrow_memory(static_cast<char*>(source.data) + source.byte_offset,
                              std::move(sizes), std::move(strides), dtype,
                              {managed,
                               [](void* owner) {
                                 auto* held = static_cast<DLManagedTensor*>(owner);
                                 if (held->deleter) held->deleter(held);
                               },
                               false}));
  });
}

PyMethodDef methods[] = {
    {"memory_of", memory_of, METH_O,
     "Return an object that exports a tensor's memory as a buffer."},
    {"from_buffer", from_buffer, METH_VARARGS, "Make a tensor over the memory of a buffer."},
    {"from_array", from_array, METH_O,
     "Make a tensor over a NumPy array; None if it is something else."},
    {"to_dlpack", to_dlpack, METH_O, "Return a DLPack capsule of a tensor's memory."},
    {"from_dlpack", from_dlpack, METH_O, "Make a tensor over the memory of a DLPack capsule."},
    {},
};

}  // namespace

void define_exchange(PyObject* module) {
  PyType_Slot slots[] = {
      {Py_tp_dealloc, reinterpret_cast<void*>(memory_dealloc)},
      {Py_bf_getbuffer, reinterpret_cast<void*>(get_buffer)},
      {0, nullptr},
  };
  PyType_Spec spec{"weft._core.Memory", sizeof(PyMemory), 0,
                   Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};
  memory_type = reinterpret_cast<PyTypeObject*>(Object::check(PyType_FromSpec(&spec)).release());
  if (PyModule_AddFunctions(module, methods) < 0) throw PythonError{};
}

}  // namespace weft::bind
