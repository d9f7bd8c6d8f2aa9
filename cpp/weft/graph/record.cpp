#include "weft/graph/record.h"

#include <algorithm>
#include <cstring>

#include "weft/graph/marks.h"
#include "weft/graph/observer.h"
#include "weft/graph/pending.h"
#include "weft/graph/program.h"
#include "weft/graph/rule.h"
#include "weft/graph/shared_writes.h"
#include "weft/graph/strand.h"
#include "weft/graph/tape.h"
#include "weft/graph/tensor.h"
#include "weft/graph/vmap.h"
#include "weft/tensor/promotion.h"

namespace weft::graph {

using base::ErrorKind;
using tensor::Promotion;

void save(Node& node, const Value& value, bool is_output, size_t index, uint32_t version) {
  if (value->inference) {
    base::fail(ErrorKind::gradient,
               "a tensor made in inference mode cannot be saved for backward (",
               node.op ? node.op->name : node.name(), " at ", position_text(node.position),
               " reads it); make a clone() of it first");
  }
  std::unique_ptr<PackedTensor> packed;
  if (modes.save_hooks && !value->is_number) packed = modes.save_hooks->pack(value);
  Saved& saved = node.saved.emplace_back();
  if (!packed) saved.value = value;
  saved.version = version;
  saved.is_output = is_output;
  saved.index = static_cast<uint16_t>(index);
  saved.packed = std::move(packed);
}

namespace {

DType common_dtype(const Call& call, size_t begin) {
  const Value& first = call.inputs[begin];
  bool uniform = !first->is_number;
  for (size_t i = begin + 1; i < call.inputs.size() && uniform; ++i) {
    uniform = call[i].dtype() == first.dtype() && !call[i]->is_number;
  }
  if (uniform) return first.dtype();
  Promotion promotion;
  for (size_t i = begin; i < call.inputs.size(); ++i) {
    const Value& value = call[i];
    promotion.add(value.dtype(), value->is_number    ? Promotion::number
                                 : value.rank() == 0 ? Promotion::zero_dim
                                                     : Promotion::tensor);
  }
  return promotion.result();
}

Dims common_sizes(const Call& call) {
  Dims sizes = call[0].sizes();
  for (size_t i = 1; i < call.inputs.size(); ++i) {
    const Dims& other = call[i].sizes();
    if (other.empty() || other == sizes) continue;
    auto both = tensor::broadcast(sizes, other);
    if (!both) [[unlikely]] {
      std::string shapes;
      for (size_t k = 0; k < call.inputs.size(); ++k) {
        shapes +=
            base::text(k ? ", " : "", call.op.sig.parameters[k].name, " is ", call[k].sizes());
      }
      call.fail(ErrorKind::shape, "the shapes do not broadcast; ", shapes);
    }
    sizes = std::move(*both);
  }
  return sizes;
}

}  // namespace

void infer_elementwise(Call& call, Result result, int masks) {
  for (int i = 0; i < masks; ++i) {
    call.require(call[i].dtype() == DType::boolean, ErrorKind::dtype,
                 call.op.sig.parameters[i].name, " must be a bool tensor, got ",
                 tensor::name_of(call[i].dtype()));
  }
  DType compute = common_dtype(call, masks);
  if (result == Result::floating && !tensor::is_floating(compute)) compute = tensor::default_dtype;
  if (compute == DType::boolean && result == Result::counted) compute = DType::i64;
  if (compute == DType::boolean && result == Result::numeric) [[unlikely]] {
    call.fail(ErrorKind::dtype, "is not supported for bool tensors; use logical or bitwise ops");
  }
  const Domain domain = call.op.run.formula.domain;
  if (domain == Domain::floats && !tensor::is_floating(compute)) [[unlikely]] {
    call.fail(ErrorKind::dtype, "needs floating-point numbers, got ", tensor::name_of(compute));
  }
  if (domain == Domain::integers && tensor::is_floating(compute)) [[unlikely]] {
    call.fail(ErrorKind::dtype, "needs integers or bool, got ", tensor::name_of(compute));
  }
  call.compute = compute;
  const DType out = result == Result::boolean ? DType::boolean
                    : result == Result::first ? call[0].dtype()
                                              : compute;
  call.add_output(common_sizes(call), out);
}

void infer(Call& call) {
  if (call.op.shape.function) {
    call.op.shape.function(call);
  } else {
    infer_elementwise(call, call.op.shape.result, call.op.shape.masks);
  }
}

namespace {

// Errors of parts name the composite too: that is what the user called.
Values run_composite(const Call& call) {
  try {
    return call.op.run.composite(call);
  } catch (const base::Error& error) {
    if (error.message().starts_with(call.op.name)) throw;
    base::fail(error.kind(), call.op.name, ": ", error.message());
  }
}

const Executor& executor() { return modes.executor ? *modes.executor : *host.eager; }

}  // namespace

Need need_of(std::span<const Value> inputs) {
  Need need;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i]) continue;
    need.defined |= bit_of(i);
    if (inputs[i]->requires_grad) need.needs |= bit_of(i);
  }
  return need;
}

