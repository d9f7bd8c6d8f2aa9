#include "weft/graph/kept_rows.h"

#include <algorithm>
#include <unordered_map>
#include <vector>

#include "weft/base/blocking.h"
#include "weft/base/errors.h"
#include "weft/graph/gradient.h"
#include "weft/graph/modes.h"
#include "weft/graph/node.h"

namespace weft::graph {
namespace {

std::vector<ValueData*> kept_rows;  // null where one is gone
size_t gone_rows = 0;
int64_t grown = int64_t{1} << 26;  // above so many bytes it is time to look

// What is known of a node that kept rows lead to.
struct Reached {
  uint32_t references = 0;  // from kept rows and other nodes that are reached
  bool whole = false;       // all its rows are needed
  std::vector<bool> rows;   // otherwise: which
};

class Trim {
 public:
  void run() {
    for (const ValueData* row : kept_rows) {
      if (row && row->producer) refer_to(*row->producer);
    }
    while (!waiting_.empty()) {
      Node* node = waiting_.back();
      waiting_.pop_back();
      nodes_.push_back(node);
      for (const Edge& edge : node->edges) {
        if (edge.node) refer_to(*edge.node);
      }
      for (const Saved& saved : node->saved) {
        if (saved.value) ++saved_[saved.value.get()];
      }
    }
    count_saved();
    for (const ValueData* row : kept_rows) {
      if (row && row->producer) need(*row->producer, row->row);
    }
    // Youngest first: all that needs a node's rows has been seen before it.
    std::sort(nodes_.begin(), nodes_.end(),
              [](const Node* a, const Node* b) { return a->sequence > b->sequence; });
    for (Node* node : nodes_) need_inputs(*node);
    for (Node* node : nodes_) trim(*node);
  }

 private:
  static const Rows* rows_of(const Node& node) {
    return node.extras ? node.extras->rows.get() : nullptr;
  }

  // Whether a backward has been through the row: none can go there, and on from there, again.
  static bool is_done(const Rows& rows, size_t row) {
    return !rows.released.empty() && rows.released[row];
  }

  void refer_to(Node& node) {
    if (++reached_[&node].references == 1) waiting_.push_back(&node);
  }

  // A value that only nodes hold refers to its producer, and so does what only such values are
  // views of; others may be used in any way.
  void count_saved() {
    std::vector<ValueData*> known;
    for (const auto& [value, times] : saved_) {
      if (value->use_count() == times) known.push_back(value);
    }
    std::unordered_map<const ViewOf*, uint32_t> views;
    while (!known.empty()) {
      const ValueData& value = *known.back();
      known.pop_back();
      const auto found = reached_.find(value.producer.get());
      if (found != reached_.end() && !value.is_kept_row) ++found->second.references;
      const ViewOf* view = value.view.get();
      if (!view || ++views[view] != view->use_count()) continue;
      ValueData* parent = view->parent.get();
      if (++saved_[parent] == parent->use_count()) known.push_back(parent);
    }
  }

  void need(const Node& node, int32_t row) {
    const Rows* rows = rows_of(node);
    if (!rows) return;
    Reached& reached = reached_[&node];
    reached.rows.resize(rows->count());
    if (row == ValueData::whole) {
      reached.whole = true;
    } else {
      reached.rows[row] = true;
    }
  }

  void need_inputs(const Node& node) {
    Reached& reached = reached_[&node];
    const Rows* rows = rows_of(node);
    reached.whole = reached.whole || !rows || node.use_count() != reached.references;
    if (rows) reached.rows.resize(rows->count());
    for (const Saved& saved : node.saved) {
      // What a user's function saved may be from anywhere.
      if (saved.index == Saved::neither && saved.value && saved.value->producer)
        need(*saved.value->producer, saved.value->row);
    }
    if (const Gathered* gathered = node.extras ? node.extras->gathered.get() : nullptr) {
      for (size_t r = 0; r < gathered->sources.size(); ++r) {
        const int32_t source = gathered->sources[r];
        if (source >= 0 && node.edges[source].node &&
            (reached.whole || reached.rows[gathered->target(r)]))
          need(*node.edges[source].node, gathered->rows[r]);
      }
      return;
    }
    for (size_t i = 0; i < node.edges.size(); ++i) {
      const Edge& edge = node.edges[i];
      if (!edge.node || edge.node->is_leaf()) continue;
      const Rows* theirs = rows_of(*edge.node);
      const bool row_by_row = !reached.whole && edge.row == ValueData::whole && theirs &&
                              theirs->count() == rows->count() && (rows->stacked & bit_of(i));
      if (!row_by_row) {
        need(*edge.node, edge.row);
        continue;
      }
      for (size_t r = 0; r < reached.rows.size(); ++r) {
        if (reached.rows[r] && !is_done(*rows, r)) need(*edge.node, static_cast<int32_t>(r));
      }
    }
  }

