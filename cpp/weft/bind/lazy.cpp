// Lazy scopes and fibers: who computes what is pending, and when.
#include "weft/exec/lazy.h"

#include <unordered_map>

#include "weft/bind/binding.h"
#include "weft/bind/kept.h"
#include "weft/graph/modes.h"
#include "weft/graph/shared_writes.h"
#include "weft/graph/strand.h"
#include "weft/graph/tape.h"
#include "weft/graph/vmap.h"

namespace weft::bind {
namespace {

using graph::modes;
using graph::Pending;

thread_local std::vector<Value> demanded;  // by the fibers that are parked

// Plans that one line asked for, one after the other.
struct Watched {
  static constexpr int64_t most_plans = 20, few_rows = 4, few_examples = 8;
  graph::Position position = 0;
  int64_t plans = 0, batches = 0, rows = 0;
  bool has_few_rows() const { return rows < few_rows * batches; }
};
thread_local bool is_of_few = false;  // the plan that runs now is of a map of few examples
thread_local Watched of_map;  // that runs now: its last examples are few, and do not count alone

// Plans of a few rows each cost more than they save. Said once for each line that keeps asking.
void watch(const Watched& seen) {
  struct Line : Watched {
    bool said = false;
  };
  if (seen.plans == 0) return;
  static std::unordered_map<graph::Position, Line> lines;
  constexpr size_t most_lines = 4096;
  if (lines.size() >= most_lines && !lines.contains(seen.position)) lines.clear();
  Line& line = lines[seen.position];
  line.plans += seen.plans;
  line.batches += seen.batches;
  line.rows += seen.rows;
  if (!line.has_few_rows()) line.plans = line.batches = line.rows = 0;
  if (line.plans <= Watched::most_plans || std::exchange(line.said, true)) return;
  const std::string text = base::text(
      "more than ", Watched::most_plans, " plans in a row that ",
      graph::position_text(seen.position), " asked for ran fewer than ", Watched::few_rows,
      " rows a batch: there is little to gain from lazy evaluation here. Read values later or less "
      "often, run more examples in one weft.map, or compute at once, without weft.lazy and with "
      "weft.map(batch=False) (see weft.explain()).");
  warn(PyExc_RuntimeWarning, text, seen.position);
}

Watched run_plan(std::span<const Value> values) {
  const exec::RanPlan* plan = exec::run_pending(values);
  if (!plan) return {};
  Watched seen{plan->position, 1, static_cast<int64_t>(plan->batches.size())};
  for (const exec::RanBatch& batch : plan->batches) seen.rows += batch.rows + batch.equal;
  return seen;
}

// A fiber that needs a value says which and steps aside; the map runs one plan for all of them.
void demand_values(std::span<const Value> values) {
  if (modes.is_look) graph::refuse_in_program("reads a value");
  for (const Value& value : values) {
    if (value && value->mapped) graph::refuse_reading(*value->mapped);
    if (value && !value.array().storage && !value->pending) {
      graph::refuse_in_program("reads a value");
      base::fail(ErrorKind::value, "this tensor was kept by a cell's body while it was looked at, ",
                 "and has no values");
    }
  }
  graph::close_strand();
  const bool waits = modes.park && !modes.executor;
  // One by one in a debugger, or other examples' breakpoints would not be heeded.
  if (!waits || is_debugged()) {
    const Watched seen = run_plan(values);
    if (modes.example < 0 && !is_of_few) watch(seen);  // maps are told of all their plans
    return;
  }
  refuse_inside_locks();
  ++exec::ran_counts().waits;
  for (const Value& value : values) {
    if (value && value->pending) demanded.push_back(value);
  }
  const Kept kept;
  const Stream stream = default_stream();
  const Object done = Object(PyObject_CallNoArgs(static_cast<PyObject*>(modes.park)));
  kept.give();
  default_stream() = stream;
  if (!done) throw PythonError{};
  for (const Value& value : values) {
    if (!value || !value->pending) continue;
    exec::run_pending(values);
    return;
  }
}

}  // namespace

void demand_later(const Value& value) { demanded.push_back(value); }

void start_example(int32_t example, PyObject* park) {
  modes.example = example;
  modes.fiber = graph::next_fiber();
  modes.park = park;
  modes.lazy = true;
}

namespace {

PyObject* set_lazy(PyObject*, PyObject* wanted) {
  const bool before = std::exchange(modes.lazy, wanted == Py_True);
  return PyBool_FromLong(before);
}

// A `with` block that no interrupt comes into: Python's own would let one between its lines.
struct LazyScope {
  bool enabled;
  std::vector<bool> before;

