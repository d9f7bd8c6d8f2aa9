// The copy of a task, its steps, and what stands for tensors.
#include "weft/bind/noting.h"

namespace weft::bind::noting {

Value meta_of_value(const Value& value) {
  Value meta(Array::meta(value.sizes(), value.dtype()));
  if (!value.array().is_contiguous()) meta->array.strides = value.array().strides;
  meta->is_number = value->is_number;
  return meta;
}

// Types get a version when something is looked up in them.
bool has_version(PyTypeObject* type) {
  static PyObject* const name = PyUnicode_InternFromString("__class__");
  _PyType_Lookup(type, name);
  return PyType_HasFeature(type, Py_TPFLAGS_VALID_VERSION_TAG);
}

bool is_parameter_type(PyTypeObject* type) {
  if (type == tensor_type) return true;
  static PyObject* const parameter = [] {
    const Object module = Object::check(PyImport_ImportModule("weft.nn.parameter"));
    return Object::check(PyObject_GetAttrString(module.get(), "Parameter")).release();
  }();
  return reinterpret_cast<PyObject*>(type) == parameter;
}

void Noting::pin(Source& from, const Register& value) {
  if (from == constant) return;
  if (from < 0) throw End{};
  if (value.is_object()) {
    PyObject* object = object_in(value);
    if (PyType_Check(object)) {
      auto* type = reinterpret_cast<PyTypeObject*>(object);
      if (!has_version(type)) throw End{};
      SegmentStep step = step_of(Kind::is_class, from);
      step.type = type;
      step.version = type->tp_version_tag;
      check(std::move(step));
      return;
    }
    // Only what lives as long as the library: nothing of the user's is kept alive.
    const bool may_be_kept = PyUnicode_CheckExact(object) || PyCFunction_Check(object) ||
                             PyModule_CheckExact(object) || is_dtype(object) ||
                             object == Py_Ellipsis || is_op_function(object) ||
                             Py_TYPE(object) == number_type || is_composite(object);
    if (!may_be_kept) throw End{};
  }
  SegmentStep step = step_of(Kind::is_same, from);
  step.constant = value;
  check(std::move(step));
  // Of equal texts it is still the one that was given.
  if (!value.is_object()) from = constant;
}

void Noting::pin_truth(Source from, const Register& value, bool truth) {
  if (from == constant || from == fresh) return;
  if (from < 0) throw End{};
  const bool is_plain = !value.is_object() || PyList_CheckExact(object_in(value)) ||
                        PyTuple_CheckExact(object_in(value)) ||
                        PyDict_CheckExact(object_in(value)) ||
                        PyUnicode_CheckExact(object_in(value));
  if (!is_plain) throw End{};
  SegmentStep step = step_of(Kind::is_true, from);
  step.number = truth ? 1 : 0;
  check(std::move(step));
}

void Noting::pin_type(Source from, const Register& value) {
  if (from < 0) return;
  SegmentStep step = step_of(Kind::is_type, from);
  step.constant = value.is_object() ? Register::none() : value;
  if (value.is_object()) {
    step.type = Py_TYPE(object_in(value));
    step.version = step.type->tp_version_tag;
    if (!has_version(step.type)) throw End{};
    step.constant = Register::borrowed(Py_Ellipsis);  // an object, whichever
  }
  check(std::move(step));
}

Register Noting::stand_in(Source from, const Register& value) {
  PyObject* object = object_in(value);
  if (!is_parameter_type(Py_TYPE(object)) || from < 0) throw End{};
  const Value actual = value_of(object);
  if (actual->mapped || actual->inference) throw End{};
  SegmentStep step = step_of(Kind::is_tensor, from);
  step.type = Py_TYPE(object);
  step.number = static_cast<int32_t>(segment_->forms.size());
  segment_->forms.emplace_back(actual);
  check(std::move(step));
  const Value meta = meta_of_value(actual);
  const Register stand = Register::owned(wrap(meta));
  kept_.push_back(Object::borrow(object_in(stand)));
  kept_values_.push_back(meta);
  stand_ins_[object_in(stand)] = {from, Object::borrow(object)};
  inputs_[meta.get()] = from;
  return stand;
}

// A module's forward that is native, or a cell, gets at the module's attributes by itself: all of
// them are looked at again.
void Noting::learn_attributes(Source module, PyObject* object) {
  PyObject** dict = _PyObject_GetDictPtr(object);
  if (!dict || !*dict || !has_version(Py_TYPE(object))) throw End{};
  PyObject *name, *found;
  for (Py_ssize_t at = 0; PyDict_Next(*dict, &at, &name, &found);) {
    const bool is_plain = found == Py_None || PyBool_Check(found) || PyLong_CheckExact(found) ||
                          PyFloat_CheckExact(found) || PyUnicode_CheckExact(found);
    if (!is_plain && !is_tensor(found)) continue;
    SegmentStep step = step_of(Kind::attribute, module);
    step.name = Object::borrow(name);
    step.type = Py_TYPE(object);
    step.version = step.type->tp_version_tag;
    const Register value = unboxed(Py_NewRef(found));
    Source from = add(std::move(step), value);
    if (is_plain) {
      pin(from, value);
      continue;
    }
    if (!is_parameter_type(Py_TYPE(found))) throw End{};
    touch(from);
    const Value actual = value_of(found);
    if (const auto known = inputs_.find(actual.get()); known != inputs_.end()) {
      // One tensor by two names, as long as that is so.
      if (object_in(seen_[known->second]) != found) throw End{};
      SegmentStep same = step_of(Kind::is_object, from);
      same.b = known->second;
      check(std::move(same));
      continue;
    }
    SegmentStep form = step_of(Kind::is_tensor, from);
    form.type = Py_TYPE(found);
    form.number = static_cast<int32_t>(segment_->forms.size());
    segment_->forms.emplace_back(actual);
    check(std::move(form));
    kept_values_.push_back(actual);
    inputs_[actual.get()] = from;
  }
}

// What an op or a call has made.
void Noting::put_new(int32_t number) {
  const Register& value = reg(number);
  Source& from = source(number);
  if (!value.is_object()) {
    from = constant;
    return;
  }
  PyObject* object = object_in(value);
  if (is_tensor(object)) {
    const auto known = stand_ins_.find(object);
    const Value result = value_of(object);
    if (known != stand_ins_.end()) {
      from = known->second.first;
    } else if (inputs_.contains(result.get()) || Py_TYPE(object) != tensor_type) {
      throw End{};  // another tensor of the same value
    } else {
      from = made;
      kept_.push_back(Object::borrow(object));
    }
    return;
  }
  if (PyTuple_Check(object) || PyList_CheckExact(object)) {
    if (Py_TYPE(object) == reinterpret_cast<PyTypeObject*>(size_type)) {
      from = constant;
      return;
    }
    if (!PyTuple_CheckExact(object) && !PyList_CheckExact(object)) throw End{};
    Fresh container;
    container.object = Object::borrow(object);
    for (Py_ssize_t i = 0; i < Py_SIZE(object); ++i) {
      PyObject* item = PySequence_Fast_GET_ITEM(object, i);
      if (is_tensor(item)) {
        if (stand_ins_.contains(item) || inputs_.contains(value_of(item).get()) ||
            Py_TYPE(item) != tensor_type)
          throw End{};
        container.items.push_back(made);
        kept_.push_back(Object::borrow(item));
      } else if (PyLong_CheckExact(item) || PyFloat_CheckExact(item) || item == Py_None ||
                 PyBool_Check(item)) {
        container.items.push_back(constant);
      } else {
        throw End{};
      }
    }
    fresh_[object] = std::move(container);
    from = fresh;
    return;
  }
  const bool may_be_kept = PyUnicode_CheckExact(object) || is_dtype(object) ||
                           PyLong_CheckExact(object) || PyFloat_CheckExact(object);
  if (!may_be_kept) throw End{};
  from = constant;
}

void Noting::copy_frame() {
  const Frame& from = task_.open_frames().back();
  copy_.push(from.routine, from.function, from.target);
  frame().place = from.place;
  FrameSources sources;
  const auto entry = [&](int32_t number, const Register& value) {
    SegmentStep step = step_of(Kind::entry, -1);
    step.number = number;
    return add(std::move(step), value);
  };
  sources.function = entry(-1, from.function);
  for (int32_t k = 0; k < from.routine->registers; ++k) {
    const Register& value = task_.registers_of(from)[k];
    reg(k) = value;
    Source source = value.is_bound() ? entry(k, value) : unbound;
    if (is_tensor_in(value)) {
      try {
        reg(k) = stand_in(source, value);
      } catch (const End&) {
        source = other;
      }
    }
    sources.registers.push_back(source);
  }
  sources_.push_back(std::move(sources));
  segment_->routine = from.routine;
}

bool Noting::loops_over_known() {
  // The iterator of the loop that goes back: the one of the `next` at its head.
  const int32_t* at = &frame().routine->code[frame().place];
  const int32_t* head = &frame().routine->code[at[1]];
  if (static_cast<Opcode>(*head) != Opcode::next_) return false;
  const Register& iterator = reg(head[2]);
  return iterator.is_object() && source(head[2]) == fresh && fresh_.contains(object_in(iterator));
}

Noting::Snapshot Noting::snapshot() {
  Snapshot taken;
  const auto frames = copy_.open_frames();
  for (size_t i = 0; i < frames.size(); ++i) {
    const Frame& open = frames[i];
    CopiedFrame& copied = taken.frames.emplace_back();
    copied.routine = open.routine;
    copied.function = sources_[i].function;
    copied.module = sources_[i].module;
    copied.place = open.place;
    copied.after = open.after;
    copied.target = open.target;
    copied.is_new = sources_[i].is_new;
    const Register* registers = copy_.registers_of(open);
    copied.registers.assign(registers, registers + open.routine->registers);
    copied.sources = sources_[i].registers;
  }
  taken.fresh = fresh_;
  return taken;
}

// Whatever is known of a tensor that was read (its shape, that it is no None) may have decided.
void Noting::touch_operands(const int32_t* at) {
  if (static_cast<Opcode>(*at) == Opcode::move_ || static_cast<Opcode>(*at) == Opcode::take_)
    return;
  routine::visit_operands(at, [&](char letter, int32_t number) {
    const bool is_read = (letter == 'r' || letter == 'R' || letter == 't') && number >= 0;
    if (is_read && is_tensor_in(reg(number)) && source(number) >= 0) touch(source(number));
  });
}

void Noting::step() {
  const int32_t* at = &frame().routine->code[frame().place];
  touch_operands(at);
  switch (static_cast<Opcode>(*at)) {
    case Opcode::move_: {
      const Source from = source(at[2]);
      if (from == unbound) throw End{};
      run_plainly();
      source(at[1]) = from;
      return;
    }
    case Opcode::take_: {
      const Source from = source(at[2]);
      run_plainly();
      source(at[2]) = constant;
      source(at[1]) = from;
      return;
    }
    case Opcode::constant_:
      run_plainly();
      source(at[1]) = constant;
      return;
    case Opcode::unbind_:
      run_plainly();
      for (int32_t i = 0; i < at[1]; ++i) source(at[2 + i]) = constant;
      return;
    case Opcode::check_:
      return run_plainly();
    case Opcode::global_:
      return do_global(at);
    case Opcode::read_cell_:
      return do_cell_read(at);
    case Opcode::unary_:
      return do_unary(at);
    case Opcode::binary_:
      return do_binary(at, false);
    case Opcode::inplace_:
      return do_binary(at, true);
    case Opcode::compare_:
      return do_compare(at);
    case Opcode::is_:
      return do_identity(at);
    case Opcode::is_not_:
      return do_identity(at);
    case Opcode::in_:
    case Opcode::not_in_:
      return do_contains(at);
    case Opcode::jump_: {
      // A round of a loop whose items are known is unrolled; others end a segment.
      const bool is_back = at[1] <= frame().place;
      if (is_back && !loops_over_known()) throw End{};
      return run_plainly();
    }
    case Opcode::jump_if_:
      return do_jump(at, true);
    case Opcode::jump_unless_:
      return do_jump(at, false);
    case Opcode::branch_if_:
    case Opcode::branch_unless_: {
      const int32_t taken = at[1];
      do_jump(at, static_cast<Opcode>(*at) == Opcode::branch_if_);
      source(taken) = constant;
      return;
    }
    case Opcode::jump_if_none_: {
      const Register value = reg(at[1]);
      const Source from = source(at[1]);
      if (!is_tensor_in(value) && from >= 0) {
        SegmentStep step = step_of(Kind::is_none, from);
        step.number = value.is_none() ? 1 : 0;
        check(std::move(step));
      }
      return run_plainly();
    }
    case Opcode::jump_unless_builtin_:
      pin(source(at[1]), reg(at[1]));
      return run_plainly();
    case Opcode::iterate_:
      return do_iterate(at);
    case Opcode::next_:
      return do_next(at);
    case Opcode::return_:
      return do_return();
    case Opcode::tuple_:
    case Opcode::list_:
      return do_container(at);
    case Opcode::slice_: {
      for (int i = 2; i < 5; ++i) {
        if (is_tensor_in(reg(at[i]))) throw End{};
        pin(source(at[i]), reg(at[i]));
      }
      run_plainly();
      source(at[1]) = constant;
      return;
    }
    case Opcode::append_:
      return do_append(at);
    case Opcode::unpack_:
      return do_unpack(at);
    case Opcode::get_attribute_:
      return do_attribute(at);
    case Opcode::get_item_:
      return do_item(at);
    case Opcode::call_:
      return do_call(at, false);
    case Opcode::method_:
      return do_method(at);
    case Opcode::call_method_:
      return do_call(at, true);
    case Opcode::comprehend_:
      return do_comprehend(at);
    default:
      throw End{};
  }
}

std::unique_ptr<Segment> Noting::note() {
  if (task_.handles_exceptions()) return nullptr;
  segment_ = std::make_unique<Segment>();
  segment_->default_dtype = tensor::default_dtype;
  segment_->inference = modes.inference;
  segment_->tensor_version = tensor_type->tp_version_tag;
  std::vector<Snapshot> snapshots;
  {
    graph::ModesGuard guard;
    const void* run = modes.run;
    modes =
        graph::Modes{.grad = false, .is_look = true, .executor = &look_executor(), .tracer = this};
    modes.run = run;
    const routine::RunGuard running(copy_, python_frame());
    try {
      copy_frame();
      while (snapshots.size() < most_instructions) {
        snapshots.push_back(snapshot());
        step();
      }
    } catch (const End&) {
    } catch (...) {
      if (!PyErr_Occurred()) set_current_exception();
      if (!PyErr_ExceptionMatches(PyExc_Exception)) throw PythonError{};
      PyErr_Clear();
    }
  }
  while (!snapshots.empty()) {
    if (describe(snapshots.back()) && has_no_views()) break;
    snapshots.pop_back();
  }
  if (snapshots.size() < 2 || !make_program()) return nullptr;
  drop_unused_steps();
  settle_steps(*segment_);
  return std::move(segment_);
}

}  // namespace weft::bind::noting

namespace weft::bind {

std::unique_ptr<Segment> note_segment(routine::Task& task) { return noting::Noting(task).note(); }

}  // namespace weft::bind
