#include "weft/autograd/rows.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "ops.h"
#include "weft/autograd/row_rule.h"
#include "weft/autograd/rule.h"
#include "weft/autograd/saved.h"
#include "weft/graph/modes.h"
#include "weft/graph/pending.h"
#include "weft/graph/tensor.h"

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

bool has_rows(const Value& value) {
  const Node* node = value->producer.get();
  return value.requires_grad() && node->extras && node->extras->rows;
}

Array contiguous_copy(const Value& value) {
  Array copy = Array::allocate(value.sizes(), value.dtype());
  graph::host.copy(value.array(), copy);
  return copy;
}

// Makes the value one that is collected from rows, of none so far.
void gather(const Value& value) {
  base::Ref<Node> node(new Node(nullptr, graph::current_position()));
  node->outputs.emplace_back(value.sizes(), value.dtype());
  node->extra().gathered = std::make_unique<graph::Gathered>();
  auto table = std::make_shared<graph::RowTable>();
  table->examples.assign(static_cast<size_t>(value.size(0)), -1);
  node->extras->rows = std::make_unique<graph::Rows>();
  node->extras->rows->dependent.assign(table->examples.size(), false);
  node->extras->rows->table = std::move(table);
  value->producer = std::move(node);
  value->requires_grad = true;
}

void add_source(Node& node, const Value& panel) {
  const graph::Edge* last = node.edges.empty() ? nullptr : &node.edges.back();
  if (last && last->node == panel->producer && last->output == panel->output) return;
  node.inputs.emplace_back(panel.sizes(), panel.dtype());
  node.edges.emplace_back(panel->producer, panel->output);
  node.is_shared = node.is_shared || panel->producer->is_shared;
  ++node.input_count;
}

// Lets gradients of rows `to` of a value go to the rows `from` of the panel.
void note_rows(const Value& value, std::span<const int32_t> to, const Value& panel,
               std::span<const int32_t> from) {
  for (size_t i = 0; i < to.size(); ++i) {
    if (!depends_on_any(panel, from[i])) continue;
    if (!value->producer) gather(value);
    Node& node = *value->producer;
    add_source(node, panel);
    graph::Gathered& gathered = *node.extras->gathered;
    gathered.sources.push_back(static_cast<int32_t>(node.edges.size()) - 1);
    gathered.rows.push_back(from[i]);
    gathered.targets.push_back(to[i]);
    node.extras->rows->dependent[to[i]] = true;
    node.sequence = Node::next_sequence();  // younger than what was added
  }
}

}  // namespace

bool depends_on_any(const Value& panel, int32_t row) {
  if (!has_rows(panel)) return panel.requires_grad();
  return panel->producer->extras->rows->is_dependent(row);
}

std::vector<int32_t> all_rows(const Value& panel) {
  std::vector<int32_t> rows(static_cast<size_t>(panel.size(0)));
  std::iota(rows.begin(), rows.end(), 0);
  return rows;
}

Value rows_of(const Value& panel, std::span<const int32_t> rows) {
  bool all = panel.size(0) == static_cast<int64_t>(rows.size());
  for (size_t i = 0; all && i < rows.size(); ++i) all = rows[i] == static_cast<int32_t>(i);
  return all ? panel : rows_at(panel, rows, rows);
}

Value rows_at(const Value& panel, std::span<const int32_t> rows, std::span<const int32_t> places) {
  const Value part = ops::index_select(panel, 0, index_of(places));
  if (!part->requires_grad || !has_rows(panel)) return part;
  // The zeros that index_select sends to the other rows would meet their infinities.
  const Value apart = without_history(part);
  note_rows(apart, all_rows(part), panel, rows);
  return apart;
}

