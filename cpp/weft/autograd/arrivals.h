// Gradients under way in one backward: those that have arrived at nodes still to be visited. A
// heap of nodes by creation number: the youngest is next, and all its consumers are done by then.
#pragma once

#include <algorithm>
#include <memory>
#include <unordered_map>
#include <vector>

#include "ops.h"
#include "weft/autograd/accumulate.h"
#include "weft/autograd/rows.h"
#include "weft/graph/modes.h"
#include "weft/graph/pending.h"

namespace weft::autograd {

// Gradients that have arrived at a node, one per output.
struct Arrived {
  base::Ref<graph::Node> node;
  graph::Values gradients;
  graph::Values products;  // of a leaf: gradients that are products of rows, not multiplied yet
  int64_t waiting = 0;     // bytes of those rows
  uint32_t owned = 0;      // bit i: the memory of gradient i is ours to add into
  uint32_t closed = 0;     // references to the node through which no other backward can come
  // Of each output of a node with rows: those of them that have a gradient. Empty: all.
  std::vector<std::vector<bool>> rows;
  size_t partial = 0;  // how many outputs have it for some rows only

  bool all_rows() const { return partial == 0; }
  bool is_partial(size_t output) const { return partial > 0 && !rows[output].empty(); }
  bool has_row(size_t output, int32_t row) const {
    return gradients[output] && (!is_partial(output) || rows[output][row]);
  }

  // The gradient of an output, or of one row of it; nothing if none has arrived.
  graph::Value part(uint32_t output, int32_t row) const {
    if (row == graph::ValueData::whole) return gradients[output];
    return has_row(output, row) ? row_at(gradients[output], row) : graph::Value();
  }

  // Leaves an output's gradient to these rows, or to all of them.
  void set_rows(size_t output, std::vector<bool> those) {
    if (!all_rows()) partial -= !rows[output].empty();
    partial += !those.empty();
    if (rows.size() < gradients.size()) rows.resize(gradients.size());
    rows[output] = std::move(those);
  }
  void set_all_rows(size_t output) {
    if (is_partial(output)) set_rows(output, {});
  }

  void forget_rows() {
    partial = 0;
    rows.clear();
  }

  // Rows by the outputs of which they have a gradient: a rule is not to see zeros for the others.
  using Groups = std::vector<std::pair<std::vector<bool>, std::vector<int32_t>>>;
  Groups rows_by_outputs(size_t count) const {
    Groups groups;
    std::vector<bool> outputs(gradients.size());
    for (size_t r = 0; r < count; ++r) {
      bool any = false;
      for (size_t i = 0; i < outputs.size(); ++i)
        any |= outputs[i] = has_row(i, static_cast<int32_t>(r));
      if (!any) continue;
      auto group = groups.begin();
      while (group != groups.end() && group->first != outputs) ++group;
      if (group == groups.end()) group = groups.insert(group, {outputs, {}});
      group->second.push_back(static_cast<int32_t>(r));
    }
    return groups;
  }
};

class Arrivals {
 public:
  explicit Arrivals(graph::Modes& modes)
      : modes_(modes), id_(reinterpret_cast<const void*>(++backwards)) {}
  Arrivals(const Arrivals&) = delete;
  Arrivals& operator=(const Arrivals&) = delete;
  ~Arrivals() {
    // After an error some nodes still wait.
    for (const auto& [sequence, node] : queue_) take_slot(node);
  }

  bool empty() const { return queue_.empty(); }

  // Takes the youngest node out and passes it on.
  template <class Visit>
  void visit_next(const Visit& visit) {
    std::pop_heap(queue_.begin(), queue_.end());
    const uint32_t slot = take_slot(queue_.back().second);
    queue_.pop_back();
    if (!arrived_[slot]->products.empty()) multiply(*arrived_[slot]);
    visit(*arrived_[slot]);
    arrived_[slot]->gradients.clear();
    arrived_[slot]->node.reset();
    if (!arrived_[slot]->all_rows()) arrived_[slot]->forget_rows();
    free_.push_back(slot);
  }

  void send(const graph::Edge& edge, graph::Value gradient) {
    const auto& [node, output, row] = edge;
    if (gradient->pending && !node->is_leaf()) [[unlikely]]
      gradient = add_products({}, std::span(&gradient, 1));
    if (row != graph::ValueData::whole) [[unlikely]] {
      const int32_t from = 0;
      return send_rows(edge, std::span(&row, 1), ops::unsqueeze(gradient, 0), std::span(&from, 1));
    }
    Arrived& arrived = arrived_at(node);
    if (gradient->pending) [[unlikely]]
      return wait(arrived, std::move(gradient));
    graph::Value& sum = arrived.gradients[output];
    if (sum && modes_.grad && graph::records_rows() && node->has_rows(output)) [[unlikely]]
      return send_rows(edge, all_rows(sum), gradient, all_rows(sum));
    if (sum && is_row_by_row(arrived, output)) clear_rows(sum.array(), arrived.rows[output]);
    arrived.set_all_rows(output);
    if (!sum) {
      sum = std::move(gradient);
    } else if (!is_recorded() && (arrived.owned & own_bit(output))) {
      add_into(sum.array(), gradient.array());
    } else {
      sum = ops::add(sum, gradient);
      if (!is_recorded()) arrived.owned |= own_bit(output);
    }
  }

