#include "weft/schedule/key.h"

#include <algorithm>

namespace weft::schedule {
namespace {

// The numbers on the tape of all that the values need, ascending.
std::vector<int32_t> needed(const graph::Tape& tape, std::span<const graph::Value> values) {
  static std::vector<bool> marked;  // kept from plan to plan, as memory to work in
  marked.assign(tape.size(), false);
  std::vector<int32_t> found;
  size_t next = 0;
  auto visit = [&](int32_t number) {
    if (marked[number]) return;
    marked[number] = true;
    found.push_back(number);
  };
  for (const graph::Value& value : values) {
    if (value && value->pending) visit(static_cast<int32_t>(value->pending->number));
  }
  while (next < found.size()) {
    for (int32_t need : tape.needs_of(found[next++])) {
      if (tape.entries[need].pending && !tape.entries[need].pending->ran) visit(need);
    }
  }
  if (8 * found.size() < tape.size()) {
    std::sort(found.begin(), found.end());
    return found;
  }
  found.clear();
  for (size_t i = 0; i < marked.size(); ++i) {
    if (marked[i]) found.push_back(static_cast<int32_t>(i));
  }
  return found;
}

}  // namespace

Work collect(const graph::Tape& tape, std::span<const graph::Value> values) {
  Work work;
  const std::vector<int32_t> numbers = needed(tape, values);
  static std::vector<int32_t> item_of;  // by the first that computes the same
  item_of.assign(tape.size(), -1);
  std::vector<int32_t> type_of(static_cast<size_t>(graph::type_count()), -1);
  int32_t types = 0;
  Items& items = work.items;
  work.first.reserve(numbers.size());
  items.types.reserve(numbers.size());
  items.starts.reserve(numbers.size() + 1);
  items.needs.reserve(tape.needs.size());
  items.starts.push_back(0);
  for (int32_t number : numbers) {
    const graph::Tape::Entry& entry = tape.entries[number];
    int32_t& item = item_of[entry.first];
    if (item >= 0) {
      work.twins.push_back(entry.pending);
      work.twin_of.push_back(item);
      continue;
    }
    item = items.count();
    work.first.push_back(entry.pending);
    for (int32_t need : tape.needs_of(number)) {
      const int32_t needed_item = item_of[tape.entries[need].first];
      if (needed_item >= 0) items.needs.push_back(needed_item);
    }
    items.starts.push_back(static_cast<int32_t>(items.needs.size()));
    int32_t& type = type_of[entry.type];
    if (type < 0) type = types++;
    items.types.push_back(type);
  }
  return work;
}

}  // namespace weft::schedule
