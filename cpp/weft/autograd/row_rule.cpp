#include "weft/autograd/row_rule.h"

#include <unordered_set>

#include "ops.h"
#include "weft/autograd/engine.h"
#include "weft/autograd/rows.h"
#include "weft/autograd/rule.h"
#include "weft/graph/modes.h"
#include "weft/graph/record.h"

namespace weft::autograd {

using base::Ref;
using graph::bit_of;
using graph::Meta;
using graph::modes;

Ref<Node> with_rows(const Node& node, int64_t rows) {
  Ref<Node> part(new Node(node.op, node.position));
  part->attributes = node.attributes;
  part->plan = node.plan;
  part->input_count = node.input_count;
  part->inputs.reserve(node.input_count);
  for (size_t i = 0; i < node.input_count; ++i) {
    Meta& meta = part->inputs.emplace_back(node.input_meta(i));
    if (node.extras->rows->stacked & bit_of(i)) meta.sizes[0] = rows;
  }
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    Meta& meta = part->outputs.emplace_back(node.outputs[i]);
    if (node.has_rows(i)) meta.sizes[0] = rows;
  }
  if (graph::records_rows()) {
    part->extra().rows = std::make_unique<graph::Rows>();
    part->extras->rows->stacked = node.extras->rows->stacked;
  }
  if (!node.op) {
    auto rule = std::make_unique<RowRule>(static_cast<RowRule&>(*node.extras->custom));
    rule->set_rows(rows);
    part->extra().custom = std::move(rule);
  }
  return part;
}

// What a rule's results make of what it read.
struct Use {
  std::vector<bool> passes;   // gradients of the results go on to it
  std::vector<bool> matters;  // to those gradients: the ops that the rule is made of have saved it
};

static Use find_use(const Values& results, const Values& given, uint64_t since) {
  Use use{std::vector<bool>(given.size()), std::vector<bool>(given.size())};
  std::unordered_set<const Node*> seen;
  std::vector<const Node*> waiting;
  const auto reach = [&](const Ref<Node>& node, uint32_t output) {
    waiting.push_back(node.get());
    for (size_t i = 0; i < given.size(); ++i) {
      if (node && given[i]->producer == node && given[i]->output == output) use.passes[i] = true;
    }
  };
  for (const Value& result : results) {
    if (result) reach(result->producer, result->output);
  }
  while (!waiting.empty()) {
    const Node* node = waiting.back();
    waiting.pop_back();
    if (!node || node->sequence <= since || !seen.insert(node).second) continue;
    for (const graph::Edge& edge : node->edges) reach(edge.node, edge.output);
    for (const graph::Saved& saved : node->saved) {
      for (size_t i = 0; i < given.size(); ++i) {
        const auto& storage = given[i].array().storage;
        if (!saved.value || saved.value.array().storage == storage) use.matters[i] = true;
      }
    }
  }
  return use;
}

// Notes the rows of what was made that depend on nothing that needs a gradient.
static void set_dependent(graph::Rows& rows, const Values& given, const Use& use) {
  rows.dependent.resize(rows.count());
  for (size_t i = 0; i < given.size(); ++i) {
    if (!use.passes[i]) continue;
    const bool has_rows = rows.stacked & bit_of(i);
    for (size_t r = 0; r < rows.count(); ++r) {
      if (!has_rows || depends_on_any(given[i], static_cast<int32_t>(r))) rows.dependent[r] = true;
    }
  }
}

