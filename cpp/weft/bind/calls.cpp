// Calls of modules: forward, as Python would find it, by short ways where it is a cell or one op.
#include <algorithm>

#include "weft/bind/cell.h"
#include "weft/bind/look.h"
#include "weft/bind/routines.h"
#include "weft/graph/modes.h"
#include "weft/graph/observer.h"

namespace weft::bind {
namespace {

using graph::modes;

PyObject *cell_name, *forward_name, *hooks_name, *call_with_hooks_name, *target_name;  // interned
constexpr Py_ssize_t most_arguments = 8;  // of a call on the short way

// What the instance's dictionary has under an interned name, borrowed; null if nothing.
PyObject* own_attribute(PyObject* object, PyObject* name) {
  PyObject** dict = _PyObject_GetDictPtr(object);
  return dict && *dict ? PyDict_GetItemWithError(*dict, name) : nullptr;
}

PyObject* body_of(PyObject* cell) { return reinterpret_cast<PyCell*>(cell)->body; }

// Its body is a method; in a copy of a module, the method of another one.
bool is_cell_of(PyObject* cell, PyObject* module) {
  return cell && Py_TYPE(cell) == cell_type && PyMethod_GET_SELF(body_of(cell)) == module;
}

}  // namespace

// The forward of a cell class, called with the module: each module has a cell of its own.
PyObject* call_forward(PyObject* object, PyObject* const* args, size_t flags, PyObject* keywords) {
  auto& forward = *reinterpret_cast<PyCell*>(object);
  const size_t count = PyVectorcall_NARGS(flags);
  if (count == 0) return call_body(forward, args, flags, keywords);
  Object made = Object::borrow(own_attribute(args[0], cell_name));
  if (!is_cell_of(made.get(), args[0])) {
    made = Object(PyObject_CallOneArg(forward.renew, args[0]));
    if (!made) return nullptr;
  }
  // The module's class has another cell as its forward, which calls this one.
  if (PyMethod_GET_FUNCTION(body_of(made.get())) != forward.body)
    return call_body(forward, args, flags, keywords);
  return call_cell(made.get(), args + 1, count - 1, keywords);
}

namespace {

// The forward of a module that is one op. `renew` says which, for which attributes that are neither
// None nor False the body runs instead, and what the op is given: None stands for the input.
struct OpArguments {
  PyObject* items[most_arguments];  // borrowed
  Py_ssize_t input = -1;            // which of them is the input
};
bool find_arguments(const PyCell& forward, PyObject* module, OpArguments& found) {
  PyObject *extras = PyTuple_GET_ITEM(forward.renew, 1),
           *names = PyTuple_GET_ITEM(forward.renew, 2);
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(extras); ++i) {
    PyObject* extra = own_attribute(module, PyTuple_GET_ITEM(extras, i));
    if (extra != Py_None && extra != Py_False) return false;
  }
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names); ++i) {
    PyObject* name = PyTuple_GET_ITEM(names, i);
    if (name == Py_None) found.input = i;
    found.items[i] = name == Py_None ? Py_None : own_attribute(module, name);
    if (!found.items[i]) return false;
  }
  return true;
}
PyObject* apply_op(const PyCell& forward, const OpArguments& found, PyObject* input) {
  const Py_ssize_t count = PyTuple_GET_SIZE(PyTuple_GET_ITEM(forward.renew, 2));
  Object held[most_arguments];
  PyObject* given[most_arguments];
  for (Py_ssize_t i = 0; i < count; ++i) {
    held[i] = Object::borrow(i == found.input ? input : found.items[i]);
    given[i] = held[i].get();
  }
  return PyObject_Vectorcall(PyTuple_GET_ITEM(forward.renew, 0), given, count, nullptr);
}

}  // namespace

PyObject* call_op(PyObject* object, PyObject* const* args, size_t flags, PyObject* keywords) {
  auto& forward = *reinterpret_cast<PyCell*>(object);
  OpArguments found;
  if (PyVectorcall_NARGS(flags) != 2 || keywords || !find_arguments(forward, args[0], found))
    return call_body(forward, args, flags, keywords);
  return apply_op(forward, found, args[1]);
}

// A function that makes a tensor of a number, alone, in the plain way.
PyObject* call_on_number(PyObject* object, PyObject* const* args, size_t flags,
                         PyObject* keywords) {
  const bool is_alone = PyVectorcall_NARGS(flags) == 1 && !keywords;
  if (is_alone && is_looked_at() && PyObject_HasAttrString(args[0], "weft_tensor"))
    return PyObject_GetAttrString(args[0], "weft_tensor");  // it stands for an integer
  if (!is_alone || !(PyLong_CheckExact(args[0]) || PyFloat_CheckExact(args[0]))) {
    return call_body(*reinterpret_cast<PyCell*>(object), args, flags, keywords);
  }
  return guarded([&] { return wrap(tensor_from_python(args[0], std::nullopt)); });
}

