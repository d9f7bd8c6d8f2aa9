// The examples of a map whose function is compiled, as tasks of one fiber: one that needs a value
// steps aside without Python's stack, and the next goes on.
#include <deque>

#include "weft/bind/binding.h"
#include "weft/bind/frames.h"
#include "weft/bind/kept.h"
#include "weft/bind/python_host.h"
#include "weft/bind/routines.h"
#include "weft/exec/lazy.h"
#include "weft/graph/strand.h"
#include "weft/routine/machine.h"

namespace weft::bind {
namespace {

using routine::Register;
using routine::Task;

// One example under way. What it has of its own while others run is here.
struct Example {
  Py_ssize_t index = 0;
  Object argument;  // until it has begun
  Task task{true};
  Object context;
  Kept kept;
  Stream stream;
};
using ExampleRef = std::unique_ptr<Example>;

// For as long as an example's Python context is the thread's.
class ContextGuard {
 public:
  explicit ContextGuard(const Object& context) : context_(context) {
    if (PyContext_Enter(context.get()) < 0) throw PythonError{};
  }
  ContextGuard(const ContextGuard&) = delete;
  ~ContextGuard() {
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    if (PyContext_Exit(context_.get()) < 0) PyErr_Clear();
    PyErr_Restore(type, value, trace);
  }

 private:
  const Object& context_;
};

PyObject* attribute(PyObject* object, const char* name) {
  return Object::check(PyObject_GetAttrString(object, name)).release();
}
bool is_set(PyObject* object, const char* name) {
  const Object found(attribute(object, name));
  return found.get() == Py_True;
}
void call_method(PyObject* object, const char* name, Py_ssize_t number, PyObject* argument) {
  Object::check(PyObject_CallMethod(object, name, "nO", number, argument));
}

// The tasks of one map. Several fibers may drive them, where Python parks inside one of them.
class Tasks {
 public:
  explicit Tasks(nb::object function) : function_(std::move(function)) {}
  Tasks(const Tasks&) = delete;

  Py_ssize_t alive() const { return alive_; }
  bool has_more() const { return !ready_.empty() || !parked_.empty(); }

  // Goes on until all are parked or have ended, and there is no example that may begin. `fibers`
  // has the examples and takes what comes of them. True: some are parked.
  bool drive(PyObject* fibers) {
    const Map map(fibers);
    bool has_ended = true;  // then the next one begins before others go on, as in a fiber
    for (;;) {
      ExampleRef example;
      if (has_ended || ready_.empty()) example = begin(map);
      if (!example) {
        if (ready_.empty()) break;
        example = std::move(ready_.front());
        ready_.pop_front();
      }
      has_ended = run(map, std::move(example));
    }
    base_.give();
    return !parked_.empty();
  }

  // From here on a fiber waits for the values that the parked ones asked for.
  void rest() { move_all(parked_, resting_); }
  // They are there, as far as they can be.
  void wake() { move_all(resting_, ready_); }

