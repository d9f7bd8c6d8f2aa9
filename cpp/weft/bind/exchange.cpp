// Memory shared with others: the buffer protocol (NumPy) and DLPack, without copies.
#include <nanobind/ndarray.h>

#include "weft/bind/binding.h"
#include "weft/bind/look.h"
#include "weft/graph/modes.h"
#include "weft/graph/pending.h"
#include "weft/graph/program.h"
#include "weft/graph/record.h"
#include "weft/graph/ties.h"
#include "weft/kernels/map.h"

namespace weft::bind {
namespace {

using nb::dlpack::dtype_code;

nb::dlpack::dtype dlpack_type(DType dtype) {
  dtype_code code = tensor::is_floating(dtype) ? dtype_code::Float : dtype_code::Int;
  if (dtype == DType::u8) code = dtype_code::UInt;
  if (dtype == DType::bf16) code = dtype_code::Bfloat;
  if (dtype == DType::boolean) code = dtype_code::Bool;
  return {static_cast<uint8_t>(code), static_cast<uint8_t>(8 * tensor::item_size(dtype)), 1};
}

// --- out: objects that export a tensor's memory and keep it alive ---

// Framework: nb::numpy for an array; none for a DLPack capsule.
template <class... Framework>
nb::object exported(const Value& value, nb::dlpack::dtype type) {
  graph::leave_batch(value);
  const Array& array = value.array();
  const std::vector<size_t> sizes(array.sizes.begin(), array.sizes.end());
  // From now on it may be written.
  constexpr uint32_t here = 2;  // the tensor, and whoever called this
  const bool may_be_read = value.get()->use_count() > here || array.storage->use_count() > 1;
  if (may_be_read && graph::Pending::live() > 0) graph::run_readers(*array.storage);
  ++array.storage->exposed;
  const nb::capsule owner(new Array(array), [](void* held) noexcept {
    const std::unique_ptr<Array> shown(static_cast<Array*>(held));
    --shown->storage->exposed;
  });
  return nb::cast(nb::ndarray<Framework...>(array.data(), sizes.size(), sizes.data(), owner,
                                            array.strides.data(), type));
}

// NumPy does not know bfloat16: it sees the bits.
nb::object array_of(const TensorObject& tensor) {
  const Value value = note_copy(graph::in_own_place(tensor.data()), "numpy");
  const Array& array = value.array();
  const auto type = array.dtype == DType::bf16 ? nb::dtype<uint16_t>() : dlpack_type(array.dtype);
  return array.storage->read_only() ? exported<nb::numpy, nb::ro>(value, type)
                                    : exported<nb::numpy>(value, type);
}

nb::object to_dlpack(const TensorObject& tensor) {
  const Value value = graph::in_own_place(tensor.data());
  if (value->requires_grad) {
    raise(PyExc_BufferError, "Can't export tensors that require gradient, use tensor.detach()");
  }
  return exported<>(value, dlpack_type(value.dtype()));
}

// --- in: tensors over somebody else's memory ---

void require_aligned(const void* data, int64_t item) {
  if (reinterpret_cast<uintptr_t>(data) % static_cast<uintptr_t>(item) == 0) return;
  raise(PyExc_ValueError,
        "the given memory does not begin at a multiple of the element byte size. "
        "Copy the array to reallocate the memory.");
}

nb::object borrow_memory(void* data, const Dims& sizes, const Dims& strides, DType dtype,
                         tensor::Foreign foreign) {
  Array array{nullptr, sizes, strides, 0, dtype};
  const auto [low, high] = array.extent();
  const int64_t item = tensor::item_size(dtype);
  array.offset = -low;
  array.storage =
      tensor::Storage::borrow(static_cast<char*>(data) + low * item, (high - low) * item, foreign);
  return wrapped(Value(std::move(array)));
}

// The dtype of a buffer's elements, if Weft has it in this byte order.
std::optional<DType> dtype_of_format(const char* format) {
  if (!format || !format[0] || format[1]) return std::nullopt;
  if (format[0] == 'l') return DType::i64;            // NumPy's int64
  constexpr std::string_view formats = "fde.bhiqB?";  // in the order of DType
  const size_t found = formats.find(format[0]);
  return found == formats.npos ? std::nullopt : std::optional(static_cast<DType>(found));
}

// A tensor over the object's memory; without a dtype, None when the memory's own is not one of
// ours.
nb::object borrow_buffer(nb::handle object, std::optional<DType> wanted) {
  struct Buffer : Py_buffer {
    ~Buffer() {
      if (obj) PyBuffer_Release(this);
    }
  };
  auto buffer = std::make_unique<Buffer>();
  constexpr int flags = PyBUF_STRIDES | PyBUF_FORMAT;
  const bool read_only = PyObject_GetBuffer(object.ptr(), buffer.get(), flags | PyBUF_WRITABLE) < 0;
  if (read_only) PyErr_Clear();
  if (read_only && PyObject_GetBuffer(object.ptr(), buffer.get(), flags) < 0) {
    if (wanted) throw PythonError{};
    PyErr_Clear();
    return nb::none();
  }
  if (!wanted) wanted = dtype_of_format(buffer->format);
  if (!wanted) return nb::none();
  const int64_t item = tensor::item_size(*wanted);
  if (buffer->itemsize != item || buffer->ndim > tensor::max_rank) {
    raise(PyExc_ValueError, "from_buffer(): the memory's layout does not fit the dtype");
  }
  require_aligned(buffer->buf, item);
  Dims sizes, strides;
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
  Buffer* kept = buffer.release();
  return borrow_memory(kept->buf, sizes, strides, *wanted,
                       {kept, [](void* owner) { delete static_cast<Buffer*>(owner); }, read_only});
}

// NumPy's arrays say themselves what they hold; None for anything else.
nb::object from_array(nb::handle object) {
  if (std::string_view(Py_TYPE(object.ptr())->tp_name) != "numpy.ndarray") return nb::none();
  return borrow_buffer(object, std::nullopt);
}

// Makes a tensor of an array that the core cannot look at as it is; None: it is not to be read.
PyObject* array_reader = nullptr;

void set_array_reader(const nb::callable& reader) {
  Py_XSETREF(array_reader, Py_NewRef(reader.ptr()));
}

// A tensor over the memory of a plain array; null for all others.
nb::object from_plain_array(PyObject* object) {
  try {
    nb::object made = from_array(object);
    return made.is_none() ? nb::object() : made;
  } catch (const PythonError&) {
    PyErr_Clear();
    return {};
  }
}

DType from_dlpack_type(nb::dlpack::dtype type) {
  for (int i = 0; i < tensor::dtype_count; ++i) {
    if (dlpack_type(static_cast<DType>(i)) == type) return static_cast<DType>(i);
  }
  base::fail(ErrorKind::unsupported, "from_dlpack(): there is no dtype for DLPack's type code ",
             int{type.code}, " with ", int{type.bits}, " bits (complex numbers come later)");
}

nb::object from_dlpack(nb::handle capsule) {
  if (!PyCapsule_CheckExact(capsule.ptr())) {
    raise(PyExc_TypeError,
          base::text("from_dlpack(): expected an object with __dlpack__ or a DLPack capsule, not ",
                     Py_TYPE(capsule.ptr())->tp_name));
  }
  auto given = std::make_unique<nb::ndarray<>>();
  if (!nb::try_cast(capsule, *given)) {
    raise(PyExc_ValueError, "from_dlpack(): a DLPack capsule can be read only once");
  }
  if (given->device_type() != nb::device::cpu::value) {
    base::fail(ErrorKind::unsupported, "from_dlpack(): only memory of the CPU is supported");
  }
  if (given->ndim() > tensor::max_rank) {
    base::fail(ErrorKind::shape, "from_dlpack(): too many dimensions (", given->ndim(), ")");
  }
  const DType dtype = from_dlpack_type(given->dtype());
  require_aligned(given->data(), tensor::item_size(dtype));
  Dims sizes, strides;
  for (size_t i = 0; i < given->ndim(); ++i) {
    sizes.push_back(static_cast<int64_t>(given->shape(i)));
    strides.push_back(given->stride(i));
    if (strides.back() < 0)
      base::fail(ErrorKind::shape, "from_dlpack(): negative strides are not supported");
  }
  nb::ndarray<>* kept = given.release();
  return borrow_memory(
      kept->data(), sizes, strides, dtype,
      {kept, [](void* owner) { delete static_cast<nb::ndarray<>*>(owner); }, false});
}

}  // namespace

bool is_array(PyObject* object) {
  const PyBufferProcs* buffer = Py_TYPE(object)->tp_as_buffer;
  if (!buffer || !buffer->bf_getbuffer) return false;
  for (const PyTypeObject* type = Py_TYPE(object); type; type = type->tp_base) {
    if (std::string_view(type->tp_name) == "numpy.ndarray") return true;
  }
  return false;
}

Value array_from_python(PyObject* object, Memory memory, std::optional<DType> dtype) {
  if (!is_array(object)) return {};
  if (is_looked_at()) graph::refuse_in_program("reads a NumPy array");
  nb::object made = from_plain_array(object);
  if (!made && array_reader) {
    const nb::object wanted = dtype ? nb::borrow(dtype_object(*dtype)) : nb::none();
    made = nb::borrow(array_reader)(nb::handle(object), wanted);
    memory = Memory::shared;  // which is a copy already
  }
  if (!made || !is_tensor(made.ptr())) return {};
  const Value value = value_of(made.ptr());
  if (memory == Memory::shared) return value;
  Array copy = Array::allocate(value.sizes(), value.dtype());
  kernels::copy(value.array(), copy);
  return Value(std::move(copy));
}

Value array_operand(PyObject* object, const Value& other) {
  const bool is_kept = graph::modes.vmap || (graph::modes.grad && other && other->requires_grad);
  return array_from_python(object, is_kept ? Memory::copied : Memory::shared);
}

void define_exchange(nb::module_& module) {
  module.def("array_of", array_of, "Return a NumPy array over a tensor's memory.");
  module.def("from_buffer", borrow_buffer, "Make a tensor over the memory of a buffer.");
  module.def("from_array", from_array,
             "Make a tensor over a NumPy array; None if it is something else.");
  module.def("set_array_reader", set_array_reader,
             "Set what makes tensors of arrays that are not plain.");
  module.def(
      "array_operand",
      [](nb::handle object, bool is_kept) {
        Value value = array_from_python(object.ptr(), is_kept ? Memory::copied : Memory::shared);
        return value ? wrapped(std::move(value)) : nb::none();
      },
      nb::arg().none(), nb::arg(),
      "Make a tensor of an array that stands beside tensors; None if it is none.");
  module.def("to_dlpack", to_dlpack, "Return a DLPack capsule of a tensor's memory.");
  module.def("from_dlpack", from_dlpack, "Make a tensor over the memory of a DLPack capsule.");
}

}  // namespace weft::bind
