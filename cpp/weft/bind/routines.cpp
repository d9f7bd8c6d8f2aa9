// Routines as objects of Python, and compiled functions: what calls them runs the routine.
#include <nanobind/stl/array.h>

#include "weft/bind/binding.h"
#include "weft/bind/cell.h"
#include "weft/bind/frames.h"
#include "weft/bind/python_host.h"
#include "weft/bind/routines.h"
#include "weft/bind/segments.h"
#include "weft/routine/machine.h"
#include "weft/routine/validate.h"

namespace weft::bind {

using routine::Callee;
using routine::Register;
using routine::Routine;
using routine::RoutineRef;
using routine::Task;
using Given = routine::Arguments;

namespace {

// --- Routines, found by code
// ----------------------------------------------------------------------

PyObject* front_end = nullptr;  // gives a function's routine, or None; null before it is there
Py_ssize_t code_index = -1;     // where code objects keep their answer

struct Answer {
  RoutineRef routine;
};
void forget_answer(void* answer) { delete static_cast<Answer*>(answer); }

struct PyRoutine {
  RoutineRef routine;
};

// What the code object has been found to be; null: nobody asked.
Answer* answer_of(PyObject* code) {
  void* found = nullptr;
  if (_PyCode_GetExtra(code, code_index, &found) < 0) throw PythonError{};
  return static_cast<Answer*>(found);
}

}  // namespace

Routine* routine_of(PyObject* function) {
  PyObject* code = PyFunction_GET_CODE(function);
  if (is_composite(function)) return nullptr;
  if (Answer* known = answer_of(code)) return known->routine.get();
  if (!front_end) return nullptr;
  auto* answer = new Answer;  // while the front end works, it runs as Python
  if (_PyCode_SetExtra(code, code_index, answer) < 0) throw PythonError{};
  const Object held = Object::borrow(code);
  Object made(PyObject_CallOneArg(front_end, function));
  if (!made) {
    _PyCode_SetExtra(code, code_index, nullptr);
    throw PythonError{};
  }
  if (made.get() != Py_None) {
    RoutineRef found = nb::cast<PyRoutine&>(nb::handle(made.get())).routine;
    if (found->source != code || found->is_comprehension)
      base::bug("the front end gave another function's routine");
    answer->routine = std::move(found);
  }
  return answer->routine.get();
}

namespace {

Register constant_from(nb::handle object) { return unboxed(object.inc_ref().ptr()); }

int names_in(const Register& constant) {
  if (!constant.is_object() || !PyTuple_CheckExact(object_in(constant))) return -1;
  PyObject* names = object_in(constant);
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names); ++i) {
    if (!PyUnicode_CheckExact(PyTuple_GET_ITEM(names, i))) return -1;
  }
  return static_cast<int>(PyTuple_GET_SIZE(names));
}
int cells_of(const Register& constant) {
  if (!constant.is_object() || !PyCode_Check(object_in(constant))) return -1;
  return static_cast<int>(PyCode_GetNumFree(reinterpret_cast<PyCodeObject*>(object_in(constant))));
}

// What the host relies on: the parameters and places are those of the source's own code.
void check_source(const Routine& routine) {
  const auto expect = [&](bool holds, const char* what) {
    if (!holds) base::fail(ErrorKind::value, "make_routine(): ", what);
  };
  expect(routine.source && PyCode_Check(static_cast<PyObject*>(routine.source)),
         "a routine has a code of Python's");
  auto* code = static_cast<PyCodeObject*>(routine.source);
  const Object bytes = Object::check(PyCode_GetCode(code));
  constexpr int no_frame = -2;
  for (const int32_t offset : routine.offsets) {
    expect(no_frame <= offset && offset < PyBytes_GET_SIZE(bytes.get()) &&
               (offset < 0 || offset % 2 == 0),
           "an offset is not in the code");
  }
  if (routine.is_comprehension) return;
  expect(routine.positional == code->co_argcount &&
             routine.keyword_only == code->co_kwonlyargcount &&
             routine.has_rest == static_cast<bool>(code->co_flags & CO_VARARGS) &&
             routine.has_options == static_cast<bool>(code->co_flags & CO_VARKEYWORDS),
         "its parameters are not those of the code");
  expect(routine.free_count == PyCode_GetNumFree(code), "its cells are not those of the code");
}