namespace {

// To others it is the function that it is a short way for: annotations, defaults, code.
PyObject* get_of_function(PyObject* object, PyObject* name) {
  PyObject* found = PyObject_GenericGetAttr(object, name);
  if (found || !PyErr_ExceptionMatches(PyExc_AttributeError)) return found;
  PyErr_Clear();
  return PyObject_GetAttr(reinterpret_cast<PyCell*>(object)->body, name);
}

PyObject* error_namer = nullptr;  // called with an error of Weft's and the module it leaves

// On the way out: the error that is set says in which module it happened.
[[gnu::cold, gnu::noinline]] void name_module(PyObject* module) {
  if (!error_namer || !is_own_error(PyErr_Occurred())) return;
  PyObject *type = nullptr, *error = nullptr, *trace = nullptr;
  PyErr_Fetch(&type, &error, &trace);
  PyErr_NormalizeException(&type, &error, &trace);
  const Object done(PyObject_CallFunctionObjArgs(error_namer, error, module, nullptr));
  if (!done && PyErr_ExceptionMatches(PyExc_Exception)) PyErr_Clear();
  if (!PyErr_Occurred()) return PyErr_Restore(type, error, trace);
  Py_XDECREF(type);  // an interrupt came in between
  Py_XDECREF(error);
  Py_XDECREF(trace);
}

// Runs a module's call, and tells who watches.
template <class Run>
PyObject* watched(PyObject* self, const Run& run) {
  if (!modes.observer) [[likely]] {
    PyObject* result = run();
    if (!result) [[unlikely]]
      name_module(self);
    return result;
  }
  return guarded([&] {
    const int32_t caller = modes.module;
    modes.module = modes.observer->entered(self, caller);
    PyObject* result = run();
    modes.module = caller;
    if (!result) name_module(self);
    return result;
  });
}

PyObject* call_unwatched(PyObject* self, PyObject* const* items, Py_ssize_t count, PyObject* args,
                         PyObject* keywords);

// Calls a module: forward, with the hooks around it if there are any.
PyObject* call_module(PyObject* self, PyObject* args, PyObject* keywords) {
  PyObject* const* items = reinterpret_cast<PyTupleObject*>(args)->ob_item;
  return watched(
      self, [&] { return call_unwatched(self, items, PyTuple_GET_SIZE(args), args, keywords); });
}

PyObject* set_error_namer(PyObject*, PyObject* namer) {
  Py_XSETREF(error_namer, Py_NewRef(namer));
  Py_RETURN_NONE;
}

// The forward that a module has from its class, borrowed; null: calls find another one.
PyObject* forward_of_class(PyObject* module) {
  PyObject* forward = _PyType_Lookup(Py_TYPE(module), forward_name);
  if (!forward || own_attribute(module, forward_name)) return nullptr;
  static PyObject* const getter_name = PyUnicode_InternFromString("__getattribute__");
  static PyObject* const plain_getter = _PyType_Lookup(&PyBaseObject_Type, getter_name);
  return _PyType_Lookup(Py_TYPE(module), getter_name) == plain_getter ? forward : nullptr;
}
// Of a module whose class is a cell: its own, once it has been called.
PyObject* cell_of_module(PyObject* module, PyObject* forward) {
  if (!forward || Py_TYPE(forward) != forward_type) return nullptr;
  PyObject* cell = own_attribute(module, cell_name);
  const bool is_its_own =
      is_cell_of(cell, module) && PyMethod_GET_FUNCTION(body_of(cell)) == body_of(forward);
  return is_its_own ? cell : nullptr;
}
bool has_hooks(PyObject* module) {
  PyObject* hooks = own_attribute(module, hooks_name);
  return hooks && hooks != Py_None;
}

// What a module's call came to, as long as the dictionaries of the module and of its class are as
// they were then: nothing is looked up again. All borrowed from those.
struct Known {
  PyObject* module = nullptr;
  PyDictObject* dict = nullptr;
  uint64_t version = 0;
  unsigned type_version = 0;
  PyObject* forward = nullptr;
  PyObject* cell = nullptr;  // of a cell class: the module's own
  bool is_op = false;        // it is one op, with these arguments
  OpArguments arguments;
};

#if PY_VERSION_HEX < 0x030C0000  // later ones have no versions of dictionaries
Known& known_of(PyObject* module) {
  static Known all[256];
  return all[(reinterpret_cast<size_t>(module) >> 4) * 0x9e3779b97f4a7c15u >> 56];
}
bool is_still_known(const Known& known, PyObject* module) {
  if (known.module != module) return false;
  PyObject** dict = _PyObject_GetDictPtr(module);  // another one, if this is another module there
  return dict && *dict == reinterpret_cast<PyObject*>(known.dict) &&
         known.dict->ma_version_tag == known.version &&
         Py_TYPE(module)->tp_version_tag == known.type_version &&
         PyType_HasFeature(Py_TYPE(module), Py_TPFLAGS_VALID_VERSION_TAG);
}
// For a module that has no hooks.
void get_to_know(Known& known, PyObject* module) {
  known.module = nullptr;
  PyObject* forward = forward_of_class(module);
  PyObject** dict = _PyObject_GetDictPtr(module);
  if (!forward || !dict || !*dict) return;
  if (!PyType_HasFeature(Py_TYPE(forward), Py_TPFLAGS_METHOD_DESCRIPTOR)) return;
  known.is_op = Py_TYPE(forward) == op_type &&
                find_arguments(*reinterpret_cast<PyCell*>(forward), module, known.arguments);
  known.cell = cell_of_module(module, forward);
  known.module = module;
  known.forward = forward;
  known.dict = reinterpret_cast<PyDictObject*>(*dict);
  known.version = known.dict->ma_version_tag;
  known.type_version = Py_TYPE(module)->tp_version_tag;
}
#else
Known& known_of(PyObject*) {
  static Known none;
  return none;
}
bool is_still_known(const Known&, PyObject*) { return false; }
void get_to_know(Known&, PyObject*) {}
#endif

// `args` has the items as a tuple; null: there is none yet, and no keywords.
PyObject* call_unwatched(PyObject* self, PyObject* const* items, Py_ssize_t count, PyObject* args,
                         PyObject* keywords) {
  const auto with_tuple = [&](const auto& call) -> PyObject* {
    if (args) return call(args);
    const Object made(PyTuple_New(count));
    for (Py_ssize_t i = 0; made && i < count; ++i)
      PyTuple_SET_ITEM(made.get(), i, Py_NewRef(items[i]));
    return made ? call(made.get()) : nullptr;
  };
  if (Py_TYPE(self) == compiled_module_type && !keywords && !has_hooks(self)) {
    PyObject* target = own_attribute(self, target_name);
    if (target && is_called_as_module(target) && !has_hooks(target) &&
        !own_attribute(self, forward_name))
      return call_routine(Object::borrow(target).get(), items, count, nullptr);
  }
  Known& known = known_of(self);
  if (!is_still_known(known, self)) {
    if (has_hooks(self)) {
      return with_tuple([&](PyObject* given) {
        return PyObject_CallMethodObjArgs(self, call_with_hooks_name, given,
                                          keywords ? keywords : Py_None, nullptr);
      });
    }
    get_to_know(known, self);
  }
  if (keywords || count > most_arguments) {
    const Object forward(PyObject_GetAttr(self, forward_name));
    if (!forward) return nullptr;
    return with_tuple(
        [&](PyObject* given) { return PyObject_Call(forward.get(), given, keywords); });
  }
  PyObject* stack[1 + most_arguments] = {self};
  std::copy_n(items, count, stack + 1);
  if (known.module != self)
    return PyObject_VectorcallMethod(forward_name, stack, 1 + count, nullptr);
  if (known.cell) return call_cell(Object::borrow(known.cell).get(), items, count, nullptr);
  const Object forward = Object::borrow(known.forward);
  if (known.is_op && count == 1)
    return apply_op(*reinterpret_cast<PyCell*>(known.forward), known.arguments, items[0]);
  return PyObject_Vectorcall(forward.get(), stack, 1 + count, nullptr);
}

}  // namespace

