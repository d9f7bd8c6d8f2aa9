// Observer: the one door through which a run is watched. Mostly there is none, and then a look at
// a pointer is all it costs.
#pragma once

#include <chrono>
#include <span>
#include <string>
#include <vector>

#include "weft/graph/node.h"
#include "weft/graph/value.h"

namespace weft::graph {

inline double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// One op, cell or user's function that was recorded. In lazy mode its outputs are pending.
struct Recorded {
  const Op* op;  // null: a user's function
  std::string_view name;
  const Attributes& attributes;
  std::span<const Value> inputs;
  std::span<const Value> outputs;
  double begin;         // in seconds
  uint64_t first_node;  // nodes that were made are younger than this
  bool in_place = false;
};

// Rows of one op that ran together when somebody needed a value.
struct RanRows {
  std::string_view name;
  std::span<const std::vector<Value>> rows;  // what each row's application gave, where it is held
  double begin, seconds;
  int64_t bytes_copied;
  Position position;
  std::string_view note;
  uint64_t first_node;
};

// The gradient rule of one node.
struct RanRule {
  const Node& node;
  std::span<const int32_t> live;    // of a node with rows: those that ran; empty means all
  std::span<const Value> incoming;  // gradients of its outputs
  std::span<const Value> outgoing;  // gradients of its inputs
  double begin;
};

struct Observer {
  virtual ~Observer() = default;
  virtual void recorded(const Recorded& recorded) = 0;
  virtual void will_write(std::span<const Value> inputs) = 0;  // an op writes over one of them
  // Python is told a value: `kind` says how ("bool", "item"), `text` what.
  virtual void read(const Value& value, const char* kind, const std::string& text) = 0;
  // A module is called; returns the number that modes.module is until it returns.
  virtual int32_t entered(void* module, int32_t caller) = 0;
  virtual void ran(const RanRows& rows) = 0;
  virtual void planned(Position position, double begin, double seconds_planning) = 0;
  virtual void began_backward(Position position) = 0;
  virtual void ran_rule(const RanRule& rule) = 0;
  virtual void ended_backward() = 0;

  bool parts = false;    // of cells: what they are made of, not they
  bool at_once = false;  // in lazy mode too, ops run when they are recorded
};

}  // namespace weft::graph
