// Recording a segment that is known: its steps are taken, its op is recorded, and the task is put
// behind it.
#include "weft/bind/segments.h"

#include <cstring>

#include "weft/bind/cell.h"
#include "weft/bind/python_host.h"
#include "weft/exec/unrecorded.h"
#include "weft/graph/record.h"
#include "weft/routine/numbers.h"

namespace weft::bind {

using graph::modes;
using routine::Binary;
using routine::Comparison;
using routine::Frame;
using routine::Register;
using routine::Task;
using routine::Unary;
using Kind = SegmentStep::Kind;
using RegisterValues = base::SmallVector<Register, 48>;

namespace {

constexpr size_t most_segments = 8;  // of one place: then it records op by op, for good
constexpr uint32_t notes_from = 2;   // the time that a place is come to
constexpr uint32_t most_failures = 3;
constexpr uint32_t least_uses = 32;  // before one is replaced

constexpr bool has_versions = PY_VERSION_HEX < 0x030C0000;

bool is_of(const SegmentStep& step, PyObject* object) {
  return Py_TYPE(object) == step.type && step.type->tp_version_tag == step.version &&
         PyType_HasFeature(step.type, Py_TPFLAGS_VALID_VERSION_TAG);
}

PyObject* own_dict(PyObject* object) {
  if (PyModule_CheckExact(object)) return PyModule_GetDict(object);
  PyObject** dict = _PyObject_GetDictPtr(object);
  return dict ? *dict : nullptr;
}

// What a dictionary has under that name, borrowed; null: nothing. Nothing is looked up again while
// it is as it was.
PyObject* in_dict(const SegmentStep& step, PyObject* dict) {
  if (has_versions && step.dict == dict && step.dict_version == version_of(dict))
    return step.cached;
  PyObject* found = PyDict_GetItemWithError(dict, step.name.get());
  if (!found && PyErr_Occurred()) PyErr_Clear();
  step.dict = dict;
  step.dict_version = version_of(dict);
  step.cached = found;
  return found;
}

PyObject* find_global(const SegmentStep& step, PyObject* function) {
  auto* given = reinterpret_cast<PyFunctionObject*>(function);
  PyObject *globals = given->func_globals, *builtins = given->func_builtins;
  if (has_versions && step.dict == globals && step.dict_version == version_of(globals) &&
      step.other_version == version_of(builtins)) {
    return step.cached;
  }
  PyObject* found = PyDict_GetItemWithError(globals, step.name.get());
  if (!found) found = PyDict_GetItemWithError(builtins, step.name.get());
  if (PyErr_Occurred()) PyErr_Clear();
  step.dict = globals;
  step.dict_version = version_of(globals);
  step.other_version = version_of(builtins);
  step.cached = found;
  return found;
}

PyObject* item_of(PyObject* container, int64_t number) {
  const bool is_list = PyList_CheckExact(container);
  if (!is_list && !PyTuple_CheckExact(container)) return nullptr;
  const Py_ssize_t count = Py_SIZE(container);
  if (number < 0) number += count;
  if (number < 0 || number >= count) return nullptr;
  return is_list ? PyList_GET_ITEM(container, number) : PyTuple_GET_ITEM(container, number);
}

bool is_plain_container(PyObject* object) {
  return PyList_CheckExact(object) || PyTuple_CheckExact(object) || PyDict_CheckExact(object) ||
         PyUnicode_CheckExact(object);
}

bool has_keys(PyObject* dict, PyObject* texts) {
  if (PyDict_GET_SIZE(dict) != PyTuple_GET_SIZE(texts)) return false;
  PyObject *key, *value;
  Py_ssize_t next = 0;
  for (Py_ssize_t at = 0; PyDict_Next(dict, &at, &key, &value); ++next) {
    PyObject* text = PyTuple_GET_ITEM(texts, next);
    if (key != text && !(PyUnicode_CheckExact(key) && PyUnicode_Compare(key, text) == 0))
      return false;
  }
  return true;
}

// None: an exception, or a kind of value that was not there when the segment was noted.
bool is_true(const Register& value, bool& result) {
  switch (value.tag()) {
    case Register::Tag::none:
      result = false;
      return true;
    case Register::Tag::boolean:
    case Register::Tag::integer:
      result = value.integer() != 0;
      return true;
    case Register::Tag::real:
      result = value.real() != 0;
      return true;
    case Register::Tag::object:
      if (!is_plain_container(object_in(value))) return false;
      result = PyObject_Size(object_in(value)) > 0;
      return true;
    case Register::Tag::unbound:
      break;
  }
  return false;
}

bool is_same(const Register& value, const Register& expected) {
  if (value.tag() != expected.tag()) return false;
  switch (value.tag()) {
    case Register::Tag::boolean:
    case Register::Tag::integer:
      return value.integer() == expected.integer();
    case Register::Tag::real: {
      const double a = value.real(), b = expected.real();
      return std::memcmp(&a, &b, sizeof a) == 0;
    }
    case Register::Tag::object: {
      PyObject *a = object_in(value), *b = object_in(expected);
      if (a == b) return true;
      return PyUnicode_CheckExact(a) && PyUnicode_CheckExact(b) && PyUnicode_Compare(a, b) == 0;
    }
    default:
      return true;
  }
}

Register borrowed(PyObject* found) { return unboxed(Py_NewRef(found)); }

// Takes the steps. False: this is another case.
class Steps {
 public:
  Steps(const Segment& segment, Task& task, RegisterValues& values)
      : segment_(segment), task_(task), values_(values) {}

