#include "weft/autograd/shared.h"

#include <unordered_set>

#include "weft/autograd/saved.h"

namespace weft::autograd {

using graph::Edge;
using graph::Node;

namespace {

// Its part of what shared nodes below have saved was freed.
void refuse_freed(const Node& node, int32_t row, const Wanted* wanted) {
  std::vector<Edge> waiting = graph::edges_of_row(node, row);
  std::unordered_set<const Node*> seen;
  while (!waiting.empty()) {
    const Edge edge = waiting.back();
    waiting.pop_back();
    if (!leads_to_shared(edge, wanted) || !seen.insert(edge.node.get()).second) continue;
    if (!edge.node->saved.empty() || edge.node->released)
      fail_second_backward(place(*edge.node), edge.node->released_at);
    for (const Edge& next : graph::edges_of_row(*edge.node, edge.row)) waiting.push_back(next);
  }
}

bool has_arrived(const Arrived& arrived, int32_t row) {
  for (size_t i = 0; i < arrived.gradients.size(); ++i) {
    if (arrived.has_row(i, row)) return true;
  }
  return false;
}

}  // namespace

void enter_shared(const Arrived& arrived, const Wanted* wanted, bool frees) {
  Node& node = *arrived.node;
  if (!node.extras || !node.extras->rows) {
    if (node.spent) refuse_freed(node, graph::ValueData::whole, wanted);
    node.spent = node.spent || frees;
    return;
  }
  std::vector<bool>& spent = node.extras->rows->spent;
  spent.resize(node.extras->rows->count());
  for (int32_t row = 0; row < static_cast<int32_t>(spent.size()); ++row) {
    if (!has_arrived(arrived, row)) continue;
    if (spent[row]) refuse_freed(node, row, wanted);
    spent[row] = spent[row] || frees;
  }
}

}  // namespace weft::autograd
