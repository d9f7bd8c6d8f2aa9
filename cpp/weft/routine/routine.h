// A routine: a compiled function as plain data. It holds for inputs of any kind and size, and knows
// nothing of the objects it will run on: globals, defaults and closures are the function's.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/ref.h"
#include "weft/graph/value.h"
#include "weft/routine/register.h"
#include "weft/routine/segment.h"

namespace weft::routine {

enum class Opcode : int32_t {
#define INSTRUCTION(name, operands, meaning) name##_,
#include "weft/routine/instructions.inc"
#undef INSTRUCTION
};

struct InstructionKind {
  std::string_view name, operands, meaning;
};
// By number.
inline constexpr InstructionKind instruction_kinds[] = {
#define INSTRUCTION(name, operands, meaning) {#name, operands, meaning},
#include "weft/routine/instructions.inc"
#undef INSTRUCTION
};

// As an operand that is read: a constant is a negative number below that of none.
inline constexpr int32_t none = -1;
inline size_t constant_of(int32_t operand) { return static_cast<size_t>(-2 - operand); }

// Passes on the letter and number of each operand of the instruction there; returns its length.
template <class Visit>
int32_t visit_operands(const int32_t* at, const Visit& visit) {
  const std::string_view letters = instruction_kinds[*at].operands;
  int32_t next = 1;
  for (size_t i = 0; i < letters.size(); ++i) {
    const bool repeats = i + 1 < letters.size() && letters[i + 1] == '*';
    for (int32_t left = repeats ? at[next++] : 1; left > 0; --left) visit(letters[i], at[next++]);
    i += repeats ? 1 : 0;
  }
  return next;
}

// An exception of the code from begin to end goes on at a place, with the exception in a register.
struct Handler {
  int32_t begin, end, place, target;
};

// What a place found last time, for as long as what it looked at is as it was. All borrowed from
// there.
struct Cache {
  HostObject looked_at = nullptr, found = nullptr;
  uint64_t version = 0, other_version = 0;
};

struct Routine final : base::RefCounted<Routine> {
  std::string name;
  // Parameters come first among the registers: positional ones, those by keyword only, the rest as
  // a tuple, other keywords as a dict.
  int32_t positional = 0, keyword_only = 0;
  bool has_rest = false, has_options = false;
  int32_t registers = 0;
  int32_t free_begin = 0, free_count = 0;  // where the cells of the function's closure go
  bool is_comprehension = false;  // given an iterator, by `comprehend`; nobody else calls it
  bool is_inlined = false;        // one that has no frame of its own in tracebacks
  std::vector<Register> constants;
  std::vector<HostObject> names;  // texts, owned
  std::vector<int32_t> code;
  std::vector<int32_t> offsets;  // for each place in the code: where the source's code has the same
  std::vector<std::string> variables;  // what the first registers are called, to be read
  std::vector<base::Ref<Routine>> nested;
  std::vector<Handler> handlers;           // inner ones first
  HostObject source = nullptr;             // the host's code, which has this one; positions are its
  std::vector<graph::Position> positions;  // for each place, once asked for
  std::vector<Cache> caches;               // for each place, once it runs
  std::vector<std::unique_ptr<Site>> sites;  // for each place, once segments are looked for
  std::unique_ptr<const Liveness> liveness;  // once asked for
  Trial trial;                               // of calls that the host makes

  int32_t parameters() const {
    return positional + keyword_only + (has_rest ? 1 : 0) + (has_options ? 1 : 0);
  }
  ~Routine();
  static void destroy(Routine* routine) noexcept { delete routine; }
};

using RoutineRef = base::Ref<Routine>;

}  // namespace weft::routine