  bool take() {
    SettledSteps& settled = segment_.settled;
    if (settled.is_valid && still_holds(settled)) {
      ++settled.used;
      return take_steps(true);
    }
    if (!take_steps(false)) return false;
    if (has_versions && (settled.made < most_makes || settled.used > 4 * settled.made))
      keep(settled);
    return true;
  }

 private:
  static constexpr int32_t most_makes = 16;  // of what is not used much

  // All of them, or but for the settled ones, which give what they gave.
  bool take_steps(bool has_settled) {
    const SettledSteps& settled = segment_.settled;
    for (const SegmentStep& step : segment_.steps) {
      const bool is_known = has_settled && step.is_settled;
      if (step.gives_value()) {
        PyObject* found = is_known ? settled.found[values_.size()] : nullptr;
        Register value = found      ? Register::borrowed(found)
                         : is_known ? settled.numbers[values_.size()]
                                    : give(step);
        if (!value.is_bound()) return false;
        values_.push_back(std::move(value));
      } else if (!is_known && !holds(step)) {
        return false;
      }
    }
    return true;
  }
  PyObject* entry(int32_t number) const {
    const Frame& frame = task_.open_frames().back();
    const Register& value = number < 0 ? frame.function : task_.registers_of(frame)[number];
    return value.is_object() ? object_in(value) : nullptr;
  }
  bool still_holds(const SettledSteps& settled) const {
    for (const auto& [number, object] : settled.roots) {
      if (entry(number) != object) return false;
    }
    for (const auto& [object, type, type_version, dict, version] : settled.seen) {
      if (object) {
        if (Py_TYPE(object) != type || type->tp_version_tag != type_version ||
            !PyType_HasFeature(type, Py_TPFLAGS_VALID_VERSION_TAG))
          return false;
        if (own_dict(object) != dict) return false;
      }
      if (dict && version_of(dict) != version) return false;
    }
    return true;
  }
  // After all steps: what the settled ones have looked at.
  void keep(SettledSteps& settled) {
    settled.is_valid = false;
    ++settled.made;
    settled.roots.clear();
    settled.seen.clear();
    settled.found.assign(values_.size(), nullptr);
    settled.numbers.assign(values_.size(), Register());
    size_t next = 0;
    for (const SegmentStep& step : segment_.steps) {
      if (step.is_settled && !note(step, next, settled)) return;
      next += step.gives_value() ? 1 : 0;
    }
    settled.is_valid = true;
  }
  // False: what it looks at is no object.
  bool note(const SegmentStep& step, size_t next, SettledSteps& settled) {
    if (step.gives_value()) {
      if (values_[next].is_object()) {
        settled.found[next] = object_in(values_[next]);
      } else {
        settled.numbers[next] = values_[next];
      }
    }
    if (step.kind == Kind::entry) {
      if (!settled.found[next]) return false;
      settled.roots.push_back({step.number, settled.found[next]});
      return true;
    }
    if (!values_[step.a].is_object())
      return step.kind == Kind::is_same || step.kind == Kind::is_none;
    PyObject* owner = object_in(values_[step.a]);
    const auto add_dict = [&](PyObject* dict) {
      for (const auto& known : settled.seen) {
        if (known.dict == dict) return;
      }
      settled.seen.push_back({nullptr, nullptr, 0, dict, version_of(dict)});
    };
    switch (step.kind) {
      case Kind::global: {
        auto* function = reinterpret_cast<PyFunctionObject*>(owner);
        add_dict(function->func_globals);
        add_dict(function->func_builtins);
        return true;
      }
      case Kind::key:
      case Kind::has_keys:
        if (!PyDict_CheckExact(owner)) return false;
        add_dict(owner);
        return true;
      case Kind::attribute:
      case Kind::method:
      case Kind::own_dict:
      case Kind::forwards:
      case Kind::is_type:
        break;
      default:
        return true;
    }
    for (const auto& known : settled.seen) {
      if (known.object == owner) return true;
    }
    PyObject* dict = own_dict(owner);
    settled.seen.push_back(
        {owner, Py_TYPE(owner), Py_TYPE(owner)->tp_version_tag, dict, dict ? version_of(dict) : 0});
    return true;
  }

