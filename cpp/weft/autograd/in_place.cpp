#include "weft/autograd/in_place.h"

#include <algorithm>
#include <utility>

#include "ops.h"
#include "weft/graph/modes.h"
#include "weft/graph/pending.h"
#include "weft/graph/program.h"
#include "weft/graph/record.h"
#include "weft/graph/shared_writes.h"
#include "weft/graph/ties.h"
#include "weft/graph/vmap.h"
#include "weft/tensor/promotion.h"

namespace weft::autograd {
namespace {

using base::ErrorKind;
using graph::modes;
using graph::TensorData;
using graph::Value;
using graph::Values;
using ViewChain = std::vector<TensorData::ViewStep>;

bool is_by_strides(const TensorData::ViewStep& step) { return step.op == &ops::op_strided_view; }

// What a chain of views shows of a tensor that has the base's shape and lies in memory in its own
// way: views by strides see it where the base's elements lay.
Value look_through(const ViewChain& chain, Value value) {
  for (const TensorData::ViewStep& step : chain) {
    if (!is_by_strides(step)) {
      value = apply_views({step}, value);
      continue;
    }
    const graph::Arguments view(*step.op, step.attributes);
    value = ops::restride(value, view.integers("input_stride"), view.integer("input_offset"),
                          view.integers("size"), view.integers("stride"),
                          view.integer("storage_offset"));
  }
  return value;
}

// Which of the base's elements a chain of views shows.
Value places_of(const Value& base, const ViewChain& chain) {
  graph::ModesGuard guard;
  modes.lazy = modes.grad = false;
  if (std::ranges::any_of(chain, [](const auto& step) { return step.op == &ops::op_view_dtype; })) {
    base::fail(ErrorKind::unsupported,
               "vmap: writing through a view of another dtype is not supported inside vmap");
  }
  // Counted from 1: views by strides show 0 where the base has no element.
  const Value all = ops::arange(int64_t{1}, int64_t{1}, base.count(), graph::DType::i64);
  const Value shown = look_through(chain, ops::reshape(all, base.sizes()));
  if (!shown.array().is_non_overlapping()) {
    base::fail(
        ErrorKind::gradient,
        "unsupported operation: more than one element of the written-to tensor refers to a "
        "single memory location. Please clone() the tensor before performing the operation.");
  }
  const Value places = ops::sub(ops::reshape(shown, {-1}), Value(int64_t{1}));
  if (std::ranges::count(std::span(places.array().as<int64_t>(), places.count()), -1)) {
    base::fail(ErrorKind::gradient,
               "unsupported operation: the written-to tensor is a view by strides of memory that "
               "is not its base's. Please clone() the tensor before performing the operation.");
  }
  return places;
}

// The base with another part in place of what a chain of views shows of it.
Value with_part(const Value& base, const ViewChain& chain, const Value& part) {
  const Value flat = ops::index_put(ops::reshape(base, {-1}), {places_of(base, chain)},
                                    ops::reshape(part, {-1}), {0});
  return ops::reshape(flat, base.sizes());
}

// The history of a base after one of its views was written: inputs are the old base and what was
// written.
class ViewWrite : public graph::CustomRule {
 public:
  ViewWrite(ViewChain chain, const Value& base) : chain_(std::move(chain)), sizes_(base.sizes()) {}
  const char* name() const override { return "CopySlices"; }
  void release() noexcept override {}

  Values backward(graph::Node& node, const Values& gradients) override {
    Values results(2);
    const Value gradient = ops::contiguous(gradients[0]);
    if (node.edges[0].node) results[0] = ops::where(mask(), gradient, 0.0);
    if (node.edges[1].node) results[1] = look_through(chain_, gradient);
    return results;
  }

 private:
  // True where the base kept its old values.
  Value mask() const {
    graph::ModesGuard guard;
    modes.grad = false;
    const Value result = ops::ones(sizes_, graph::DType::boolean);
    if (std::none_of(chain_.begin(), chain_.end(), is_by_strides)) {
      const Value part = apply_views(chain_, result);
      const Value operands[] = {part, graph::number_value_bool(false)};
      graph::record_into(ops::op_copy, operands, {}, part.array());
      return result;
    }
    return with_part(result, chain_, ops::zeros({1}, graph::DType::boolean));
  }

