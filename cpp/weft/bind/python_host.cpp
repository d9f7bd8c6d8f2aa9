#include "weft/bind/python_host.h"

#include <cmath>
#include <unordered_set>

#include "weft/base/small_vector.h"
#include "weft/bind/cell.h"
#include "weft/bind/frames.h"
#include "weft/graph/modes.h"
#include "weft/graph/observer.h"
#include "weft/routine/machine_loop.h"

namespace weft::bind {

using routine::Arguments;
using routine::Binary;
using routine::Callee;
using routine::Comparison;
using routine::HostObject;
using routine::Register;
using routine::Routine;
using routine::Unary;

Object boxed(const Register& value) {
  switch (value.tag()) {
    case Register::Tag::object:
      return Object::borrow(object_in(value));
    case Register::Tag::boolean:
      return Object::borrow(value.boolean() ? Py_True : Py_False);
    case Register::Tag::integer:
      return Object::check(PyLong_FromLongLong(value.integer()));
    case Register::Tag::real:
      return Object::check(PyFloat_FromDouble(value.real()));
    case Register::Tag::none:
      return Object::borrow(Py_None);
    case Register::Tag::unbound:
      break;
  }
  base::bug("a register that is read is unbound");
}

bool has_plain_getter(PyTypeObject* type) {
  // A module asks its own `__getattr__` where nothing is found, and not before.
  static PyObject* const name = PyUnicode_InternFromString("__getattribute__");
  static PyObject* const of_object = _PyType_Lookup(&PyBaseObject_Type, name);
  static PyObject* const of_module = _PyType_Lookup(&PyModule_Type, name);
  PyObject* found = _PyType_Lookup(type, name);
  return found == of_object || found == of_module;
}

namespace {

bool is_in_dict_first(PyTypeObject* type, PyObject* name) {
  PyObject* of_type = _PyType_Lookup(type, name);
  return has_plain_getter(type) && !(of_type && Py_TYPE(of_type)->tp_descr_set);
}

}  // namespace

Register unboxed_number(PyObject* owned) {
  if (!owned) throw routine::Raised{};
  PyTypeObject* type = Py_TYPE(owned);
  if (type == &PyLong_Type) {
    int overflow = 0;
    const int64_t number = PyLong_AsLongLongAndOverflow(owned, &overflow);
    if (overflow) return Register::owned(owned);
    Py_DECREF(owned);
    return Register::of(number);
  }
  if (type == &PyFloat_Type) {
    const double number = PyFloat_AS_DOUBLE(owned);
    if (std::isnan(number)) return Register::owned(owned);
    Py_DECREF(owned);
    return Register::of(number);
  }
  if (type == &PyBool_Type || owned == Py_None) {
    Register result = owned == Py_None ? Register::none() : Register::of(owned == Py_True);
    Py_DECREF(owned);
    return result;
  }
  return Register::owned(owned);
}

namespace {

Register unboxed_borrowed(PyObject* object) {
  Py_XINCREF(object);
  return unboxed(object);
}

// Python has noted an error.
[[noreturn]] void failed() { throw routine::Raised{}; }
void expect(bool succeeded) {
  if (!succeeded) failed();
}
[[noreturn]] void fail(PyObject* type, const std::string& text) {
  PyErr_SetString(type, text.c_str());
  failed();
}

// An object of a register as Python's functions take it: a number gets one for as long as that. A
// register keeps its object while the host works for its task.
class Box {
 public:
  explicit Box(const Register& value)
      : object_(value.is_object() ? object_in(value) : boxed(value).release()),
        is_made_(!value.is_object()) {}
  Box(Box&& other) noexcept
      : object_(other.object_), is_made_(std::exchange(other.is_made_, false)) {}
  Box& operator=(Box&&) = delete;
  ~Box() {
    if (is_made_) Py_DECREF(object_);
  }
  operator PyObject*() const { return object_; }

 private:
  PyObject* object_;
  bool is_made_;
};

// The same of several.
class Boxes {
 public:
  explicit Boxes(std::span<const Register* const> values) {
    objects_.reserve(values.size() + 1);
    objects_.push_back(nullptr);  // a place that vectorcall may use
    for (const Register* value : values) {
      if (!value->is_object()) made_.push_back(Box(*value));
      objects_.push_back(value->is_object() ? object_in(*value)
                                            : static_cast<PyObject*>(made_.back()));
    }
  }
  PyObject** data() { return objects_.data() + 1; }
  size_t size() const { return objects_.size() - 1; }
  PyObject* operator[](size_t i) const { return objects_[i + 1]; }