  // Ends those that are under way, as a fiber that is left ends: by that exception.
  void end(PyObject* exception) {
    wake();
    move_all(parked_, ready_);
    Object error;  // the last one that is another
    while (!ready_.empty()) {
      const ExampleRef example = std::move(ready_.front());
      ready_.pop_front();
      go_on(*example, [&](Task& task) {
        PyErr_SetNone(exception);
        task.end();
      });
      if (PyErr_Occurred() && !PyErr_ExceptionMatches(exception)) error = take_error();
      PyErr_Clear();
      --alive_;
    }
    base_.give();
    if (!error) return;
    PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error.get())), error.get());
    throw PythonError{};
  }

 private:
  // What a map's fibers know, looked up once.
  struct Map {
    PyObject* fibers;
    Object examples, results, take, no_more, in_progress, context, park, streams;
    Py_ssize_t width;
    bool is_plain;  // taking an example runs nobody's code
    explicit Map(PyObject* fibers)
        : fibers(fibers),
          examples(attribute(fibers, "examples")),
          results(attribute(fibers, "results")),
          take(attribute(fibers, "take")),
          no_more(attribute(fibers, "no_more")),
          in_progress(attribute(fibers, "in_progress")),
          context(attribute(fibers, "context")),
          park(attribute(fibers, "park_function")),
          streams(attribute(fibers, "streams")),
          width(PyLong_AsSsize_t(Object(attribute(fibers, "width")).get())),
          is_plain(is_set(fibers, "is_plain")) {}
  };

  using Examples = std::deque<ExampleRef>;
  static void move_all(Examples& from, Examples& to) {
    for (ExampleRef& example : from) to.push_back(std::move(example));
    from.clear();
  }
  static Object take_error() { return boxed(routine::host->take_error()); }

  // The next example, about to run; none: there is none, or it would be one too many.
  ExampleRef begin(const Map& map) {
    if (alive_ >= map.width || is_set(map.fibers, "exhausted") || is_set(map.fibers, "taking"))
      return nullptr;
    base_.give();
    ++alive_;  // others may take examples while this is taken
    Object given;
    try {
      given = map.is_plain ? Object(PyIter_Next(map.examples.get()))
                           : Object::check(PyObject_CallNoArgs(map.take.get()));
      if (!given && PyErr_Occurred()) throw PythonError{};
    } catch (...) {
      --alive_;
      throw;
    }
    if (!given || given.get() == map.no_more.get()) {
      --alive_;
      if (PyObject_SetAttrString(map.fibers, "exhausted", Py_True) < 0) throw PythonError{};
      return nullptr;
    }
    auto example = std::make_unique<Example>();
    example->index = PyList_GET_SIZE(map.results.get());
    if (PyList_Append(map.results.get(), map.in_progress.get()) < 0) throw PythonError{};
    example->context = Object::check(PyContext_Copy(map.context.get()));
    start_example(static_cast<int32_t>(example->index), map.park.get());
    Object::check(PyObject_CallMethod(map.streams.get(), "start", "n", example->index));
    example->kept = Kept();
    example->stream = default_stream();
    example->argument = std::move(given);
    return example;
  }

  template <class Run>
  void go_on(Example& example, const Run& run) {
    example.kept.give();
    default_stream() = example.stream;
    try {
      const ContextGuard context(example.context);
      const routine::RunGuard running(example.task, python_frame());
      run(example.task);
    } catch (const routine::Raised&) {
    } catch (...) {
      set_current_exception();
    }
    example.stream = default_stream();
    example.kept = Kept();
  }

  // True: it has ended.
  bool run(const Map& map, ExampleRef example) {
    Object result;
    bool is_parked = false;
    go_on(*example, [&](Task& task) {
      if (example->argument) {
        const Object argument = std::move(example->argument);
        PyObject* const given[] = {argument.get()};
        if (!runs_routines() || !begin_call(function_.ptr(), given, nullptr, task, false)) {
          result = Object(PyObject_CallOneArg(function_.ptr(), argument.get()));
          return;
        }
      }
      is_parked = task.run() == Task::Outcome::parked;
      if (!is_parked) result = boxed(task.take_result());
    });
    if (is_parked) {
      graph::close_strand();
      ++exec::ran_counts().waits;
      parked_.push_back(std::move(example));
      return false;
    }
    const Py_ssize_t index = example->index;
    example.reset();
    --alive_;
    base_.give();
    if (result) {
      if (PyList_SetItem(map.results.get(), index, result.release()) < 0) throw PythonError{};
      return true;
    }
    const bool is_left = !PyErr_ExceptionMatches(PyExc_Exception);
    const Object error = take_error();
    call_method(map.fibers, is_left ? "leave" : "fail", index, error.get());
    return true;
  }

  nb::object function_;
  Kept base_;  // what the map began with
  Examples ready_, parked_, resting_;
  Py_ssize_t alive_ = 0;
};

}  // namespace

void define_tasks(nb::module_& module) {
  nb::class_<Tasks>(module, "Tasks", "The examples of a map whose function is compiled.")
      .def(nb::init<nb::object>(), nb::arg("function"))
      .def_prop_ro("alive", &Tasks::alive, "How many examples are under way.")
      .def_prop_ro("has_more", &Tasks::has_more,
                   "Whether some may go on, or need values that nobody waits for yet.")
      .def(
          "drive", [](Tasks& self, nb::handle fibers) { return self.drive(fibers.ptr()); },
          nb::arg("fibers"),
          "Run examples until none can go on; return whether some wait for values.")
      .def("rest", &Tasks::rest, "Begin to wait with those that need values.")
      .def("wake", &Tasks::wake, "Let those that waited go on.")
      .def(
          "end", [](Tasks& self, nb::handle exception) { self.end(exception.ptr()); },
          nb::arg("exception"), "End those that are under way, by an exception.");
}

}  // namespace weft::bind