  // Keeps of what was saved the rows that are needed, if that is worth a copy.
  void trim(Node& node) {
    const Reached& reached = reached_[&node];
    if (reached.whole || node.saved.empty() || node.visited_by) return;
    Rows& rows = *node.extras->rows;
    std::vector<int32_t> places(rows.count(), -1), from;
    for (size_t r = 0; r < reached.rows.size(); ++r) {
      if (!reached.rows[r] || is_done(rows, r)) continue;
      places[r] = static_cast<int32_t>(from.size());
      from.push_back(rows.place_of(static_cast<int32_t>(r)));
    }
    const auto& old = rows.places;
    const auto gone = std::count(old.begin(), old.end(), -1);
    const size_t kept = rows.count() - static_cast<size_t>(gone);
    if (2 * from.size() > kept) return;
    std::vector<Value> trimmed;
    for (const Saved& saved : node.saved) {
      Value& part = trimmed.emplace_back(saved.value);
      if (!has_rows(node, saved)) continue;
      const Node* producer = saved.value ? saved.value->producer.get() : nullptr;
      if (!saved.value || saved.value.array().storage->version != saved.version ||
          saved.value.size(0) != static_cast<int64_t>(kept) || (producer && !rows_of(*producer))) {
        return;
      }
      part = rows_from(saved.value, from);
    }
    for (size_t i = 0; i < trimmed.size(); ++i) {
      if (node.saved[i].value == trimmed[i]) continue;
      node.saved[i].value = std::move(trimmed[i]);
      node.saved[i].version = 0;
    }
    rows.released.resize(rows.count());
    for (size_t r = 0; r < places.size(); ++r) rows.released[r] = places[r] < 0;
    rows.places = std::move(places);
  }

  static bool has_rows(const Node& node, const Saved& saved) {
    if (saved.is_output) return !node.outputs[saved.index].sizes.empty();
    return saved.index == Saved::neither || (node.extras->rows->stacked & bit_of(saved.index));
  }

  Value rows_from(const Value& panel, const std::vector<int32_t>& rows) {
    Value part(copied(panel.array(), rows));
    part->take_history(*panel.get());
    part->has_rows = panel->has_rows;
    return part;
  }

  // What several nodes saved stays one.
  const Array& copied(const Array& panel, const std::vector<int32_t>& rows) {
    const auto [first, last] = copies_.equal_range(panel.storage.get());
    for (auto found = first; found != last; ++found) {
      const Copy& copy = found->second;
      if (copy.panel.offset == panel.offset && copy.panel.sizes == panel.sizes &&
          copy.panel.strides == panel.strides && copy.rows == rows) {
        return copy.part;
      }
    }
    Dims sizes = panel.sizes;
    sizes[0] = static_cast<int64_t>(rows.size());
    const Array part = Array::allocate(sizes, panel.dtype);
    for (size_t i = 0; i < rows.size(); ++i)
      host.copy(tensor::row_of(panel, rows[i]), tensor::row_of(part, static_cast<int64_t>(i)));
    return copies_.emplace(panel.storage.get(), Copy{panel, rows, part})->second.part;
  }

  struct Copy {
    Array panel;
    std::vector<int32_t> rows;
    Array part;
  };
  std::unordered_multimap<const tensor::Storage*, Copy> copies_;
  std::unordered_map<const Node*, Reached> reached_;
  std::unordered_map<ValueData*, uint32_t> saved_;  // inputs that nodes hold, and how often
  std::vector<Node*> waiting_, nodes_;
};

}  // namespace

void note_kept_row(ValueData& value) {
  if (value.is_kept_row) return;
  if (2 * gone_rows > kept_rows.size() + 1024) {
    std::erase(kept_rows, nullptr);
    for (size_t i = 0; i < kept_rows.size(); ++i) kept_rows[i]->kept_at = static_cast<uint32_t>(i);
    gone_rows = 0;
  }
  value.is_kept_row = true;
  value.kept_at = static_cast<uint32_t>(kept_rows.size());
  kept_rows.push_back(&value);
}

void forget_kept_row(const ValueData& value) noexcept {
  kept_rows[value.kept_at] = nullptr;
  ++gone_rows;
}

void trim_batches() {
  const base::KeepLock keep;  // a copy of a large row would let other threads change the graph
  if (gone_rows < kept_rows.size()) {
    try {
      Trim().run();
    } catch (const base::Error&) {
      // No memory for the copies: all stays as it is.
    }
  }
  grown = std::max(2 * tensor::live_bytes(), int64_t{1} << 26);
}

void trim_if_grown() {
  if (tensor::live_bytes() > grown) trim_batches();
}

}  // namespace weft::graph
