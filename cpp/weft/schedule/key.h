// Which part of the tape a demand needs.
#pragma once

#include <span>
#include <vector>

#include "weft/graph/tape.h"
#include "weft/schedule/batch.h"

namespace weft::schedule {

// What is to run, as plain data. Those that compute the same are one item.
struct Work {
  std::vector<graph::Pending*> first;  // for each item
  std::vector<graph::Pending*> twins;  // others that compute the same as an earlier one
  std::vector<int32_t> twin_of;        // and the item that does
  Items items;
};

// Everything that must run for `values` to be there.
Work collect(const graph::Tape& tape, std::span<const graph::Value> values);

}  // namespace weft::schedule