namespace {

// Why results have no gradient, for messages much later.
void mark_cut(std::span<const Value> inputs, std::span<const Value> outputs, bool had_gradients,
              Cut why) {
  Cut cut = Cut::none;
  Position at = 0;
  if (had_gradients) {
    cut = why;
    at = current_position();
  } else {
    for (const Value& input : inputs) {
      if (input && input->cut != Cut::none) {
        cut = input->cut;
        at = input->cut_at;
        break;
      }
    }
  }
  if (cut == Cut::none) return;
  for (const Value& output : outputs) {
    output->cut = cut;
    output->cut_at = at;
  }
}

void add_edges(Node& node, std::span<const Value> inputs) {
  node.input_count = static_cast<uint32_t>(inputs.size());
  node.edges.reserve(inputs.size());
  for (const Value& input : inputs) {
    Edge& edge = node.edges.emplace_back();
    if (!input || !input->requires_grad) continue;
    edge = {input->producer, input->output, input->row};
  }
}

void add_metas(Node& node, std::span<const Value> inputs, std::span<const Value> outputs) {
  for (const Value& output : outputs) node.outputs.emplace_back(output.sizes(), output.dtype());
  bool uniform = !outputs.empty();
  // Element-wise rules ask only for the shapes of inputs that need a gradient.
  const bool pointwise = node.op && node.op->pointwise() && !modes.save_hooks;
  for (const Value& input : inputs) {
    if (!input || (pointwise && !input->requires_grad)) continue;
    uniform = uniform && input.dtype() == outputs[0].dtype() && input.sizes() == outputs[0].sizes();
  }
  if (uniform) return;
  node.inputs.reserve(inputs.size());
  for (const Value& input : inputs) {
    node.inputs.push_back(input ? Meta{input.sizes(), input.dtype()} : Meta{{}, DType::f32});
  }
}

void keep_values(Node& node, std::span<const Value> outputs) {
  node.extra().kept = std::make_unique<KeptValues>();
  for (const Value& output : outputs) node.extras->kept->outputs.push_back(output.array());
}

// Metas have no memory, and so no versions.
uint32_t version_of(const Array& array) { return array.storage ? array.storage->version : 0; }

// A part of a batch: whatever is made of rows has rows, and all rows share the rest.
void mark_rows(Node& node, std::span<const Value> inputs) {
  uint32_t stacked = 0;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i] && inputs[i]->has_rows) stacked |= bit_of(i);
  }
  node.is_shared = !stacked;
  if (!stacked) return;
  node.extra().rows = std::make_unique<Rows>();
  node.extras->rows->table = *modes.rows;
  node.extras->rows->stacked = stacked;
}