Value row_at(const Value& panel, int32_t row) {
  if (!graph::records_rows() || !has_rows(panel)) return ops::clone(ops::select(panel, 0, row));
  Value part(tensor::row_of(panel.array(), row));
  part->array = contiguous_copy(part);
  if (!depends_on_any(panel, row)) return part;
  part->take_history(*panel.get());
  part->row = row;
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

void add_rows_to(Value& sum, std::span<const int32_t> to, const Value& panel,
                 std::span<const int32_t> from, std::vector<bool>* reached) {
  if (graph::modes.tracer || graph::modes.vmap) {
    sum = add_rows(sum, to, panel, from);
  } else {
    add_rows_into(sum.array(), to, panel.array(), from, reached);
    if (graph::modes.grad) note_rows(sum, to, panel, from);
  }
}

Value with_row(const Value& panel, int32_t row, const Value& other) {
  std::vector<int32_t> others = all_rows(panel);
  others.erase(others.begin() + row);
  const int32_t first = 0;
  Value result = ops::zeros(panel.sizes(), panel.dtype());
  add_rows_to(result, others, panel, others);
  const Value own = other.dtype() == panel.dtype() ? other : ops::cast(other, panel.dtype());
  add_rows_to(result, std::span(&row, 1), ops::unsqueeze(own, 0), std::span(&first, 1));
  return result;
}

Value copy_rows(const Value& panel) {
  if (!graph::records_rows()) return ops::clone(panel);
  const Value copy(contiguous_copy(panel));
  note_rows(copy, all_rows(panel), panel, all_rows(panel));
  return copy;
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

static std::shared_ptr<const graph::RowTable> table_of(const graph::RowTable& table,
                                                       std::span<const int32_t> rows) {
  auto part = std::make_shared<graph::RowTable>();
  for (int32_t row : rows) {
    part->examples.push_back(table.examples[row]);
    if (!table.positions.empty()) part->positions.push_back(table.positions[row]);
  }
  return part;
}

// What the rule reads of some rows.
static Unpacked unpack_rows(Node& node, std::span<const int32_t> rows) {
  Unpacked saved = unpack(node);
  const graph::Rows& all = *node.extras->rows;
  std::vector<int32_t> places;
  for (int32_t row : rows) places.push_back(all.place_of(row));
  const auto leave = [&](Value& panel, bool has_rows) {
    if (!panel || !has_rows) return;
    panel = all.places.empty() ? rows_of(panel, rows) : rows_at(panel, rows, places);
  };
  for (size_t i = 0; i < node.input_count; ++i) leave(saved.inputs[i], all.stacked & bit_of(i));
  for (size_t i = 0; i < node.outputs.size(); ++i) leave(saved.outputs[i], node.has_rows(i));
  return saved;
}

static Values apply_to_rows(const Node& node, const Values& gradients, const Unpacked& saved,
                            std::span<const int32_t> rows) {
  const base::Ref<Node> part = with_rows(node, static_cast<int64_t>(rows.size()));
  if (!graph::records_rows()) return apply_rule(*part, gradients, saved.inputs, saved.outputs);
  return RowRule::record(part, {gradients, saved.inputs, saved.outputs},
                         table_of(*node.extras->rows->table, rows));
}

Values run_rule_on_rows(Node& node, const Values& gradients, std::span<const int32_t> rows) {
  const Unpacked saved = unpack_rows(node, rows);
  Values reached = gradients;
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    if (gradients[i] && node.has_rows(i)) reached[i] = rows_of(gradients[i], rows);
  }
  return apply_to_rows(node, reached, saved, rows);
}

Values run_rule_of_twin(const base::Ref<Node>& twin, const Values& gradients) {
  Node& node = *twin->edges[0].node;
  const int32_t row = twin->edges[0].row;
  const bool is_row = row != graph::ValueData::whole;
  if (is_row) refuse_second_backward(node, std::span(&row, 1));
  Unpacked saved = is_row ? unpack_rows(node, std::span(&row, 1)) : unpack(node);
  Values panels = gradients;
  for (uint32_t i = 0; i < panels.size(); ++i) {
    Value& output = saved.outputs[i];
    if (is_row && panels[i]) panels[i] = ops::unsqueeze(panels[i], 0);
    if (!output) continue;
    output = connect(is_row ? Value(tensor::row_of(output.array(), 0)) : output, {twin, i});
    if (is_row) output = ops::unsqueeze(output, 0);
  }
  return is_row ? apply_to_rows(node, panels, saved, std::span(&row, 1))
                : apply_rule(node, panels, saved.inputs, saved.outputs);
}

void enter_twin(Node& twin, bool frees, graph::Position at) {
  refuse_second_backward(twin);
  if (!frees || twin.edges[0].node->saved.empty()) return;
  twin.released = true;
  twin.released_at = at;
}

void refuse_second_backward(const Node& node, std::span<const int32_t> rows) {
  const std::vector<bool>& released = node.extras->rows->released;
  if (released.empty()) return;
  for (int32_t row : rows) {
    if (!released[row]) continue;
    fail_second_backward(base::text(node.op ? node.op->name : node.name(), " at ",
                                    graph::position_text(node.position_of(row))),
                         node.released_at);
  }
}

void release_rows(Node& node, std::span<const int32_t> rows, graph::Position at) {
  std::vector<bool>& released = node.extras->rows->released;
  std::vector<uint32_t>& passes = node.extras->rows->passes;
  const auto matters = [](const graph::Saved& saved) {
    return saved.version != graph::Saved::any_version;
  };
  if (std::none_of(node.saved.begin(), node.saved.end(), matters)) return;
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
