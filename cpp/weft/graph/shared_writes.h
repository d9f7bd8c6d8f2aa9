// What examples of a map have in common and write in place. An example that has read it and writes
// it after another one has written it would undo what that one wrote: it is refused.
#pragma once

#include "weft/graph/pending.h"

namespace weft::graph {

// Notes that an example, 0 for none, has read a value that is there.
void note_read(uint32_t fiber, const Value& value);

// The example that runs now is about to write this memory with an op; raises where that would undo
// another one's write.
void refuse_lost_writes(tensor::Storage& storage, const Op& op);
// It has written it.
void note_write(tensor::Storage& storage);

// Whether pending values are computed from this memory.
bool depend_on(std::span<const Value> values, const tensor::Storage& storage);

// A number for an example that begins; no other example has had it.
uint32_t next_fiber();
// No example of those that have begun reads or writes any more.
void forget_fibers();

}  // namespace weft::graph
