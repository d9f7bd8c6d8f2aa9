#include "weft/exec/rows.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <unordered_map>

#include "weft/exec/program.h"
#include "weft/graph/modes.h"
#include "weft/graph/program.h"
#include "weft/graph/record.h"
#include "weft/graph/strand.h"
#include "weft/kernels/map.h"
#include "weft/schedule/place.h"

namespace weft::exec {

using base::Ref;
using graph::bit_of;
using graph::modes;
using graph::Node;
using graph::Pending;
using graph::Value;
using graph::ValueData;
using graph::Values;
using tensor::Array;
using tensor::Dims;

namespace {

void copy_rows(std::span<Pending* const> rows, size_t i, const Array& out) {
  const int64_t bytes = out.count() / out.sizes[0] * tensor::item_size(out.dtype);
  char* to = out.data();
  for (const Pending* row : rows) {
    const Array& from = row->inputs[i].array();
    if (from.is_contiguous()) {
      std::memcpy(to, from.data(), static_cast<size_t>(bytes));
    } else {
      Array part = Array::meta(from.sizes, from.dtype);
      part.storage = out.storage;
      part.offset = (to - out.storage->data()) / tensor::item_size(out.dtype);
      kernels::copy(from, part);
    }
    to += bytes;
  }
}

// Rows with the strides of the first, one after the other in memory: what was recorded as views of
// them stays possible.
Array copy_strided_rows(std::span<Pending* const> rows, size_t i) {
  const Array& first = rows[0]->inputs[i].array();
  Dims sizes = first.sizes, strides = first.strides;
  sizes.insert(0, static_cast<int64_t>(rows.size()));
  strides.insert(0, std::numeric_limits<int64_t>::max());  // outside of all others
  const Array out = Array::allocate_like({nullptr, sizes, strides, 0, first.dtype});
  for (size_t r = 0; r < rows.size(); ++r) {
    kernels::copy(
        tensor::without_repeats(rows[r]->inputs[i].array(), first.strides),
        tensor::without_repeats(tensor::row_of(out, static_cast<int64_t>(r)), first.strides));
  }
  return out;
}

bool have_strides_of_first(std::span<Pending* const> rows, size_t i) {
  const Array& first = rows[0]->inputs[i].array();
  return !first.is_contiguous() && std::all_of(rows.begin(), rows.end(), [&](const Pending* row) {
    return row->inputs[i].array().strides == first.strides;
  });
}

// Connects stacked rows with where they came from.
void connect(Value& stacked, std::span<Pending* const> rows, size_t i) {
  const ValueData& first = *rows[0]->inputs[i].get();
  stacked->requires_grad = true;
  if (schedule::is_whole_output(rows, i, stacked.sizes())) {
    stacked->producer = first.producer;
    stacked->output = first.output;
    return;
  }
  Ref<Node> node(new Node(nullptr, graph::current_position()));
  node->outputs.emplace_back(stacked.sizes(), stacked.dtype());
  auto gathered = std::make_unique<graph::Gathered>();
  gathered->sources.reserve(rows.size());
  gathered->rows.reserve(rows.size());
  std::unordered_map<const Node*, base::SmallVector<int32_t, 2>> known;
  int32_t source = -1;
  for (const Pending* row : rows) {
    const ValueData& value = *row->inputs[i].get();
    const graph::Edge* last = source < 0 ? nullptr : &node->edges[source];
    const bool as_before = last && last->node == value.producer && last->output == value.output;
    if (!as_before) source = -1;
    if (!as_before && value.requires_grad) {
      auto& edges = known[value.producer.get()];
      for (int32_t edge : edges) {
        if (node->edges[edge].output == value.output) source = edge;
      }
      if (source < 0) {
        source = static_cast<int32_t>(node->edges.size());
        edges.push_back(source);
        node->edges.emplace_back(value.producer, value.output);
        node->is_shared = node->is_shared || value.producer->is_shared;
        node->inputs.emplace_back(value.producer->is_leaf()
                                      ? value.array.sizes
                                      : value.producer->outputs[value.output].sizes,
                                  value.array.dtype);
      }
    }
    gathered->sources.push_back(source);
    gathered->rows.push_back(value.row);
  }
  node->input_count = static_cast<uint32_t>(node->edges.size());
  node->extra().gathered = std::move(gathered);
  auto info = std::make_unique<graph::Rows>();
  info->table = *modes.rows;
  info->stacked = 0;
  node->extras->rows = std::move(info);
  stacked->producer = std::move(node);
}

// A value that all rows share, once for each.
Value spread(const Value& value, Dims sizes, int64_t rows) {
  static const graph::Op& expand = *graph::find_op("expand");
  sizes.insert(0, rows);
  Value result = graph::record(expand, {value}, {sizes})[0];
  result->has_rows = true;
  return result;
}

// Rows each with memory of its own: somebody may write there.
Value in_order(const Value& rows) {
  if (rows.array().strides[0] != 0) return rows;
  static const graph::Op& contiguous = *graph::find_op("contiguous");
  Value result = graph::record(contiguous, {rows}, {})[0];
  result->has_rows = true;
  return result;
}

// All rows of a batch at once.
class ManyRows : public ProgramRun {
 public:
  ManyRows(const graph::Batched& batch, const std::vector<bool>& wanted)
      : ProgramRun(static_cast<const graph::ProgramOp&>(batch.op), wanted, batch.rows()),
        batch_(batch) {
    for (size_t i = 0; i < batch.input_count(); ++i) {
      if (reads(i)) set_input(i, batch.is_stacked(i) ? batch.with_rows(i) : batch.in(i));
    }
  }

