#include "weft/autograd/rows.h"

#include <algorithm>
#include <cstring>

#include "ops.h"
#include "weft/autograd/accumulate.h"
#include "weft/autograd/rule.h"
#include "weft/autograd/saved.h"
#include "weft/graph/modes.h"
#include "weft/graph/pending.h"

namespace weft::autograd {

using base::ErrorKind;
using graph::bit_of;
using graph::Dims;
using graph::Node;
using graph::Value;
using graph::Values;
using tensor::Array;

Value index_of(std::span<const int32_t> rows) {
  Array index = Array::allocate({static_cast<int64_t>(rows.size())}, tensor::DType::i64);
  std::copy(rows.begin(), rows.end(), index.as<int64_t>());
  return Value(std::move(index));
}

namespace {

// Lets gradients of some rows go back to those rows alone: the zeros that index_select sends to the
// others would meet their infinities.
void connect(const Value& part, const Value& panel, std::span<const int32_t> rows) {
  const Node& producer = *panel->producer;
  base::Ref<Node> node(new Node(nullptr, graph::current_position()));
  node->outputs.emplace_back(part.sizes(), part.dtype());
  node->inputs.emplace_back(panel.sizes(), panel.dtype());
  node->edges.emplace_back(panel->producer, panel->output);
  node->input_count = 1;
  node->extra().gathered = std::make_unique<graph::Gathered>();
  node->extras->gathered->sources.assign(rows.size(), 0);
  node->extras->gathered->rows.assign(rows.begin(), rows.end());
  auto table = std::make_shared<graph::RowTable>();
  for (int32_t row : rows) table->examples.push_back(producer.extras->rows->table->examples[row]);
  node->extras->rows = std::make_unique<graph::Rows>();
  node->extras->rows->table = std::move(table);
  part->producer = std::move(node);
}

}  // namespace

Value rows_of(const Value& panel, std::span<const int32_t> rows) {
  bool all = panel.size(0) == static_cast<int64_t>(rows.size());
  for (size_t i = 0; all && i < rows.size(); ++i) all = rows[i] == static_cast<int32_t>(i);
  return all ? panel : rows_at(panel, rows, rows);
}

Value rows_at(const Value& panel, std::span<const int32_t> rows, std::span<const int32_t> places) {
  const Value part = ops::index_select(panel, 0, index_of(places));
  const Node* producer = panel->producer.get();
  if (part->requires_grad && producer->extras && producer->extras->rows) connect(part, panel, rows);
  return part;
}

Value add_rows(const Value& sum, std::span<const int32_t> to, const Value& panel,
               std::span<const int32_t> from) {
  Dims sizes = sum.sizes();
  sizes[0] = static_cast<int64_t>(to.size());
  const Value part = ops::reshape(rows_of(panel, from), sizes);
  return ops::index_put(sum, {index_of(to)}, part, {0}, true);
}

void clear_rows(const Array& sum, const std::vector<bool>& reached) {
  const int64_t bytes = sum.count() / sum.sizes[0] * tensor::item_size(sum.dtype);
  for (size_t r = 0; r < reached.size(); ++r) {
    if (!reached[r]) std::memset(sum.data() + r * bytes, 0, bytes);
  }
}

void add_rows_into(const Array& sum, std::span<const int32_t> to, const Array& panel,
                   std::span<const int32_t> from, std::vector<bool>* reached) {
  const bool is_double = sum.dtype == tensor::DType::f64;
  const int64_t count = sum.count() / sum.sizes[0];
  bool simple = sum.dtype <= tensor::DType::f64 && sum.dtype == panel.dtype && count > 0;
  Array row = panel;
  if (simple) {
    row.sizes.erase(0);
    row.strides.erase(0);
    simple = row.is_contiguous() && sum.is_contiguous();
  }
  if (!simple) {
    if (reached) clear_rows(sum, *reached);
    graph::ModesGuard guard;
    graph::modes.grad = false;
    graph::host.copy(add_rows(Value(sum), to, Value(panel), from).array(), sum);
    return;
  }
  const int64_t item = tensor::item_size(sum.dtype);
  const auto add = ops::op_add.blocks[is_double];
  for (size_t i = 0; i < to.size(); ++i) {
    char* target = sum.data() + to[i] * count * item;
    const void* operands[] = {target, panel.data() + from[i] * panel.strides[0] * item};
    if (!reached || (*reached)[to[i]]) {
      add(target, operands, count);
    } else {
      std::memcpy(target, operands[1], count * item);
      (*reached)[to[i]] = true;
    }
  }
  sum.storage->version += 1;
}

Value add_products(Value sum, std::span<const Value> products) {
  Values sides[2];
  for (const Value& product : products) {
    if (!product->pending) {  // it ran meanwhile, because too much was pending
      sum = sum ? ops::add(sum, product) : product;
      continue;
    }
    product->pending->ran = true;
    for (size_t i = 0; i < 2; ++i) {
      const Value& rows = product->pending->inputs[i];
      sides[i].push_back(rows.rank() == 2 ? rows : ops::reshape(rows, Dims{-1, rows.size(-1)}));
    }
  }
  if (sides[0].empty()) return sum;
  const bool one = sides[0].size() == 1;
  const Value a = one ? sides[0][0] : ops::cat(sides[0], 0);
  const Value b = one ? sides[1][0] : ops::cat(sides[1], 0);
  return sum ? ops::addmm(sum, ops::t(a), b) : ops::outer_sum(a, b);
}

Values run_rule_on_rows(Node& node, const Values& gradients, std::span<const int32_t> rows) {
  auto [inputs, outputs] = unpack(node);
  const uint32_t stacked = node.extras->rows->stacked;
  const auto count = static_cast<int64_t>(rows.size());
  const graph::Rows& all = *node.extras->rows;
  std::vector<int32_t> places;
  for (int32_t row : rows) places.push_back(all.place_of(row));
  const auto saved_rows = [&](const Value& panel) {
    return all.places.empty() ? rows_of(panel, rows) : rows_at(panel, rows, places);
  };
  Node part(node.op, node.position);  // like the node, with fewer rows
  part.attributes = node.attributes;
  part.plan = node.plan;
  part.input_count = node.input_count;
  for (size_t i = 0; i < node.input_count; ++i) {
    graph::Meta meta = node.input_meta(i);
    if (stacked & bit_of(i)) {
      meta.sizes[0] = count;
      if (inputs[i]) inputs[i] = saved_rows(inputs[i]);
    }
    part.inputs.push_back(std::move(meta));
  }
  Values reached;
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    graph::Meta meta = node.outputs[i];
    reached.push_back(gradients[i]);
    if (!meta.sizes.empty()) {  // a single number is for all rows
      meta.sizes[0] = count;
      if (outputs[i]) outputs[i] = saved_rows(outputs[i]);
      if (gradients[i]) reached[i] = rows_of(gradients[i], rows);
    }
    part.outputs.push_back(std::move(meta));
  }
  graph::Gradient g(part, reached, inputs, outputs);
  try {
    return node.op->gradient.function(g);
  } catch (const base::Error& error) {
    base::fail(error.kind(), error.message(), " (in the gradient of ", place(node), ")");
  }
}