  static bool set(bool wanted) {  // through the module, where a listener may have a stand-in
    return nb::cast<bool>(nb::module_::import_("weft._core").attr("set_lazy")(wanted));
  }
  void enter() { before.push_back(set(enabled)); }
  void exit(const nb::args&) {
    if (before.empty()) throw nb::index_error("this scope is left already");
    const bool wanted = before.back();
    before.pop_back();
    set(wanted);
  }
};

PyObject* is_lazy(PyObject*, PyObject*) { return PyBool_FromLong(modes.lazy); }
// Whether ops run at once and nobody but autograd follows them.
PyObject* is_plain(PyObject*, PyObject*) {
  return PyBool_FromLong(!(modes.lazy || modes.observer || modes.tracer || modes.executor ||
                           modes.vmap || modes.keep_values || modes.save_hooks));
}
PyObject* is_look(PyObject*, PyObject*) { return PyBool_FromLong(modes.is_look); }

PyObject* start_fiber(PyObject*, PyObject* args) {  // start_fiber(example, park)
  int example;
  PyObject* park;
  if (!PyArg_ParseTuple(args, "iO", &example, &park)) return nullptr;
  start_example(example, park);
  Py_RETURN_NONE;
}

// keep_modes() returns the thread's modes; give_modes(kept) sets them again.
PyObject* keep_modes(PyObject*, PyObject*) {
  return PyCapsule_New(new Kept, "weft.modes", [](PyObject* capsule) {
    delete static_cast<Kept*>(PyCapsule_GetPointer(capsule, "weft.modes"));
  });
}
// describe_modes() returns all that an example may switch, as numbers.
PyObject* describe_modes(PyObject*, PyObject*) {
  const auto number = [](const void* pointer) { return reinterpret_cast<Py_ssize_t>(pointer); };
  return Py_BuildValue("(iiiiiniiInnnnnn)", modes.grad, modes.inference, modes.is_look, modes.lazy,
                       modes.example, number(modes.park), modes.keep_values, modes.module,
                       modes.position, number(modes.executor), number(modes.observer),
                       number(modes.tracer), number(modes.vmap), number(modes.save_hooks),
                       number(modes.rows));
}
PyObject* give_modes(PyObject*, PyObject* capsule) {
  const auto* kept = static_cast<Kept*>(PyCapsule_GetPointer(capsule, "weft.modes"));
  if (!kept) return nullptr;
  kept->give();
  Py_RETURN_NONE;
}

// Runs one plan for all that parked fibers wait for.
PyObject* run_demanded(PyObject*, PyObject*) {
  return guarded([&]() -> PyObject* {
    const std::vector<Value> values = std::exchange(demanded, {});
    const Watched seen = run_plan(values);
    of_map = {seen.position, of_map.plans + seen.plans, of_map.batches + seen.batches,
              of_map.rows + seen.rows};
    Py_RETURN_NONE;
  });
}
PyObject* forget_demanded(PyObject*, PyObject*) {
  demanded.clear();
  graph::forget_fibers();
  of_map = {};
  Py_RETURN_NONE;
}
// watch_map(examples): of few examples no larger batches could be made.
PyObject* watch_map(PyObject*, PyObject* examples) {
  return guarded([&]() -> PyObject* {
    const Py_ssize_t count = PyLong_AsSsize_t(examples);
    if (count == -1 && PyErr_Occurred()) throw PythonError{};
    if (count >= Watched::few_examples) watch(of_map);
    Py_RETURN_NONE;
  });
}

// Makes an exception that was fetched the context of the one that is set now.
void set_context(PyObject* type, PyObject* value, PyObject* trace) {
  PyObject *later_type, *later, *later_trace;
  PyErr_Fetch(&later_type, &later, &later_trace);
  PyErr_NormalizeException(&later_type, &later, &later_trace);
  PyErr_NormalizeException(&type, &value, &trace);
  if (trace) PyException_SetTraceback(value, trace);
  PyException_SetContext(later, value);  // takes the reference
  Py_DECREF(type);
  Py_XDECREF(trace);
  PyErr_Restore(later_type, later, later_trace);
}

// run_then(run, end): what `run` returns or raises, after `end`, which is called again should it be
// interrupted. Between Python's lines a `finally` may be interrupted before it has begun.
PyObject* run_then(PyObject*, PyObject* args) {
  PyObject *run, *end;
  if (!PyArg_ParseTuple(args, "OO", &run, &end)) return nullptr;
  constexpr int most_times = 8;
  PyObject* result = PyObject_CallNoArgs(run);
  for (int i = 0; i < most_times; ++i) {
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    const Object ended(PyObject_CallNoArgs(end));
    if (ended) {
      PyErr_Restore(type, value, trace);
      break;
    }
    Py_CLEAR(result);
    if (type) set_context(type, value, trace);
  }
  return result;
}

// run_tensors(sequence, examples): computes them together; results of a map of so many examples.
PyObject* run_tensors(PyObject*, PyObject* args) {
  PyObject* tensors;
  Py_ssize_t examples = Watched::few_examples;
  if (!PyArg_ParseTuple(args, "O|n", &tensors, &examples)) return nullptr;
  const bool was_of_few = std::exchange(is_of_few, examples < Watched::few_examples);
  PyObject* done = guarded([&]() -> PyObject* {
    Object items = Object::check(PySequence_Fast(tensors, "expected a sequence of tensors"));
    Values values;
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.get()); ++i) {
      PyObject* item = PySequence_Fast_GET_ITEM(items.get(), i);
      if (!is_tensor(item)) raise(PyExc_TypeError, "expected tensors");
      values.push_back(value_of(item));
    }
    graph::settle(values);
    Py_RETURN_NONE;
  });
  is_of_few = was_of_few;
  return done;
}

