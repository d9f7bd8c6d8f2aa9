// Calls in a segment: of ops, of modules, of functions that are routines, and of a few builtins.
#include "weft/bind/noting.h"

namespace weft::bind::noting {

// What the host's functions of ops are given: tensors, numbers, and containers made here.
void Noting::allow_arguments(const std::vector<int32_t>& given) {
  for (int32_t number : given) {
    const Register& value = reg(number);
    Source& from = source(number);
    if (is_tensor_in(value) || from == constant) continue;
    if (from == fresh) {
      const Fresh& container = fresh_.at(object_in(value));
      if (container.is_iterator) throw End{};
      for (size_t i = 0; i < container.items.size(); ++i) {
        const Source item = container.items[i];
        PyObject* object = PyTuple_Check(object_in(value)) || PyList_Check(object_in(value))
                               ? PySequence_Fast_GET_ITEM(object_in(value), i)
                               : nullptr;
        const bool is_fine = item == constant || item == made || (object && is_tensor(object));
        if (!is_fine) throw End{};
      }
      continue;
    }
    if (from < 0) throw End{};
    pin(from, value);
  }
}

// Functions of Python that compute nothing. False: it is none of those.
bool Noting::call_builtin(const int32_t* at, PyObject* callee, const std::vector<int32_t>& given) {
  static PyObject* const builtins = PyEval_GetBuiltins();
  const auto is = [&](const char* name) { return PyDict_GetItemString(builtins, name) == callee; };
  if (given.empty()) return false;
  const Register first = reg(given[0]);
  Source& from = source(given[0]);
  if (is("isinstance") && given.size() == 2) {
    const Register type = reg(given[1]);
    if (!type.is_object() || !PyType_Check(object_in(type)) ||
        reinterpret_cast<PyTypeObject*>(Py_TYPE(object_in(type))) != &PyType_Type)
      throw End{};
    pin(source(given[1]), type);
    bool result = false;
    if (is_tensor_in(first)) {
      const auto known = stand_ins_.find(object_in(first));
      PyObject* actual = known == stand_ins_.end() ? object_in(first) : known->second.second.get();
      result = PyType_IsSubtype(Py_TYPE(actual), reinterpret_cast<PyTypeObject*>(object_in(type)));
    } else {
      if (from < fresh) throw End{};
      const Object actual = boxed(first);
      pin_type(from, first);
      result =
          PyType_IsSubtype(Py_TYPE(actual.get()), reinterpret_cast<PyTypeObject*>(object_in(type)));
    }
    const int32_t place = frame().after;
    put(at[1], Register::of(result), constant);
    frame().place = place;
    return true;
  }
  if (is("len") && given.size() == 1) {
    if (is_tensor_in(first) || from == constant) {
      run_plainly();
      put_new(at[1]);
      return true;
    }
    if (!first.is_object() || from < fresh) throw End{};
    run_plainly();
    if (from == fresh) {
      source(at[1]) = constant;
      return true;
    }
    pin_type(from, first);
    PyObject* object = object_in(first);
    if (!PyList_CheckExact(object) && !PyTuple_CheckExact(object) && !PyDict_CheckExact(object) &&
        !PyUnicode_CheckExact(object))
      throw End{};
    source(at[1]) = add(step_of(Kind::length, from), reg(at[1]));
    return true;
  }
  const bool is_pure =
      is("range") || is("int") || is("float") || is("bool") || is("abs") || is("min") || is("max");
  if (!is_pure) return false;
  for (int32_t number : given) {
    if (!is_number(reg(number))) throw End{};
    pin(source(number), reg(number));
  }
  run_plainly();
  if (reg(at[1]).is_object() && PyRange_Check(object_in(reg(at[1])))) {
    source(at[1]) = constant;
  } else {
    put_new(at[1]);
  }
  return true;
}

namespace {

bool is_immutable(PyObject* object) {
  if (PyTuple_CheckExact(object)) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(object); ++i) {
      if (!is_immutable(PyTuple_GET_ITEM(object, i))) return false;
    }
    return true;
  }
  return object == Py_None || PyBool_Check(object) || PyLong_CheckExact(object) ||
         PyFloat_CheckExact(object) || PyUnicode_CheckExact(object) || is_dtype(object);
}

}  // namespace