 private:
  base::SmallVector<PyObject*, 8> objects_;
  base::SmallVector<Box, 4> made_;
};

PyObject* text_of(HostObject name) { return static_cast<PyObject*>(name); }

// A number as it is read from a pending tensor.
bool is_pending(PyObject* object) { return is_tensor(object) && value_of(object)->pending; }

bool waits_for_others() {
  const graph::Modes& modes = graph::modes;
  return modes.park && !modes.executor && !modes.is_look && !modes.vmap && !is_debugged();
}

binaryfunc binary_function(Binary which) {
  constexpr binaryfunc functions[] = {
      PyNumber_Add,         PyNumber_Subtract,  PyNumber_Multiply, PyNumber_TrueDivide,
      PyNumber_FloorDivide, PyNumber_Remainder, nullptr,           PyNumber_MatrixMultiply,
      PyNumber_Lshift,      PyNumber_Rshift,    PyNumber_And,      PyNumber_Or,
      PyNumber_Xor};
  return functions[static_cast<int>(which)];
}
binaryfunc inplace_function(Binary which) {
  constexpr binaryfunc functions[] = {PyNumber_InPlaceAdd,
                                      PyNumber_InPlaceSubtract,
                                      PyNumber_InPlaceMultiply,
                                      PyNumber_InPlaceTrueDivide,
                                      PyNumber_InPlaceFloorDivide,
                                      PyNumber_InPlaceRemainder,
                                      nullptr,
                                      PyNumber_InPlaceMatrixMultiply,
                                      PyNumber_InPlaceLshift,
                                      PyNumber_InPlaceRshift,
                                      PyNumber_InPlaceAnd,
                                      PyNumber_InPlaceOr,
                                      PyNumber_InPlaceXor};
  return functions[static_cast<int>(which)];
}

// Whether two numbers in registers are one object depends on Python's caches, unless they differ.
bool is_same_number(const Register& a, const Register& b) {
  if (a.tag() != b.tag()) return false;
  constexpr int64_t least_cached = -5, most_cached = 256;
  if (a.is_integer()) {
    if (a.integer() != b.integer()) return false;
    if (least_cached <= a.integer() && a.integer() <= most_cached) return true;
  } else if (a.real() != b.real() || std::signbit(a.real()) != std::signbit(b.real())) {
    return false;
  }
  base::fail(ErrorKind::unsupported,
             "`is` between two numbers depends on which of them Python keeps, and is not compiled; "
             "compare them by ==");
}

// Functions that read a value of what they are given.
class Readers {
 public:
  bool contains(PyObject* callable) {
    if (functions_.empty()) fill();
    return functions_.contains(callable);
  }

 private:
  void fill() {
    const auto add_from = [&](PyObject* type, std::initializer_list<const char*> names) {
      for (const char* name : names) {
        PyObject* found = PyObject_GetAttrString(type, name);  // kept for good
        if (!found) PyErr_Clear();
        if (found) functions_.insert(found);
      }
    };
    add_from(reinterpret_cast<PyObject*>(tensor_type),
             {"item", "tolist", "numpy", "__bool__", "__int__", "__float__", "__index__",
              "__format__", "__repr__", "__str__", "__array__"});
    const Object builtins = Object::check(PyImport_ImportModule("builtins"));
    add_from(builtins.get(), {"int", "float", "bool", "complex", "str", "repr", "print", "range",
                              "round", "format", "hex", "chr"});
  }
  std::unordered_set<PyObject*> functions_;
};

// Calls a small function of Python's own, for its exact error.
PyObject* helper(const char* source) {
  const Object globals = Object::check(PyDict_New());
  if (PyDict_SetItemString(globals.get(), "__builtins__", PyEval_GetBuiltins()) < 0)
    throw PythonError{};
  return PyRun_String(source, Py_eval_input, globals.get(), globals.get());
}
// The error as if no frame had been left yet.
[[noreturn]] void raise_here() {
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  PyErr_NormalizeException(&type, &value, &trace);
  Py_XDECREF(trace);
  PyException_SetTraceback(value, Py_None);
  PyErr_Restore(type, value, nullptr);
  failed();
}

class PythonHost final : public routine::Host {
 public:
  void destroy(HostObject object) noexcept override {
    static_assert(offsetof(PyObject, ob_refcnt) == 0 && sizeof(PyObject::ob_refcnt) == 8);
    _Py_Dealloc(static_cast<PyObject*>(object));
  }
  routine::Outcome go_on(routine::Task& task, bool one_step) override {
    return one_step ? task.go_on<true>(*this) : task.go_on<false>(*this);
  }

  // Values that nobody may read, or not yet, are left to those who read them.
  bool must_wait(const Register& value) override {
    return value.is_object() && is_pending(object_in(value)) && waits_for_others();
  }
  void wait_for(const Register& value) override { demand_later(value_of(object_in(value))); }

  bool truth(const Register& value) override {
    const int result = PyObject_IsTrue(Box(value));
    expect(result >= 0);
    return result == 1;
  }
  Register unary(Unary which, const Register& a) override {
    const Box given(a);
    switch (which) {
      case Unary::negative:
        return unboxed(PyNumber_Negative(given));
      case Unary::positive:
        return unboxed(PyNumber_Positive(given));
      case Unary::invert:
        return unboxed(PyNumber_Invert(given));
      case Unary::not_:
        break;
    }
    return Register::of(!truth(a));
  }
  Register binary(Binary which, const Register& a, const Register& b) override {
    const Box x(a), y(b);
    if (which == Binary::power) return unboxed(PyNumber_Power(x, y, Py_None));
    return unboxed(binary_function(which)(x, y));
  }
  Register inplace(Binary which, const Register& a, const Register& b) override {
    const Box x(a), y(b);
    if (which == Binary::power) return unboxed(PyNumber_InPlacePower(x, y, Py_None));
    return unboxed(inplace_function(which)(x, y));
  }
  Register compare(Comparison which, const Register& a, const Register& b) override {
    constexpr int as_python[] = {Py_LT, Py_LE, Py_EQ, Py_NE, Py_GT, Py_GE};
    return unboxed(PyObject_RichCompare(Box(a), Box(b), as_python[static_cast<int>(which)]));
  }
  bool is_same(const Register& a, const Register& b) override {
    const auto is_number = [](const Register& value) {
      return value.is_integer() || value.is_real();
    };
    if (is_number(a) && is_number(b)) return is_same_number(a, b);
    if (is_number(a) || is_number(b)) return false;
    return Box(a) == Box(b);
  }
  bool contains(const Register& container, const Register& item) override {
    const int found = PySequence_Contains(Box(container), Box(item));
    expect(found >= 0);
    return found == 1;
  }

