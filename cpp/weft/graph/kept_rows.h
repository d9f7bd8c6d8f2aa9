// Rows of batches that users hold. One that is kept for long keeps its batch's nodes, and these
// keep what they saved for the gradients of all rows: from time to time what belongs to rows that
// nobody can reach any more is let go.
#pragma once

#include "weft/graph/value.h"

namespace weft::graph {

// A row of a batch that the user holds.
void note_kept_row(ValueData& value);
// For one that is gone.
void forget_kept_row(const ValueData& value) noexcept;

// Lets go of what nodes saved for rows that no kept row needs. Nodes that anybody else holds, or
// that are in use right now, stay as they are.
void trim_batches();
// The same, if tensors have taken much more memory since the last time.
void trim_if_grown();

}  // namespace weft::graph