void attach(const Op& op, const Attributes& attributes, std::span<const Value> inputs,
            std::span<Value> outputs, Need need, bool in_place, bool uniform = false) {
  const GradientPlan& plan =
      plan_gradient(op, attributes, inputs, outputs, need.needs, need.defined);
  base::Ref<Node> node(new Node(&op, current_position()));
  node->attributes = attributes;
  node->plan = &plan;
  add_edges(*node, inputs);
  if (uniform) {
    node->outputs.emplace_back(outputs[0].sizes(), outputs[0].dtype());
  } else {
    add_metas(*node, inputs, outputs);
  }
  for (size_t i = 0; plan.saved_inputs && i < inputs.size(); ++i) {
    if ((plan.saved_inputs & bit_of(i)) && inputs[i]) {
      save(*node, inputs[i], false, i, version_of(inputs[i].array()));
    }
  }
  for (size_t i = 0; plan.saved_outputs && i < outputs.size(); ++i) {
    if (plan.saved_outputs & bit_of(i)) {
      const Array& array = outputs[i].array();
      // Its producer is this very node, so only the array is kept: no cycle.
      const Value kept = without_history(outputs[i]);
      if (modes.tracer) modes.tracer->alias(kept, outputs[i]);
      save(*node, kept, true, i, version_of(array) + (in_place ? 1 : 0));
    }
  }
  if (modes.keep_values) keep_values(*node, outputs);
  if (modes.rows) [[unlikely]]
    mark_rows(*node, inputs);
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!tensor::is_floating(outputs[i].dtype())) continue;
    outputs[i]->producer = node;
    outputs[i]->output = static_cast<uint32_t>(i);
    outputs[i]->requires_grad = true;
  }
}

}  // namespace

bool needs_gradient(const Call& call, Need need, std::span<const Value> outputs) {
  return modes.grad && need.needs && call.op.differentiable() &&
         std::any_of(outputs.begin(), outputs.end(),
                     [](const Value& output) { return tensor::is_floating(output.dtype()); });
}

void mark_outputs(const Call& call, std::span<Value> outputs, Need need) {
  if (!needs_gradient(call, need, outputs)) {
    const Cut why = !modes.grad                ? Cut::no_grad
                    : call.op.name == "detach" ? Cut::detach
                    : outputs.empty() || tensor::is_floating(outputs[0].dtype())
                        ? Cut::not_differentiable
                        : Cut::integer;
    mark_cut(call.inputs, outputs, need.needs != 0, why);
  }
  if (modes.inference) {
    for (const Value& output : outputs)
      output->inference = !call.op.is_view() || call[0]->inference;
  }
  if (modes.rows) [[unlikely]] {
    const bool has_rows = std::any_of(call.inputs.begin(), call.inputs.end(),
                                      [](const Value& input) { return input && input->has_rows; });
    for (const Value& output : outputs) output->has_rows = has_rows;
  }
  if (call.op.is_view()) {
    const auto view = base::make_ref<ViewOf>(call[0], call.op, call.attributes);
    for (size_t i = 0; i < outputs.size(); ++i) {
      outputs[i]->view = view;
      outputs[i]->view_output = static_cast<uint32_t>(i);
    }
  }
}

