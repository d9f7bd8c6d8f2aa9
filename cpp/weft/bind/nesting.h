// What a cell is given, taken apart into tensors and floats, and put together again.
#pragma once

#include <string>
#include <string_view>

#include "weft/base/small_vector.h"
#include "weft/bind/python.h"

namespace weft::bind {

// How things are nested: "T" a tensor, "N" a float, "I" an integer that is a leaf, "O" None,
// brackets around containers, else its repr.
using Nesting = base::SmallVector<char, 32>;

// The arguments of one call: tensors and floats in a row, and how they were nested.
struct Arguments {
  base::SmallVector<Value, 8> leaves;
  Nesting shape;
  bool plain = false;  // nothing may be of a class derived from another, and floats are no leaves
  bool integers = false;  // are leaves: tensors without dimensions
  bool has_integers = false;
};
constexpr int deepest_nesting = 64;

// False: something that a cell cannot take apart.
inline bool flatten(PyObject* object, Arguments& arguments, int depth = 0) {
  const auto add_text = [&](std::string_view text) {
    for (char letter : text) arguments.shape.push_back(letter);
  };
  if (object == Py_None) {
    arguments.shape.push_back('O');
    return true;
  }
  if (PyTuple_Check(object) || PyList_CheckExact(object)) {
    const bool is_derived = PyTuple_Check(object) && !PyTuple_CheckExact(object);
    if ((is_derived && arguments.plain) || depth == deepest_nesting) return false;
    arguments.shape.push_back(PyTuple_Check(object) ? '(' : '[');
    if (is_derived) add_text(std::to_string(reinterpret_cast<uintptr_t>(Py_TYPE(object))));
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(object); ++i) {
      if (!flatten(PySequence_Fast_GET_ITEM(object, i), arguments, depth + 1)) return false;
    }
    arguments.shape.push_back(')');
    return true;
  }
  if (is_tensor(object)) {
    const bool is_plain = Py_TYPE(object) == tensor_type && meta_of(object).is_contiguous();
    if (arguments.plain && !is_plain) return false;
    arguments.shape.push_back('T');
    arguments.leaves.push_back(value_of(object));
    return true;
  }
  if (arguments.integers && PyLong_CheckExact(object)) {
    int overflow = 0;
    const int64_t number = PyLong_AsLongLongAndOverflow(object, &overflow);
    if (overflow) return false;
    Array array = Array::allocate({}, DType::i64);
    *array.as<int64_t>() = number;
    arguments.shape.push_back('I');
    arguments.has_integers = true;
    arguments.leaves.emplace_back(std::move(array));
    return true;
  }
  // Ints are counts and sizes more often than operands.
  if (PyLong_Check(object) || PyUnicode_Check(object) ||
      (arguments.plain && PyFloat_Check(object))) {
    const bool is_plain = PyLong_CheckExact(object) || PyBool_Check(object) ||
                          PyUnicode_CheckExact(object) || PyFloat_CheckExact(object);
    if (arguments.plain && !is_plain) return false;
    const Object text(PyObject_Repr(object));
    const char* shown = text ? PyUnicode_AsUTF8(text.get()) : nullptr;
    if (!shown) PyErr_Clear();  // a number of too many digits
    if (!shown) return false;
    add_text(shown);
    arguments.shape.push_back(',');
    return true;
  }
  if (PyFloat_Check(object)) {
    arguments.shape.push_back('N');
    arguments.leaves.push_back(number_from_python(object));
    return true;
  }
  return false;
}

inline bool is_leaf(PyObject* object, const Arguments& as) {
  return is_tensor(object) || (!as.plain && PyFloat_Check(object)) ||
         (as.integers && PyLong_CheckExact(object));
}

// The leaf with that number, which is left as how many more are to come if it is not in here.
inline PyObject* leaf_at(PyObject* object, size_t& number, const Arguments& as) {
  if (is_leaf(object, as)) return number-- == 0 ? object : nullptr;
  if (!PyTuple_Check(object) && !PyList_CheckExact(object)) return nullptr;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(object); ++i) {
    PyObject* found = leaf_at(PySequence_Fast_GET_ITEM(object, i), number, as);
    if (found) return found;
  }
  return nullptr;
}

// The same nesting with other leaves, which `next` gives one after the other, for what was there.
template <class Next>
Object rebuild(PyObject* like, const Next& next, const Arguments& as = {}) {
  if (is_leaf(like, as)) return next(like);
  if (PyTuple_Check(like) || PyList_CheckExact(like)) {
    const Py_ssize_t count = PySequence_Fast_GET_SIZE(like);
    Object result = Object::check(PyTuple_Check(like) ? PyTuple_New(count) : PyList_New(count));
    for (Py_ssize_t i = 0; i < count; ++i) {
      PyObject* item = rebuild(PySequence_Fast_GET_ITEM(like, i), next, as).release();
      if (PyTuple_Check(like)) {
        PyTuple_SET_ITEM(result.get(), i, item);
      } else {
        PyList_SET_ITEM(result.get(), i, item);
      }
    }
    if (PyTuple_CheckExact(like) || PyList_CheckExact(like)) return result;
    auto* type = reinterpret_cast<PyObject*>(Py_TYPE(like));
    const bool is_named = PyObject_HasAttrString(type, "_make");
    return Object::check(is_named ? PyObject_CallMethod(type, "_make", "(O)", result.get())
                                  : PyObject_CallOneArg(type, result.get()));
  }
  return Object::borrow(like);
}

}  // namespace weft::bind