void Noting::enter_routine(const Callee& callee, Source function, Source module,
                           const std::vector<int32_t>& given, Source receiver, PyObject* names) {
  const Routine& routine = *callee.routine;
  if (copy_.frames().size() > most_new_frames) throw End{};
  for (const Frame& open : copy_.frames()) {
    if (open.routine.get() == callee.routine.get()) throw End{};  // it calls itself
  }
  // Objects of nobody's in the place of the arguments say where each of them goes.
  std::vector<Register> tokens;
  std::vector<const routine::Register*> pointers;
  for (size_t i = 0; i < given.size(); ++i) {
    tokens.push_back(unboxed(PyObject_CallNoArgs(reinterpret_cast<PyObject*>(&PyBaseObject_Type))));
  }
  for (const Register& token : tokens) pointers.push_back(&token);
  std::vector<Register> bound(routine.registers);
  if (!routine::host->bind(callee, {pointers, names}, bound.data())) throw End{};
  const auto token_of = [&](const Register& value) -> int64_t {
    for (size_t i = 0; value.is_object() && i < tokens.size(); ++i) {
      if (object_in(value) == object_in(tokens[i])) return static_cast<int64_t>(i);
    }
    return -1;
  };
  std::vector<Source> caller;  // of the arguments
  for (int32_t number : given) caller.push_back(source(number));
  FrameSources sources;
  sources.function = function;
  sources.module = module;
  sources.is_new = true;
  sources.registers.assign(routine.registers, constant);
  const int32_t parameters = routine.positional + routine.keyword_only;
  for (int32_t i = 0; i < parameters; ++i) {
    if (const int64_t token = token_of(bound[i]); token >= 0) {
      sources.registers[i] = caller[token];
    } else if (i == 0 && callee.receiver) {
      sources.registers[i] = receiver;
    } else if (bound[i].is_object()) {
      const bool is_plain = is_immutable(object_in(bound[i]));
      if (!is_plain) throw End{};  // a default that may be written
    }
  }
  std::vector<Source> rest;
  if (routine.has_rest) {
    PyObject* items = object_in(bound[parameters]);
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(items); ++i) {
      const int64_t token = token_of(unboxed(Py_NewRef(PyTuple_GET_ITEM(items, i))));
      if (token < 0) throw End{};
      rest.push_back(caller[token]);
      if (rest.back() >= 0 && !reg(given[token]).is_object()) throw End{};
    }
  }
  if (routine.has_options &&
      PyDict_GET_SIZE(object_in(bound[parameters + (routine.has_rest ? 1 : 0)])))
    throw End{};
  run_plainly();
  if (routine.has_rest) {
    const Register& tuple = copy_.registers_of(frame())[parameters];
    Fresh container;
    container.object = Object::borrow(object_in(tuple));
    container.items = rest;
    if (PyTuple_GET_SIZE(object_in(tuple)) > 0) fresh_[object_in(tuple)] = std::move(container);
    sources.registers[parameters] = PyTuple_GET_SIZE(object_in(tuple)) > 0 ? fresh : constant;
  }
  if (routine.has_options) sources.registers[parameters + (routine.has_rest ? 1 : 0)] = other;
  sources_.push_back(std::move(sources));
}

