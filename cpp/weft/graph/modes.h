// Everything that a `with` block can switch, as one struct per thread. A fiber that is parked keeps
// its own copy.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/graph/value.h"
#include "weft/tensor/promotion.h"

namespace weft::graph {

class Batched;
class Call;
struct Observer;
struct Program;
class ProgramBuilder;
struct PackedTensor;
struct RowTable;
struct Vmap;

// Decides when a recorded application runs.
struct Executor {
  virtual ~Executor() = default;
  // Computes call.outputs, whose metas the shape rule has set (views need nothing).
  virtual void run(Call& call) const = 0;
  // Runs an element-wise Program; `outputs` are allocated, inputs broadcast to their shape. Inputs
  // that it does not read may be null.
  virtual void run_fused(const Program& program, std::span<const Array* const> inputs,
                         std::span<const Array* const> outputs) const = 0;
};

// saved_tensors_hooks: takes a tensor that is about to be saved.
struct SaveHooks {
  virtual ~SaveHooks() = default;
  virtual std::unique_ptr<PackedTensor> pack(const Value& value) = 0;
};

// The default dtype of all that is pending: it runs with the one that it was recorded with, and
// what is recorded with another one runs at once.
inline tensor::DType pending_dtype = tensor::default_dtype;

struct Modes {
  bool grad = true;
  bool inference = false;
  bool is_look = false;                // at a cell's body: nobody may read a value
  bool lazy = false;                   // record now, run when a value is needed
  int32_t example = -1;                // of a map: which one runs now
  uint32_t fiber = 0;                  // a number of its own for each example that ever ran
  void* park = nullptr;                // of a map: how its fibers step aside (bind/lazy.cpp)
  bool keep_values = false;            // nodes keep their results, for debugging
  const Executor* executor = nullptr;  // null: the default one
  Observer* observer = nullptr;        // watches the run
  int32_t module = -1;                 // the call of a module that runs now, as it counts them
  ProgramBuilder* tracer = nullptr;    // notes each application while a Program is made
  Vmap* vmap = nullptr;                // the innermost one whose function runs now
  SaveHooks* save_hooks = nullptr;
  const std::shared_ptr<const RowTable>* rows = nullptr;  // while a batch of them runs
  const void* run = nullptr;  // the innermost run of a routine (routine/machine.h)
  Position position = 0;      // when not 0: what is recorded now is blamed on this position

  // Whether ops may be left for later: nobody watches what they save or give.
  bool leaves_pending() const {
    return lazy && !keep_values && !executor && !tracer && !save_hooks &&
           tensor::default_dtype == pending_dtype;
  }
};

inline thread_local constinit Modes modes;

// Whether results may be computed without anybody noting how.
inline bool may_leave_unrecorded() { return !modes.grad && !modes.tracer && !modes.vmap; }

// Whether the graph of gradients is made row by row: in vmap a value stands for all its rows.
inline bool records_rows() { return modes.grad && !modes.tracer && !modes.vmap; }

// Where Python last read a number from a value that had a gradient; for messages.
inline Position last_item_read = 0;

// Restores all modes when it goes out of scope.
class ModesGuard {
 public:
  ModesGuard() : saved_(modes) {}
  ~ModesGuard() { modes = saved_; }
  ModesGuard(const ModesGuard&) = delete;
  ModesGuard& operator=(const ModesGuard&) = delete;

 private:
  Modes saved_;
};

// What lower layers cannot know by themselves; set once when the module loads.
struct Host {
  Position (*position)() = nullptr;                     // the user's line that is running now
  bool (*is_at)(Position) = nullptr;                    // false: it is not, or is hard to tell
  void (*positions)(std::vector<Position>&) = nullptr;  // and those that called it, outermost last
  std::string (*position_text)(Position) = nullptr;     // "model.py:12"
  void (*copy)(const Array& from, const Array& to) = nullptr;  // kernels::copy
  int (*find_formula)(std::string_view name) = nullptr;
  void (*(*block_function)(int formula, tensor::Lane lane))(void*, const void* const*,
                                                            int64_t) = nullptr;
  const Executor* eager = nullptr;
  Values (*batch_program)(const Batched& batch) = nullptr;  // a Program over rows
  // Computes pending values, or parks the fiber that asks until somebody has.
  void (*demand)(std::span<const Value> values) = nullptr;
};
inline Host host;

inline Position current_position() {
  if (modes.position) return modes.position;
  return host.position ? host.position() : 0;
}
// The same, where that is quickly seen: false says nothing.
inline bool is_surely_at(Position position) {
  if (modes.position) return modes.position == position;
  return host.is_at && host.is_at(position);
}
std::string position_text(Position position);  // "line 3 of model.py" or "an unknown line"

}  // namespace weft::graph
