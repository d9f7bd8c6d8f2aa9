#include "weft/schedule/place.h"

#include <algorithm>
#include <cstring>
#include <unordered_map>

#include "weft/graph/node.h"

namespace weft::schedule {
namespace {

using graph::bit_of;
using graph::Pending;
using graph::Value;
using graph::ValueData;

// Whether two computed values are one and the same.
bool is_same(const Value& a, const Value& b) {
  if (a == b) return true;
  if (!a || !b || a->is_number != b->is_number || a.dtype() != b.dtype()) return false;
  if (a->is_number) {
    return std::memcmp(a.array().data(), b.array().data(),
                       static_cast<size_t>(tensor::item_size(a.dtype()))) == 0;
  }
  return a.array().storage == b.array().storage && a.array().offset == b.array().offset &&
         a.array().strides == b.array().strides && a->producer == b->producer &&
         a->output == b->output && a->row == b->row;
}

// At least one input has rows, or the result would have none.
uint32_t some_input(const Pending& row) {
  uint32_t some = 0;
  for (size_t i = row.inputs.size(); i-- > 0;) {
    const Value& input = row.inputs[i];
    const bool weight = row.op->batch.weights & bit_of(i);
    if (input && !input->is_number && !(weight && some)) some = bit_of(i);
  }
  return some;
}

int64_t bytes_of(const Value& value) { return value.count() * tensor::item_size(value.dtype()); }

// Running a part costs about as much as copying so many bytes.
constexpr int64_t bytes_of_launch = int64_t{1} << 15;

// Whether copies of an input may be what a batch spends its time on: it is larger than what comes
// of it.
bool may_cost_much(const Pending& row, const Value& input) {
  if (!input || input->is_number || bytes_of(input) < 4096) return false;
  if (row.op->is_view()) return true;
  int64_t results = 0;
  for (const graph::Held& held : row.outputs) {
    if (held.value)
      results += held.value->array.count() * tensor::item_size(held.value->array.dtype);
  }
  return bytes_of(input) >= 2 * results;
}

std::vector<std::vector<Pending*>> group_by(PendingRows rows, size_t input) {
  std::vector<std::vector<Pending*>> groups;
  std::unordered_multimap<size_t, size_t> known;  // by where it lies
  for (Pending* row : rows) {
    const Value& value = row->inputs[input];
    const size_t place = reinterpret_cast<size_t>(value.array().storage.get()) +
                         static_cast<size_t>(value.array().offset);
    const auto [begin, end] = known.equal_range(place);
    const auto found = std::find_if(begin, end, [&](const auto& entry) {
      return is_same(groups[entry.second][0]->inputs[input], value);
    });
    if (found == end) known.emplace(place, groups.size());
    (found == end ? groups.emplace_back() : groups[found->second]).push_back(row);
  }
  return groups;
}

}  // namespace

std::vector<std::vector<Pending*>> parts_by_source(PendingRows rows) {
  const auto count = static_cast<int64_t>(rows.size());
  if (count == 1) return {};
  for (size_t i = 0; i < rows[0]->inputs.size(); ++i) {
    const Value& first = rows[0]->inputs[i];
    if (!may_cost_much(*rows[0], first) || step_in_place(rows, i) > 0) continue;
    std::vector<std::vector<Pending*>> groups = group_by(rows, i);
    // Rows that differ in nothing would be copied to have places; one view alone copies nothing.
    const bool is_view = rows[0]->op->is_view();
    if (is_view && rows[0]->op->batch.free.empty() && groups.size() < rows.size()) {
      groups.clear();
      for (Pending* row : rows) groups.push_back({row});
    }
    const auto parts = static_cast<int64_t>(groups.size());
    if (parts == 1) continue;
    const int64_t saved = bytes_of(first) * (is_view ? count : count - parts);
    if (saved > parts * rows[0]->op_count() * bytes_of_launch) return groups;
  }
  return {};
}

uint32_t stacked_inputs(PendingRows rows) {
  uint32_t stacked = 0;
  for (size_t i = 0; i < rows[0]->inputs.size(); ++i) {
    for (const Pending* row : rows) {
      if (!is_same(row->inputs[i], rows[0]->inputs[i])) {
        stacked |= bit_of(i);
        break;
      }
    }
  }
  const bool alike = rows[0]->op->batch.free.empty();
  return stacked || !alike ? stacked : some_input(*rows[0]);
}

int64_t step_in_place(PendingRows rows, size_t input) {
  const tensor::Array& first = rows[0]->inputs[input].array();
  const int64_t step = rows[1]->inputs[input].array().offset - first.offset;
  if (step <= 0) return 0;
  for (size_t r = 0; r < rows.size(); ++r) {
    const tensor::Array& array = rows[r]->inputs[input].array();
    if (array.storage != first.storage || array.strides != first.strides ||
        array.offset != first.offset + static_cast<int64_t>(r) * step) {
      return 0;
    }
  }
  return step;
}

bool is_whole_output(PendingRows rows, size_t input, const tensor::Dims& sizes) {
  const ValueData& first = *rows[0]->inputs[input].get();
  if (!first.producer || first.row != 0 || !first.producer->extras ||
      !first.producer->extras->rows || first.producer->extras->rows->count() != rows.size() ||
      first.producer->outputs[first.output].sizes != sizes) {
    return false;
  }
  for (size_t r = 0; r < rows.size(); ++r) {
    const ValueData& value = *rows[r]->inputs[input].get();
    if (value.producer != first.producer || value.output != first.output ||
        value.row != static_cast<int32_t>(r)) {
      return false;
    }
  }
  return true;
}

}  // namespace weft::schedule