  const Register& operand(const SegmentStep& step, int32_t number) const {
    return number < 0 ? step.constant : values_[number];
  }
  Register give(const SegmentStep& step) {
    const auto object = [&]() -> PyObject* {
      const Register& value = values_[step.a];
      return value.is_object() ? object_in(value) : nullptr;
    };
    PyObject* found = nullptr;
    switch (step.kind) {
      case Kind::entry: {
        const Frame& frame = task_.open_frames().back();
        return step.number < 0 ? frame.function : task_.registers_of(frame)[step.number];
      }
      case Kind::global:
        found = PyFunction_Check(object()) ? find_global(step, object()) : nullptr;
        break;
      case Kind::attribute: {
        PyObject* owner = object();
        if (!owner || !is_of(step, owner)) return {};
        PyObject* dict = own_dict(owner);
        found = dict ? in_dict(step, dict) : nullptr;
        break;
      }
      case Kind::method: {
        PyObject* owner = object();
        if (!owner || !is_of(step, owner)) return {};
        PyObject* dict = own_dict(owner);
        if (dict && in_dict(step, dict)) return {};
        found = step.found;
        break;
      }
      case Kind::own_dict:
        found = object() && is_of(step, object()) ? own_dict(object()) : nullptr;
        break;
      case Kind::key:
        found = object() && PyDict_CheckExact(object()) ? in_dict(step, object()) : nullptr;
        break;
      case Kind::item:
        found = object() ? item_of(object(), step.number) : nullptr;
        break;
      case Kind::at: {
        const Register& index = operand(step, step.b);
        found = object() && index.is_integer() ? item_of(object(), index.integer()) : nullptr;
        break;
      }
      case Kind::content:
        found = object() && PyCell_Check(object()) ? PyCell_GET(object()) : nullptr;
        break;
      case Kind::unary:
        return of_number(static_cast<Unary>(step.number), operand(step, step.a));
      case Kind::binary: {
        Register result;
        routine::of_numbers(static_cast<Binary>(step.number), operand(step, step.a),
                            operand(step, step.b), result);
        return result;
      }
      case Kind::compare: {
        Register result;
        routine::compare_numbers(static_cast<Comparison>(step.number), operand(step, step.a),
                                 operand(step, step.b), result);
        return result;
      }
      case Kind::length:
        if (!object() || !is_plain_container(object())) return {};
        return Register::of(static_cast<int64_t>(PyObject_Size(object())));
      case Kind::tensor: {
        const Register& number = values_[step.a];
        if (!number.is_integer() && !number.is_real()) return {};
        const Object boxed_number = boxed(number);
        return Register::owned(wrap(tensor_from_python(boxed_number.get(), std::nullopt)));
      }
      default:
        break;
    }
    return found ? borrowed(found) : Register();
  }
  static Register of_number(Unary which, const Register& a) {
    if (which == Unary::not_) {
      bool truth = false;
      return is_true(a, truth) ? Register::of(!truth) : Register();
    }
    if (which == Unary::negative && a.is_real()) return Register::of(-a.real());
    if (which == Unary::negative && a.is_integer() && a.integer() != INT64_MIN)
      return Register::of(-a.integer());
    if (which == Unary::positive && (a.is_real() || a.is_integer())) return a;
    return {};
  }
  bool holds(const SegmentStep& step) const {
    const Register& value = values_[step.a];
    PyObject* object = value.is_object() ? object_in(value) : nullptr;
    switch (step.kind) {
      case Kind::is_same:
        return is_same(value, step.constant);
      case Kind::has_keys:
        return object && PyDict_CheckExact(object) && has_keys(object, object_in(step.constant));
      case Kind::is_true: {
        bool truth = false;
        return is_true(value, truth) && truth == (step.number != 0);
      }
      case Kind::is_none:
        return value.is_none() == (step.number != 0);
      case Kind::is_type:
        if (value.tag() != step.constant.tag()) return false;
        return !object || is_of(step, object);
      case Kind::is_class:
        return object == reinterpret_cast<PyObject*>(step.type) &&
               step.type->tp_version_tag == step.version;
      case Kind::runs:
        return object && PyFunction_Check(object) && routine_of(object) == step.routine.get() &&
               PyFunction_GET_DEFAULTS(object) == step.found && !PyFunction_GET_KW_DEFAULTS(object);
      case Kind::forwards: {
        if (!object || !is_of(step, object)) return false;
        PyObject** dict = _PyObject_GetDictPtr(object);
        if (has_versions && dict && *dict && step.dict == *dict &&
            step.dict_version == version_of(*dict))
          return true;
        if (plain_forward(object) != step.found) return false;
        step.dict = dict ? *dict : nullptr;
        step.dict_version = step.dict ? version_of(step.dict) : 0;
        return true;
      }
      case Kind::is_tensor: {
        if (!object || Py_TYPE(object) != step.type) return false;
        auto& tensor = *reinterpret_cast<PyTensor*>(object);
        const Value& found = tensor.tensor ? tensor.tensor->value() : tensor.value;
        return !found->mapped && segment_.forms[step.number].fits(found);
      }
      case Kind::is_object: {
        const Register& other = values_[step.b];
        return object && other.is_object() && object == object_in(other);
      }
      default:
        return false;
    }
  }