template <int64_t (*get)(), void (*set)(int64_t)>
PyObject* set_number(PyObject*, PyObject* number) {
  const int64_t before = get();
  const long long wanted = PyLong_AsLongLong(number);
  if (wanted == -1 && PyErr_Occurred()) return nullptr;
  set(std::max<int64_t>(wanted, 0));
  return PyLong_FromLongLong(before);
}
PyObject* pending_count(PyObject*, PyObject*) { return PyLong_FromLongLong(Pending::live()); }
PyObject* dropped_count(PyObject*, PyObject*) { return PyLong_FromLongLong(Pending::dropped()); }
PyObject* is_pending(PyObject*, PyObject* tensor) {
  return guarded([&] { return PyBool_FromLong(is_tensor(tensor) && value_of(tensor)->pending); });
}

PyObject* ran_counts(PyObject*, PyObject*) {
  const exec::RanCounts& counts = exec::ran_counts();
  return Py_BuildValue("(LLLLLLL)", counts.ops, counts.runs, counts.plans, counts.waits,
                       counts.spared, counts.copied, counts.kernels);
}

PyObject* last_plans(PyObject*, PyObject*) {
  return guarded([&]() -> PyObject* {
    Object plans = Object::check(PyList_New(0));
    for (const exec::RanPlan& plan : exec::last_plans()) {
      Object batches = Object::check(PyList_New(0));
      for (const exec::RanBatch& batch : plan.batches) {
        Object entry = Object::check(Py_BuildValue(
            "{s:s,s:L,s:L,s:L,s:d,s:I,s:s}", "op", batch.op.c_str(), "rows",
            static_cast<long long>(batch.rows), "equal", static_cast<long long>(batch.equal),
            "bytes_copied", static_cast<long long>(batch.bytes_copied), "seconds", batch.seconds,
            "position", batch.position, "note", batch.note.c_str()));
        if (PyList_Append(batches.get(), entry.get()) < 0) throw PythonError{};
      }
      Object entry = Object::check(
          Py_BuildValue("{s:O,s:L,s:d,s:d,s:I}", "batches", batches.get(), "nodes",
                        static_cast<long long>(plan.nodes), "seconds_planning",
                        plan.seconds_planning, "seconds", plan.seconds, "position", plan.position));
      if (PyList_Append(plans.get(), entry.get()) < 0) throw PythonError{};
    }
    return plans.release();
  });
}
PyObject* forget_plans(PyObject*, PyObject*) {
  exec::forget_plans();
  Py_RETURN_NONE;
}