  Register global(HostObject function, HostObject name, routine::Cache& cache) override {
    auto* given = static_cast<PyFunctionObject*>(function);
    PyObject *globals = given->func_globals, *builtins = given->func_builtins;
    if (cache.looked_at == globals && cache.version && cache.version == version_of(globals) &&
        cache.other_version == version_of(builtins)) {
      return unboxed_borrowed(static_cast<PyObject*>(cache.found));
    }
    for (PyObject* names : {globals, builtins}) {
      PyObject* found = PyDict_GetItemWithError(names, text_of(name));
      if (found) {
        cache = {globals, found, version_of(globals), version_of(builtins)};
        return unboxed_borrowed(found);
      }
      expect(!PyErr_Occurred());
    }
    fail_name(PyExc_NameError, "name '%U' is not defined", text_of(name));
  }
  void set_global(HostObject function, HostObject name, const Register* value) override {
    PyObject* globals = PyFunction_GET_GLOBALS(static_cast<PyObject*>(function));
    if (value) {
      expect(PyDict_SetItem(globals, text_of(name), Box(*value)) >= 0);
    } else if (PyDict_DelItem(globals, text_of(name)) < 0) {
      if (PyErr_ExceptionMatches(PyExc_KeyError)) {
        PyErr_Clear();
        fail_name(PyExc_NameError, "name '%U' is not defined", text_of(name));
      }
      failed();
    }
  }
  bool is_builtin(const Register& value, HostObject name) override {
    if (!value.is_object()) return false;
    static PyObject* const builtins = PyDict_Copy(PyEval_GetBuiltins());
    PyObject* found = PyDict_GetItemWithError(builtins, text_of(name));
    if (!found) found = PyDict_GetItemWithError(PyUnicode_Type.tp_dict, text_of(name));  // join
    return found == object_in(value);
  }
  Register make_cell(Register content) override {
    return unboxed(PyCell_New(content.is_bound() ? static_cast<PyObject*>(Box(content)) : nullptr));
  }
  Register read_cell(const Register& cell) override {
    PyObject* content = PyCell_GET(object_in(cell));
    return content ? unboxed_borrowed(content) : Register();
  }
  void write_cell(const Register& cell, Register content) override {
    PyCell_Set(object_in(cell),
               content.is_bound() ? static_cast<PyObject*>(Box(content)) : nullptr);
  }
  void fail_unbound(HostObject name, bool is_free) override {
    if (is_free) {
      fail_name(PyExc_NameError,
                "cannot access free variable '%U' where it is not associated with a value in "
                "enclosing scope",
                text_of(name));
    }
    PyErr_Format(PyExc_UnboundLocalError,
                 "cannot access local variable '%U' where it is not associated with a value",
                 text_of(name));
    failed();
  }