  const Segment& segment_;
  Task& task_;
  RegisterValues& values_;
};

// Puts the task behind the segment.
class Exit {
 public:
  Exit(const Segment& segment, Task& task, const RegisterValues& values, Values outputs)
      : segment_(segment), task_(task), values_(values) {
    // Each tensor that the segment gives is an object of its own, also where two have one value.
    for (int32_t number : segment.objects)
      tensors_.push_back(Register::owned(wrap(outputs[number])));
  }

  void leave() {
    for (const SegmentFrame& frame : segment_.after) {
      if (frame.is_new) {
        task_.push(frame.routine, values_[frame.function], frame.target);
        if (frame.module >= 0) {
          Frame& made = task_.open_frames().back();
          made.module_before = routine::host->enter_module(object_in(values_[frame.module]));
          made.module = values_[frame.module];
        }
      }
      Frame& there = task_.open_frames().back();
      there.place = frame.place;
      there.after = frame.after;
      for (const auto& [number, content] : frame.written) {
        Register made = make(content);
        task_.registers_of(task_.open_frames().back())[number] = std::move(made);
      }
    }
  }

 private:
  Register make(const SegmentContent& content) {
    switch (content.kind) {
      case SegmentContent::Kind::unbound:
        return {};
      case SegmentContent::Kind::value:
        return values_[content.number];
      case SegmentContent::Kind::constant:
        return content.constant;
      case SegmentContent::Kind::result:
        return tensors_[content.number];
      default:
        break;
    }
    // One that is in two places is one tuple.
    const auto number = static_cast<size_t>(content.number);
    while (tuples_.size() <= number) tuples_.emplace_back();
    if (tuples_[number].is_bound()) return tuples_[number];
    base::SmallVector<Register, 4> items;
    base::SmallVector<const Register*, 4> pointers;
    for (const SegmentContent& item : content.items) items.push_back(make(item));
    for (const Register& item : items) pointers.push_back(&item);
    return tuples_[number] = routine::host->tuple(pointers);
  }