namespace {

void finish(const Call& call, std::span<Value> outputs, bool in_place) {
  if (modes.tracer) modes.tracer->note(call, outputs, current_position());
  const Need need = need_of(call.inputs);
  if (needs_gradient(call, need, outputs)) {
    attach(call.op, call.attributes, call.inputs, outputs, need, in_place);
  }
  mark_outputs(call, outputs, need);
}

// Whether its numbers come from an engine: the next op's come after them.
bool draws_now(const Op& op, const Attributes& attributes) {
  for (size_t i = 0; i < attributes.size(); ++i) {
    const auto* key = std::get_if<RandomKey>(&attributes[i]);
    if (key && key->engine) return true;
  }
  return op.random && attributes.size() == 0;
}

// Whether this call can be left for later: its shape does not depend on values, and nobody watches
// what it saves.
bool can_wait(const Op& op, const Attributes& attributes) {
  return modes.leaves_pending() && op.run.kind != Run::Kind::by_value &&
         !(modes.observer && modes.observer->at_once) && !(op.random && draws_now(op, attributes));
}

// A view of what is there already costs nothing, and reading it waits for nobody. (Weights are
// known by what they are computed from, so views of them wait; where other tensors may write there,
// or NumPy may, a view must not be computed with others: it would be a copy.)
bool must_alias(const Op& op, std::span<const Value> inputs) {
  if (!op.is_view() || !inputs[0].array().storage) return false;
  const ValueData& from = *inputs[0].get();
  if (from.array.storage->is_exposed()) return true;
  if (modes.grad && from.requires_grad) return false;
  const bool is_weight = from.requires_grad && from.producer && from.producer->is_leaf();
  return !is_weight || from.array.storage->aliased();
}

// Memory of others may change before a pending op reads it: it reads a copy. One copy serves for
// as long as it is the same.
Value snapshot(const Value& value) {
  const Array& array = value.array();
  Value& kept = snapshot_of(*array.storage);
  const int64_t bytes = array.count() * tensor::item_size(array.dtype);
  const bool same = kept && kept.array().dtype == array.dtype && kept.sizes() == array.sizes &&
                    kept->producer == value->producer && kept->output == value->output &&
                    kept->row == value->row && array.is_contiguous() &&
                    std::memcmp(kept.array().data(), array.data(), bytes) == 0;
  if (!same) {
    kept = Value(own_memory(value));
    kept->take_history(*value.get());
  }
  return kept;
}

void keep_from_change(std::span<Value> inputs) {
  for (Value& input : inputs) {
    if (input && input.array().storage && input.array().storage->is_exposed())
      input = snapshot(input);
  }
}

Values record_pending(const Call& call) {
  Values inputs(call.inputs.begin(), call.inputs.end());
  keep_from_change(std::span(inputs.data(), inputs.size()));
  base::Ref<Pending> pending(new Pending(call.op, call.attributes, inputs, current_position()));
  pending->compute = call.compute;
  Values outputs;
  for (const Array& array : call.outputs) {
    Value& output =
        outputs.emplace_back(Array(nullptr, array.sizes, array.strides, 0, array.dtype));
    pending->add_output(output, static_cast<uint32_t>(pending->outputs.size()));
  }
  const Need need = need_of(call.inputs);
  const bool grad = needs_gradient(call, need, outputs);
  int64_t bytes = 0;
  for (const Value& output : outputs) {
    output->requires_grad = grad && tensor::is_floating(output.dtype());
    if (!call.op.is_view()) bytes += output.count() * tensor::item_size(output.dtype());
  }
  mark_outputs(call, std::span(outputs.data(), outputs.size()), need);
  begin_strand(*pending);
  count_bytes(*pending, bytes);
  return outputs;
}

// A cell's call: what it gives is known.
Values record_cell(const ProgramOp& op, std::span<const Value> inputs) {
  base::Ref<Pending> pending(new Pending(op, {}, inputs, current_position()));
  keep_from_change(std::span(pending->inputs.data(), pending->inputs.size()));
  const Need need = need_of(inputs);
  const bool grad = modes.grad && (need.needs || op.has_weights) && op.gives_floats;
  Values outputs;
  for (size_t i = 0; i < op.results.size(); ++i) {
    Value& output =
        outputs.emplace_back(base::Ref<ValueData>(new ValueData(nullptr, op.results[i])));
    pending->add_output(output, static_cast<uint32_t>(i));
    output->requires_grad = grad && ((op.reaches[i] & need.needs) != 0 || op.reaches_weights[i]) &&
                            tensor::is_floating(op.results[i].dtype);
  }
  if (!grad || modes.inference)
    mark_outputs(Call(op, {}, inputs), std::span(outputs.data(), outputs.size()), need);
  begin_strand(*pending);
  count_bytes(*pending, op.bytes);
  return outputs;
}

// Up to here an element-wise op costs more around the loop than in it.
constexpr int64_t small_count = 256;

template <class T>
void spread(const Array& number, void* tile, int64_t count) {
  const T value = number.dtype == DType::f64   ? static_cast<T>(*number.as<double>())
                  : number.dtype == DType::i64 ? static_cast<T>(*number.as<int64_t>())
                                               : static_cast<T>(*number.as<bool>());
  std::fill_n(static_cast<T*>(tile), count, value);
}

// Small models live on this: element-wise ops over float tensors of one shape that lie in order,
// and numbers, without the general machinery. Empty: not such a case. Gives what it would give.
Value record_small(const Op& op, std::span<const Value> inputs) {
  if (modes.executor || modes.tracer || modes.observer || modes.inference || modes.lazy ||
      modes.rows || op.shape.masks != 0 || op.shape.function ||
      op.shape.result >= Result::boolean || inputs.size() > 3) {
    return {};
  }
  const ValueData* like = inputs[0].get();
  if (like->is_number && inputs.size() > 1) like = inputs[1].get();
  const Array& shape = like->array;
  if (shape.dtype > DType::f64 || like->is_number) return {};
  const BlockFunction block = op.blocks[shape.dtype == DType::f64];
  if (!block) return {};  // no formula for floats: the general way says so
  const int64_t count = shape.count();
  if (count > small_count || !shape.is_contiguous() || !shape.storage) return {};
  alignas(64) char tiles[2][small_count * 8];
  const void* pointers[3];
  Need need;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const ValueData& input = *inputs[i].get();
    need.defined |= 1u << i;
    if (input.requires_grad) need.needs |= 1u << i;
    if (input.is_number) {
      if (i == 2) return {};
      pointers[i] = tiles[i];
      shape.dtype == DType::f32 ? spread<float>(input.array, tiles[i], count)
                                : spread<double>(input.array, tiles[i], count);
    } else if (input.array.dtype == shape.dtype && input.array.sizes == shape.sizes &&
               input.array.is_contiguous() && input.array.storage) {
      pointers[i] = input.array.data();
    } else {
      return {};
    }
  }
  Value output(base::Ref<ValueData>(
      new ValueData(tensor::Storage::allocate(count * tensor::item_size(shape.dtype)), shape)));
  block(output.array().data(), pointers, count);
  if (modes.grad && need.needs && op.differentiable()) {
    attach(op, {}, inputs, std::span(&output, 1), need, false, !modes.save_hooks);
  } else {
    mark_cut(inputs, std::span(&output, 1), need.needs != 0,
             modes.grad ? Cut::not_differentiable : Cut::no_grad);
  }
  return output;
}

