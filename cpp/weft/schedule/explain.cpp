#include "weft/schedule/explain.h"

#include <algorithm>

#include "weft/base/small_vector.h"
#include "weft/graph/strand.h"

namespace weft::schedule {
namespace {

using graph::Pending;

// The first batch of an op at a line.
struct Seen {
  const graph::Op* op;
  graph::Position position;
  int32_t type;
  const Pending* pending;
};
constexpr size_t most_seen = 64;

std::string why_apart(const Pending& other, const Pending& pending) {
  if (pending.op_count() == 1 && other.op_count() == 1)
    return "apart: " + graph::difference(other, pending);
  if (!pending.step || !other.step) return "apart: only one began a strand";
  return "apart: " + graph::difference(*other.step, *pending.step);
}

}  // namespace

std::vector<std::string> explain(const Work& work, const std::vector<Batch>& batches) {
  std::vector<std::string> notes(batches.size());
  base::SmallVector<Seen, 16> all;
  for (size_t i = 0; i < batches.size(); ++i) {
    const int32_t type = work.items.types[batches[i][0]];
    const Pending& pending = *work.first[batches[i][0]];
    const graph::Op* op = pending.step ? graph::step_at(*pending.step, 0).op : pending.op;
    const auto found = std::find_if(all.begin(), all.end(), [&](const Seen& seen) {
      return seen.op == op && seen.position == pending.position;
    });
    if (found != all.end()) {
      if (found->type != type) notes[i] = why_apart(*found->pending, pending);
    } else if (all.size() < most_seen) {
      all.push_back({op, pending.position, type, &pending});
    }
  }
  return notes;
}

}  // namespace weft::schedule