Values RowRule::record(const Ref<Node>& of, const Values (&read)[3],
                       std::shared_ptr<const graph::RowTable> table) {
  auto rule = std::make_unique<RowRule>(of);
  auto rows = std::make_unique<graph::Rows>();
  rows->table = std::move(table);
  Values given, made;
  size_t place = 0;
  bool has_bits = true;  // to say which of them have rows; or the ops are recorded by themselves
  for (size_t part = 0; part < 3; ++part) {
    for (size_t i = 0; i < read[part].size(); ++i, ++place) {
      const Value& value = read[part][i];
      if (!value) continue;
      const bool has_rows = part == 1 ? of->extras->rows->stacked & bit_of(i) : of->has_rows(i);
      if (has_rows) rows->stacked |= bit_of(given.size());
      has_bits = has_bits && (has_rows || given.size() < 31);
      rule->needs_.push_back(value.requires_grad());
      rule->places_.push_back(place);
      given.push_back(value);
    }
  }
  if (!has_bits) return apply_rule(*of, read[0], read[1], read[2]);
  const uint64_t since = Node::next_sequence();
  Values results = rule->apply(given);
  const Use use = find_use(results, given, since);
  for (size_t i = 0; i < results.size(); ++i) {
    if (!results[i] || !results[i].requires_grad()) continue;
    results[i] = without_history(results[i]);
    made.push_back(results[i]);
    rule->gives_.push_back(i);
  }
  if (made.empty()) return results;
  set_dependent(*rows, given, use);
  const Ref<Node> node =
      graph::attach_custom(std::move(rule), given, made, graph::current_position());
  node->extras->rows = std::move(rows);
  for (size_t i = 0; i < given.size(); ++i) {
    const uint32_t version = given[i].array().storage->version;
    graph::save(*node, given[i], false, i, use.matters[i] ? version : graph::Saved::any_version);
  }
  return results;
}

// What the rule gives, in the shapes of the node's inputs.
Values RowRule::apply(const Values& given) const {
  graph::ModesGuard guard;
  modes.observer = nullptr;  // it sees the rule as a whole
  const size_t outputs = of_->outputs.size(), inputs = of_->input_count;
  Values read(2 * outputs + inputs);
  for (size_t i = 0; i < given.size(); ++i) read[places_[i]] = given[i];
  const auto part = [&](size_t begin, size_t count) {
    return Values(read.begin() + begin, read.begin() + begin + count);
  };
  Values results =
      apply_rule(*of_, part(0, outputs), part(outputs, inputs), part(outputs + inputs, outputs));
  for (size_t i = 0; i < results.size(); ++i) {
    const bool is_wanted = !of_->plan || (of_->plan->needs & bit_of(i));
    results[i] = results[i] && is_wanted ? fit(results[i], of_->input_meta(i)) : Value();
  }
  return results;
}

// The value as one of which a gradient can be had; where that is recorded, with its history.
static Value as_input(const Value& value, bool with_history) {
  if (with_history && value.requires_grad()) return ops::alias(value);
  Value leaf = without_history(value);
  leaf->producer = graph::make_leaf_node(nullptr);
  leaf->requires_grad = true;
  return leaf;
}

Values RowRule::run(const Values& gradients, const Values& given) const {
  Request request;
  request.accumulate = false;
  request.create_graph = request.retain_graph = modes.grad;
  graph::ModesGuard guard;
  modes.grad = true;
  modes.observer = nullptr;
  Values read = given;
  for (size_t i = 0; i < read.size(); ++i) {
    if (!needs_[i]) continue;
    read[i] = as_input(given[i], request.create_graph);
    request.inputs.push_back(read[i]);
  }
  const Values results = apply(read);
  for (size_t i = 0; i < gives_.size(); ++i) {
    if (!gradients[i]) continue;
    request.roots.push_back(results[gives_[i]]);
    request.gradients.push_back(gradients[i]);
  }
  const std::vector<Value> found = run_backward(request);
  Values all(given.size());
  for (size_t i = 0, next = 0; i < all.size(); ++i) {
    if (needs_[i]) all[i] = found[next++];
  }
  return all;
}

bool RowRule::has_rows(size_t output) const {
  return of_->extras->rows->stacked & bit_of(gives_[output]);
}

Values RowRule::backward(Node& node, const Values& gradients) {
  return run(gradients, unpack(node).inputs);
}

}  // namespace weft::autograd