// The same for later: element-wise ops over float tensors of one shape, and numbers. Empty: not
// such a case.
Value record_small_pending(const Op& op, std::span<const Value> inputs) {
  if (!can_wait(op, {}) || modes.inference || op.shape.masks != 0 || op.shape.function ||
      op.shape.result >= Result::boolean || inputs.size() > 3) {
    return {};
  }
  const ValueData* like = inputs[0].get();
  if (like->is_number && inputs.size() > 1) like = inputs[1].get();
  const Array& shape = like->array;
  if (shape.dtype > DType::f64 || like->is_number || !op.blocks[shape.dtype == DType::f64] ||
      !shape.is_contiguous()) {
    return {};
  }
  bool needs = false;
  for (const Value& value : inputs) {
    const ValueData& input = *value.get();
    needs = needs || input.requires_grad;
    if (input.is_number) continue;
    if (input.array.dtype != shape.dtype || input.array.sizes != shape.sizes ||
        (input.array.storage && input.array.storage->is_exposed())) {
      return {};
    }
  }
  base::Ref<Pending> pending(new Pending(op, {}, inputs, current_position()));
  pending->compute = shape.dtype;
  Value output(base::Ref<ValueData>(new ValueData(nullptr, shape)));
  pending->add_output(output, 0);
  if (modes.grad && needs && op.differentiable()) {
    output->requires_grad = true;
  } else {
    mark_cut(inputs, std::span(&output, 1), needs,
             modes.grad ? Cut::not_differentiable : Cut::no_grad);
  }
  begin_strand(*pending);
  count_bytes(*pending, output.count() * tensor::item_size(output.dtype()));
  return output;
}

}  // namespace