void Noting::do_call(const int32_t* at, bool is_method) {
  const int32_t function_at = at[2];
  const int32_t receiver_at = is_method ? at[3] : -1;
  const int32_t* rest = at + (is_method ? 4 : 3);
  PyObject* names = rest[0] < 0 ? nullptr : object_in(frame().routine->constants[rest[0]]);
  std::vector<int32_t> given;
  if (is_method && reg(receiver_at).is_bound()) given.push_back(receiver_at);
  for (int32_t i = 0; i < rest[1]; ++i) given.push_back(rest[2 + i]);
  const Register function = reg(function_at);
  Source from = source(function_at);
  if (!function.is_object() || from < constant) throw End{};
  PyObject* callee_object = object_in(function);
  const int32_t result_at = at[1];

  if (is_composite(callee_object)) {
    pin(from, function);
    allow_arguments(given);
    run_plainly();
    return put_new(result_at);
  }
  if (Py_TYPE(callee_object) == number_type) {
    pin(from, function);
    if (given.size() != 1 || names) throw End{};
    const Register number = reg(given[0]);
    const Source number_from = source(given[0]);
    if (is_tensor_in(number) || number_from < 0 || !(number.is_integer() || number.is_real()))
      throw End{};
    run_plainly();
    const Register found = reg(result_at);
    return put_found(result_at, found, add(step_of(Kind::tensor, number_from), found));
  }
  if (is_op_function(callee_object)) {
    if (!is_plain_op_function(callee_object)) throw End{};
    pin(from, function);
    allow_arguments(given);
    run_plainly();
    return put_new(result_at);
  }
  if (PyCFunction_Check(callee_object) || PyType_Check(callee_object)) {
    if (names || is_method) throw End{};
    pin(from, function);
    const int32_t after = frame().place + 5 + rest[1];
    frame().after = after;
    if (!call_builtin(at, callee_object, given)) throw End{};
    return;
  }
  if (Py_TYPE(callee_object) == &PyMethodDescr_Type) {
    // A method of tensors that tells what their form says.
    static const std::string_view allowed[] = {"size",     "dim",    "numel",
                                               "nelement", "stride", "is_contiguous"};
    const char* name = PyUnicode_AsUTF8(PyDescr_NAME(callee_object));
    if (std::find(std::begin(allowed), std::end(allowed), name) == std::end(allowed)) throw End{};
    if (from != constant || given.empty() || !is_tensor_in(reg(given[0]))) throw End{};
    for (size_t i = 1; i < given.size(); ++i) {
      if (!is_number(reg(given[i]))) throw End{};
      pin(source(given[i]), reg(given[i]));
    }
    run_plainly();
    source(result_at) = constant;
    return;
  }
  Callee callee = routine::host->find_callee(function);
  if (callee.routine) {
    if (PyMethod_Check(callee_object)) throw End{};
    Source called = from, module = constant, receiver = constant;
    auto* python_function = static_cast<PyObject*>(callee.function);
    if (callee.is_module) {
      if (from < 0) throw End{};
      SegmentStep step = step_of(Kind::forwards, from);
      step.type = Py_TYPE(callee_object);
      step.version = step.type->tp_version_tag;
      step.found = plain_forward(callee_object);
      check(std::move(step));
      // Its function is looked up with the class.
      SegmentStep method = step_of(Kind::method, from);
      static PyObject* const forward_name = PyUnicode_InternFromString("forward");
      method.name = Object::borrow(forward_name);
      method.type = Py_TYPE(callee_object);
      method.version = method.type->tp_version_tag;
      method.found = python_function;
      called = add(std::move(method), Register::borrowed(python_function));
      module = receiver = from;
    }
    if (callee.routine->free_count) throw End{};  // closures: their cells are the function's
    if (called < 0) throw End{};
    SegmentStep step = step_of(Kind::runs, called);
    step.routine = callee.routine;
    step.found = PyFunction_GET_DEFAULTS(python_function);
    if (step.found) step.constant = Register::borrowed(step.found);
    if (PyFunction_GET_KW_DEFAULTS(python_function)) throw End{};
    check(std::move(step));
    return enter_routine(callee, called, module, given, receiver, names);
  }
  // Modules of Weft's that are one op, or a cell.
  if (PyObject* forward = plain_forward(callee_object)) {
    if (Py_TYPE(forward) != forward_type && Py_TYPE(forward) != op_type) throw End{};
    if (from < 0) throw End{};
    SegmentStep step = step_of(Kind::forwards, from);
    step.type = Py_TYPE(callee_object);
    step.version = step.type->tp_version_tag;
    step.found = forward;
    check(std::move(step));
    learn_attributes(from, callee_object);
    allow_arguments(given);
    run_plainly();
    return put_new(result_at);
  }
  throw End{};
}

void Noting::do_comprehend(const int32_t* at) {
  if (at[4] > 0) throw End{};
  const RoutineRef nested = frame().routine->nested[at[2]];
  FrameSources sources;
  sources.function = sources_.back().function;
  sources.is_new = true;
  sources.registers.assign(nested->registers, constant);
  sources.registers[0] = source(at[3]);
  run_plainly();
  sources_.push_back(std::move(sources));
}

void Noting::do_return() {
  // What goes on in the caller is another segment: a function's body is the same wherever it is
  // called from.
  if (copy_.frames().size() == 1) throw End{};
  const int32_t* at = &frame().routine->code[frame().place];
  const Source from = source(at[1]);
  const int32_t target = frame().target;
  run_plainly();
  sources_.pop_back();
  source(target) = from;
}

}  // namespace weft::bind::noting