PyRoutine make_routine(std::string name, nb::object source, int positional, int keyword_only,
                       bool has_rest, bool has_options, bool is_comprehension, bool is_inlined,
                       int registers, int free_begin, int free_count,
                       std::vector<std::string> variables, nb::tuple names, nb::tuple constants,
                       std::vector<int32_t> code, std::vector<int32_t> offsets, nb::list nested,
                       const std::vector<std::array<int32_t, 4>>& handlers) {
  auto made = base::make_ref<Routine>();
  made->name = std::move(name);
  made->source = source.ptr();
  made->positional = positional;
  made->keyword_only = keyword_only;
  made->has_rest = has_rest;
  made->has_options = has_options;
  made->is_comprehension = is_comprehension;
  made->is_inlined = is_inlined;
  made->registers = registers;
  made->free_begin = free_begin;
  made->free_count = free_count;
  made->variables = std::move(variables);
  for (nb::handle item : names) {
    if (!PyUnicode_CheckExact(item.ptr()))
      base::fail(ErrorKind::value, "make_routine(): a name is no text");
    PyObject* text = item.inc_ref().ptr();
    PyUnicode_InternInPlace(&text);
    made->names.push_back(text);
  }
  for (nb::handle item : constants) made->constants.push_back(constant_from(item));
  made->code = std::move(code);
  made->offsets = std::move(offsets);
  for (nb::handle item : nested) made->nested.push_back(nb::cast<PyRoutine&>(item).routine);
  for (const auto& [begin, end, place, target] : handlers)
    made->handlers.push_back({begin, end, place, target});
  check_source(*made);
  if (const auto problem = routine::find_problem(*made, {names_in, cells_of}))
    base::fail(ErrorKind::value, "make_routine(): ", *problem);
  return {made};
}

// --- Reading them
// -----------------------------------------------------------------------------------

nb::object object_of(const Register& constant) { return nb::steal(boxed(constant).release()); }

void define_routine(nb::module_& module) {
  const auto list_of = [](const auto& items, const auto& convert) {
    nb::list found;
    for (const auto& item : items) found.append(convert(item));
    return found;
  };
  nb::class_<PyRoutine>(module, "Routine", "A compiled function, as the machine runs it.")
      .def_prop_ro("name", [](const PyRoutine& self) { return self.routine->name; })
      .def_prop_ro("registers", [](const PyRoutine& self) { return self.routine->registers; })
      .def_prop_ro("variables", [](const PyRoutine& self) { return self.routine->variables; })
      .def_prop_ro("code", [](const PyRoutine& self) { return self.routine->code; })
      .def_prop_ro("offsets", [](const PyRoutine& self) { return self.routine->offsets; })
      .def_prop_ro("names",
                   [list_of](const PyRoutine& self) {
                     return list_of(self.routine->names, [](routine::HostObject name) {
                       return nb::borrow(static_cast<PyObject*>(name));
                     });
                   })
      .def_prop_ro(
          "constants",
          [list_of](const PyRoutine& self) { return list_of(self.routine->constants, object_of); })
      .def_prop_ro("nested",
                   [list_of](const PyRoutine& self) {
                     return list_of(self.routine->nested, [](const RoutineRef& nested) {
                       return nb::cast(PyRoutine{nested});
                     });
                   })
      .def_prop_ro("handlers", [list_of](const PyRoutine& self) {
        return list_of(self.routine->handlers, [](const routine::Handler& handler) {
          return nb::make_tuple(handler.begin, handler.end, handler.place, handler.target);
        });
      });
}

// --- Calls
// ------------------------------------------------------------------------------------------

bool is_enabled = true;

// A debugger, tracer, profiler or coverage tool sees Python's own lines.
bool is_followed() {
  const PyThreadState* thread = PyThreadState_Get();
  if (thread->c_tracefunc || thread->c_profilefunc) return true;
#if PY_VERSION_HEX >= 0x030C0000
  // Those that use sys.monitoring: debuggers, coverage tools and profilers have numbers there.
  static PyObject* const get_tool = [] {
    PyObject* monitoring = PySys_GetObject("monitoring");
    return monitoring ? PyObject_GetAttrString(monitoring, "get_tool") : nullptr;
  }();
  constexpr int tools = 3;
  for (int i = 0; get_tool && i < tools; ++i) {
    const Object number(PyLong_FromLong(i));
    const Object tool(number ? PyObject_CallOneArg(get_tool, number.get()) : nullptr);
    if (tool && tool.get() != Py_None) return true;
  }
  PyErr_Clear();
#endif
  return false;
}

}  // namespace

bool steps_aside = true;  // where that pays

bool runs_routines() { return is_enabled && !is_followed(); }

