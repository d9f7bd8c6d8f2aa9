// Cells as objects of Python. cell.cpp makes and runs them; calls.cpp calls modules, some of which
// are cells or single ops.
#pragma once

#include <span>

#include <list>
#include <vector>

#include "weft/bind/python.h"

namespace weft::bind {

struct Signature;

// What the body found somewhere outside of itself; all borrowed.
struct Guard {
  PyObject* container;
  PyObject* key;
  PyObject* found;
  Py_ssize_t parameter;  // of a tensor that may be another one next time; -1: of none
};

struct PyCell {
  PyObject_HEAD vectorcallfunc vectorcall;
  PyObject* body;
  PyObject* name;
  PyObject* parameters;  // a list of tensors that the body reads
  // Gives that list and the guards, if what the body reads has changed, else None; a text says why
  // the body must run as it is. Of a forward: makes a module's cell.
  PyObject* renew;
  PyObject* guard_list;  // owns what the guards refer to
  std::vector<Guard>* guards;
  uint64_t epoch;  // of the modules, when that was last asked
  bool as_it_is;
  bool undeclared;      // nobody said that it is one: what is given to it and by it must be plain
  bool reads_integers;  // of those that it is given: not all of them just become tensors
  std::list<Signature>* signatures;
  std::string* note;  // why a body runs as it is
};
inline PyTypeObject* cell_type = nullptr;
inline PyTypeObject* forward_type = nullptr;  // the forward of a cell class
inline PyTypeObject* op_type = nullptr;       // the forward of a module that is one op
inline PyTypeObject* number_type = nullptr;   // a function with a short way for numbers

inline PyObject* call_body(PyCell& cell, PyObject* const* args, size_t flags, PyObject* keywords) {
  return PyObject_Vectorcall(cell.body, args, flags, keywords);
}
PyObject* call_cell(PyObject* cell, PyObject* const* args, size_t flags, PyObject* keywords);
// The cell that runs when this is called with tensors, borrowed; null: there is none.
PyObject* cell_of(PyObject* callable);
// What runs when this module is called, and nothing around it, borrowed; null: something else does.
PyObject* plain_forward(PyObject* module);
bool is_called_as_module(PyObject* object);
// Of compiled modules, which run another module's forward; null: nobody has compiled any.
inline PyTypeObject* compiled_module_type = nullptr;
PyObject* call_as_module(PyObject* module, std::span<PyObject* const> args);

// How objects of the other types are called.
PyObject* call_forward(PyObject* object, PyObject* const* args, size_t flags, PyObject* keywords);
PyObject* call_op(PyObject* object, PyObject* const* args, size_t flags, PyObject* keywords);
PyObject* call_on_number(PyObject* object, PyObject* const* args, size_t flags, PyObject* keywords);

}  // namespace weft::bind
