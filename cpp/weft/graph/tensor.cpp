#include "weft/graph/tensor.h"

#include <algorithm>

#include "weft/graph/modes.h"
#include "weft/graph/op.h"
#include "weft/graph/pending.h"
#include "weft/graph/record.h"

namespace weft::graph {

using base::ErrorKind;

TensorData::~TensorData() {
  if (tied) [[unlikely]]
    leave_ties(*this);
  stop_being_leaf();
  retained = 0;
  hold(Value());
  // A long chain of gradients goes one by one, not each inside the next.
  TensorRef next = std::move(grad);
  while (next && next->use_count() == 1) next = TensorRef(std::move(next->grad));
}

void TensorData::stop_being_leaf() {
  if (value_ && value_->producer && value_->producer->is_leaf() &&
      value_->producer->extras->leaf->tensor == this) {
    value_->producer->extras->leaf->tensor = nullptr;
  }
}

void TensorData::move_retained(Value& value) {
  settle(value);
  if (value_->producer == value->producer && value_->output == value->output &&
      value_->row == value->row)
    return;
  std::vector<OutputHook>& hooks = value_->producer->extra().retained;
  const auto found = std::ranges::find(hooks, retained, &OutputHook::id);
  if (found == hooks.end()) return;
  OutputHook hook = std::move(*found);
  hooks.erase(found);
  if (!value->producer || value->producer->is_leaf()) {
    retained = 0;
    return;
  }
  hook.output = value->output, hook.row = value->row;
  value->producer->extra().retained.push_back(std::move(hook));
}

void TensorData::set_requires_grad(bool wanted) {
  const Value& current = settle(value());
  if (current->requires_grad == wanted) return;
  // What was recorded before saw it as it was.
  if (Pending::live() > 0 && current.get()->use_count() > 1 && !current->mapped)
    run_readers(*current.array().storage);
  if (!wanted) {
    if (!is_leaf()) {
      base::fail(ErrorKind::gradient,
                 "you can only change requires_grad flags of leaf variables. If you want to use a "
                 "computed variable in a subgraph that doesn't require differentiation use "
                 "var_no_grad = var.detach().");
    }
    current->producer->extras->leaf->tensor = nullptr;
    current->producer.reset();
    current->requires_grad = false;
    return;
  }
  if (!tensor::is_floating(current.dtype())) {
    base::fail(ErrorKind::gradient,
               "only Tensors of floating point dtype can require gradients; this one is ",
               tensor::name_of(current.dtype()));
  }
  if (current->inference && !modes.inference) {
    base::fail(
        ErrorKind::gradient,
        "Setting requires_grad=True on inference tensor outside InferenceMode is not allowed.");
  }
  if (base_) {
    ModesGuard guard;
    modes.lazy = false;
    leave_batch(*this);
    value();  // made again from the base, if that has other memory now
  } else if (current->in_batch) {
    rebind(Value(own_memory(current)));
  }
  value_->producer = make_leaf_node(this);
  value_->output = 0;
  value_->row = ValueData::whole;  // it may have been one of a batch
  value_->requires_grad = true;
}

void leave_batch(TensorData& tensor) {
  TensorData& root = tensor.base() ? *tensor.base() : tensor;
  const Value shared = demand(root.value());
  if (!shared->in_batch && !tensor.value()->in_batch) return;
  leave_batch(shared);
  root.rebind(shared);
}

Array own_memory(const Value& value) {
  Array copy = Array::allocate_like(value.array());
  const Dims& strides = copy.strides;
  host.copy(without_repeats(value.array(), strides), without_repeats(copy, strides));
  return copy;
}

void TensorData::replace(Value value) {
  Value fresh(value.array());
  fresh->take_history(*value_.get());
  hold(std::move(fresh));
  base_.reset();
  root_ = Value();
  ++generation_;
}

void TensorData::set_view_of(TensorData& parent) {
  TensorRef base = parent.base_ ? parent.base_ : TensorRef(&parent);
  // A composite may have copied on the way: then there is no chain of views to the base.
  const ValueData* at = value_.get();
  while (at->view && at != parent.value_.get()) at = at->view->parent.get();
  if (at != parent.value_.get()) return;
  base_ = std::move(base);
  generation_ = base_->generation_;
  root_ = base_->value_;
}

std::vector<TensorData::ViewStep> TensorData::view_chain() const {
  std::vector<ViewStep> chain;
  for (const ValueData* at = value_.get(); at != root_.get() && at->view;
       at = at->view->parent.get()) {
    chain.push_back({at->view->op, at->view->attributes, at->view_output});
  }
  std::reverse(chain.begin(), chain.end());
  return chain;
}

bool TensorData::is_one_of_several_views() const {
  for (const ViewStep& step : view_chain()) {
    if (step.op->sig.returns_list) return true;
  }
  return false;
}

namespace {

// A view of `parent`, which is as it was but may lie in other memory, at the old view's place in
// the graph: with its hooks.
Value moved(const Value& old, const Value& parent) {
  ModesGuard guard;
  const ViewOf& view = *old->view;
  const bool pending = !old.array().storage;
  modes.grad = pending && old->requires_grad;  // as it was made
  modes.lazy = modes.lazy && pending;
  Value result = record(*view.op, std::span(&parent, 1), view.attributes)[old->view_output];
  if (pending) return result;
  result = Value(result.array());
  result->take_history(*old.get());
  if (!result->producer) result->row = ValueData::whole;
  result->view = old->view;
  result->view_output = old->view_output;
  result->in_batch = parent->in_batch;
  return result;
}

}  // namespace

void TensorData::refresh() {
  if (root_ == base_->value_ && root_.array().storage) {
    std::vector<Value> links;
    for (Value at = value_; at != root_ && at->view; at = at->view->parent) links.push_back(at);
    Value view = root_;
    for (size_t i = links.size(); i-- > 0;) view = moved(links[i], view);
    hold(std::move(view));
  } else {
    // The view belongs to the base's history, wherever it happens to be looked at again.
    ModesGuard guard;
    modes.grad = true;
    hold(apply_views(view_chain(), base_->value_));
    root_ = base_->value_;
  }
  generation_ = base_->generation_;
}

Value apply_views(const std::vector<TensorData::ViewStep>& chain, Value value) {
  for (const auto& step : chain) {
    value = record(*step.op, std::span(&value, 1), step.attributes)[step.output];
  }
  return value;
}

}  // namespace weft::graph