  Register iterate(const Register& iterable) override {
    return unboxed(PyObject_GetIter(Box(iterable)));
  }
  bool next(const Register& iterator, Register& item) override {
    PyObject* given = object_in(iterator);
    if (PyObject* found = Py_TYPE(given)->tp_iternext(given)) {
      item = unboxed(found);
      return true;
    }
    if (PyErr_Occurred()) {
      if (!PyErr_ExceptionMatches(PyExc_StopIteration)) failed();
      PyErr_Clear();
    }
    return false;
  }
  Register tuple(std::span<const Register* const> items) override {
    Object made = Object::check(PyTuple_New(items.size()));
    for (size_t i = 0; i < items.size(); ++i)
      PyTuple_SET_ITEM(made.get(), i, boxed(*items[i]).release());
    return Register::owned(made.release());
  }
  Register list(std::span<const Register* const> items) override {
    Object made = Object::check(PyList_New(items.size()));
    for (size_t i = 0; i < items.size(); ++i)
      PyList_SET_ITEM(made.get(), i, boxed(*items[i]).release());
    return Register::owned(made.release());
  }
  Register set(std::span<const Register* const> items) override {
    Object made = Object::check(PySet_New(nullptr));
    for (const Register* item : items) expect(PySet_Add(made.get(), Box(*item)) >= 0);
    return Register::owned(made.release());
  }
  Register dict(std::span<const Register* const> pairs) override {
    Object made = Object::check(PyDict_New());
    for (size_t i = 0; i < pairs.size(); i += 2)
      expect(PyDict_SetItem(made.get(), Box(*pairs[i]), Box(*pairs[i + 1])) >= 0);
    return Register::owned(made.release());
  }
  Register slice(const Register& a, const Register& b, const Register& c) override {
    return unboxed(PySlice_New(Box(a), Box(b), Box(c)));
  }
  void append(const Register& list, const Register& item) override {
    expect(PyList_Append(object_in(list), Box(item)) >= 0);
  }
  void extend(const Register& list, const Register& items) override {
    const Box given(items);
    const Object result(_PyList_Extend(reinterpret_cast<PyListObject*>(object_in(list)), given));
    if (result) return;
    if (PyErr_ExceptionMatches(PyExc_TypeError) && !Py_TYPE(given)->tp_iter &&
        !PySequence_Check(given)) {
      PyErr_Clear();
      PyErr_Format(PyExc_TypeError, "Value after * must be an iterable, not %.200s",
                   Py_TYPE(given)->tp_name);
    }
    failed();
  }
  void add(const Register& set, const Register& item) override {
    expect(PySet_Add(object_in(set), Box(item)) >= 0);
  }
  void put(const Register& dict, const Register& key, const Register& value) override {
    expect(PyDict_SetItem(object_in(dict), Box(key), Box(value)) >= 0);
  }
  void update(const Register& dict, const Register& mapping) override {
    const Box given(mapping);
    if (PyDict_Update(object_in(dict), given) >= 0) return;
    if (PyErr_ExceptionMatches(PyExc_AttributeError))
      PyErr_Format(PyExc_TypeError, "'%.200s' object is not a mapping", Py_TYPE(given)->tp_name);
    failed();
  }
  void merge(const Register& dict, const Register& mapping, const Register& callee) override {
    const Box given(mapping);
    // The exact error, before anything is called, is that of Python's own call.
    const auto fits = [&] {
      if (!PyDict_CheckExact(given)) return false;
      PyObject *key, *value;
      for (Py_ssize_t at = 0; PyDict_Next(given, &at, &key, &value);) {
        if (!PyUnicode_CheckExact(key) || PyDict_GetItemWithError(object_in(dict), key))
          return false;
      }
      return true;
    };
    if (fits()) {
      expect(PyDict_Update(object_in(dict), given) >= 0);
      return;
    }
    static PyObject* const merging = helper("lambda f, a, b: lambda: f(**a, **b)");
    Object copy;
    if (!PyDict_CheckExact(given)) {
      copy = Object(PyDict_New());
      if (!copy || PyDict_Update(copy.get(), given) < 0) {
        if (PyErr_ExceptionMatches(PyExc_AttributeError)) {
          PyErr_Clear();
          copy = Object::borrow(given);
        } else {
          failed();
        }
      } else {
        return merge(dict, Register::borrowed(copy.get()), callee);
      }
    }
    const Object call = Object::check(
        PyObject_CallFunctionObjArgs(merging, static_cast<PyObject*>(Box(callee)), object_in(dict),
                                     static_cast<PyObject*>(given), nullptr));
    Object result(PyObject_CallNoArgs(call.get()));
    if (result) base::bug("keyword arguments that do not fit were taken");
    raise_here();
  }
  Register freeze(const Register& list) override {
    return unboxed(PyList_AsTuple(object_in(list)));
  }
  Register spread(const Register& items, const Register& callee) override {
    const Box given(items);
    if (Py_TYPE(given)->tp_iter || PySequence_Check(given)) return unboxed(PySequence_Tuple(given));
    static PyObject* const spreading = helper("lambda f, a: lambda: f(*a)");
    const Object call = Object::check(PyObject_CallFunctionObjArgs(
        spreading, static_cast<PyObject*>(Box(callee)), static_cast<PyObject*>(given), nullptr));
    const Object result(PyObject_CallNoArgs(call.get()));
    if (result) base::bug("what cannot be iterated was spread");
    raise_here();
  }
  void unpack(const Register& value, std::span<Register* const> targets, int star) override {
    const Box given(value);
    if (star < 0 && (PyTuple_CheckExact(given) || PyList_CheckExact(given)) &&
        static_cast<size_t>(Py_SIZE(given)) == targets.size()) {
      for (size_t i = 0; i < targets.size(); ++i)
        *targets[i] = unboxed_borrowed(PySequence_Fast_GET_ITEM(static_cast<PyObject*>(given), i));
      return;
    }
    const Object iterator(PyObject_GetIter(given));
    if (!iterator) {
      if (PyErr_ExceptionMatches(PyExc_TypeError) && !Py_TYPE(given)->tp_iter &&
          !PySequence_Check(given)) {
        PyErr_Format(PyExc_TypeError, "cannot unpack non-iterable %.200s object",
                     Py_TYPE(given)->tp_name);
      }
      failed();
    }
    const size_t before = star < 0 ? targets.size() : star;
    const size_t behind = star < 0 ? 0 : targets.size() - star - 1;
    std::vector<Object> items;
    for (size_t i = 0; i < before; ++i) {
      Object item(PyIter_Next(iterator.get()));
      if (!item) {
        expect(!PyErr_Occurred());
        fail(PyExc_ValueError,
             base::text("not enough values to unpack (expected ", star < 0 ? "" : "at least ",
                        before + behind, ", got ", i, ")"));
      }
      items.push_back(std::move(item));
    }
    if (star < 0) {
      const Object more(PyIter_Next(iterator.get()));
      if (more)
        fail(PyExc_ValueError, base::text("too many values to unpack (expected ", before, ")"));
      expect(!PyErr_Occurred());
    } else {
      Object rest(PySequence_List(iterator.get()));
      expect(static_cast<bool>(rest));
      const size_t count = PyList_GET_SIZE(rest.get());
      if (count < behind) {
        fail(PyExc_ValueError, base::text("not enough values to unpack (expected at least ",
                                          before + behind, ", got ", before + count, ")"));
      }
      std::vector<Object> last;
      for (size_t i = count - behind; i < count; ++i)
        last.push_back(Object::borrow(PyList_GET_ITEM(rest.get(), i)));
      expect(PyList_SetSlice(rest.get(), count - behind, count, nullptr) >= 0);
      items.push_back(std::move(rest));
      for (Object& item : last) items.push_back(std::move(item));
    }
    for (size_t i = 0; i < targets.size(); ++i) *targets[i] = unboxed(items[i].release());
  }