bool begin_call(PyObject* callable, std::span<PyObject* const> args, PyObject* names, Task& task,
                bool may_step_aside) {
  const Callee callee = routine::host->find_callee(Register::borrowed(callable));
  if (!callee.routine) return false;
  if (may_step_aside && steps_aside && callee.routine->trial.steps_aside()) return false;
  base::SmallVector<Register, 8> values;
  base::SmallVector<const Register*, 8> given;
  values.reserve(args.size());
  for (PyObject* object : args) values.push_back(unboxed(Py_NewRef(object)));
  for (const Register& value : values) given.push_back(&value);
  return task.begin(callee, {given, names});
}

namespace {

// While a call of the host's runs, whatever comes of it.
class TrialOfCall {
 public:
  explicit TrialOfCall(routine::Trial& trial) : trial_(trial), before_(routine::counts) {}
  TrialOfCall(const TrialOfCall&) = delete;
  ~TrialOfCall() { trial_.note(before_); }

 private:
  routine::Trial& trial_;
  routine::Counts before_;
};

struct PyCompiled {
  PyObject_HEAD vectorcallfunc vectorcall;
  PyObject* target;
  PyObject* dict;
  PyObject* weak_references;
};
PyTypeObject* compiled_type = nullptr;

PyObject* call_compiled(PyObject* self, PyObject* const* args, size_t flags, PyObject* names) {
  return call_routine(reinterpret_cast<PyCompiled*>(self)->target, args, flags, names);
}

}  // namespace

PyObject* call_routine(PyObject* target, PyObject* const* args, size_t flags, PyObject* names) {
  if (!runs_routines()) return PyObject_Vectorcall(target, args, flags, names);
  if (Py_EnterRecursiveCall(" of a compiled function")) return nullptr;
  PyObject* result = guarded([&]() -> PyObject* {
    try {
      const size_t count = PyVectorcall_NARGS(flags) + (names ? PyTuple_GET_SIZE(names) : 0);
      const auto on_heap = std::make_unique<Task>(false);  // a fiber's stack may be moved
      Task& task = *on_heap;
      if (!begin_call(target, {args, count}, names, task, true))
        return PyObject_Vectorcall(target, args, flags, names);
      const RoutineRef routine = task.frames()[0].routine;
      const TrialOfCall trial(routine->trial);
      const routine::RunGuard guard(task, python_frame());
      task.run();
      return boxed(task.take_result()).release();
    } catch (const routine::Raised&) {
      throw PythonError{};
    }
  });
  Py_LeaveRecursiveCall();
  return result;
}

namespace {

PyObject* new_compiled(PyTypeObject* type, PyObject* args, PyObject*) {
  if (PyTuple_GET_SIZE(args) < 1) {
    PyErr_SetString(PyExc_TypeError, "compile(): a function or module is missing");
    return nullptr;
  }
  auto* self = reinterpret_cast<PyCompiled*>(type->tp_alloc(type, 0));
  if (!self) return nullptr;
  self->vectorcall = call_compiled;
  self->target = Py_NewRef(PyTuple_GET_ITEM(args, 0));
  return reinterpret_cast<PyObject*>(self);
}
int visit_compiled(PyObject* object, visitproc visit, void* arg) {
  auto* self = reinterpret_cast<PyCompiled*>(object);
  Py_VISIT(self->target);
  Py_VISIT(self->dict);
  Py_VISIT(Py_TYPE(object));
  return 0;
}
int clear_compiled(PyObject* object) {
  auto* self = reinterpret_cast<PyCompiled*>(object);
  Py_CLEAR(self->target);
  Py_CLEAR(self->dict);
  return 0;
}
void destroy_compiled(PyObject* object) {
  PyTypeObject* type = Py_TYPE(object);
  PyObject_GC_UnTrack(object);
  if (reinterpret_cast<PyCompiled*>(object)->weak_references) PyObject_ClearWeakRefs(object);
  clear_compiled(object);
  type->tp_free(object);
  Py_DECREF(type);
}

PyMemberDef compiled_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(PyCompiled, vectorcall), READONLY, nullptr},
    {"__dictoffset__", T_PYSSIZET, offsetof(PyCompiled, dict), READONLY, nullptr},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(PyCompiled, weak_references), READONLY, nullptr},
    {"_target", T_OBJECT, offsetof(PyCompiled, target), READONLY, nullptr},
    {}};