  const Segment& segment_;
  Task& task_;
  const RegisterValues& values_;
  base::SmallVector<Register, 4> tensors_, tuples_;
};

bool is_possible(const Segment& segment, Task& task) {
  return task.open_frames().back().routine.get() == segment.routine.get() &&
         segment.default_dtype == tensor::default_dtype && segment.inference == modes.inference &&
         segment.tensor_version == tensor_type->tp_version_tag;
}

bool record(const Segment& segment, Task& task) {
  if (!is_possible(segment, task)) return false;
  RegisterValues values;
  if (!Steps(segment, task, values).take()) return false;
  base::SmallVector<Value, 8> inputs;
  for (int32_t number : segment.inputs) {
    const Register& value = values[number];
    inputs.push_back(value.is_object()    ? value_of(object_in(value))
                     : value.is_integer() ? graph::number_value(value.integer())
                                          : graph::number_value(value.real()));
  }
  Values outputs;
  if (modes.lazy) {
    outputs = graph::record(*segment.op, inputs);
  } else {
    const graph::ModesGuard guard;
    try {
      if (exec::leaves_no_record(*segment.op, inputs))
        outputs = exec::run_unrecorded(*segment.op, inputs);
      if (outputs.empty()) outputs = segment.op->apply_at_lines(inputs);
    } catch (const base::Error&) {
      return false;  // one by one, the op that fails says so at its line
    }
  }
  Exit(segment, task, values, std::move(outputs)).leave();
  ++routine::counts.segments;
  routine::counts.ops += static_cast<int64_t>(segment.op->program.instructions.size());
  return true;
}

}  // namespace

void settle_steps(Segment& segment) {
  std::vector<bool> is_settled;  // by value
  // An argument is settled if something is looked up in it that no other call changes.
  std::vector<bool> is_owner(segment.steps.size());
  for (const SegmentStep& step : segment.steps) {
    const bool looks = step.kind == Kind::attribute || step.kind == Kind::method ||
                       step.kind == Kind::forwards || step.kind == Kind::global ||
                       step.kind == Kind::own_dict;
    if (looks && step.a >= 0) is_owner[step.a] = true;
  }
  for (SegmentStep& step : segment.steps) {
    const bool has_settled = step.a >= 0 && is_settled[step.a];
    switch (step.kind) {
      case Kind::entry:
        step.is_settled = is_owner[is_settled.size()];
        break;
      case Kind::global:
      case Kind::attribute:
      case Kind::method:
      case Kind::own_dict:
      case Kind::key:
      case Kind::has_keys:
      case Kind::forwards:
      case Kind::is_class:
      case Kind::is_same:
      case Kind::is_none:
      case Kind::is_type:
        step.is_settled = has_settled;
        break;
      default:
        break;
    }
    if (step.gives_value()) is_settled.push_back(step.is_settled);
  }
}

namespace {

struct PlaceSegments final : routine::Site {
  uint32_t seen = 0, failures = 0, used = 0, replaced = 0;
  std::vector<std::shared_ptr<const Segment>> known;
};

class PythonSegments final : public routine::Segments {
 public:
  bool are_wanted() const override {
    if (modes.tracer || modes.observer || modes.vmap || modes.executor || modes.save_hooks ||
        modes.keep_values)
      return false;
    return !modes.lazy || modes.leaves_pending();
  }
  bool record(Task& task) override {
    Frame& frame = task.open_frames().back();
    routine::Routine& routine = *frame.routine;
    if (routine.sites.empty()) routine.sites.resize(routine.code.size());
    auto& site = routine.sites[frame.place];
    if (!site) site = std::make_unique<PlaceSegments>();
    auto& place = static_cast<PlaceSegments&>(*site);
    if (place.is_general) return false;
    const routine::RoutineRef kept = frame.routine;  // with what is known of it
    for (size_t i = 0; i < place.known.size(); ++i) {
      const std::shared_ptr<const Segment> known = place.known[i];
      if (!bind::record(*known, task)) continue;
      // Others may have been here while it ran.
      if (i > 0 && i < place.known.size() && place.known[i] == known)
        std::swap(place.known[i], place.known[i - 1]);
      ++place.used;
      return true;
    }
    if (++place.seen < notes_from) return false;
    const bool is_full = place.known.size() == most_segments;
    // What many models share, as the forward of a sequence, is worth another one now and then.
    const bool may_replace = place.used > least_uses * (place.replaced + 1);
    if ((is_full && !may_replace) || place.failures == most_failures) {
      place.is_general = true;
      return false;
    }
    const std::shared_ptr<const Segment> made = note_segment(task);
    if (!made) {
      ++place.failures;
      return false;
    }
    if (is_full && place.known.size() == most_segments) {
      place.known.pop_back();
      ++place.replaced;
    }
    place.known.push_back(made);
    return bind::record(*made, task);
  }
};

PythonSegments python_segments;

}  // namespace

Segment::~Segment() { bury_program(std::move(op)); }

void connect_segments() { routine::segments = &python_segments; }

}  // namespace weft::bind
