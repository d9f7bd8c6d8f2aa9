// Which pending applications are the same, and which can run together.
#pragma once

#include <unordered_map>
#include <vector>

#include "weft/graph/pending.h"
#include "weft/schedule/order.h"

namespace weft::schedule {

// What is to run, as plain data. Applications that would compute the same are one item.
struct Work {
  std::vector<graph::Pending*> pending;  // in order of creation
  std::vector<int32_t> item_of;          // for each of them
  std::vector<graph::Pending*> first;    // for each item, the first of those that it stands for
  Items items;
};

// Everything that must run for `values` to be there.
Work collect(std::span<const graph::Value> values);

// Why two applications of one op are of different types, as a sentence; for people.
std::string difference(const graph::Pending& a, const graph::Pending& b);

}  // namespace weft::schedule
