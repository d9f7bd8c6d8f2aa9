// What is pending, as plain arrays that a plan can be made from without looking at each op again.
// Filled while ops are recorded, when all they refer to is at hand.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "weft/graph/pending.h"

namespace weft::graph {

struct Tape {
  struct Entry {
    Pending* pending;    // null once it is gone
    int32_t type;        // those of one type can run together
    int32_t first;       // the first that computes the same: mostly itself
    uint32_t needs_end;  // where its part of `needs` ends; it begins where the last one's ends
    bool shared;         // computed from parameters alone
  };
  std::vector<Entry> entries;  // in order of creation
  std::vector<int32_t> needs;  // the entries whose results each one reads
  int64_t ops = 0;             // that are pending, some of them in strands
  uint32_t plans = 0;          // that ran for what was on it
  int64_t bytes = 0;           // that the results of all that is alive will take
  int64_t limit = 1 << 30;     // of these bytes: above it all that is pending runs

  size_t size() const { return entries.size(); }
  std::span<const int32_t> needs_of(int32_t i) const {
    const size_t begin = i == 0 ? 0 : entries[i - 1].needs_end;
    return std::span(needs).subspan(begin, entries[i].needs_end - begin);
  }
};

inline Tape the_tape;  // changed by this layer only
inline const Tape& tape() { return the_tape; }
uint32_t tape_generation();  // how often it has started anew

// How many types there have been; their numbers are below it.
int32_t type_count();

// Where the copy of memory that others may change is kept while something is pending.
Value& snapshot_of(const tensor::Storage& storage);

// For pending.cpp and strand.cpp.
inline void add_op_to_tape() { ++the_tape.ops; }  // an op is pending, its place comes later
void add_to_tape(Pending& pending, bool shared);
void take_from_tape(const Pending& pending);
void count_plan();

// What is pending keeps the one that it was recorded with.
void set_default_dtype(DType dtype);

void run_all_pending();
// Notes the bytes that a new op will need. Above the limit all that is pending runs at once, so
// that what is recorded stays within memory.
inline void count_bytes(Pending& pending, int64_t bytes) {
  pending.bytes += bytes;
  the_tape.bytes += bytes;
  if (the_tape.bytes > the_tape.limit) [[unlikely]]
    run_all_pending();
}

// For what will never run by itself.
inline void count_no_bytes(Pending& pending) { the_tape.bytes -= std::exchange(pending.bytes, 0); }

// Whether what is computed from these is computed from parameters alone, and so for all rows.
bool all_shared(std::span<const Value> inputs);
// Of an input that rows must share to run together, a parameter: which one. 0: it is no such.
size_t weight_identity(const Op& op, size_t i, const Value& input);
// Equal for those that compute the same, and for hardly any others.
size_t hash_of(const Op& op, const Attributes& attributes, std::span<const Value> inputs,
               bool grad);
// The same for those that read the very same values.
size_t hash_of_reads(const Op& op, const Attributes& attributes, std::span<const Value> inputs,
                     bool grad);

// Why two applications of one op are of different types, as a sentence; for people.
std::string difference(const Pending& a, const Pending& b);

}  // namespace weft::graph
