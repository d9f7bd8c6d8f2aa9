#include "weft/autograd/wanted.h"

#include <algorithm>
#include <unordered_set>

namespace weft::autograd {

using graph::Edge;
using graph::Node;
using graph::Value;

namespace {

constexpr int32_t whole = graph::ValueData::whole;

// Nodes from the roots on that are not older than all inputs, the oldest first.
std::vector<const Node*> reachable(std::span<const Value> roots, uint64_t oldest) {
  std::vector<const Node*> found, stack;
  std::unordered_set<const Node*> seen;
  const auto visit = [&](const Node* node) {
    if (node && node->sequence >= oldest && seen.insert(node).second) stack.push_back(node);
  };
  for (const Value& root : roots) visit(root->producer.get());
  while (!stack.empty()) {
    const Node* node = stack.back();
    stack.pop_back();
    found.push_back(node);
    for (const Edge& edge : node->edges) visit(edge.node.get());
  }
  std::ranges::sort(found, {}, &Node::sequence);
  return found;
}

void add(std::vector<bool>& rows, const std::vector<bool>& others) {
  if (others.size() != rows.size()) return rows.clear();
  for (size_t r = 0; r < rows.size(); ++r) rows[r] = rows[r] || others[r];
}

}  // namespace

void Wanted::find(std::span<const Value> roots, std::span<const Value> inputs) {
  uint64_t oldest = UINT64_MAX;
  for (const Value& input : inputs) {
    const Node* node = input->producer.get();
    if (!node) continue;
    oldest = std::min(oldest, node->sequence);
    Rows rows(input->row == whole ? 0 : node->extras->rows->count());
    if (input->row != whole) rows[input->row] = true;
    const auto [known, is_new] = wanted_.try_emplace(node, rows);
    if (!is_new) add(known->second, rows);
  }
  for (const Node* node : reachable(roots, oldest)) {
    const graph::NodeExtras* extras = node->extras.get();
    if (extras && extras->rows) {
      add_leading_rows(*node, *extras);
    } else if (std::ranges::any_of(node->edges, [&](auto& e) { return leads(e, e.row); })) {
      leading_[node] = wanted_[node] = {};
    }
  }
}

bool Wanted::leads(const Edge& edge, int32_t row) const {
  const auto found = wanted_.find(edge.node.get());
  if (found == wanted_.end()) return false;
  return found->second.empty() || row == whole || found->second[row];
}

void Wanted::add_leading_rows(const Node& node, const graph::NodeExtras& extras) {
  Rows rows(extras.rows->count());
  if (const graph::Gathered* gathered = extras.gathered.get()) {
    for (size_t i = 0; i < gathered->sources.size(); ++i) {
      const int32_t source = gathered->sources[i];
      if (source >= 0 && leads(node.edges[source], gathered->rows[i]))
        rows[gathered->target(i)] = true;
    }
  }
  for (size_t i = 0; i < node.edges.size() && !extras.gathered; ++i) {
    const auto found = wanted_.find(node.edges[i].node.get());
    if (found == wanted_.end() || !leads(node.edges[i], node.edges[i].row)) continue;
    add(rows, extras.rows->stacked & graph::bit_of(i) ? found->second : Rows());
    if (rows.empty()) break;
  }
  if (!rows.empty() && std::ranges::find(rows, true) == rows.end()) return;
  if (std::ranges::find(rows, false) == rows.end()) rows.clear();
  const auto [known, is_new] = wanted_.try_emplace(&node, rows);
  if (!is_new) add(known->second, rows);
  leading_[&node] = std::move(rows);
}

bool Wanted::keep(Arrived& arrived, const Nodes& nodes) {
  const auto found = nodes.find(arrived.node.get());
  if (found == nodes.end()) return false;
  const Rows& rows = found->second;
  if (rows.empty()) return true;
  bool any = false;
  for (size_t i = 0; i < arrived.gradients.size(); ++i) {
    if (!arrived.gradients[i]) continue;
    Rows left = rows;
    for (size_t r = 0; r < left.size(); ++r) left[r] = left[r] && arrived.has_row(i, r);
    any = any || std::ranges::find(left, true) != left.end();
    arrived.set_rows(i, std::move(left));
  }
  return any;
}

}  // namespace weft::autograd
