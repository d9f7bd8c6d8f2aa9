// In which order pending applications run, and which of them together. Pure functions over plain
// data.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace weft::schedule {

// Items are in an order in which each comes after what it needs. One may be named twice.
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

// For each type, items have levels: how many items of that type lie on the way to it. A level of
// which all is ready runs at once. Where none is, the type runs of which the largest part of what
// is left is ready.
std::vector<Batch> batch(const Items& items);

}  // namespace weft::schedule
