// Pending: one op recorded but not run. Values that it will compute hold it; it knows them without
// holding them, so what nobody asks for goes away unrun.
#pragma once

#include <span>

#include "weft/graph/modes.h"
#include "weft/graph/op.h"
#include "weft/graph/value.h"

namespace weft::graph {

struct Step;

struct Pending : base::RefCounted<Pending>, base::Pooled<Pending> {
  Pending(const Op& op, Attributes attributes, Values inputs);
  ~Pending();
  static void destroy(Pending* pending) noexcept;

  const Op* op;
  Attributes attributes;
  Values inputs;
  base::SmallVector<ValueData*, 1> outputs;  // null where nobody holds it any more
  Position position;
  int32_t example;
  uint32_t number = not_yet;  // its place on the tape
  int64_t bytes = 0;          // of its outputs, once they are there
  Step* step = nullptr;       // of a strand (graph/strand.h): its last op
  DType compute = DType::f32;
  bool grad;
  bool ran = false;
  uint32_t op_count() const;

  static constexpr uint32_t not_yet = UINT32_MAX;

  static int64_t live();
  static int64_t dropped();  // how many were never run, since the process began
};
void count_dropped(int64_t ops);

// Computes those that are pending; raises for those that never will be, while a cell's body is
// looked at.
inline void demand(std::span<const Value> values) {
  for (const Value& value : values) {
    if (value && !value->array.storage) [[unlikely]] {
      host.demand(values);
      return;
    }
  }
}
inline const Value& demand(const Value& value) {
  demand(std::span(&value, 1));
  return value;
}

// Whether anything has ever been pending: programs without it are spared some care.
bool lazy_was_used();

// Notes the bytes that a new op will need. Above the limit all that is pending runs at once, so
// that what is recorded stays within memory.
void count_bytes(Pending& pending, int64_t bytes);
void set_pending_limit(int64_t bytes);
int64_t pending_limit();

// Before memory is written: runs what is pending and reads it.
void run_readers(const tensor::Storage& storage);

}  // namespace weft::graph
