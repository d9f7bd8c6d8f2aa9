// vmap: a function over one row, run once for all rows. A value inside it has one row's shape and
// no memory, and holds the rows that it stands for. An op applied to such values runs at once on
// their rows, by its batch rule, outside: so gradients, lazy evaluation and vmap nest as they come.
#pragma once

#include "weft/graph/modes.h"
#include "weft/graph/op.h"
#include "weft/graph/tensor.h"

namespace weft::graph {

struct Mapped final : base::RefCounted<Mapped>, base::Pooled<Mapped> {
  Mapped(Value rows, uint32_t vmap, TensorRef memory = {})
      : rows(std::move(rows)), vmap(vmap), memory(std::move(memory)) {}
  static void destroy(Mapped* mapped) noexcept { delete mapped; }
  Value rows;        // in dimension 0
  uint32_t vmap;     // the call it belongs to
  TensorRef memory;  // what is written outside when the row is; null: nobody else sees the rows
};

enum class Randomness : uint8_t { error, same, different };

// One call of vmap, while its function runs.
struct Vmap {
  Vmap(int64_t rows, Randomness randomness);
  int64_t rows;
  Randomness randomness;
  uint32_t id;    // calls inside have larger ones
  Modes outside;  // when it was called

  // The rows of a value, if it has some here.
  const Value* rows_of(const Value& value) const {
    return value && value->mapped && value->mapped->vmap == id ? &value->mapped->rows : nullptr;
  }
  // Whether an op's results differ from row to row.
  bool concerns(const Op& op, const Attributes& attributes, std::span<const Value> inputs) const;
  // One row of a value, for the function, or of a tensor that is written when the row is.
  Value enter(Value rows, TensorRef memory = {}) const;
};

// Whether any call that runs now is concerned: the innermost one that is, or null.
const Vmap* concerned_vmap(const Op& op, const Attributes& attributes,
                           std::span<const Value> inputs);

// While it lives, ops are recorded as they were where a vmap, or the innermost one, was called.
class OutsideVmap {
 public:
  OutsideVmap() : OutsideVmap(*modes.vmap) {}
  explicit OutsideVmap(const Vmap& vmap);

 private:
  ModesGuard guard_;
};

// A view that takes a row's place is written where the row was.
void follow_memory(const Value& row, const Value& view);

// Says why a row has no values.
[[noreturn]] void refuse_reading(const Mapped& mapped);

// The value, with the place of `other` in the graph, inside and outside.
Value with_history_of(const Value& value, const Value& other);

// Runs an op of the innermost vmap for all rows; results have one row's shape.
Values run_mapped(const Call& call);

}  // namespace weft::graph
