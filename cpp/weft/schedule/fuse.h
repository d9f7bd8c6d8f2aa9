// Which neighbours among a Program's instructions run as one pass over memory. A pure function over
// plain data.
#pragma once

#include <vector>

#include "weft/graph/program.h"

namespace weft::schedule {

// For each instruction the end of the stretch that begins with it; a stretch of one is the next
// instruction's number. Element-wise ops over one shape in one float dtype are a stretch; what is
// not needed does not matter.
std::vector<size_t> fuse(const graph::ProgramOp& op, const std::vector<bool>& needed);

// The instructions `begin` to `end` that are needed as a Program of their own. `inputs` are the
// slots that it reads, `outputs` those that it gives.
struct Stretch {
  graph::Program program;
  std::vector<int> inputs;
  std::vector<int> outputs;
};
Stretch cut_out(const graph::Program& program, size_t begin, size_t end,
                const std::vector<bool>& needed, const std::vector<int>& outputs);

}  // namespace weft::schedule