Value record_pointwise(const Op& op, std::span<const Value> inputs) {
  if (modes.vmap) [[unlikely]]
    return std::move(record(op, inputs)[0]);
  if (modes.lazy && !modes.observer) [[unlikely]] {
    if (modes.leaves_pending()) {
      if (Value next = record_in_strand(op, inputs)) return next;
    }
    if (Value small = record_small_pending(op, inputs)) return small;
    return std::move(record(op, inputs)[0]);
  }
  if (Value small = record_small(op, inputs)) return small;
  return std::move(record(op, inputs)[0]);
}

namespace {

Values record_unseen(const Op& op, std::span<const Value> inputs, const Attributes& attributes) {
  Call call(op, attributes, inputs);
  if (op.is_composite()) return run_composite(call);
  const bool waits = can_wait(op, attributes) && !must_alias(op, inputs);
  if (op.is_program()) {
    const auto& cell = static_cast<const ProgramOp&>(op);
    return waits ? record_cell(cell, inputs) : cell.program.apply(inputs);
  }
  if (!waits && !modes.executor) {
    demand(inputs);
    if (modes.lazy && modes.fiber && !op.is_view()) [[unlikely]] {
      for (const Value& input : inputs) {
        if (input) note_read(modes.fiber, input);
      }
    }
  }
  if (waits && !modes.observer) {
    if (Values next = record_in_strand(op, inputs, attributes); !next.empty()) return next;
  }
  infer(call);
  if (waits) return record_pending(call);
  if (!op.is_view()) executor().run(call);
  Values outputs;
  for (Array& array : call.outputs) outputs.push_back(Value(std::move(array)));
  finish(call, std::span(outputs.data(), outputs.size()), false);
  return outputs;
}

// What only finds out shapes or makes a Program is no part of the run.
bool is_watched() { return modes.observer && !modes.executor && !modes.tracer && !modes.vmap; }

Values record_watched(const Op& op, std::span<const Value> inputs, const Attributes& attributes) {
  Observer* observer = modes.observer;
  // Of a composite its parts are seen, of a cell only if somebody wants to.
  if (op.is_composite() || (op.is_program() && observer->parts))
    return record_unseen(op, inputs, attributes);
  const double begin = seconds_now();
  const uint64_t first_node = Node::next_sequence();
  const bool hides = op.is_program() && !can_wait(op, attributes);
  if (hides) modes.observer = nullptr;
  Values outputs;
  try {
    outputs = record_unseen(op, inputs, attributes);
  } catch (...) {
    modes.observer = observer;
    throw;
  }
  modes.observer = observer;
  observer->recorded({&op, op.name, attributes, inputs, outputs, begin, first_node});
  return outputs;
}

// Inside vmap: what depends on its rows runs for all of them at once, everything else outside.
Values record_in_vmap(const Op& op, std::span<const Value> inputs, const Attributes& attributes) {
  Call call(op, attributes, inputs);
  if (op.is_composite()) return run_composite(call);
  if (op.is_program()) return static_cast<const ProgramOp&>(op).program.apply(inputs);
  if (!modes.vmap->concerns(op, attributes, inputs)) {
    const OutsideVmap outside;
    return record(op, inputs, attributes);
  }
  infer(call);
  Values outputs = run_mapped(call);
  finish(call, std::span(outputs.data(), outputs.size()), false);
  return outputs;
}

}  // namespace