PyMethodDef methods[] = {
    {"set_lazy", set_lazy, METH_O, "Record without running, or not; return what was before."},
    {"is_lazy", is_lazy, METH_NOARGS, "Tell whether ops are recorded without running."},
    {"is_plain", is_plain, METH_NOARGS,
     "Tell whether ops run at once and nobody but autograd follows them."},
    {"is_look", is_look, METH_NOARGS, "Tell whether a cell's body is looked at, not run."},
    {"start_fiber", start_fiber, METH_VARARGS, "Record for one example of a map."},
    {"keep_modes", keep_modes, METH_NOARGS, "Return the thread's modes."},
    {"describe_modes", describe_modes, METH_NOARGS, "Return the thread's modes as numbers."},
    {"give_modes", give_modes, METH_O, "Set the thread's modes."},
    {"run_demanded", run_demanded, METH_NOARGS, "Compute what parked fibers wait for."},
    {"forget_demanded", forget_demanded, METH_NOARGS, "Drop what parked fibers wait for."},
    {"ran_counts", ran_counts, METH_NOARGS,
     "Return this thread's ops, runs, plans, waits, bytes spared and copied, and kernels until "
     "now."},
    {"watch_map", watch_map, METH_O, "Warn if the plans of a map of many examples ran few rows."},
    {"run_then", run_then, METH_VARARGS, "Call a function, and another one whatever happens."},
    {"run_tensors", run_tensors, METH_VARARGS, "Compute tensors that are pending, together."},
    {"set_pending_limit", set_number<graph::pending_limit, graph::set_pending_limit>, METH_O,
     "Set how many bytes of results may be pending; return what was set before."},
    {"set_strand_threshold", set_number<graph::strand_threshold, graph::set_strand_threshold>,
     METH_O,
     "Set how often a line records an op before it begins strands; return what was set before."},
    {"pending_count", pending_count, METH_NOARGS, "Return how many ops are pending."},
    {"dropped_count", dropped_count, METH_NOARGS, "Return how many ops were never run."},
    {"is_pending", is_pending, METH_O, "Tell whether a tensor is still to be computed."},
    {"last_plans", last_plans, METH_NOARGS, "Return the last plans as plain data."},
    {"forget_plans", forget_plans, METH_NOARGS, "Forget the last plans."},
    {},
};

}  // namespace

void define_lazy(PyObject* module) {
  graph::host.demand = demand_values;
  if (PyModule_AddFunctions(module, methods) < 0) throw PythonError{};
  nb::class_<LazyScope>(nb::borrow<nb::module_>(module), "LazyScope",
                        "Records without running inside a block, or does not.")
      .def(nb::init<bool>())
      .def_ro("enabled", &LazyScope::enabled)
      .def("__enter__", &LazyScope::enter)
      .def("__exit__", &LazyScope::exit);
}

}  // namespace weft::bind
