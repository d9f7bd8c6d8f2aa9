// Frames of compiled functions, as Python sees them: in tracebacks and as the lines of ops.
#pragma once

#include "weft/bind/python.h"

namespace weft::bind {

// Python's innermost call, to tell what was called by a routine from what called it.
const void* python_frame();

// The error that is set has left a call of that code, at that byte.
void add_traceback(PyObject* code, PyObject* globals, int offset);

}  // namespace weft::bind
