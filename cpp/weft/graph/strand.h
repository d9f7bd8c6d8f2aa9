// Strands: cells that nobody declared. Where the same lines record the same ops again and again,
// one op reading what the one before it gave, the whole row of ops is pending as one: it takes its
// inputs and a number for each result, where single ops would each keep their inputs, sizes and
// place. What runs is a Program, for many strands at once, and what there is afterwards is what
// single ops would have left.
//
// Strands that begin alike share Steps, which are a tree. A strand goes on only where it has always
// gone on in one way: where ways part, or where it has ended once, it ends. So the ops between two
// decisions of the user's program become one unit, whatever the decisions are.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "weft/graph/pending.h"
#include "weft/graph/program.h"

namespace weft::graph {

struct StrandOp;

// An op of a strand, as the end of all that came before it.
struct Step {
  struct Input {
    enum class Kind : uint8_t { missing, result, given, again };  // again: given before
    Kind kind;
    bool requires_grad = false, is_number = false;
    DType dtype = DType::f32;
    uint32_t number = 0;      // of the strand's results, or of its inputs
    Dims sizes{}, strides{};  // of what is given
    size_t weight = 0;        // of a parameter that rows must share: which one
    bool operator==(const Input&) const = default;
  };
  const Op* op;
  Attributes attributes;
  Position position;
  bool grad;
  DType compute;
  std::vector<Input> inputs;
  std::vector<Value> outputs;  // metas, with what is known of their gradients
  int64_t bytes = 0;           // of the outputs

  Step* before = nullptr;
  uint32_t length = 1;  // in ops
  uint32_t results_before = 0;
  uint32_t given_before = 0;  // inputs of the strand that earlier steps read
  uint32_t given = 0;         // and that this one is the first to read
  uint32_t result_count() const { return results_before + static_cast<uint32_t>(outputs.size()); }

  uint32_t seen = 0;
  uint32_t used = 0;   // of a first one: the last time between two sweeps that a strand began so
  bool ended = false;  // a strand has ended here
  bool alone = false;  // its batch rule does not cover it: no strand has it
  std::vector<std::unique_ptr<Step>> next;
  Step* way = nullptr;        // on which strands have always gone on
  StrandOp* whole = nullptr;  // all ops to this one as one, once that was needed
};

struct StrandOp : ProgramOp {
  explicit StrandOp(const Step& step);
  const Step* step;
  uint32_t shows = 0;                  // bit i: a result is a view of input i
  mutable int32_t type = -1;           // on the tape
  mutable uint32_t types_counted = 0;  // how often types had started anew when it got that
};

// Records an op as part of the strand that is open, or as the first of another, where strands have
// begun like it. Nothing: it is neither.
Values record_in_strand(const Op& op, std::span<const Value> inputs, const Attributes& attributes);
Value record_in_strand(const Op& op, std::span<const Value> inputs);

// Puts a new pending op on the tape, now or as the beginning of a strand.
void begin_strand(Pending& pending);

// The place of a pending value among those that are held, and all of them.
Held& held_by(Pending& pending, uint32_t place);
std::span<const Held> held_of(const Pending& pending);

// The strand that may still grow; null: there is none.
const Pending* open_strand();

// From here on the strand that is open is on the tape. `ended`: strands like it end here too.
void close_strand(bool ended = true);
// For one that nobody holds any more.
void leave_strand(const Pending& pending);

// Of a strand that ends with `last`: its ops, first to last, and the one of that number.
std::vector<const Step*> steps_of(const Step& last);
Step& step_at(Step& last, size_t number);

// Why two strands that begin with one op at one line are different ones, as a sentence; for people.
std::string difference(const Step& a, const Step& b);

// How often an op is recorded at a line before it begins strands.
void set_strand_threshold(int64_t times);
int64_t strand_threshold();

// For the tape, when nothing is pending: whether programs have changed so much that what is known
// of their strands is better learned anew.
bool are_steps_old();
void forget_steps();
// Whether so many have come that those which nobody uses any more should go; lets go of them.
bool are_steps_many();
void sweep_steps();

}  // namespace weft::graph