  // Gives every row that has a gradient of one output a gradient of the others, if only zeros.
  void fill_missing(Arrived& arrived) const {
    std::vector<bool> any(arrived.node->extras->rows->count());
    bool all = true;
    for (size_t r = 0; r < any.size(); ++r) {
      for (size_t i = 0; i < arrived.gradients.size() && !any[r]; ++i)
        any[r] = arrived.has_row(i, static_cast<int32_t>(r));
      all = all && any[r];
    }
    if (all) any.clear();
    for (size_t i = 0; i < arrived.gradients.size(); ++i) {
      graph::Value& sum = arrived.gradients[i];
      if (!sum || !arrived.is_partial(i)) continue;
      if (is_row_by_row(arrived, i)) {
        if (!(arrived.owned & own_bit(i))) sum = copy_rows(sum);
        clear_rows(sum.array(), arrived.rows[i]);
      }
      arrived.set_rows(i, any);
    }
  }

  // What refers to the node has been visited, and never will be again.
  void close(const base::Ref<graph::Node>& node) {
    if (node->visited_by == id_) ++arrived_[node->visit_slot]->closed;
  }

  // Adds rows `from` of a panel of gradients to rows `to` of the node's output.
  void send_rows(const graph::Edge& edge, std::span<const int32_t> to, const graph::Value& panel,
                 std::span<const int32_t> from) {
    const auto& [node, output, row] = edge;
    Arrived& arrived = arrived_at(node);
    const graph::Meta& meta = node->outputs[output];
    graph::Value& sum = arrived.gradients[output];
    if (!sum && node->extras && node->extras->rows)
      arrived.set_rows(output, std::vector<bool>(static_cast<size_t>(meta.sizes[0])));
    const bool row_by_row = is_row_by_row(arrived, output);
    if (!sum) {
      sum = row_by_row ? graph::Value(tensor::Array::allocate(meta.sizes, meta.dtype))
                       : ops::zeros(meta.sizes, meta.dtype);
    } else if (!(arrived.owned & own_bit(output))) {
      sum = copy_rows(sum);
    }
    arrived.owned |= own_bit(output);
    add_rows_to(sum, to, panel, from, row_by_row ? &arrived.rows[output] : nullptr);
    if (!arrived.is_partial(output)) return;
    std::vector<bool>& rows = arrived.rows[output];
    for (int32_t r : to) rows[r] = true;
    if (std::find(rows.begin(), rows.end(), false) == rows.end()) arrived.set_all_rows(output);
  }

 private:
  // The bit of an output in `owned`. Those beyond have none: their memory is never added into.
  static uint32_t own_bit(uint32_t output) { return output < 32 ? 1u << output : 0; }

  // Rows wait to be multiplied together, until they take more memory than their product.
  static void wait(Arrived& arrived, graph::Value product) {
    const int64_t item = tensor::item_size(product.dtype());
    for (const graph::Value& rows : product->pending->inputs)
      arrived.waiting += rows.count() * item;
    const int64_t limit = std::max(product.count() * item, least_product);
    arrived.products.push_back(std::move(product));
    if (arrived.waiting > limit) multiply(arrived);
  }

  static void multiply(Arrived& arrived) {
    arrived.gradients[0] = add_products(std::move(arrived.gradients[0]), arrived.products);
    arrived.products.clear();
    arrived.waiting = 0;
  }

  bool is_recorded() const { return modes_.grad || modes_.tracer || modes_.vmap; }
  // Whether rows that no gradient has reached hold nothing yet, not even zeros.
  bool is_row_by_row(const Arrived& arrived, size_t output) const {
    return arrived.is_partial(output) && !is_recorded();
  }

  Arrived& arrived_at(const base::Ref<graph::Node>& node) {
    if (node->visited_by == id_) return *arrived_[node->visit_slot];
    const auto found = elsewhere_.find(node.get());
    return *arrived_[found != elsewhere_.end() ? found->second : add(node)];
  }

  // A place for the gradients of a node that none has reached yet.
  uint32_t add(const base::Ref<graph::Node>& node) {
    if (free_.empty()) {
      free_.push_back(static_cast<uint32_t>(arrived_.size()));
      arrived_.push_back(std::make_unique<Arrived>());
    }
    const uint32_t slot = free_.back();
    free_.pop_back();
    arrived_[slot]->node = node;
    arrived_[slot]->gradients.resize(node->is_leaf() ? 1 : node->outputs.size());
    arrived_[slot]->owned = arrived_[slot]->closed = 0;
    if (node->visited_by) {  // a backward inside this one, or of another thread
      elsewhere_[node.get()] = slot;
    } else {
      node->visited_by = id_;
      node->visit_slot = slot;
    }
    queue_.emplace_back(node->sequence, node.get());
    std::push_heap(queue_.begin(), queue_.end());
    return slot;
  }

  // Where the node's gradients are; the node is free for other backwards again.
  uint32_t take_slot(graph::Node* node) {
    if (node->visited_by == id_) {
      node->visited_by = nullptr;
      return node->visit_slot;
    }
    return elsewhere_.extract(node).mapped();
  }

  static constexpr int64_t least_product = int64_t{1} << 20;  // for fewer bytes no product
  inline static uintptr_t backwards = 0;
  graph::Modes& modes_;
  const void* id_;  // not an address: fibers may have theirs at one and the same
  std::unordered_map<graph::Node*, uint32_t> elsewhere_;  // of nodes that another one visits too
  std::vector<std::unique_ptr<Arrived>> arrived_;
  std::vector<uint32_t> free_;
  std::vector<std::pair<uint64_t, graph::Node*>> queue_;
};

}  // namespace weft::autograd
