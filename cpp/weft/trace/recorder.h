// Recorder: an observer that notes what a run did, as plain data. Names, lines and modules are
// resolved by who reads it.
#pragma once

#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "weft/graph/modes.h"
#include "weft/graph/observer.h"
#include "weft/graph/op.h"

namespace weft::trace {

using graph::Position;
using graph::Value;

inline constexpr uint32_t none = UINT32_MAX;

struct Statistics {
  int64_t count = 0, nans = 0, infinities = 0, zeros = 0;
  double minimum = 0, maximum = 0, mean = 0, deviation = 0;  // of the finite ones
  std::vector<uint32_t> histogram;
  std::vector<double> values;  // all of them, if they are few
};
Statistics statistics_of(const graph::Array& array);

struct Frame {
  Position position;
  uint32_t caller;
};

struct Result {
  uint32_t node = none;
  graph::Dims sizes{};
  graph::DType dtype = graph::DType::f32;
  bool is_new = false;  // has memory of its own
  uint32_t statistics = none;
  // Whose gradient is its gradient: a node of the graph, which of its outputs, and its row.
  uint64_t producer = 0;
  uint32_t output = 0;
  int32_t row = graph::ValueData::whole;
};

struct Input {
  uint32_t result;  // none: a number
  double number;
};

struct Node {
  const graph::Op* op;  // null: a user's function, or a leaf
  const std::string* name;
  graph::Attributes attributes;
  uint32_t first_input, input_count, first_result, result_count;
  uint32_t frame;
  int32_t module;
  int32_t example;
  bool is_leaf, requires_grad, in_place, in_backward;
  double begin;
  float seconds;
  int64_t saved;                   // bytes kept for backward, and by none before it
  uint64_t first_node, last_node;  // of the graph: made for this, younger than the first
};

struct Read {
  const char* kind;
  std::string text;
  uint32_t result;
  uint32_t frame;
  int32_t module;
  int32_t example;
  uint32_t after;  // so many nodes
};

struct Module {
  int32_t caller;
  uint32_t frame;
};

struct Batch {
  const std::string* name;
  std::vector<uint32_t> nodes;
  double begin, seconds;
  int64_t bytes_copied;
  Position position;
  std::string note;
  uint64_t first_node, last_node;
};
struct Plan {
  Position position;
  double begin, seconds, seconds_planning;
  std::vector<Batch> batches;
};

struct Rule {
  const std::string* name;
  uint64_t node;
  double begin, seconds;
  std::vector<int32_t> live;
  std::vector<uint32_t> incoming, outgoing;  // statistics; of rows, one after the other
};
struct Backward {
  Position position;
  double begin, seconds;
  std::vector<Rule> rules;
};

class Recorder : public graph::Observer {
 public:
  explicit Recorder(bool values) : values_(values), id_(++count_) {}
  Recorder(const Recorder&) = delete;

  void recorded(const graph::Recorded& recorded) override;
  void will_write(std::span<const Value> inputs) override;
  void read(const Value& value, const char* kind, const std::string& text) override;
  int32_t entered(void* module, int32_t caller) override;
  void ran(const graph::RanRows& rows) override;
  void planned(Position position, double begin, double seconds_planning) override;
  void began_backward(Position position) override;
  void ran_rule(const graph::RanRule& rule) override;
  void ended_backward() override;

  // Before it observes again: another recorder may have numbered values in between.
  void resume();
  // After it: those of the other are as they were.
  void give_back();
  bool is_inner = false;  // another one observes around it
  // Its number among the results, making it an input if it is new; `none` if it is not to be.
  uint32_t result_of(const Value& value, bool make = true);
  void clear();
  // The place among `modules` of a call that modes.module names; -1 if it is forgotten.
  int32_t module_at(int32_t number) const {
    const int32_t place = number - first_module_;
    return place >= 0 && place < static_cast<int32_t>(modules.size()) ? place : -1;
  }

  std::vector<Node> nodes;
  std::vector<Input> inputs;
  std::vector<Result> results;
  std::vector<Frame> frames;
  std::vector<Module> modules;
  std::vector<Read> reads;
  std::vector<Plan> plans;
  std::vector<Backward> backwards;
  std::vector<Statistics> statistics;
  double began = graph::seconds_now();

 private:
  int64_t count_saved(const Value& output, uint64_t first_node);
  uint32_t add_result(const Value& value, uint32_t node, bool is_new);
  void look_at(const Value& value, Result& result);
  uint32_t note(const graph::Array& array);
  uint32_t frame_now();
  const std::string* intern(std::string_view name);

  bool values_;
  inline static uint32_t count_ = 0;
  const uint32_t id_;
  uint32_t first_number_ = 0;  // of the first result
  int32_t first_module_ = 0;
  uint32_t open_backwards_ = 0;
  std::vector<std::pair<Value, uint32_t>> overwritten_;  // by the last op, and their numbers
  std::vector<std::pair<Value, uint32_t>> taken_;        // values that the other had numbered
  std::vector<Batch> batches_;                           // of the plan that is running
  std::vector<Position> positions_, last_positions_;
  std::vector<uint32_t> last_frames_;
  std::unordered_map<uint64_t, uint32_t> frame_numbers_;
  std::unordered_set<std::string> names_;
};

}  // namespace weft::trace