bool is_called_as_module(PyObject* object) { return Py_TYPE(object)->tp_call == call_module; }

PyObject* call_as_module(PyObject* module, std::span<PyObject* const> args) {
  const auto count = static_cast<Py_ssize_t>(args.size());
  return watched(module,
                 [&] { return call_unwatched(module, args.data(), count, nullptr, nullptr); });
}

PyObject* plain_forward(PyObject* module) {
  if (!is_called_as_module(module)) return nullptr;
  const Known& known = known_of(module);
  if (is_still_known(known, module)) return known.forward;
  return has_hooks(module) ? nullptr : forward_of_class(module);
}

PyObject* cell_of(PyObject* callable) {
  if (Py_TYPE(callable) == cell_type) return callable;
  return cell_of_module(callable, plain_forward(callable));
}

void define_calls(PyObject* module) {
  cell_name = PyUnicode_InternFromString("_weft_cell");
  forward_name = PyUnicode_InternFromString("forward");
  hooks_name = PyUnicode_InternFromString("_hooks");
  target_name = PyUnicode_InternFromString("_orig_mod");
  call_with_hooks_name = PyUnicode_InternFromString("_call_with_hooks");
  number_type->tp_getattro = get_of_function;
  // The base of nn.Module, without memory of its own: instances are those of any Python class.
  PyType_Slot module_slots[] = {
      {Py_tp_call, reinterpret_cast<void*>(call_module)},
      {Py_tp_doc, const_cast<char*>("What runs its method `forward` when it is called.")},
      {0, nullptr},
  };
  PyType_Spec spec{"weft._core.Forward", 0, 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
                   module_slots};
  const Object type = Object::check(PyType_FromSpec(&spec));
  if (PyModule_AddType(module, reinterpret_cast<PyTypeObject*>(type.get())) < 0)
    throw PythonError{};
  static PyMethodDef functions[] = {
      {"set_error_namer", set_error_namer, METH_O,
       "Set what is called with an error of Weft's and each module that it leaves."},
      {nullptr, nullptr, 0, nullptr},
  };
  if (PyModule_AddFunctions(module, functions) < 0) throw PythonError{};
}

}  // namespace weft::bind
