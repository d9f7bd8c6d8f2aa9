// Noting a segment: a copy of the task runs on, over tensors without values, up to what has an
// effect or needs a value. What each register came from is followed along; what decided is checked
// later.
#pragma once

#include <algorithm>
#include <map>
#include <unordered_map>

#include "weft/bind/cell.h"
#include "weft/bind/frames.h"
#include "weft/bind/python_host.h"
#include "weft/bind/segments.h"

namespace weft::bind::noting {

using graph::modes;
using routine::Binary;
using routine::Callee;
using routine::Frame;
using routine::Opcode;
using routine::Register;
using routine::Routine;
using routine::RoutineRef;
using routine::Task;
using routine::Unary;
using Kind = SegmentStep::Kind;

constexpr size_t most_new_frames = 32;
constexpr size_t most_instructions = 2000;
constexpr size_t most_ops = 128;
constexpr size_t least_ops = 2;
constexpr size_t most_inputs = 31;  // each has a bit in a word

// Where a register's content came from.
using Source = int32_t;
constexpr Source constant = -1;  // the same each time
constexpr Source made = -2;      // a tensor that an op gave
constexpr Source fresh = -3;     // a container that was made in the segment
constexpr Source other = -4;     // what cannot be given again
constexpr Source unbound = -5;   // nothing, and whatever it was before

// A container or iterator that was made in the segment.
struct Fresh {
  Object object;  // keeps its address its own
  std::vector<Source> items;
  // Of an iterator: what it goes through, and how far it is.
  bool is_iterator = false;
  Register container;
  Source container_source = constant;
  int64_t next = 0;
};

struct End {};  // the instruction is no part of the segment

class Noting final : public Looking {
 public:
  explicit Noting(Task& task) : task_(task), copy_(false) {}
  std::unique_ptr<Segment> note();

  int64_t decide(const Value&, bool) override {
    graph::refuse_in_program("reads a value");
    return 0;
  }
  bool is_known(const Value&) const override { return true; }

 private:
  struct CopiedFrame {
    RoutineRef routine;
    Source function, module;
    int32_t place, after, target;
    bool is_new;
    std::vector<Register> registers;
    std::vector<Source> sources;
  };
  // The whole state before an instruction.
  struct Snapshot {
    std::vector<CopiedFrame> frames;
    std::map<PyObject*, Fresh> fresh;
  };
  struct FrameSources {
    Source function = constant, module = constant;
    bool is_new = false;
    std::vector<Source> registers;
  };

  void copy_frame();
  Snapshot snapshot();
  void step();
  void touch_operands(const int32_t* at);
  void touch(Source source) {
    if (static_cast<size_t>(source) >= touched_.size()) touched_.resize(source + 1);
    touched_[source] = true;
  }

  // --- steps ---
  Source add(SegmentStep step, const Register& value) {
    segment_->steps.push_back(std::move(step));
    numbers_.push_back(static_cast<int32_t>(seen_.size()));
    seen_.push_back(value);
    return static_cast<Source>(seen_.size()) - 1;
  }
  void check(SegmentStep step) {
    segment_->steps.push_back(std::move(step));
    numbers_.push_back(-1);
  }
  SegmentStep step_of(Kind kind, Source a) const {
    SegmentStep step;
    step.kind = kind;
    step.a = a;
    return step;
  }
  // From here on it is the same each time.
  void pin(Source& source, const Register& value);
  void pin_truth(Source source, const Register& value, bool truth);
  void pin_type(Source source, const Register& value);

  // --- tensors ---
  // What stands for a tensor that has values.
  Register stand_in(Source source, const Register& value);
  bool is_tensor_in(const Register& value) const {
    return value.is_object() && is_tensor(object_in(value));
  }
  void learn_attributes(Source module, PyObject* object);

  // --- the copy's registers ---
  Frame& frame() { return copy_.open_frames().back(); }
  Register& reg(int32_t number) {
    if (number < routine::none) return frame().routine->constants[routine::constant_of(number)];
    return copy_.registers_of(frame())[number];
  }
  Source& source(int32_t number) {
    if (number < routine::none) return of_constant_ = constant;
    return sources_.back().registers[number];
  }
  void put(int32_t number, Register value, Source from) {
    reg(number) = std::move(value);
    source(number) = from;
  }
  // A value that has been looked up: a tensor gets a stand-in.
  void put_found(int32_t number, const Register& value, Source from) {
    if (is_tensor_in(value)) {
      put(number, stand_in(from, value), from);
    } else {
      put(number, value, from);
    }
  }
  void put_new(int32_t number);  // after an instruction that has made what is there

  // --- instructions ---
  void do_unary(const int32_t* at);
  void do_binary(const int32_t* at, bool is_in_place);
  void do_compare(const int32_t* at);
  void do_identity(const int32_t* at);
  void do_contains(const int32_t* at);
  void do_global(const int32_t* at);
  void do_cell_read(const int32_t* at);
  void do_jump(const int32_t* at, bool wanted);
  void do_next(const int32_t* at);
  void do_iterate(const int32_t* at);
  void do_container(const int32_t* at);
  void do_append(const int32_t* at);
  void do_unpack(const int32_t* at);
  void do_own_dict(const int32_t* at);
  void do_iterate_keys(const int32_t* at);
  void do_attribute(const int32_t* at);
  void do_method(const int32_t* at);
  void do_item(const int32_t* at);
  void do_call(const int32_t* at, bool is_method);
  void do_comprehend(const int32_t* at);
  void do_return();
  void run_plainly() { copy_.step(); }
  void apply_to_numbers(int32_t first, int32_t second, bool may_vary);

  void enter_routine(const Callee& callee, Source function, Source module,
                     const std::vector<int32_t>& given, Source receiver, PyObject* names);
  bool call_builtin(const int32_t* at, PyObject* callee, const std::vector<int32_t>& given);
  void allow_arguments(const std::vector<int32_t>& given);
  Source look_up(Source owner, const Register& value, PyObject* name, PyObject*& found,
                 bool as_method);

  // --- the end ---
  bool describe(const Snapshot& at);
  bool describe(const Snapshot& at, const Register& value, Source from, SegmentContent& content);
  bool has_no_views() const;
  bool make_program();
  void drop_unused_steps();
  const SegmentStep& step_of_value(Source number) const;
  bool loops_over_known();

  Task& task_;
  Task copy_;
  std::unique_ptr<Segment> segment_;
  std::vector<int32_t> numbers_;  // of each step: its value's number, or -1
  std::vector<bool> touched_;     // of each value: a tensor that an instruction has read
  std::vector<Register> seen_;    // of each value: what it was
  std::vector<FrameSources> sources_;
  Source of_constant_ = 0;  // what is known of an operand that is one
  std::map<PyObject*, Fresh> fresh_;
  std::vector<std::pair<int32_t, Register>> numbers_replaced_;
  // Stand-ins: by object, and by the value that ops see.
  std::unordered_map<PyObject*, std::pair<Source, Object>> stand_ins_;
  std::unordered_map<const graph::ValueData*, Source> inputs_;
  std::vector<Object> kept_;
  std::vector<Value> kept_values_;
  // While the exit is described: tensors that the op gives.
  std::vector<PyObject*> given_objects_, given_tuples_;
};

// Of a value, without memory.
Value meta_of_value(const Value& value);
bool has_version(PyTypeObject* type);
inline bool is_number(const Register& value) {
  return value.is_integer() || value.is_real() || value.is_boolean();
}
bool is_parameter_type(PyTypeObject* type);

}  // namespace weft::bind::noting