 private:
  Values apply(const graph::Instruction& instruction, const Values& given) override {
    std::vector<bool> has_rows;
    for (const Value& value : given) has_rows.push_back(value && value->has_rows);
    if (std::find(has_rows.begin(), has_rows.end(), true) == has_rows.end()) {
      if (!is_result(instruction)) return apply_for_all(instruction, given);
      Values rows = apply_to_each(instruction, given);
      return rows.empty() ? apply_for_all(instruction, given) : rows;
    }
    Values one;
    for (int slot : instruction.inputs) one.push_back(slot < 0 ? Value() : op_.metas[slot]);
    return graph::run_batch_rule(graph::GivenRows(*instruction.op, instruction.attributes, one,
                                                  given, has_rows, batch_.rows()));
  }
  bool is_result(const graph::Instruction& instruction) const {
    const std::vector<int>& outputs = op_.program.outputs;
    for (size_t i = 0; i < outputs.size(); ++i) {
      const int number = outputs[i] - instruction.first_output;
      if (number >= 0 && number < instruction.output_count && batch_.wants(i)) return true;
    }
    return false;
  }
  // A result that is the same for all rows, but has a place in the graph and memory for each. None:
  // it needs no gradient, or cannot be computed so.
  Values apply_to_each(const graph::Instruction& instruction, const Values& given) {
    Values rows = given;
    const auto needs = std::find_if(rows.begin(), rows.end(), [](const Value& value) {
      return value && value.requires_grad();
    });
    if (!modes.grad || needs == rows.end()) return {};
    *needs = spread(*needs, needs->sizes(), batch_.rows());
    Values outputs = apply(instruction, rows);
    for (Value& output : outputs) {
      if (output) output = in_order(output);
    }
    return outputs;
  }
  // Once for all rows, each of which may be differentiated by itself.
  Values apply_for_all(const graph::Instruction& instruction, const Values& given) const {
    const uint64_t since = Node::next_sequence();
    Values outputs = graph::record(*instruction.op, given, instruction.attributes);
    Node* node = outputs.empty() ? nullptr : outputs[0]->producer.get();
    if (node && node->sequence > since) node->share(static_cast<uint32_t>(batch_.rows()) - 1);
    return outputs;
  }
  void at(size_t k) override { batch_.at(op_.program.instructions[k], k); }
  void skip() override { batch_.skip(); }

