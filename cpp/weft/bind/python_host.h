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
routine::Register unboxed(PyObject* owned);

// The routine that a Python function runs as, borrowed; null: it runs as Python.
routine::Routine* routine_of(PyObject* function);

// What a compiled function was made from, borrowed; null: it is no compiled function.
PyObject* compiled_target(PyObject* object);

void connect_host();

}  // namespace weft::bind