PyGetSetDef compiled_properties[] = {
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr}, {}};
PyType_Slot compiled_slots[] = {
    {Py_tp_new, reinterpret_cast<void*>(new_compiled)},
    {Py_tp_init, reinterpret_cast<void*>(+[](PyObject*, PyObject*, PyObject*) { return 0; })},
    {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
    {Py_tp_traverse, reinterpret_cast<void*>(visit_compiled)},
    {Py_tp_clear, reinterpret_cast<void*>(clear_compiled)},
    {Py_tp_dealloc, reinterpret_cast<void*>(destroy_compiled)},
    {Py_tp_members, compiled_members},
    {Py_tp_getset, compiled_properties},
    {Py_tp_doc, const_cast<char*>("What runs a function's routine when it is called.")},
    {0, nullptr}};
PyType_Spec compiled_spec{
    "weft._core.CompiledCall", sizeof(PyCompiled), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL,
    compiled_slots};

}  // namespace

PyObject* compiled_target(PyObject* object) {
  const bool is_compiled =
      Py_TYPE(object)->tp_vectorcall_offset == offsetof(PyCompiled, vectorcall) &&
      PyObject_TypeCheck(object, compiled_type);
  return is_compiled ? reinterpret_cast<PyCompiled*>(object)->target : nullptr;
}

void define_routines(nb::module_& module) {
  connect_host();
  connect_segments();
  code_index = _PyEval_RequestCodeExtraIndex(forget_answer);
  define_routine(module);
  module.def(
      "routine_of",
      [](nb::handle function) -> std::optional<PyRoutine> {
        if (!PyFunction_Check(function.ptr())) return std::nullopt;
        Routine* found = routine_of(function.ptr());
        return found ? std::optional(PyRoutine{RoutineRef(found)}) : std::nullopt;
      },
      nb::arg("function"), "Return what a function runs as when it is compiled; None: as Python.");
  module.def("runs_routines", runs_routines,
             "Tell whether compiled functions run as routines now.");
  module.def(
      "set_compiled_module_type",
      [](nb::type_object type) {
        compiled_module_type = reinterpret_cast<PyTypeObject*>(type.release().ptr());
      },
      nb::arg("type"), "Name the class of modules that run the forward of their `_orig_mod`.");
  module.def(
      "let_step_aside", [](bool wanted) { return std::exchange(steps_aside, wanted); },
      nb::arg("wanted"),
      "Say whether Python may run calls of compiled functions where routines do not pay; return "
      "what "
      "was said before.");
  module.def(
      "routine_counts",
      [] {
        const routine::Counts& counts = routine::counts;
        return nb::make_tuple(counts.instructions, counts.segments, counts.ops);
      },
      "Return this thread's instructions, segments and ops of segments until now.");
  module.def(
      "set_switch_type",
      [](nb::type_object type) {
        switch_type = reinterpret_cast<PyTypeObject*>(type.release().ptr());
      },
      nb::arg("type"), "Name the class of `with` blocks that switch modes and nothing else.");
  module.def("make_routine", make_routine, nb::kw_only(), nb::arg("name"), nb::arg("source"),
             nb::arg("positional"), nb::arg("keyword_only"), nb::arg("has_rest"),
             nb::arg("has_options"), nb::arg("is_comprehension"), nb::arg("is_inlined"),
             nb::arg("registers"), nb::arg("free_begin"), nb::arg("free_count"),
             nb::arg("variables"), nb::arg("names"), nb::arg("constants"), nb::arg("code"),
             nb::arg("offsets"), nb::arg("nested"), nb::arg("handlers"),
             "Return a routine that has passed the grammar.");
  module.def(
      "routine_instructions",
      [] {
        nb::list all;
        for (const routine::InstructionKind& kind : routine::instruction_kinds) {
          all.append(nb::make_tuple(std::string(kind.name), std::string(kind.operands),
                                    std::string(kind.meaning)));
        }
        return all;
      },
      "Return (name, operands, meaning) of each instruction, by number.");
  module.def(
      "set_front_end",
      [](nb::object function) {
        const nb::object before = nb::steal(front_end ? front_end : Py_NewRef(Py_None));
        front_end = function.is_none() ? nullptr : function.release().ptr();
        return before;
      },
      nb::arg("function").none(),
      "Name the function that gives a Python function's routine, or None; return the one before.");
  module.def(
      "enable_compiled", [](bool wanted) { return std::exchange(is_enabled, wanted); },
      "Let compiled functions run as routines, or as Python; return what was before.");
  const Object type = Object::check(PyType_FromSpec(&compiled_spec));
  compiled_type = reinterpret_cast<PyTypeObject*>(type.get());
  if (PyModule_AddType(module.ptr(), compiled_type) < 0) throw PythonError{};
}

}  // namespace weft::bind