  const graph::Batched& batch_;
};

}  // namespace

Values run_program_rows(const graph::Batched& batch) {
  const auto& program = static_cast<const graph::ProgramOp&>(batch.op).program;
  std::vector<bool> wanted(program.outputs.size());
  for (size_t i = 0; i < wanted.size(); ++i) wanted[i] = batch.wants(i);
  Values outputs = ManyRows(batch, wanted).run();
  for (Value& output : outputs) {
    if (!output || output->has_rows) continue;
    output = in_order(spread(output, output.sizes(), batch.rows()));
  }
  return outputs;
}

RowBatch::RowBatch(std::span<Pending* const> rows, std::vector<bool> wanted)
    : Batched(*rows[0]->op, rows[0]->attributes, rows[0]->inputs, static_cast<int64_t>(rows.size()),
              schedule::stacked_inputs(rows)),
      pending_(rows),
      wanted_(std::move(wanted)),
      one_line_(std::all_of(rows.begin(), rows.end(),
                            [&](const Pending* row) { return row->step == rows[0]->step; })) {}

bool RowBatch::can_run(std::string& note) const {
  if (op.pointwise() || op.batch.function) return true;
  note = op.batch.reason.empty() ? "it has no batch rule" : std::string(op.batch.reason);
  return false;
}

Values RowBatch::run() {
  graph::ModesGuard guard;
  table_ = make_table([](const Pending& row) { return row.position; });
  modes.rows = &table_;
  modes.grad = pending_[0]->grad;
  modes.position = pending_[0]->position;
  Values outputs = graph::run_batch_rule(*this);
  if (outputs.empty() && pending_[0]->op_count() > 1) forbid_instruction();
  for (const Value& output : outputs) {
    if (!output) continue;
    if (output.rank() == 0 || output.size(0) != static_cast<int64_t>(pending_.size())) {
      base::bug("the batch rule of ", op.name, " gives shape ", output.sizes(), " for ",
                pending_.size(), " rows");
    }
  }
  return outputs;
}

std::shared_ptr<const graph::RowTable> RowBatch::make_table(
    const std::function<graph::Position(const Pending&)>& position) const {
  auto table = std::make_shared<graph::RowTable>();
  table->examples.reserve(pending_.size());
  const graph::Position first = position(*pending_[0]);
  bool alike = true;
  for (const Pending* row : pending_) {
    table->examples.push_back(row->example);
    alike = alike && position(*row) == first;
  }
  if (alike) return table;
  for (const Pending* row : pending_) table->positions.push_back(position(*row));
  return table;
}

void RowBatch::at(const graph::Instruction& instruction, size_t number) const {
  if (pending_[0]->op_count() == 1) return Batched::at(instruction, number);
  instruction_ = number;
  modes.position = graph::step_at(*pending_[0]->step, number).position;
  if (one_line_) return;
  table_ = make_table(
      [number](const Pending& row) { return graph::step_at(*row.step, number).position; });
}

// No strand will have the instruction that could not run for all rows.
void RowBatch::forbid_instruction() const {
  for (const Pending* row : pending_) graph::step_at(*row->step, instruction_).alone = true;
}

Value RowBatch::stack(size_t i, int64_t rank) const {
  const Array& first = one_[i].array();
  if (one_[i]->is_number) return stack_numbers(i, rank);
  Dims sizes = first.sizes, strides = first.strides;
  while (static_cast<int64_t>(sizes.size()) < rank) {
    sizes.insert(0, 1);
    strides.insert(0, 0);
  }
  sizes.insert(0, rows());
  const int64_t step = schedule::step_in_place(pending_, i);
  strides.insert(0, step);
  Array array;
  if (step > 0) {
    array = first.view(sizes, strides, first.offset);
  } else {
    if (have_strides_of_first(pending_, i)) {
      const Array copy = copy_strided_rows(pending_, i);
      std::copy(copy.strides.begin() + 1, copy.strides.end(), strides.end() - first.rank());
      strides[0] = copy.strides[0];
      array = copy.view(sizes, strides, 0);
    } else {
      array = Array::allocate(sizes, first.dtype);
      copy_rows(pending_, i, array);
    }
    bytes_copied_ += array.count() * tensor::item_size(array.dtype);
  }
  Value stacked(std::move(array));
  stacked->has_rows = true;
  if (one_[i]->requires_grad && modes.grad) connect(stacked, pending_, i);
  return stacked;
}

// Python numbers, one a row, in the dtype that the op computes in.
Value RowBatch::stack_numbers(size_t i, int64_t rank) const {
  Dims sizes(static_cast<size_t>(rank) + 1, 1);
  sizes[0] = rows();
  const bool is_part = pending_[0]->op_count() > 1;
  const tensor::DType dtype =
      is_part ? static_cast<const graph::ProgramOp&>(op).metas[i].dtype() : pending_[0]->compute;
  Array array = Array::allocate(sizes, dtype);
  Array part = tensor::row_of(array, 0);
  for (int64_t r = 0; r < rows(); ++r) {
    part.offset = r;
    kernels::copy(pending_[r]->inputs[i].array().expand(part.sizes), part);
  }
  Value stacked(std::move(array));
  stacked->has_rows = true;
  return stacked;
}

}  // namespace weft::exec
