#include "weft/graph/node.h"

#include <unordered_map>

#include "weft/graph/modes.h"
#include "weft/graph/op.h"
#include "weft/graph/program.h"
#include "weft/graph/strand.h"

namespace weft::graph {
namespace {

int64_t live_nodes = 0;
uint64_t sequences = 0;

// Nodes whose count fell to zero while another one was being freed: freeing one at a time instead
// of each inside its consumer keeps the stack flat for graphs of any depth.
std::vector<Node*> dying;
bool draining = false;

std::vector<std::string> shown_names{""};  // by number

}  // namespace

Node::Node(const Op* op, Position position)
    : op(op), sequence(next_sequence()), position(position) {
  ++live_nodes;
}

Node::~Node() { --live_nodes; }

void Node::destroy(Node* node) noexcept {
  if (draining) {
    dying.push_back(node);
    return;
  }
  draining = true;
  delete node;
  while (!dying.empty()) {
    Node* next = dying.back();
    dying.pop_back();
    delete next;
  }
  draining = false;
}

void Node::release_saved(Position at) {
  if (extra_passes > 0) {
    --extra_passes;
    return;
  }
  if (extras && extras->custom) extras->custom->release();
  if (saved.empty() || released) return;
  // Freeing may run a user's code; whoever looks at the node from there sees that it is released.
  released = true;
  released_at = at;
  saved.clear();
}

uint32_t shown_name(const std::string& name) {
  static std::unordered_map<std::string, uint32_t> numbers;
  const auto [found, is_new] = numbers.try_emplace(name, shown_names.size());
  if (is_new) shown_names.push_back(name);
  return found->second;
}

void show_as(const Value& value, uint32_t shown) {
  if (modes.tracer) {
    modes.tracer->show_as(value, shown);
  } else if (value->pending) {
    held_by(*value->pending, value->output).shown_as = shown;
  } else if (value->producer && !value->producer->is_leaf()) {
    value->producer->show_as(shown, value->row);
  }
}

void Node::show_as(uint32_t shown, int32_t row) {
  std::vector<uint32_t>& names = extra().shown_as;
  if (row == ValueData::whole || !extras->rows) {
    names.assign(1, shown);
    return;
  }
  if (names.size() <= 1) names.assign(extras->rows->count(), names.empty() ? 0 : names[0]);
  names[row] = shown;
}

std::string Node::name(int32_t row) const {
  if (extras && !extras->shown_as.empty()) {
    const std::vector<uint32_t>& names = extras->shown_as;
    const uint32_t shown = names[row == ValueData::whole || names.size() == 1 ? 0 : row];
    if (shown) return shown_names[shown];
  }
  if (op) return op->node_name;
  if (is_leaf()) return "AccumulateGrad";
  if (extras && extras->custom) return extras->custom->name();
  return "Node";
}

int64_t Node::live() { return live_nodes; }
uint64_t Node::next_sequence() { return ++sequences; }

std::string position_text(Position position) {
  if (position == 0 || host.position_text == nullptr) return "an unknown line";
  return host.position_text(position);
}

base::Ref<Node> make_twin(const base::Ref<Node>& node, int32_t row, Position position) {
  static const Op* const alias = find_op("alias");
  base::Ref<Node> twin(new Node(alias, position));
  twin->extra().is_twin = true;
  twin->input_count = static_cast<uint32_t>(node->outputs.size());
  for (uint32_t i = 0; i < twin->input_count; ++i) {
    Meta& meta = twin->outputs.emplace_back(node->outputs[i]);
    if (row != ValueData::whole) meta.sizes.erase(0);
    twin->inputs.push_back(meta);
    twin->edges.push_back({node, i, row});
  }
  return twin;
}

Edge edge_of_row(const Node& node, size_t i, int32_t row) {
  Edge edge = node.edges[i];
  if (row == ValueData::whole || !node.extras || !node.extras->rows ||
      !(node.extras->rows->stacked & bit_of(i)) || !edge.node) {
    return edge;
  }
  const Gathered* gathered = edge.node->extras ? edge.node->extras->gathered.get() : nullptr;
  if (!gathered || !gathered->targets.empty()) return {edge.node, edge.output, row};
  if (gathered->sources[row] < 0) return {};
  const Edge& source = edge.node->edges[gathered->sources[row]];
  return {source.node, source.output, gathered->rows[row]};
}

std::vector<Edge> edges_of_row(const Node& node, int32_t row) {
  std::vector<Edge> edges;
  const Gathered* gathered = node.extras ? node.extras->gathered.get() : nullptr;
  for (size_t i = 0; gathered && i < gathered->sources.size(); ++i) {
    if (gathered->sources[i] < 0 || (row != ValueData::whole && gathered->target(i) != row))
      continue;
    const Edge& source = node.edges[gathered->sources[i]];
    edges.emplace_back(source.node, source.output, gathered->rows[i]);
  }
  for (size_t i = 0; !gathered && i < node.edges.size(); ++i)
    edges.push_back(edge_of_row(node, i, row));
  return edges;
}

}  // namespace weft::graph
