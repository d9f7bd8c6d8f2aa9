// Routines as objects of Python, and compiled functions: what calls them runs the routine.
#include "weft/bind/binding.h"
#include "weft/bind/frames.h"
#include "weft/bind/python_host.h"
#include "weft/routine/machine.h"

namespace weft::bind {

using routine::Arguments;
using routine::Callee;
using routine::Register;
using routine::Routine;
using routine::RoutineRef;
using routine::Task;

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
  if (made.get() != Py_None) answer->routine = nb::cast<PyRoutine&>(nb::handle(made.get())).routine;
  return answer->routine.get();
}

namespace {

Register constant_from(nb::handle object) { return unboxed(object.inc_ref().ptr()); }

PyRoutine make_routine(std::string name, nb::object source, int positional, int keyword_only,
                       bool has_rest, bool has_options, bool is_inlined, int registers,
                       int free_begin, int free_count, nb::tuple names, nb::tuple constants,
                       std::vector<int32_t> code, std::vector<int32_t> offsets, nb::list nested,
                       const std::vector<std::vector<int32_t>>& handlers) {
  auto made = base::make_ref<Routine>();
  made->name = std::move(name);
  made->source = source.is_none() ? nullptr : source.ptr();
  made->positional = positional;
  made->keyword_only = keyword_only;
  made->has_rest = has_rest;
  made->has_options = has_options;
  made->is_inlined = is_inlined;
  made->registers = registers;
  made->free_begin = free_begin;
  made->free_count = free_count;
  for (nb::handle item : names) {
    PyObject* text = item.inc_ref().ptr();
    PyUnicode_InternInPlace(&text);
    made->names.push_back(text);
  }
  for (nb::handle item : constants) made->constants.push_back(constant_from(item));
  made->code = std::move(code);
  made->offsets = std::move(offsets);
  for (nb::handle item : nested) made->nested.push_back(nb::cast<PyRoutine&>(item).routine);
  for (const std::vector<int32_t>& handler : handlers)
    made->handlers.push_back({handler[0], handler[1], handler[2], handler[3]});
  return {made};
}

// --- Calls
// ------------------------------------------------------------------------------------------

bool is_enabled = true;

// A debugger, tracer, profiler or coverage tool sees Python's own lines.
bool is_followed() {
  const PyThreadState* thread = PyThreadState_Get();
  return thread->c_tracefunc || thread->c_profilefunc;
}

struct PyCompiled {
  PyObject_HEAD vectorcallfunc vectorcall;
  PyObject* target;
  PyObject* dict;
  PyObject* weak_references;
};
PyTypeObject* compiled_type = nullptr;

Register from_argument(PyObject* object) { return unboxed(Py_NewRef(object)); }

PyObject* call_compiled(PyObject* self, PyObject* const* args, size_t flags, PyObject* names) {
  PyObject* target = reinterpret_cast<PyCompiled*>(self)->target;
  if (!is_enabled || is_followed()) return PyObject_Vectorcall(target, args, flags, names);
  if (Py_EnterRecursiveCall(" of a compiled function")) return nullptr;
  PyObject* result = guarded([&]() -> PyObject* {
    try {
      const Callee callee = routine::host->find_callee(Register::borrowed(target));
      if (!callee.routine) return PyObject_Vectorcall(target, args, flags, names);
      const size_t count = PyVectorcall_NARGS(flags) + (names ? PyTuple_GET_SIZE(names) : 0);
      base::SmallVector<Register, 8> values;
      base::SmallVector<const Register*, 8> given;
      values.reserve(count);
      for (size_t i = 0; i < count; ++i) values.push_back(from_argument(args[i]));
      for (const Register& value : values) given.push_back(&value);
      Task task(false);
      if (!task.begin(callee, {given, names}))
        return PyObject_Vectorcall(target, args, flags, names);
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
PyType_Slot compiled_slots[] = {
    {Py_tp_new, reinterpret_cast<void*>(new_compiled)},
    {Py_tp_init, reinterpret_cast<void*>(+[](PyObject*, PyObject*, PyObject*) { return 0; })},
    {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
    {Py_tp_traverse, reinterpret_cast<void*>(visit_compiled)},
    {Py_tp_clear, reinterpret_cast<void*>(clear_compiled)},
    {Py_tp_dealloc, reinterpret_cast<void*>(destroy_compiled)},
    {Py_tp_members, compiled_members},
    {Py_tp_doc, const_cast<char*>("What runs a function's routine when it is called.")},
    {0, nullptr}};
PyType_Spec compiled_spec{
    "weft._core.CompiledCall", sizeof(PyCompiled), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL,
    compiled_slots};

}  // namespace

void define_routines(nb::module_& module) {
  connect_host();
  code_index = _PyEval_RequestCodeExtraIndex(forget_answer);
  nb::class_<PyRoutine>(module, "Routine", "A compiled function, as the machine runs it.");
  module.def("make_routine", make_routine, nb::kw_only(), nb::arg("name"), nb::arg("source").none(),
             nb::arg("positional"), nb::arg("keyword_only"), nb::arg("has_rest"),
             nb::arg("has_options"), nb::arg("is_inlined"), nb::arg("registers"),
             nb::arg("free_begin"), nb::arg("free_count"), nb::arg("names"), nb::arg("constants"),
             nb::arg("code"), nb::arg("offsets"), nb::arg("nested"), nb::arg("handlers"),
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
      "set_front_end", [](nb::object function) { front_end = function.release().ptr(); },
      "Name the function that gives a Python function's routine, or None.");
  module.def(
      "enable_compiled", [](bool wanted) { return std::exchange(is_enabled, wanted); },
      "Let compiled functions run as routines, or as Python; return what was before.");
  const Object type = Object::check(PyType_FromSpec(&compiled_spec));
  compiled_type = reinterpret_cast<PyTypeObject*>(type.get());
  if (PyModule_AddType(module.ptr(), compiled_type) < 0) throw PythonError{};
}

}  // namespace weft::bind