Values record(const Op& op, std::span<const Value> inputs, Attributes attributes) {
  if (modes.vmap) [[unlikely]]
    return record_in_vmap(op, inputs, attributes);
  if (is_watched()) [[unlikely]]
    return record_watched(op, inputs, attributes);
  return record_unseen(op, inputs, attributes);
}

Value record_one(const Op& op, std::span<const Value> inputs, std::vector<Attribute> attributes) {
  return std::move(record(op, inputs, Attributes(std::move(attributes)))[0]);
}

Value record_one(const Op& op, std::initializer_list<Value> inputs,
                 std::vector<Attribute> attributes) {
  return record_one(op, std::span(inputs.begin(), inputs.size()), std::move(attributes));
}

Values record(const Op& op, std::initializer_list<Value> inputs,
              std::vector<Attribute> attributes) {
  return record(op, std::span(inputs.begin(), inputs.size()), Attributes(std::move(attributes)));
}

// The inputs of an in-place op whose gradient reads memory that is about to be overwritten: those
// are copied first, with their history.
Values without_overwritten(const Op& op, const Attributes& attributes,
                           std::span<const Value> inputs, const Array& destination) {
  Values kept(inputs.begin(), inputs.end());
  const Need need = need_of(inputs);
  if (!modes.grad || !need.needs) return kept;
  uint32_t saved = UINT32_MAX;  // of a composite, any input may be saved by a part
  if (!op.is_composite()) {
    if (!op.differentiable()) return kept;
    Call call(op, attributes, inputs);
    infer(call);
    const Value output(call.outputs[0]);
    saved = plan_gradient(op, attributes, inputs, std::span(&output, 1), need.needs, need.defined)
                .saved_inputs;
  }
  for (size_t i = 0; i < kept.size(); ++i) {
    // The whole storage counts: its version is what backward looks at.
    if (!kept[i] || !(saved & bit_of(i)) || kept[i].array().storage != destination.storage)
      continue;
    kept[i] = Value(own_memory(inputs[i]));
    kept[i]->take_history(*inputs[i].get());
  }
  return kept;
}

Value record_into(const Op& op, std::span<const Value> given, Attributes attributes,
                  const Array& destination) {
  demand(given);
  if (Pending::live() > 0) [[unlikely]]
    run_readers(*destination.storage);
  ModesGuard guard;
  modes.lazy = false;
  modes.vmap = nullptr;
  const double begin = is_watched() ? seconds_now() : 0;
  const uint64_t first_node = begin ? Node::next_sequence() : 0;
  if (begin) modes.observer->will_write(given);
  const Values inputs = without_overwritten(op, attributes, given, destination);
  Call call(op, attributes, inputs);
  if (destination.storage->read_only()) {
    call.fail(ErrorKind::value,
              "the memory written to is read-only (it came from a read-only array)");
  }
  if (!destination.is_non_overlapping()) {
    call.fail(ErrorKind::gradient,
              "unsupported operation: more than one element of the written-to tensor refers to a "
              "single memory location. Please clone() the tensor before performing the operation.");
  }
  Array result;
  const Value* node_source = nullptr;
  Value composed;
  if (op.is_composite()) {
    composed = run_composite(call)[0];
    result = composed.array();
    node_source = &composed;
  } else {
    infer(call);
    result = call.outputs[0];
  }
  if (result.sizes != destination.sizes) {
    call.fail(ErrorKind::shape, "output with shape ", destination.sizes,
              " doesn't match the broadcast shape ", result.sizes);
  }
  if (tensor::category_of(result.dtype) > tensor::category_of(destination.dtype)) {
    call.fail(ErrorKind::dtype, "result type ", tensor::name_of(result.dtype),
              " can't be cast to the desired output type ", tensor::name_of(destination.dtype));
  }
  bool direct = op.pointwise() && result.dtype == destination.dtype;
  for (const Value& input : inputs) {
    if (!direct) break;
    const Array& array = input.array();
    direct = !tensor::may_overlap(array, destination) ||
             (array.offset == destination.offset && array.sizes == destination.sizes &&
              array.strides == destination.strides && array.dtype == destination.dtype);
  }
  if (direct) {
    call.outputs[0] = destination;
    executor().run(call);
  } else {
    if (!op.is_composite()) {
      if (!op.is_view()) executor().run(call);
      result = call.outputs[0];
    }
    host.copy(result, destination);
    if (!op.is_composite()) call.outputs[0] = destination;
  }
  Value output(destination);
  if (node_source) {
    output->take_history(*composed.get());
  } else {
    finish(call, std::span(&output, 1), true);
  }
  destination.storage->version += 1;
  destination.storage->written_at = current_position();
  destination.storage->written_by = &op;
  if (begin) [[unlikely]] {
    modes.observer->recorded(
        {&op, op.name + "_", attributes, given, std::span(&output, 1), begin, first_node, true});
  }
  return output;
}