  // What the object's own dictionary has, unless its type says otherwise, for which the type's
  // version stands. As long as the dictionary has the same version, nothing is looked up.
  Register get_attribute(const Register& object, HostObject name, routine::Cache& cache) override {
    if (!object.is_object()) return unboxed(PyObject_GetAttr(Box(object), text_of(name)));
    PyObject* owner = object_in(object);
    PyTypeObject* type = Py_TYPE(owner);
    const uint64_t type_version =
        type->tp_flags & Py_TPFLAGS_VALID_VERSION_TAG ? type->tp_version_tag : 0;
    PyObject** own = type_version ? _PyObject_GetDictPtr(owner) : nullptr;
    if (own && *own) {
      const bool is_known = cache.other_version == type_version;
      if (is_known && cache.looked_at == *own && cache.version && cache.version == version_of(*own))
        return unboxed_borrowed(static_cast<PyObject*>(cache.found));
      if (is_known || is_in_dict_first(type, text_of(name))) {
        PyObject* found = PyDict_GetItemWithError(*own, text_of(name));
        expect(found || !PyErr_Occurred());
        if (found) {
          cache = {*own, found, version_of(*own), type->tp_version_tag};
          return unboxed_borrowed(found);
        }
      }
    }
    return unboxed(PyObject_GetAttr(owner, text_of(name)));
  }
  void set_attribute(const Register& object, HostObject name, const Register& value) override {
    expect(PyObject_SetAttr(Box(object), text_of(name), Box(value)) >= 0);
  }
  void delete_attribute(const Register& object, HostObject name) override {
    expect(PyObject_SetAttr(Box(object), text_of(name), nullptr) >= 0);
  }
  void get_method(const Register& object, HostObject name, routine::Cache& cache,
                  Register& function, Register& receiver) override {
    if (object.is_object() && cache.found) {
      PyObject* owner = object_in(object);
      PyTypeObject* known = Py_TYPE(owner);
      PyObject** dict = _PyObject_GetDictPtr(owner);
      if (dict && cache.looked_at == *dict && cache.version && cache.version == version_of(*dict) &&
          cache.other_version == known->tp_version_tag) {
        function = unboxed_borrowed(static_cast<PyObject*>(cache.found));
        receiver = Register();
        return;
      }
      // A method of the type, which the object does not have by itself.
      if (cache.looked_at == known && cache.version == known->tp_version_tag &&
          PyType_HasFeature(known, Py_TPFLAGS_VALID_VERSION_TAG)) {
        PyObject** own = _PyObject_GetDictPtr(owner);
        const uint64_t version = own && *own ? version_of(*own) : 0;
        const bool is_as_it_was = version && version == cache.other_version;
        const bool is_hidden =
            own && *own && !is_as_it_was && PyDict_GetItemWithError(*own, text_of(name));
        if (!is_hidden) {
          cache.other_version = version;
          function = Register::borrowed(static_cast<PyObject*>(cache.found));
          receiver = object;
          return;
        }
      }
    }
    Object given = boxed(object);
    PyTypeObject* type = Py_TYPE(given.get());
    if (type->tp_getattro == PyObject_GenericGetAttr) {
      PyObject* found = _PyType_Lookup(type, text_of(name));
      PyObject** own = _PyObject_GetDictPtr(given.get());
      if (found && PyType_HasFeature(Py_TYPE(found), Py_TPFLAGS_METHOD_DESCRIPTOR) &&
          !(own && *own && PyDict_GetItemWithError(*own, text_of(name)))) {
        if (object.is_object())
          cache = {type, found, type->tp_version_tag, own && *own ? version_of(*own) : 0};
        function = Register::borrowed(found);
        receiver = object.is_object() ? object : Register::owned(given.release());
        return;
      }
    }
    // A module among a module's parts, a function that is kept: as any attribute.
    function = object.is_object() ? get_attribute(object, name, cache)
                                  : unboxed(PyObject_GetAttr(given.get(), text_of(name)));
    receiver = Register();
  }
  Register get_item(const Register& object, const Register& index) override {
    if (object.is_object() && index.is_integer() && index.integer() >= 0) {
      PyObject* given = object_in(object);
      const bool is_list = PyList_CheckExact(given);
      if ((is_list || PyTuple_CheckExact(given)) &&
          index.integer() < PySequence_Fast_GET_SIZE(given)) {
        return unboxed_borrowed(is_list ? PyList_GET_ITEM(given, index.integer())
                                        : PyTuple_GET_ITEM(given, index.integer()));
      }
    }
    return unboxed(PyObject_GetItem(Box(object), Box(index)));
  }
  void set_item(const Register& object, const Register& index, const Register& value) override {
    expect(PyObject_SetItem(Box(object), Box(index), Box(value)) >= 0);
  }
  void delete_item(const Register& object, const Register& index) override {
    expect(PyObject_DelItem(Box(object), Box(index)) >= 0);
  }
  Register super_attribute(const Register& type, const Register& self, HostObject name) override {
    const Object found(PyObject_CallFunctionObjArgs(reinterpret_cast<PyObject*>(&PySuper_Type),
                                                    static_cast<PyObject*>(Box(type)),
                                                    static_cast<PyObject*>(Box(self)), nullptr));
    expect(static_cast<bool>(found));
    return unboxed(PyObject_GetAttr(found.get(), text_of(name)));
  }

