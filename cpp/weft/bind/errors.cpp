#include <algorithm>
#include <new>

#include "weft/bind/binding.h"

namespace weft::bind {
namespace {

// In the order of base::ErrorKind. PyTorch users catch RuntimeError, NumPy users the built-in ones:
// each class is both.
struct ErrorClass {
  const char* name;
  PyObject** builtin;
  const char* doc;
};
const ErrorClass error_classes[] = {
    {"ShapeError", &PyExc_ValueError, "Shapes that do not fit together."},
    {"DTypeError", &PyExc_TypeError, "An element type that an op does not take."},
    {"OutOfRangeError", &PyExc_IndexError, "An index or dimension that is out of range."},
    {"ArgumentError", &PyExc_ValueError, "An argument with a value that makes no sense."},
    {"OutOfMemoryError", &PyExc_MemoryError, "Memory that could not be had."},
    {"GradientError", nullptr, "A graph that cannot be differentiated as asked."},
    {"UnsupportedError", &PyExc_NotImplementedError, "Something Weft does not do (yet)."},
    {"LinAlgError", nullptr, "A matrix that has no such factorisation or inverse."},
    {"InternalError", nullptr, "A bug in Weft itself."},
};
PyObject* classes[std::size(error_classes)];

}  // namespace

void define_errors(PyObject* module) {
  for (size_t i = 0; i < std::size(error_classes); ++i) {
    const ErrorClass& entry = error_classes[i];
    Object bases;
    if (!entry.builtin) {
      bases = Object::borrow(PyExc_RuntimeError);
    } else if (*entry.builtin == PyExc_NotImplementedError) {
      bases = Object::borrow(PyExc_NotImplementedError);  // a RuntimeError already
    } else {
      bases = Object::check(PyTuple_Pack(2, *entry.builtin, PyExc_RuntimeError));
    }
    classes[i] = PyErr_NewExceptionWithDoc(base::text("weft.", entry.name).c_str(), entry.doc,
                                           bases.get(), nullptr);
    if (!classes[i] || PyModule_AddObjectRef(module, entry.name, classes[i]) < 0)
      throw PythonError{};
  }
}

bool is_own_error(PyObject* type) {
  return type && std::find(std::begin(classes), std::end(classes), type) != std::end(classes);
}

void set_python_error(const base::Error& error) {
  PyErr_SetString(classes[static_cast<size_t>(error.kind())], error.what());
}

void set_current_exception() noexcept {
  try {
    throw;
  } catch (const PythonError&) {
    if (!PyErr_Occurred()) PyErr_SetString(PyExc_SystemError, "an error without a message");
  } catch (nb::python_error& error) {
    error.restore();
  } catch (const base::Error& error) {
    set_python_error(error);
  } catch (const std::bad_alloc&) {
    PyErr_SetString(classes[static_cast<size_t>(ErrorKind::memory)], "out of memory");
  } catch (const std::exception& error) {
    PyErr_SetString(classes[static_cast<size_t>(ErrorKind::internal)], error.what());
  }
}

void translate_errors() {
  nb::register_exception_translator([](const std::exception_ptr& thrown, void*) {
    try {
      std::rethrow_exception(thrown);
    } catch (const std::exception& error) {
      // nanobind knows its own, and those that C++ programs throw at Python.
      if (!dynamic_cast<const base::Error*>(&error) && !dynamic_cast<const std::bad_alloc*>(&error))
        throw;
      set_current_exception();
    } catch (const PythonError&) {
      set_current_exception();
    }
  });
}

void raise(PyObject* type, const std::string& message) {
  PyErr_SetString(type, message.c_str());
  throw PythonError{};
}

}  // namespace weft::bind
