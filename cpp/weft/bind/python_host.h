// CPython as the host of routines: every object is the real one, and what the machine has no exact
// short way for is done by Python's own functions.
#pragma once

#include "weft/bind/python.h"
#include "weft/routine/host.h"

namespace weft::bind {

inline PyObject* object_in(const routine::Register& value) {  // of one that holds an object
  return static_cast<PyObject*>(value.object());
}
Object boxed(const routine::Register& value);
// Takes over a reference; null: an error is set.
routine::Register unboxed_number(PyObject* owned);
inline routine::Register unboxed(PyObject* owned) {
  if (owned && Py_TYPE(owned) == tensor_type) return routine::Register::owned(owned);
  return unboxed_number(owned);
}

// The routine that a Python function runs as, borrowed; null: it runs as Python.
routine::Routine* routine_of(PyObject* function);

// What a compiled function was made from, borrowed; null: it is no compiled function.
PyObject* compiled_target(PyObject* object);

// By which a dictionary that has not changed is known; 0: there is no such thing.
inline uint64_t version_of(PyObject* dict) {
#if PY_VERSION_HEX < 0x030C0000  // later ones have none
  return reinterpret_cast<PyDictObject*>(dict)->ma_version_tag;
#else
  (void)dict;
  return 0;
#endif
}

// Whether objects of that type are asked for attributes in Python's own way.
bool has_plain_getter(PyTypeObject* type);

// Of `with` blocks that switch modes and nothing else.
inline PyTypeObject* switch_type = nullptr;

void connect_host();

}  // namespace weft::bind
