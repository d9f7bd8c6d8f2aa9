// Calls of compiled functions.
#pragma once

#include <span>

#include "weft/bind/python.h"
#include "weft/routine/machine.h"

namespace weft::bind {

// Whether compiled functions run as routines now: nobody follows Python's lines.
bool runs_routines();

// Calls what runs as a routine where that is possible, and pays.
PyObject* call_routine(PyObject* target, PyObject* const* args, size_t flags, PyObject* names);

// Puts a call at the beginning of its routine. False: it is for Python.
bool begin_call(PyObject* callable, std::span<PyObject* const> args, PyObject* names,
                routine::Task& task, bool may_step_aside);

}  // namespace weft::bind
