// TensorData: what the user holds. A mutable handle on a current Value; in-place ops rebind it.
#pragma once

#include <vector>

#include "weft/graph/modes.h"
#include "weft/graph/node.h"
#include "weft/graph/value.h"

namespace weft::graph {

uint32_t vmap_now();  // which call of vmap runs now; 0: none

struct TensorData final : base::RefCounted<TensorData>, base::Pooled<TensorData> {
  explicit TensorData(Value value) { hold(std::move(value)); }
  ~TensorData();
  static void destroy(TensorData* tensor) noexcept { delete tensor; }

  // The current Value. A view whose base was written since is made again from the base.
  const Value& value() {
    if (base_ && (generation_ != base_->generation_ || is_copy())) [[unlikely]]
      refresh();
    return value_;
  }
  const Array& array() const { return value_.array(); }  // memory does not move when rebound
  const Value& last_value() const { return value_; }     // without looking at the base
  bool requires_grad() { return value()->requires_grad; }
  bool is_leaf() {
    const Value& current = value();
    if (current->pending) return !current->requires_grad;
    return !current->producer || current->producer->is_leaf();
  }
  // Turns a value without history into a leaf that accumulates gradients, or back.
  void set_requires_grad(bool wanted);
  // Replaces the value, and with it what views of this tensor are views of.
  void rebind(Value value) {
    if (value_->producer != value->producer) stop_being_leaf();
    hold(std::move(value));
    ++generation_;
  }
  // Takes a view of itself as its value (`x.unsqueeze_(0)`); what views it has stay as they are.
  void become(Value view) { hold(std::move(view)); }
  // Points this tensor at other memory altogether (`p.data = ...`).
  void replace(Value value);
  // Declares this tensor a view of `parent`, if its Value was made from parent's by views.
  void set_view_of(TensorData& parent);
  TensorData* base() const { return base_.get(); }
  // The ops that lead from the base's Value to this one's, base first.
  struct ViewStep {
    const Op* op;
    Attributes attributes;
    uint32_t output;
  };
  std::vector<ViewStep> view_chain() const;
  bool is_one_of_several_views() const;

  base::Ref<TensorData> grad;
  void* wrapper = nullptr;  // bind's Python object, borrowed
  uint64_t retained = 0;    // the hook of retain_grad at its value's node; 0: none
  bool tied = false;        // to others that must share its memory (graph/ties.h)
  uint32_t made_in =
      modes.vmap ? vmap_now() : 0;  // the call of vmap inside which it was made; 0: none

 private:
  // Of a view: whether it was computed with others, as a copy, of what other tensors may write to.
  bool is_copy() const {
    const auto &own = array().storage, &whole = base_->array().storage;
    return own && whole && own != whole && whole->aliased() && root_ == base_->value_;
  }
  void refresh();
  // Gradients of the leaf that it was no longer go to it.
  void stop_being_leaf();
  // The gradient that is kept is that of the value the tensor has now.
  void move_retained(Value& value);
  void hold(Value value) {
    if (retained) [[unlikely]]
      move_retained(value);
    if (value_) --value_->handles;
    value_ = std::move(value);
    if (value_) ++value_->handles;
  }

  Value value_;
  base::Ref<TensorData> base_;
  Value root_;               // the base's Value that value_ was made from
  uint32_t generation_ = 0;  // of a base: bumped when rebound; of a view: the base's when made
};

using TensorRef = base::Ref<TensorData>;

// What is tied to a tensor no longer is: it dies.
void leave_ties(const TensorData& tensor);

// A row of a batch lies in memory with its neighbours, and a view of it may have been computed with
// others, as a copy: gives the tensor, or what it is a view of, memory of its own.
void leave_batch(TensorData& tensor);
// The tensor's value where its memory is what a user takes it for: a view's is a part of its
// base's.
Value in_own_place(TensorData& tensor);

// A copy of the value's memory, in the same order: a row of a batch shares its memory with its
// neighbours. What is pending may have been recorded as a view, which must stay possible.
Array own_memory(const Value& value);

// Applies the steps to another value of the base's shape.
Value apply_views(const std::vector<TensorData::ViewStep>& chain, Value value);

}  // namespace weft::graph
