// Where an example of a map may not wait for a value, while others go on: inside a lock, between
// the parts of a printed line, in a debugger.
#include <opcode.h>

#include <vector>

#include "weft/bind/python_host.h"
#include "weft/graph/modes.h"
#include "weft/routine/machine.h"

#if PY_VERSION_HEX < 0x030D0000
#define Py_BUILD_CORE
#include <internal/pycore_frame.h>
#endif

namespace weft::bind {
namespace {

#if PY_VERSION_HEX < 0x030D0000

// A `try` or `with` of a function, as Python's table of them tells; all in instructions.
struct Region {
  int start, end, handler, depth;
};

// Calls visit(region) for each; they do not overlap.
template <class Visit>
void visit_regions(PyCodeObject* code, const Visit& visit) {
  auto* at = reinterpret_cast<const unsigned char*>(PyBytes_AS_STRING(code->co_exceptiontable));
  const unsigned char* end = at + PyBytes_GET_SIZE(code->co_exceptiontable);
  const auto next = [&] {
    int number = *at & 63;
    while (*at++ & 64) number = number << 6 | (*at & 63);
    return number;
  };
  while (at < end) {
    const int start = next(), length = next(), handler = next(), depth = next() >> 1;
    visit(Region{start, start + length, handler, depth});
  }
}

// Where `__exit__` of each `with` block around an instruction lies on the function's stack.
struct Blocks {
  PyCodeObject* code = nullptr;  // owned
  int instruction = 0;
  std::vector<int> exits;
};

void find_blocks(Blocks& blocks) {
  const Object bytes = Object::check(PyCode_GetCode(blocks.code));  // as compiled
  const char* text = PyBytes_AS_STRING(bytes.get());
  const int width = sizeof(_Py_CODEUNIT);
  for (int at = blocks.instruction; at >= 0;) {
    Region around{0, 0, -1, 0};
    visit_regions(blocks.code, [&](const Region& region) {
      if (region.start <= at && at < region.end) around = region;
    });
    at = around.handler;
    if (at < 0) return;
    if (static_cast<unsigned char>(text[(at + 1) * width]) == WITH_EXCEPT_START)
      blocks.exits.push_back(around.depth - 1);
  }
}

const Blocks& blocks_around(const _PyInterpreterFrame& frame) {
  static Blocks recent[256];
  const int instruction = _PyInterpreterFrame_LASTI(&frame);
  Blocks& slot = recent[((reinterpret_cast<size_t>(frame.f_code) >> 4) + instruction) % 256];
  if (slot.code != frame.f_code || slot.instruction != instruction) {
    Py_INCREF(frame.f_code);
    Py_XSETREF(slot.code, frame.f_code);
    slot.instruction = instruction;
    slot.exits.clear();
    find_blocks(slot);
  }
  return slot;
}

bool has_name(PyObject* manager, const char* name) {
  return std::string_view(Py_TYPE(manager)->tp_name) == name;
}

bool is_blocking(PyObject* manager);

bool is_exit_of_blocking(PyObject* exit) {
  PyObject* manager = !exit                     ? nullptr
                      : PyMethod_Check(exit)    ? PyMethod_GET_SELF(exit)
                      : PyCFunction_Check(exit) ? PyCFunction_GET_SELF(exit)
                                                : nullptr;
  return manager && is_blocking(manager);
}

// Whether one of the function's `with` blocks holds what others would wait for.
bool is_blocking(const _PyInterpreterFrame& frame) {
  if (PyBytes_GET_SIZE(frame.f_code->co_exceptiontable) == 0) return false;
  for (int exit : blocks_around(frame).exits) {
    if (is_exit_of_blocking(frame.localsplus[frame.f_code->co_nlocalsplus + exit])) return true;
  }
  return false;
}

bool is_blocking(PyObject* manager) {
  if (has_name(manager, "_GeneratorContextManager")) {  // its `with` blocks are around its yield
    const Object generator(PyObject_GetAttrString(manager, "gen"));
    if (!generator) PyErr_Clear();
    if (!generator || !PyGen_CheckExact(generator.get())) return false;
    const auto* made = reinterpret_cast<PyGenObject*>(generator.get());
    return made->gi_frame_state == FRAME_SUSPENDED &&
           is_blocking(*reinterpret_cast<const _PyInterpreterFrame*>(made->gi_iframe));
  }
  if (!has_name(manager, "_thread.lock")) {
    const Object module(
        PyObject_GetAttrString(reinterpret_cast<PyObject*>(Py_TYPE(manager)), "__module__"));
    if (!module || !PyUnicode_Check(module.get())) return PyErr_Clear(), false;
    if (PyUnicode_CompareWithASCIIString(module.get(), "threading") != 0 &&
        PyUnicode_CompareWithASCIIString(module.get(), "multiprocessing.synchronize") != 0) {
      return false;
    }
  }
  const Object module = Object::check(PyImport_ImportModule("weft.batching.locks"));
  const Object found =
      Object::check(PyObject_CallMethod(module.get(), "would_block", "O", manager));
  return found.get() == Py_True;
}

[[noreturn]] void refuse_lock(PyCodeObject* code, int offset) {
  const char* file = PyUnicode_AsUTF8(code->co_filename);
  raise(PyExc_RuntimeError,
        base::text("weft.map: an example needs a value at ",
                   graph::position_text(graph::current_position()), " inside a lock (taken by ",
                   file ? file : "?", ":", PyCode_Addr2Line(code, offset),
                   "), and would let the other examples go on, which may wait for that lock for "
                   "ever: read values before it is taken or after it is given back, or use "
                   "weft.map(batch=False)"));
}

void refuse_locks_of(const routine::Task& task) {
  for (const routine::Entered& block : task.entered()) {
    const routine::Frame& frame = task.frames()[block.frame];
    auto* code = static_cast<PyCodeObject*>(frame.routine->source);
    if (code && is_exit_of_blocking(object_in(block.leave)))
      refuse_lock(code, frame.routine->offsets[frame.place]);
  }
}

// Of the calls on this stack: frames of Python's and routines that they run.
void refuse_locks() {
  const auto* run = static_cast<const routine::Task*>(graph::modes.run);
  for (const _PyInterpreterFrame* frame = PyThreadState_Get()->cframe->current_frame; frame;
       frame = frame->previous) {
    for (; run && run->host_frame() == frame; run = run->outer()) refuse_locks_of(*run);
    if (!_PyFrame_IsIncomplete(const_cast<_PyInterpreterFrame*>(frame)) && is_blocking(*frame)) {
      refuse_lock(frame->f_code,
                  _PyInterpreterFrame_LASTI(frame) * static_cast<int>(sizeof(_Py_CODEUNIT)));
    }
  }
}

#else
void refuse_locks() {}
#endif

PyObject* check_locks(PyObject*, PyObject*) {
  return guarded([&]() -> PyObject* {
    refuse_inside_locks();
    Py_RETURN_NONE;
  });
}

PyObject* debugged(PyObject*, PyObject*) { return PyBool_FromLong(is_debugged()); }

_PyCFunctionFastWithKeywords print_parts;

// `print` writes each part as soon as it has its text, and to have that may mean to wait. Here all
// texts are there before the first is written. A body that is looked at may not read them at all.
PyObject* print_whole(PyObject* module, PyObject* const* args, Py_ssize_t count, PyObject* names) {
  if (!graph::modes.park && !graph::modes.is_look) [[likely]]
    return print_parts(module, args, count, names);
  std::vector<Object> texts;
  std::vector<PyObject*> given(args, args + count + (names ? PyTuple_GET_SIZE(names) : 0));
  for (Py_ssize_t i = 0; i < count; ++i) {
    if (PyUnicode_CheckExact(args[i])) continue;
    given[i] = texts.emplace_back(PyObject_Str(args[i])).get();
    if (!given[i]) return nullptr;
  }
  return print_parts(module, given.data(), count, names);
}

// It is Python's own function that does so from then on, whatever name it is called by: programs
// that put another one in its place are left alone, and nothing is put back when a map ends.
PyObject* keep_prints_whole(PyObject*, PyObject*) {
  if (print_parts) Py_RETURN_NONE;
  const Object builtins(PyImport_ImportModule("builtins"));
  const PyModuleDef* module = builtins ? PyModule_GetDef(builtins.get()) : nullptr;
  if (!module) return nullptr;
  for (PyMethodDef* method = module->m_methods; method->ml_name; ++method) {
    if (std::string_view(method->ml_name) != "print" ||
        method->ml_flags != (METH_FASTCALL | METH_KEYWORDS)) {
      continue;
    }
    print_parts = reinterpret_cast<_PyCFunctionFastWithKeywords>(
        reinterpret_cast<void (*)()>(method->ml_meth));
    method->ml_meth = reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(print_whole));
  }
  Py_RETURN_NONE;
}

PyMethodDef methods[] = {
    {"refuse_inside_locks", check_locks, METH_NOARGS,
     "Raise if this example holds a lock that others would wait for."},
    {"is_debugged", debugged, METH_NOARGS, "Tell whether a debugger follows what runs now."},
    {"keep_prints_whole", keep_prints_whole, METH_NOARGS,
     "Let `print` have all texts in an example before it writes the first."},
    {},
};

}  // namespace

void refuse_inside_locks() { refuse_locks(); }

// A debugger asks for values while nothing is followed, and its session belongs to one example.
bool is_debugged() {
  const PyThreadState* thread = PyThreadState_Get();
  if (thread->tracing > 0) return true;
  if (!thread->c_traceobj || !PyMethod_Check(thread->c_traceobj)) return false;
  const Object name(PyUnicode_InternFromString("bdb"));
  const Object module(PyImport_GetModule(name.get()));
  const Object type(module ? PyObject_GetAttrString(module.get(), "Bdb") : nullptr);
  const int is = type ? PyObject_IsInstance(PyMethod_GET_SELF(thread->c_traceobj), type.get()) : 0;
  if (is < 0 || PyErr_Occurred()) PyErr_Clear();
  return is == 1;
}

void define_waiting(PyObject* module) {
  if (PyModule_AddFunctions(module, methods) < 0) throw PythonError{};
}

}  // namespace weft::bind
