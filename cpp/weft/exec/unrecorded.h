// Programs that run at once and that nobody differentiates: their shapes are found out the first
// time, and what lies in between keeps its memory from one run to the next.
#pragma once

#include "weft/graph/program.h"

namespace weft::exec {

// Whether nothing of it would be recorded now.
bool leaves_no_record(const graph::ProgramOp& op, std::span<const graph::Value> inputs);

// What apply_at_lines gives, for inputs of the shapes, dtypes and strides that the op was made for.
// Empty: run it so; there is something in it that cannot be repeated.
graph::Values run_unrecorded(const graph::ProgramOp& op, std::span<const graph::Value> inputs);

}  // namespace weft::exec