void refuse_second_backward(const Node& node, std::span<const int32_t> rows) {
  const std::vector<bool>& released = node.extras->rows->released;
  if (released.empty()) return;
  for (int32_t row : rows) {
    if (!released[row]) continue;
    base::fail(ErrorKind::gradient,
               "Trying to backward through the graph a second time: the result of ", node.op->name,
               " at ", graph::position_text(node.position_of(row)),
               " was used by an earlier backward that freed the tensors it had saved. Call that "
               "backward with retain_graph=True, or compute the result again, or detach() what the "
               "two have in common.");
  }
}

void release_rows(Node& node, std::span<const int32_t> rows, graph::Position at) {
  std::vector<bool>& released = node.extras->rows->released;
  std::vector<uint32_t>& passes = node.extras->rows->passes;
  if (node.saved.empty()) return;
  const size_t count = node.extras->rows->count();
  const bool all = rows.empty();
  released.resize(count, all && passes.empty());
  for (size_t i = 0; i < (!all ? rows.size() : passes.size()); ++i) {
    const size_t row = all ? i : static_cast<size_t>(rows[i]);
    if (!passes.empty() && passes[row] > 0) {
      --passes[row];
    } else {
      released[row] = true;
    }
  }
  if (std::find(released.begin(), released.end(), false) == released.end()) node.release_saved(at);
}

}  // namespace weft::autograd