  Callee find_callee(const Register& callee) override;
  bool item_must_wait(const Register& object, const Register& index) override {
    if (!object.is_object() || !must_wait(index)) return false;
    if (is_tensor(object_in(object)) && value_of(object_in(index)).dtype() != DType::boolean)
      return false;
    wait_for(index);
    return true;
  }
  bool call_must_wait(const Register& callee, const Arguments& arguments) override {
    if (!callee.is_object()) return false;
    bool waits = false, reads = false, asked = false;
    for (const Register* given : arguments.given) {
      if (!must_wait(*given)) continue;
      if (!asked) reads = readers_.contains(object_in(callee)), asked = true;
      if (!reads) return false;
      wait_for(*given);
      waits = true;
    }
    return waits;
  }
  Register call(const Register& callee, const Arguments& arguments) override {
    const Box function(callee);
    Boxes given(arguments.given);
    auto* names = static_cast<PyObject*>(arguments.names);
    if (!names && is_called_as_module(function))
      return unboxed(call_as_module(function, {given.data(), given.size()}));
    const size_t positional = given.size() - (names ? PyTuple_GET_SIZE(names) : 0);
    return unboxed(PyObject_Vectorcall(function, given.data(),
                                       positional | PY_VECTORCALL_ARGUMENTS_OFFSET, names));
  }
  Register call_spread(const Register& callee, const Register& positional,
                       const Register* named) override {
    const Object tuple(PySequence_Tuple(object_in(positional)));
    expect(static_cast<bool>(tuple));
    return unboxed(PyObject_Call(Box(callee), tuple.get(), named ? object_in(*named) : nullptr));
  }
  bool bind(const Callee& callee, const Arguments& arguments, Register* registers) override;
  bool bind_spread(const Callee& callee, const Register& positional, const Register* named,
                   Register* registers) override;
  void closure(HostObject function, Register* registers, int32_t count) override {
    PyObject* cells = PyFunction_GET_CLOSURE(static_cast<PyObject*>(function));
    for (int32_t i = 0; i < count; ++i)
      registers[i] = Register::borrowed(PyTuple_GET_ITEM(cells, i));
  }
  Register function(HostObject parent, const Register& code, const Register* defaults,
                    const Register* named_defaults,
                    std::span<const Register* const> cells) override {
    Object made(
        PyFunction_New(object_in(code), PyFunction_GET_GLOBALS(static_cast<PyObject*>(parent))));
    expect(static_cast<bool>(made));
    if (defaults) expect(PyFunction_SetDefaults(made.get(), object_in(*defaults)) >= 0);
    if (named_defaults)
      expect(PyFunction_SetKwDefaults(made.get(), object_in(*named_defaults)) >= 0);
    if (!cells.empty()) {
      const Register closure = tuple(cells);
      expect(PyFunction_SetClosure(made.get(), object_in(closure)) >= 0);
    }
    return Register::owned(made.release());
  }

  Register format(const Register& value, int32_t conversion, const Register* spec) override {
    Object given = boxed(value);
    if (conversion == 's') given = Object(PyObject_Str(given.get()));
    if (conversion == 'r') given = Object(PyObject_Repr(given.get()));
    if (conversion == 'a') given = Object(PyObject_ASCII(given.get()));
    expect(static_cast<bool>(given));
    if (!spec && PyUnicode_CheckExact(given.get())) return Register::owned(given.release());
    return unboxed(
        PyObject_Format(given.get(), spec ? static_cast<PyObject*>(Box(*spec)) : nullptr));
  }
  Register join_text(std::span<const Register* const> texts) override {
    static PyObject* const nothing = PyUnicode_New(0, 0);
    const Register all = tuple(texts);
    return unboxed(PyUnicode_Join(nothing, object_in(all)));
  }