void leave_batch(const Value& row) {
  if (!row->in_batch) return;
  const tensor::Storage& shared = *row.array().storage;
  const bool is_whole = shared.bytes() == row.count() * tensor::item_size(row.dtype());
  if (is_whole && !row->is_alike) {
    row->in_batch = false;
    return;
  }
  Array own = own_memory(row);
  own.storage->version = shared.version;
  row->array = std::move(own);
  row->in_batch = row->is_alike = false;
  ++values_moved;
}

Value detach(const Value& value, Cut why) {
  static const Op& alias = *find_op("alias");
  Value result;
  if ((value->pending && modes.lazy) || value->mapped) {
    ModesGuard guard;
    modes.grad = false;
    modes.observer = nullptr;
    result = std::move(record(alias, std::span(&value, 1))[0]);
    result->view.reset();
    // Who writes either writes both.
    for (Mapped* at = result->mapped.get(); at; at = at->rows->mapped.get())
      at->memory = TensorRef(new TensorData(at->rows));
  } else {
    demand(value);
    leave_batch(value);
    result = Value(value.array());
    result.array().storage->aliased() = true;
  }
  result->inference = value->inference;
  const std::span<const Value> from(&value, 1), to(&result, 1);
  mark_cut(from, to, value->requires_grad, why);
  if (is_watched()) [[unlikely]]
    modes.observer->recorded(
        {&alias, "detach", {}, from, to, seconds_now(), Node::next_sequence()});
  return result;
}

base::Ref<Node> make_leaf_node(TensorData* tensor) {
  base::Ref<Node> node(new Node(nullptr, current_position()));
  node->extra().leaf = std::make_unique<Leaf>();
  node->extra().leaf->tensor = tensor;
  return node;
}

base::Ref<Node> attach_custom(std::unique_ptr<CustomRule> rule, std::span<const Value> inputs,
                              std::span<Value> outputs, Position position) {
  base::Ref<Node> node(new Node(nullptr, position));
  add_edges(*node, inputs);
  add_metas(*node, inputs, outputs);
  node->extra().custom = std::move(rule);
  if (modes.keep_values) keep_values(*node, outputs);
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!tensor::is_floating(outputs[i].dtype())) continue;
    outputs[i]->producer = node;
    outputs[i]->output = static_cast<uint32_t>(i);
    outputs[i]->requires_grad = true;
  }
  if (is_watched()) [[unlikely]] {
    modes.observer->recorded(
        {nullptr, node->name(), {}, inputs, outputs, seconds_now(), node->sequence - 1});
  }
  return node;
}

}  // namespace weft::graph
