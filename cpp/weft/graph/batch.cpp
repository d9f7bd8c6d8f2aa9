#include "weft/graph/batch.h"

#include "weft/graph/modes.h"
#include "weft/graph/node.h"
#include "weft/graph/program.h"
#include "weft/graph/record.h"
#include "weft/tensor/promotion.h"

namespace weft::graph {
namespace {

// The dtype of a 0-d tensor gives way to others; with rows it would not, so it gives way here.
void promote_rows(const Batched& batch, Values& inputs) {
  using tensor::Promotion;
  Promotion promotion;
  uint32_t rows = 0;  // of 0-d tensors
  bool uniform = true;
  const auto first = static_cast<size_t>(batch.op.shape.masks);
  for (size_t i = first; i < inputs.size(); ++i) {
    const bool is_scalar = !batch.is_number(i) && batch.rank(i) == 0;
    promotion.add(batch.dtype(i), batch.is_number(i) ? Promotion::number
                                  : is_scalar        ? Promotion::zero_dim
                                                     : Promotion::tensor);
    uniform = uniform && batch.dtype(i) == batch.dtype(first);
    if (is_scalar && batch.is_stacked(i)) rows |= bit_of(i);
  }
  if (!rows || uniform || batch.op.shape.result == Result::first) return;
  static const Op& cast = *find_op("cast");
  const DType dtype = promotion.result();
  for (size_t i = first; i < inputs.size(); ++i) {
    if ((rows & bit_of(i)) && batch.dtype(i) != dtype)
      inputs[i] = record(cast, {inputs[i]}, {dtype})[0];
  }
}

// An op of the same name over the stacked inputs: right for element-wise ops, whose shapes
// broadcast from the end.
Values run_pointwise(const Batched& batch) {
  int64_t rank = 0;
  for (size_t i = 0; i < batch.input_count(); ++i) rank = std::max(rank, batch.rank(i));
  Values inputs;
  for (size_t i = 0; i < batch.input_count(); ++i) {
    inputs.push_back(batch.is_stacked(i) ? batch.with_rows(i, rank) : batch.in(i));
  }
  promote_rows(batch, inputs);
  return {record_pointwise(batch.op, inputs)};
}

// A rule may end with other ops than the one that was recorded: what is seen of them is that one.
void show_as_recorded(const Op& op, std::span<const Value> outputs, uint64_t since) {
  for (const Value& output : outputs) {
    Node* node = output ? output->producer.get() : nullptr;
    if (node && node->sequence > since && node->op && node->op != &op)
      node->show_as(shown_name(op.node_name), ValueData::whole);
  }
}

}  // namespace

Values run_batch_rule(const Batched& batch) {
  if (batch.op.pointwise()) return run_pointwise(batch);
  if (!batch.op.batch.function) return {};
  const uint64_t since = Node::next_sequence();
  Values outputs = batch.op.batch.function(batch);
  if (!batch.op.is_program()) show_as_recorded(batch.op, outputs, since);
  return outputs;
}

void Batched::at(const Instruction& instruction, size_t) const {
  modes.position = instruction.position;
}

Value GivenRows::stack(size_t i, int64_t rank) const {
  static const Op &view = *find_op("view"), &expand = *find_op("expand");
  Dims sizes = one_[i].sizes();
  while (static_cast<int64_t>(sizes.size()) < rank) sizes.insert(0, 1);
  sizes.insert(0, rows());
  const Value& value = given_[i];
  if (value.sizes() == sizes && has_rows_[i]) return value;
  Value result = record(has_rows_[i] ? view : expand, {value}, {sizes})[0];
  if (modes.rows) result->has_rows = true;
  return result;
}

}  // namespace weft::graph