  void raise(const Register* exception, const Register* cause) override {
    if (!exception) {
      const Object handled(PyErr_GetHandledException());
      if (!handled || handled.get() == Py_None)
        fail(PyExc_RuntimeError, "No active exception to reraise");
      raise_again(Register::borrowed(handled.get()));
    }
    const Object made = exception_of(Box(*exception), "exceptions must derive from BaseException");
    if (cause) {
      const Object from =
          cause->is_none()
              ? Object()
              : exception_of(Box(*cause), "exception causes must derive from BaseException");
      PyException_SetCause(made.get(), Object(from).release());
    }
    PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(made.get())), made.get());
    failed();
  }
  void raise_assertion(const Register* text) override {
    const Object made(text ? PyObject_CallOneArg(PyExc_AssertionError, Box(*text))
                           : PyObject_CallNoArgs(PyExc_AssertionError));
    if (made) PyErr_SetObject(PyExc_AssertionError, made.get());
    failed();
  }
  void raise_again(const Register& exception) override {
    PyObject* value = object_in(exception);
    PyErr_Restore(Py_NewRef(reinterpret_cast<PyObject*>(Py_TYPE(value))), Py_NewRef(value),
                  PyException_GetTraceback(value));
    failed();
  }
  void enter(const Register& manager, Register& leave, Register& entered) override {
    const Object given = boxed(manager);
    static PyObject* const enter_name = PyUnicode_InternFromString("__enter__");
    static PyObject* const exit_name = PyUnicode_InternFromString("__exit__");
    const Object entering = special_method(given.get(), enter_name, false);
    const Object leaving = special_method(given.get(), exit_name, true);
    entered = unboxed(PyObject_CallNoArgs(entering.get()));
    leave = Register::borrowed(leaving.get());
  }
  bool is_switch(const Register& leave) override {
    PyObject* exit = object_in(leave);
    return switch_type && PyMethod_Check(exit) &&
           PyObject_TypeCheck(PyMethod_GET_SELF(exit), switch_type);
  }
  void leave(const Register& leave) override {
    const Object result(
        PyObject_CallFunctionObjArgs(object_in(leave), Py_None, Py_None, Py_None, nullptr));
    expect(static_cast<bool>(result));
  }
  bool leave_by(const Register& leave, const Register& exception) override {
    PyObject* value = object_in(exception);
    Object trace(PyException_GetTraceback(value));
    if (!trace) trace = Object::borrow(Py_None);
    const Object result(PyObject_CallFunctionObjArgs(object_in(leave),
                                                     reinterpret_cast<PyObject*>(Py_TYPE(value)),
                                                     value, trace.get(), nullptr));
    expect(static_cast<bool>(result));
    const int swallowed = PyObject_IsTrue(result.get());
    expect(swallowed >= 0);
    return swallowed == 1;
  }
  Register exchange_handled(Register exception) override {
    const Object before(PyErr_GetHandledException());
    PyErr_SetHandledException(exception.is_object() ? object_in(exception) : nullptr);
    return before && before.get() != Py_None ? Register::borrowed(before.get()) : Register::none();
  }
  bool matches(const Register& exception, const Register& type) override {
    const Object given = boxed(type);
    const auto is_exception = [](PyObject* item) { return PyExceptionClass_Check(item); };
    bool fits = is_exception(given.get());
    if (PyTuple_Check(given.get())) {
      fits = true;
      for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(given.get()); ++i)
        fits = fits && is_exception(PyTuple_GET_ITEM(given.get(), i));
    }
    if (!fits) {
      fail(PyExc_TypeError,
           "catching classes that do not inherit from BaseException is not allowed");
    }
    return PyErr_GivenExceptionMatches(object_in(exception), given.get()) == 1;
  }
  Register take_error() override {
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    PyErr_NormalizeException(&type, &value, &trace);
    if (trace) PyException_SetTraceback(value, trace);
    Py_XDECREF(type);
    Py_XDECREF(trace);
    return Register::owned(value);
  }
  void add_traceback(HostObject function, const Routine& routine, int32_t place) override {
    if (!routine.source || routine.offsets[place] < 0) return;
    bind::add_traceback(static_cast<PyObject*>(routine.source),
                        PyFunction_GET_GLOBALS(static_cast<PyObject*>(function)),
                        routine.offsets[place]);
  }
  void note_current_exception() override { set_current_exception(); }
  void fail_depth() override { fail(PyExc_RecursionError, "maximum recursion depth exceeded"); }

  int64_t enter_module(HostObject module) override {
    const int32_t before = graph::modes.module;
    if (graph::modes.observer) graph::modes.module = graph::modes.observer->entered(module, before);
    return before;
  }
  void leave_module(int64_t before) override { graph::modes.module = static_cast<int32_t>(before); }

  void poll() override {
    // Where a function of Python's begins, Python itself looks for signals and for other threads
    // that want a turn: giving up its lock and taking it again would let nobody else have it.
    static PyObject* const turn = helper("lambda: None");
    const Object done(PyObject_CallNoArgs(turn));
    expect(static_cast<bool>(done));
  }

 private:
  [[noreturn]] static void fail_name(PyObject* type, const char* format, PyObject* name) {
    PyErr_Format(type, format, name);
    PyObject *raised, *value, *trace;
    PyErr_Fetch(&raised, &value, &trace);
    PyErr_NormalizeException(&raised, &value, &trace);
    PyObject_SetAttrString(value, "name", name);  // for what Python suggests
    PyErr_Restore(raised, value, trace);
    failed();
  }
  static Object exception_of(PyObject* given, const char* refusal) {
    if (PyExceptionInstance_Check(given)) return Object::borrow(given);
    if (!PyExceptionClass_Check(given)) fail(PyExc_TypeError, refusal);
    Object made(PyObject_CallNoArgs(given));
    expect(static_cast<bool>(made));
    if (!PyExceptionInstance_Check(made.get())) {
      PyErr_Format(PyExc_TypeError,
                   "calling %R should have returned an instance of BaseException, not %R", given,
                   Py_TYPE(made.get()));
      failed();
    }
    return made;
  }
  // A method of the type, bound.
  static Object special_method(PyObject* object, PyObject* name, bool is_exit) {
    PyObject* found = _PyType_Lookup(Py_TYPE(object), name);
    if (!found) {
      PyErr_Format(PyExc_TypeError,
                   "'%.200s' object does not support the context manager protocol%s",
                   Py_TYPE(object)->tp_name, is_exit ? " (missed __exit__ method)" : "");
      failed();
    }
    const descrgetfunc get = Py_TYPE(found)->tp_descr_get;
    Object bound(get ? get(found, object, reinterpret_cast<PyObject*>(Py_TYPE(object)))
                     : Py_NewRef(found));
    expect(static_cast<bool>(bound));
    return bound;
  }

  Readers readers_;
};

