// What the files of this layer share. The only layer that sees Python.
#pragma once

#include <Python.h>
// After Python.h, which they need.
#include <frameobject.h>
#include <structmember.h>

#include <string>

#include "weft/base/errors.h"
#include "weft/graph/pending.h"
#include "weft/graph/tensor.h"

namespace weft::bind {

using base::ErrorKind;
using base::Ref;
using graph::Array;
using graph::Dims;
using graph::DType;
using graph::Node;
using graph::Op;
using graph::TensorData;
using graph::TensorRef;
using graph::Value;
using graph::Values;

// A Python exception is set; unwinds C++ to the nearest slot or function.
struct PythonError {};

// Owns a reference.
class Object {
 public:
  Object() = default;
  explicit Object(PyObject* owned) : object_(owned) {}
  static Object borrow(PyObject* object) {
    Py_XINCREF(object);
    return Object(object);
  }
  // Takes a new reference from the C API; a null means that an exception is set.
  static Object check(PyObject* owned) {
    if (!owned) throw PythonError{};
    return Object(owned);
  }
  Object(const Object& other) : object_(other.object_) { Py_XINCREF(object_); }
  Object(Object&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Object& operator=(Object other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Object() { Py_XDECREF(object_); }
  PyObject* get() const { return object_; }
  PyObject* release() { return std::exchange(object_, nullptr); }
  explicit operator bool() const { return object_ != nullptr; }

 private:
  PyObject* object_ = nullptr;
};

// --- errors ---
void define_errors(PyObject* module);
bool is_own_error(PyObject* type);  // one of those classes
void set_python_error(const base::Error& error);
void set_current_exception() noexcept;  // inside a catch block: C++ exception to Python's
[[noreturn]] void raise(PyObject* type, const std::string& message);
// Warns about a line of the user's.
void warn(PyObject* category, const std::string& text, graph::Position position);

// Runs the body of a slot; exceptions become Python's and `failed` is returned.
template <class Body, class Result = std::invoke_result_t<Body>>
Result guarded(Body&& body, Result failed = Result{}) noexcept {
  try {
    return body();
  } catch (...) {
    set_current_exception();
    return failed;
  }
}

// --- tensors ---
// It has a Value, or once somebody has asked for more, a TensorData that has it.
struct PyTensor {
  PyObject_HEAD TensorData* tensor;  // owned
  Value value;
  PyObject* dict;
  PyObject* weak_references;
  bool tracked;  // by garbage collection: once it holds Python objects of its own
};

extern PyTypeObject* tensor_type;

inline bool is_tensor(PyObject* object) {
  return Py_TYPE(object) == tensor_type || PyType_IsSubtype(Py_TYPE(object), tensor_type);
}
void give_tensor(PyTensor& self);
inline TensorData& tensor_of(PyObject* object) {
  auto& self = *reinterpret_cast<PyTensor*>(object);
  if (!self.tensor) give_tensor(self);
  return *self.tensor;
}
// Each object gets the other's TensorData.
void exchange_tensors(PyObject* a, PyObject* b);
// Shape and dtype, which no write changes.
inline const Array& meta_of(PyObject* object) {
  auto& self = *reinterpret_cast<PyTensor*>(object);
  return self.tensor ? self.tensor->array() : self.value.array();
}
// A Value of one's own: the tensor may get another one, or its TensorData, at any time.
inline Value value_of(PyObject* object) {
  auto& self = *reinterpret_cast<PyTensor*>(object);
  return self.tensor ? self.tensor->value() : self.value;
}
// The same, computed: for those who look at its memory or its place in the graph.
inline Value computed_value_of(PyObject* object) { return graph::demand(value_of(object)); }

// The same for those who look at its place in the graph only.
inline Value settled_value_of(PyObject* object) { return graph::settle(value_of(object)); }

PyObject* wrap(Value value);              // a new Tensor
PyObject* wrap(const TensorRef& tensor);  // its existing Python object, or a new one; None for null
// A new Tensor that is a view of `parent` if its Value says so.
PyObject* wrap_result(Value value, PyObject* parent);
PyObject* wrap_all(Values values, PyObject* parent, bool as_list);
void define_tensor_type(PyObject* module);

// --- small objects ---
PyObject* dtype_object(DType dtype);  // borrowed
bool is_dtype(PyObject* object);      // or int, float, bool, which stand for one
DType dtype_from(PyObject* object);
PyObject* size_object(std::span<const int64_t> sizes);  // weft.Size
extern PyObject* size_type;

// --- op functions ---
void define_op_functions(PyObject* module);
bool is_op_function(PyObject* object);
// Whether its result depends on what it is given alone, and is no part of that.
bool is_plain_op_function(PyObject* object);
// Whether it is a function of Weft's that is made of ops.
bool is_composite(PyObject* object);
// tp_descr_get of what is a method when a class has it.
PyObject* bind_method(PyObject* self, PyObject* instance, PyObject* type);

// --- creation and reading ---
Value tensor_from_python(PyObject* data, std::optional<DType> dtype);
Value number_from_python(PyObject* number);  // weak 0-d value; empty if it is no number
// NumPy's arrays, also of classes made from it.
bool is_array(PyObject* object);
enum class Memory : uint8_t { shared, copied };
// Empty if it is no array, or one of a class that goes its own way. A dtype is what it will be
// converted to: arrays of some dtypes can be read only then.
Value array_from_python(PyObject* object, Memory memory, std::optional<DType> dtype = {});
// The same, beside another operand: nothing that is kept for gradients is memory of others.
Value array_operand(PyObject* object, const Value& other);
PyObject* to_python_number(const Value& value);
PyObject* to_python_list(const Value& value);
double read_double(const Value& value);
int64_t read_integer(const Value& value);
bool read_bool(const Value& value);
// Notes that Python was told a value, for those who want to see decisions.
void note_read(const Value& value, const char* kind, double number);
const Value& note_copy(const Value& value, const char* kind);  // all its numbers: "list", "numpy"

// --- indexing ---
PyObject* get_item(PyObject* self, PyObject* index);
void set_item(PyObject* self, PyObject* index, PyObject* value);

// --- the rest, each in its file ---
void define_stacks(PyObject* module);
void define_lazy(PyObject* module);
void define_waiting(PyObject* module);
// Raises if this example of a map holds a lock that others would wait for.
void refuse_inside_locks();
bool is_debugged();  // whether a debugger follows what runs now
// Notes that what waits for others needs this value; the next plan computes it.
void demand_later(const Value& value);
void define_cells(PyObject* module);
void define_calls(PyObject* module);                // after the cells, whose types it completes
graph::RandomKey draw_random(PyObject* generator);  // None or null: the default one
// Where a generator is.
struct Stream {
  uint64_t seed = 67280421310721u;  // PyTorch's default
  base::Ref<base::Mersenne> engine = base::make_ref<base::Mersenne>(seed);
  // Inside an example of a map: its own stream, of which each op takes a stretch.
  bool is_counted = false;
  uint64_t stream = 0, counter = 0;
};
Stream& default_stream();
PyObject* grad_function(const Value& value);  // new reference; None for leaves
// A tensor that holds Python objects, or whose node does, joins garbage collection.
void track(PyObject* tensor);
// For garbage collection: Python objects in the graph that only this tensor owns.
int visit_graph(const PyTensor& tensor, visitproc visit, void* arg);
void clear_graph(const PyTensor& tensor);

}  // namespace weft::bind
