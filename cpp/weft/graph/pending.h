// Pending: one op recorded but not run. Values that it will compute hold it; it knows them without
// holding them, so what nobody asks for goes away unrun.
#pragma once

#include <span>

#include "weft/graph/modes.h"
#include "weft/graph/op.h"
#include "weft/graph/value.h"

namespace weft::graph {

struct Mapped;
struct Step;

// Raises for a row of a vmap that has ended (graph/vmap.h).
void expect_running(const Mapped& mapped);

// A value that somebody holds and that waits for a result.
struct Held {
  ValueData* value;       // null where nobody does any more
  uint32_t number;        // of the result
  uint32_t shown_as = 0;  // what its node will go by
};

struct Pending final : base::RefCounted<Pending>, base::Pooled<Pending> {
  Pending(const Op& op, Attributes attributes, std::span<const Value> inputs, Position position);
  ~Pending();
  static void destroy(Pending* pending) noexcept;

  const Op* op;
  Attributes attributes;
  base::SmallVector<Value, 6> inputs;
  base::SmallVector<Held, 2> outputs;  // of a strand that is open: kept with it
  Position position;
  int32_t example;
  uint32_t fiber;
  uint32_t number = not_yet;  // its place on the tape
  int64_t bytes = 0;          // of its outputs, once they are there
  Step* step = nullptr;       // of a strand (graph/strand.h): its last op
  Pending* twin = nullptr;    // while a plan runs: the next one that computes the same
  DType compute = DType::f32;
  bool grad;
  bool ran = false;
  bool open = false;  // a strand that may still grow
  uint32_t op_count() const;
  // Gives a value its place among the outputs, as the result of that number.
  void add_output(const Value& value, uint32_t number);

  static constexpr uint32_t not_yet = UINT32_MAX;

  static int64_t live();
  static int64_t dropped();  // how many were never run, since the process began
};
void count_dropped(int64_t ops);

// Computes those that are pending; raises for those that never will be, while a cell's body is
// looked at.
inline void demand(std::span<const Value> values) {
  for (const Value& value : values) {
    if (value && (!value->array.storage || modes.is_look)) [[unlikely]] {
      host.demand(values);
      return;
    }
  }
}
inline const Value& demand(const Value& value) {
  demand(std::span(&value, 1));
  return value;
}

// Raises for what never will have values: rows of a vmap, and what a cell's body kept.
inline void expect_values(std::span<const Value> values) {
  for (const Value& value : values) {
    if (value && !value->array.storage && !value->pending) [[unlikely]]
      host.demand(values);
  }
}

// The same as `demand` for those who look at their place in the graph only: inside vmap nothing has
// memory.
inline const Value& settle(const Value& value) {
  if (!value || !value->mapped) return demand(value);
  expect_running(*value->mapped);
  return value;
}
void settle(std::span<const Value> values);

// Whether anything has ever been pending: programs without it are spared some care.
bool lazy_was_used();

// Of the bytes that pending ops may need together (graph/tape.h).
void set_pending_limit(int64_t bytes);
int64_t pending_limit();

// Before memory is written: runs what is pending and reads it.
void run_readers(const tensor::Storage& storage);

// How often a computed value got other memory, outside of plans.
inline uint64_t values_moved = 0;

}  // namespace weft::graph
