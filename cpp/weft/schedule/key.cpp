#include "weft/schedule/key.h"

#include <algorithm>

#include "weft/graph/strand.h"

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

// What the user holds of equal ops, with a gradient, gets a place of its own in the graph: a hook
// on it is not the others'. What reads it is not one with what reads another.
bool is_held(const graph::ValueData* value) { return value && value->is_held(); }
// So it is with other results of the same op.
bool is_apart(const graph::ValueData* value) {
  if (!value || !value->pending || value->pending->outputs.size() < 2) return is_held(value);
  return std::ranges::any_of(value->pending->outputs,
                             [](const graph::Held& held) { return is_held(held.value); });
}

// Whether of two that compute the same one can do it for both. `items` are those of earlier
// entries.
bool can_be_one(const graph::Pending& a, const graph::Pending& b,
                const std::vector<int32_t>& items) {
  for (const graph::Pending* pending : {&a, &b}) {
    if (!pending->op->is_program()) continue;
    const auto& reads = static_cast<const graph::ProgramOp&>(*pending->op).reads;
    for (const graph::Held& held : pending->outputs) {
      if (reads[held.number] && is_held(held.value)) return false;
    }
  }
  for (size_t i = 0; i < a.inputs.size(); ++i) {
    const graph::Value &x = a.inputs[i], &y = b.inputs[i];
    if (x == y) continue;
    if (is_apart(x.get()) || is_apart(y.get())) return false;
    const bool pending = x->pending && y->pending;
    if (pending ? items[x->pending->number] != items[y->pending->number] : x->requires_grad)
      return false;
  }
  return true;
}

}  // namespace

Work collect(const graph::Tape& tape, std::span<const graph::Value> values) {
  Work work;
  const std::vector<int32_t> numbers = needed(tape, values);
  static std::vector<int32_t> item_of;  // by the first that computes the same
  item_of.assign(tape.size(), -1);
  static std::vector<int32_t> items_by_number;
  items_by_number.assign(tape.size(), -1);
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
    int32_t& first = item_of[entry.first];
    if (first >= 0 && can_be_one(*work.first[first], *entry.pending, items_by_number)) {
      items_by_number[number] = first;
      work.twins.push_back(entry.pending);
      work.twin_of.push_back(first);
      continue;
    }
    items_by_number[number] = items.count();
    if (first < 0) first = items.count();
    work.first.push_back(entry.pending);
    for (int32_t need : tape.needs_of(number)) {
      const int32_t needed_item = items_by_number[need];
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
