// Where a segment leaves the task, and the op that it becomes.
#include "weft/bind/noting.h"

#include <algorithm>

#include "weft/exec/rows.h"
#include "weft/graph/gradient.h"
#include "weft/graph/record.h"
#include "weft/graph/validate.h"

namespace weft::bind::noting {

bool Noting::describe(const Snapshot& at, const Register& value, Source from,
                      SegmentContent& content) {
  if (!value.is_bound()) return true;
  if (from >= 0) {
    content.kind = SegmentContent::Kind::value;
    content.number = from;
    return true;
  }
  if (from == constant) {
    if (value.is_object()) {
      PyObject* object = object_in(value);
      const bool may_be_kept =
          PyUnicode_CheckExact(object) || is_dtype(object) || PyTuple_Check(object) ||
          PyLong_CheckExact(object) || is_op_function(object) || PyCFunction_Check(object) ||
          PyModule_CheckExact(object) || PySlice_Check(object) || object == Py_Ellipsis ||
          PyRange_Check(object) || Py_TYPE(object) == &PyMethodDescr_Type;
      if (!may_be_kept) return false;
    }
    content.kind = SegmentContent::Kind::constant;
    content.constant = value;
    return true;
  }
  if (from == made) {
    PyObject* object = object_in(value);
    content.kind = SegmentContent::Kind::result;
    const auto known = std::find(given_objects_.begin(), given_objects_.end(), object);
    content.number = static_cast<int32_t>(known - given_objects_.begin());
    if (known == given_objects_.end()) given_objects_.push_back(object);
    return true;
  }
  if (from != fresh) return false;
  const auto found = at.fresh.find(object_in(value));
  if (found == at.fresh.end() || found->second.is_iterator) return false;
  const bool is_tuple = PyTuple_CheckExact(object_in(value));
  if (!is_tuple && !PyList_CheckExact(object_in(value))) return false;
  if (!is_tuple) return false;  // two registers may have one list, which may be written
  content.kind = SegmentContent::Kind::tuple;
  const auto known = std::find(given_tuples_.begin(), given_tuples_.end(), object_in(value));
  content.number = static_cast<int32_t>(known - given_tuples_.begin());
  if (known == given_tuples_.end()) given_tuples_.push_back(object_in(value));
  for (size_t i = 0; i < found->second.items.size(); ++i) {
    const Register item =
        unboxed(Py_NewRef(PySequence_Fast_GET_ITEM(object_in(value), static_cast<Py_ssize_t>(i))));
    if (!describe(at, item, found->second.items[i], content.items.emplace_back())) return false;
  }
  return true;
}

const routine::Liveness& liveness_of(Routine& routine) {
  if (!routine.liveness) routine.liveness = std::make_unique<routine::Liveness>(routine);
  return *routine.liveness;
}

// Whether the task can be put there.
bool Noting::describe(const Snapshot& at) {
  given_objects_.clear();
  given_tuples_.clear();
  segment_->after.clear();
  for (size_t i = 0; i < at.frames.size(); ++i) {
    const CopiedFrame& frame = at.frames[i];
    const bool is_last = i + 1 == at.frames.size();
    SegmentFrame& made_frame = segment_->after.emplace_back();
    made_frame.is_new = frame.is_new;
    made_frame.routine = frame.routine;
    made_frame.function = frame.function;
    made_frame.module = frame.is_new && frame.module >= 0 ? frame.module : -1;
    made_frame.place = frame.place;
    made_frame.after = frame.after;
    made_frame.target = frame.target;
    if (frame.is_new && frame.function < 0) return false;
    const auto& liveness = liveness_of(*frame.routine);
    const int32_t place = is_last ? frame.place : frame.after;
    const int32_t awaited = is_last ? -1 : at.frames[i + 1].target;
    for (int32_t k = 0; k < frame.routine->registers; ++k) {
      const bool is_live = k != awaited && liveness.is_live(place, k);
      const Source from = frame.sources[k];
      if (!frame.is_new && from == unbound) continue;  // as it was
      if (!frame.is_new && from >= 0) {
        // What an old frame's register had, it has.
        const SegmentStep& step = step_of_value(from);
        if (step.kind == Kind::entry && step.number == k) continue;
      }
      SegmentContent content;
      if (is_live && !describe(at, frame.registers[k], from, content)) return false;
      if (frame.is_new && content.kind == SegmentContent::Kind::unbound) continue;
      made_frame.written.emplace_back(k, std::move(content));
    }
  }
  return true;
}

bool Noting::make_program() {
  std::vector<Value> outputs;
  segment_->objects.clear();
  for (PyObject* object : given_objects_) {
    const Value value = value_of(object);
    const auto known = std::find(outputs.begin(), outputs.end(), value);
    segment_->objects.push_back(static_cast<int32_t>(known - outputs.begin()));
    if (known == outputs.end()) outputs.push_back(value);
  }
  if (outputs.empty()) return false;
  graph::Program program = finish(outputs);
  if (program.instructions.size() < least_ops || program.instructions.size() > most_ops)
    return false;
  // What was looked up becomes the op's inputs.
  std::vector<Value> constants, metas;
  std::vector<int> places(program.constants.size());
  uint32_t weights = 0;
  for (size_t i = 0; i < program.constants.size(); ++i) {
    const Value& value = program.constants[i];
    const auto known = inputs_.find(value.get());
    if (known == inputs_.end()) continue;
    const Kind kind = step_of_value(known->second).kind;
    const bool is_weight = !value->is_number && kind != Kind::entry && kind != Kind::item &&
                           kind != Kind::at && kind != Kind::tensor;
    if (is_weight) weights |= graph::bit_of(segment_->inputs.size());
    places[i] = static_cast<int>(segment_->inputs.size());
    segment_->inputs.push_back(known->second);
    metas.push_back(meta_of_value(value));
  }
  if (segment_->inputs.size() > most_inputs || segment_->inputs.empty()) return false;
  auto next = static_cast<int>(segment_->inputs.size());
  for (size_t i = 0; i < program.constants.size(); ++i) {
    const Value& value = program.constants[i];
    if (inputs_.contains(value.get())) continue;
    // A number of the text, or what an op that reads none has made, is the same each time.
    if (!value->is_number) return false;
    places[i] = next++;
    constants.push_back(value);
  }
  program.constants = std::move(constants);
  program.input_count = static_cast<int>(segment_->inputs.size());
  const auto rename = [&](int& slot) {
    if (slot >= 0 && static_cast<size_t>(slot) < places.size()) slot = places[slot];
  };
  for (graph::Instruction& instruction : program.instructions) {
    if (instruction.op->random) return false;
    std::for_each(instruction.inputs.begin(), instruction.inputs.end(), rename);
  }
  std::for_each(program.outputs.begin(), program.outputs.end(), rename);
  graph::expect_valid(program);
  segment_->op =
      std::make_shared<graph::ProgramOp>(segment_->routine->name, std::move(program), metas,
                                         weights, graph::BatchRule(exec::run_program_rows));
  return true;
}

const SegmentStep& Noting::step_of_value(Source number) const {
  const auto place = std::find(numbers_.begin(), numbers_.end(), number) - numbers_.begin();
  return segment_->steps[place];
}

// Whether nobody could tell what the op gives from tensors that share memory: with each other, or
// with what it was given.
bool Noting::has_no_views() const {
  for (PyObject* object : given_objects_) {
    if (value_of(object)->view) return false;
  }
  return true;
}

// Registers that nothing reads. Other steps may find that there is nothing to look up any more.
void Noting::drop_unused_steps() {
  std::vector<bool> used(seen_.size());
  const auto use = [&](int32_t number) {
    if (number >= 0) used[number] = true;
  };
  for (int32_t number : segment_->inputs) use(number);
  for (size_t i = 0; i < touched_.size(); ++i) used[i] = used[i] || touched_[i];
  std::vector<const SegmentContent*> contents;
  for (const SegmentFrame& frame : segment_->after) {
    if (frame.is_new) use(frame.function), use(frame.module);
    for (const auto& [reg, content] : frame.written) contents.push_back(&content);
  }
  while (!contents.empty()) {
    const SegmentContent& content = *contents.back();
    contents.pop_back();
    if (content.kind == SegmentContent::Kind::value) use(content.number);
    for (const SegmentContent& item : content.items) contents.push_back(&item);
  }
  const size_t count = segment_->steps.size();
  std::vector<bool> kept(count);
  for (size_t i = count; i-- > 0;) {
    const SegmentStep& step = segment_->steps[i];
    // The form of a tensor matters if the tensor does.
    const bool is_form = step.kind == Kind::is_tensor;
    const bool is_entry = step.kind == Kind::entry;
    kept[i] = is_entry ? used[numbers_[i]] : !is_form || used[step.a];
    if (kept[i]) use(step.a), use(step.b);
  }
  // Forms come after what they check, and others may have been needed since.
  for (size_t i = 0; i < count; ++i) {
    if (segment_->steps[i].kind == Kind::is_tensor) kept[i] = used[segment_->steps[i].a];
  }
  std::vector<int32_t> renamed(seen_.size(), -1);
  std::vector<SegmentStep> steps;
  int32_t next = 0;
  const auto rename = [&](int32_t& number) {
    if (number >= 0) number = renamed[number];
  };
  for (size_t i = 0; i < count; ++i) {
    if (!kept[i]) continue;
    SegmentStep& step = segment_->steps[i];
    rename(step.a);
    rename(step.b);
    if (step.gives_value()) renamed[numbers_[i]] = next++;
    steps.push_back(std::move(step));
  }
  segment_->steps = std::move(steps);
  for (int32_t& number : segment_->inputs) rename(number);
  const auto rename_content = [&](auto&& self, SegmentContent& content) -> void {
    if (content.kind == SegmentContent::Kind::value) rename(content.number);
    for (SegmentContent& item : content.items) self(self, item);
  };
  for (SegmentFrame& frame : segment_->after) {
    if (frame.is_new) rename(frame.function), rename(frame.module);
    for (auto& [reg, content] : frame.written) rename_content(rename_content, content);
  }
}

}  // namespace weft::bind::noting