Callee PythonHost::find_callee(const Register& callee) {
  Callee found;
  if (!callee.is_object()) return found;
  PyObject* object = object_in(callee);
  PyObject* receiver = nullptr;
  bool is_module = false;
  const auto take_receiver = [&] {
    if (receiver || !PyMethod_Check(object)) return;
    receiver = PyMethod_GET_SELF(object);
    object = PyMethod_GET_FUNCTION(object);
  };
  take_receiver();
  if (PyObject* target = compiled_target(object)) object = target;
  take_receiver();
  if (!receiver && is_called_as_module(object)) {
    if (PyObject* forward = plain_forward(object)) {
      receiver = object;
      object = forward;
      is_module = true;
    }
  }
  if (!PyFunction_Check(object)) return found;
  found.routine = routine::RoutineRef(routine_of(object));
  if (!found.routine) return found;
  found.function = object;
  found.receiver = receiver;
  found.is_module = is_module;
  return found;
}

bool PythonHost::bind(const Callee& callee, const Arguments& arguments, Register* registers) {
  const Routine& routine = *callee.routine;
  auto* names = static_cast<PyObject*>(arguments.names);
  const size_t named = names ? PyTuple_GET_SIZE(names) : 0;
  const size_t shift = callee.receiver ? 1 : 0;
  const size_t given = arguments.given.size() - named;
  const size_t count = given + shift;
  const auto positional = static_cast<size_t>(routine.positional);
  if (count > positional && !routine.has_rest) return false;

  if (shift) {
    if (positional == 0 && !routine.has_rest) return false;
    if (positional > 0) registers[0] = Register::borrowed(callee.receiver);
  }
  for (size_t i = shift; i < std::min(count, positional); ++i)
    registers[i] = *arguments.given[i - shift];
  size_t next = positional + routine.keyword_only;
  if (routine.has_rest) {
    std::vector<const Register*> rest;
    const Register self = shift ? Register::borrowed(callee.receiver) : Register();
    for (size_t i = positional; i < count; ++i)
      rest.push_back(i < shift ? &self : arguments.given[i - shift]);
    registers[next++] = tuple(rest);
  }
  if (routine.has_options) registers[next] = unboxed(PyDict_New());

  if (named) {
    auto* code = static_cast<PyCodeObject*>(routine.source);
    const Object variables = Object::check(PyCode_GetVarnames(code));
    for (size_t k = 0; k < named; ++k) {
      PyObject* name = PyTuple_GET_ITEM(names, k);
      const Register& value = *arguments.given[given + k];
      const auto last = static_cast<size_t>(routine.positional + routine.keyword_only);
      size_t i = code->co_posonlyargcount;
      while (i < last && PyTuple_GET_ITEM(variables.get(), i) != name) ++i;
      if (i == last) {
        i = code->co_posonlyargcount;
        while (i < last && PyUnicode_Compare(PyTuple_GET_ITEM(variables.get(), i), name) != 0) ++i;
      }
      if (i < last) {
        if (registers[i].is_bound()) return false;
        registers[i] = value;
      } else {
        if (!routine.has_options) return false;
        expect(PyDict_SetItem(object_in(registers[next]), name, Box(value)) >= 0);
      }
    }
  }
  auto* function = static_cast<PyFunctionObject*>(callee.function);
  PyObject* defaults = function->func_defaults;
  const size_t default_count = defaults ? PyTuple_GET_SIZE(defaults) : 0;
  for (size_t i = count; i < positional; ++i) {
    if (registers[i].is_bound()) continue;
    if (i + default_count < positional) return false;
    registers[i] = unboxed_borrowed(PyTuple_GET_ITEM(defaults, i + default_count - positional));
  }
  for (size_t i = positional; i < positional + routine.keyword_only; ++i) {
    if (registers[i].is_bound()) continue;
    const Object variables =
        Object::check(PyCode_GetVarnames(static_cast<PyCodeObject*>(routine.source)));
    PyObject* found = function->func_kwdefaults
                          ? PyDict_GetItemWithError(function->func_kwdefaults,
                                                    PyTuple_GET_ITEM(variables.get(), i))
                          : nullptr;
    if (!found) return false;
    registers[i] = unboxed_borrowed(found);
  }
  return true;
}

bool PythonHost::bind_spread(const Callee& callee, const Register& positional,
                             const Register* named, Register* registers) {
  std::vector<Register> values;
  PyObject* items = object_in(positional);
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items); ++i)
    values.push_back(unboxed_borrowed(PySequence_Fast_GET_ITEM(items, i)));
  Object names;
  if (named && PyDict_GET_SIZE(object_in(*named)) > 0) {
    names = Object::check(PyTuple_New(PyDict_GET_SIZE(object_in(*named))));
    PyObject *name, *value;
    Py_ssize_t k = 0;
    for (Py_ssize_t at = 0; PyDict_Next(object_in(*named), &at, &name, &value); ++k) {
      PyTuple_SET_ITEM(names.get(), k, Py_NewRef(name));
      values.push_back(unboxed_borrowed(value));
    }
  }
  std::vector<const Register*> given;
  for (const Register& value : values) given.push_back(&value);
  return bind(callee, {given, names.get()}, registers);
}

PythonHost python_host;

}  // namespace

void connect_host() { routine::host = &python_host; }

}  // namespace weft::bind
