// In which order pending applications run, and which of them together. Pure functions over plain
// data.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace weft::schedule {

// Items are in an order in which each comes after what it needs.
struct Items {
  std::vector<int32_t> types;   // items of one type can run together
  std::vector<int32_t> starts;  // item i needs needs[starts[i]] .. needs[starts[i + 1]]
  std::vector<int32_t> needs;
  int32_t count() const { return static_cast<int32_t>(types.size()); }
  std::span<const int32_t> needs_of(int32_t item) const {
    return std::span(needs).subspan(starts[item], starts[item + 1] - starts[item]);
  }
};

using Batch = std::vector<int32_t>;  // items, ascending

// For each type, items have levels: how many items of that type lie on the way to it. The type
// whose lowest unfinished level has the highest share of ready items runs next, those of them that
// are ready.
std::vector<Batch> order(const Items& items);

}  // namespace weft::schedule