  ViewChain chain_;
  graph::Dims sizes_;
};

}  // namespace

void refuse_what_would_be_wrong(TensorData& tensor, std::string_view name) {
  const Value& value = tensor.value();
  if (value->inference && !modes.inference) {
    base::fail(
        ErrorKind::gradient, name,
        "_: Inplace update to inference tensor outside InferenceMode is not allowed. You can "
        "make a clone to get a normal tensor before doing inplace update.");
  }
  if (!modes.grad) return;
  if (value->requires_grad && value->producer->is_leaf()) {
    base::fail(ErrorKind::gradient, name,
               "_: a leaf Variable that requires grad is being used in an in-place operation.");
  }
  TensorData* base = tensor.base();
  if (base && base->requires_grad() && base->is_leaf()) {
    base::fail(ErrorKind::gradient, name,
               "_: a view of a leaf Variable that requires grad is being used in an in-place "
               "operation.");
  }
  if (base && base->requires_grad() && !value->requires_grad) {
    base::fail(ErrorKind::gradient, name,
               "_: A view was created in no_grad mode and is being modified inplace with grad mode "
               "enabled. Make the view where gradients are recorded, or write under no_grad().");
  }
  if (base && value->requires_grad && tensor.is_one_of_several_views()) {
    base::fail(
        ErrorKind::gradient, name, "_: Output 0 of ", value->producer->name(),
        " is a view and is being modified inplace. This view is the output of a function "
        "that returns multiple views. Such functions do not allow the output views to be "
        "modified inplace. You should replace the inplace operation by an out-of-place one.");
  }
}

// What has no memory yet cannot be written over: this takes its place. Views of the tensor are made
// again from it when they are next used.
static Value replacement(const Value& old, const graph::Op& op, const Values& inputs,
                         graph::Attributes attributes) {
  Value written = graph::record(op, inputs, std::move(attributes))[0];
  if (written.sizes() != old.sizes()) {
    base::fail(ErrorKind::shape, op.name, "_: output with shape ", old.sizes(),
               " doesn't match the broadcast shape ", written.sizes());
  }
  if (tensor::category_of(written.dtype()) > tensor::category_of(old.dtype())) {
    base::fail(ErrorKind::dtype, op.name, "_: result type ", tensor::name_of(written.dtype()),
               " can't be cast to the desired output type ", tensor::name_of(old.dtype()));
  }
  return written.dtype() == old.dtype() ? written : ops::cast(written, old.dtype());
}

// Inside vmap a tensor has no memory, or gets rows by being written. Memory that others see outside
// is written there.
static void replace_mapped(TensorData& tensor, const graph::Op& op, const Values& inputs,
                           graph::Attributes attributes, const graph::Vmap& vmap) {
  TensorData* base = tensor.base();
  TensorData& whole = base ? *base : tensor;
  const Value old = whole.value();
  const bool is_shared = !old->mapped && old.array().storage && old.array().storage->aliased();
  if (whole.made_in < vmap.id || is_shared) {
    base::fail(ErrorKind::unsupported, "vmap: ", op.name,
               "_ would write rows into a tensor that was made outside of the function and has "
               "none; make it inside, or return what is to be written");
  }
  const graph::TensorRef memory = vmap.rows_of(old) ? old->mapped->memory : graph::TensorRef();
  // An argument that has a gradient outside is a leaf inside, which may be written.
  refuse_what_would_be_wrong(memory && memory->requires_grad() ? *memory : tensor, op.name);
  Value written = replacement(tensor.value(), op, inputs, std::move(attributes));
  if (base) written = with_part(old, tensor.view_chain(), written);
  if (!memory) return whole.rebind(modes.grad ? std::move(written) : with_history_of(written, old));
  const Value* rows = vmap.rows_of(written);
  const graph::OutsideVmap outside(vmap);
  modes.lazy = false;  // other rows may show the same memory
  apply_in_place(*memory, ops::op_copy, {memory->value(), rows ? *rows : written}, {});
  Value now = vmap.enter(memory->value(), memory);
  now->take_history(modes.grad ? *written.get() : *old.get());
  whole.rebind(std::move(now));
}

// Runs what may change the tensor's value; inputs that are its old value become its new one.
template <class Change>
static void keep_up(TensorData& tensor, Values& inputs, const Change& change) {
  if (!graph::lazy_was_used()) return;
  const Value old = tensor.value();
  change(tensor);
  for (Value& input : inputs) {
    if (input == old) input = tensor.value();
  }
}

// Whether a write can wait, as the op without it would: the tensor gets what comes of it then.
static bool can_wait(TensorData& tensor, const Values& inputs) {
  if (!modes.lazy || tensor.base() || tensor.retained) return false;
  const Value& value = tensor.value();
  if (value->pending) return modes.grad || !tensor.requires_grad();
  // A loss that is added up, say. Nobody else sees this memory; what a model keeps, such as
  // averages, is no part of a graph and is written at once, or it would wait for ever.
  return modes.grad && !value->mapped && value.array().storage &&
         !value.array().storage->aliased() && !value.array().storage->is_exposed() &&
         std::any_of(inputs.begin(), inputs.end(), [](const Value& input) {
           return input && input->pending && input->requires_grad;
         });
}

void apply_in_place(TensorData& tensor, const graph::Op& op, Values inputs,
                    graph::Attributes attributes) {
  graph::refuse_in_program("writes in place");
  keep_up(tensor, inputs, graph::share_memory);
  if (can_wait(tensor, inputs)) {
    if (!tensor.value()->pending) refuse_what_would_be_wrong(tensor, op.name);
    return tensor.rebind(replacement(tensor.value(), op, inputs, std::move(attributes)));
  }
  Values concerned = inputs;
  concerned.push_back(tensor.value());
  if (const graph::Vmap* vmap = graph::concerned_vmap(op, attributes, concerned))
    return replace_mapped(tensor, op, inputs, std::move(attributes), *vmap);
  graph::ModesGuard guard;
  const bool is_lazy = std::exchange(modes.lazy, false);
  keep_up(tensor, inputs, [&](TensorData& one) {
    // Other examples may write it until what this write needs is there; but if that was computed
    // from the tensor, nobody may come in between.
    const tensor::Storage* storage = one.value().array().storage.get();
    if (is_lazy && modes.fiber && storage && graph::depend_on(inputs, *storage))
      modes.park = nullptr;
    graph::demand(inputs);
    while (one.value()->pending) graph::demand(one.value());
  });
  refuse_what_would_be_wrong(tensor, op.name);
  keep_up(tensor, inputs, graph::in_own_place);
  const Value old = graph::demand(tensor.value());
  tensor::Storage& storage = *old.array().storage;
  if (is_lazy) graph::refuse_lost_writes(storage, op);
  Value written = graph::record_into(op, inputs, std::move(attributes), old.array());
  graph::note_write(storage);
  if (modes.grad) take_written(tensor, std::move(written));
}

void take_written(TensorData& tensor, Value written) {
  const Value old = tensor.value();
  TensorData* base = tensor.base();
  if (!base) {
    if (written->requires_grad || old->requires_grad) tensor.rebind(std::move(written));
    return;
  }
  const Value base_old = base->value();
  if (!written->requires_grad && !base_old->requires_grad) return;
  const Value operands[] = {base_old, written};
  Value base_new(base_old.array());
  attach_custom(std::make_unique<ViewWrite>(tensor.view_chain(), base_old), operands,
                std::span(&base_new, 1), graph::current_position());
  base->rebind(std::move(base_new));
  if (tensor.retained) tensor.value();  // from now on the gradient of what was written
}

}  // namespace weft::autograd
