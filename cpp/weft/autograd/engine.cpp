#include "weft/autograd/engine.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "ops.h"
#include "weft/autograd/accumulate.h"
#include "weft/autograd/rule.h"
#include "weft/autograd/saved.h"
#include "weft/base/pointer_map.h"
#include "weft/graph/modes.h"
#include "weft/graph/record.h"

namespace weft::autograd {

using base::ErrorKind;
using base::Ref;
using graph::bit_of;
using graph::Meta;
using graph::modes;
using tensor::Array;

namespace {

// Sums a gradient over broadcast dimensions and casts it: the shape and dtype of the input.
Value fit(Value gradient, const Meta& meta) {
  if (gradient.sizes() != meta.sizes) [[unlikely]] {
    const int64_t extra = gradient.rank() - static_cast<int64_t>(meta.sizes.size());
    tensor::Dims dims;
    for (int64_t i = 0; i < gradient.rank(); ++i) {
      if (i < extra || (meta.sizes[i - extra] == 1 && gradient.size(i) != 1)) dims.push_back(i);
    }
    if (!dims.empty()) gradient = ops::sum(gradient, dims, true);
    if (gradient.sizes() != meta.sizes) gradient = ops::reshape(gradient, meta.sizes);
  }
  if (gradient.dtype() != meta.dtype) gradient = ops::cast(gradient, meta.dtype);
  return gradient;
}

// Gradients that have arrived at a node, one per output.
struct Arrived {
  Ref<Node> node;
  Values gradients;
  uint32_t owned = 0;  // bit i: the memory of gradient i is ours to add into
};

class Backward {
 public:
  explicit Backward(const Request& request) : request_(request) {}
  ~Backward() {
    // After an error some nodes still wait.
    for (const auto& [sequence, node] : queue_) take_slot(node);
  }

  std::vector<Value> run() {
    graph::ModesGuard guard;
    modes_.grad = request_.create_graph;
    modes_.save_hooks = nullptr;
    called_at_ = graph::current_position();
    find_wanted();
    for (size_t i = 0; i < request_.roots.size(); ++i) {
      const Value& root = request_.roots[i];
      if (root->producer) send(root->producer, root->output, request_.gradients[i]);
    }
    while (!queue_.empty()) {
      std::pop_heap(queue_.begin(), queue_.end());
      const uint32_t slot = take_slot(queue_.back().second);
      queue_.pop_back();
      visit(*arrived_[slot]);
      arrived_[slot]->gradients.clear();
      arrived_[slot]->node.reset();
      free_.push_back(slot);
    }
    return std::move(results_);
  }

 private:
  // With `inputs`, only nodes on the way to one of them run.
  void find_wanted() {
    results_.resize(request_.inputs.size());
    if (request_.inputs.empty()) return;
    uint64_t oldest = UINT64_MAX;
    for (size_t i = 0; i < request_.inputs.size(); ++i) {
      const Value& input = request_.inputs[i];
      if (!input->producer) continue;
      captures_.emplace(input->producer.get(), i);
      wanted_.insert(input->producer.get());
      oldest = std::min(oldest, input->producer->sequence);
    }
    std::vector<Node*> reachable, stack;
    std::unordered_set<Node*> seen;
    auto visit = [&](Node* node) {
      if (node && node->sequence >= oldest && seen.insert(node).second) stack.push_back(node);
    };
    for (const Value& root : request_.roots) visit(root->producer.get());
    while (!stack.empty()) {
      Node* node = stack.back();
      stack.pop_back();
      reachable.push_back(node);
      for (const graph::Edge& edge : node->edges) visit(edge.node.get());
    }
    std::sort(reachable.begin(), reachable.end(),
              [](Node* a, Node* b) { return a->sequence < b->sequence; });
    for (Node* node : reachable) {
      for (const graph::Edge& edge : node->edges) {
        if (edge.node && wanted_.contains(edge.node.get())) {
          wanted_.insert(node);
          leads_on_.insert(node);
        }
      }
    }
  }

  bool is_wanted(Node* node) const { return request_.inputs.empty() || wanted_.contains(node); }

  void send(const Ref<Node>& node, uint32_t output, Value gradient) {
    if (!is_wanted(node.get())) return;
    uint32_t slot = node->visited_by == this ? node->visit_slot : elsewhere_.find(node.get());
    if (slot == base::PointerMap::missing) slot = add(node);
    Arrived& arrived = *arrived_[slot];
    Value& sum = arrived.gradients[output];
    if (!sum) {
      sum = std::move(gradient);
    } else if (!modes_.grad && !modes_.tracer && (arrived.owned & bit_of(output))) {
      add_into(sum.array(), gradient.array());
    } else {
      sum = ops::add(sum, gradient);
      arrived.owned |= bit_of(output);
    }
  }

  // A place for the gradients of a node that none has reached yet.
  uint32_t add(const Ref<Node>& node) {
    if (free_.empty()) {
      free_.push_back(static_cast<uint32_t>(arrived_.size()));
      arrived_.push_back(std::make_unique<Arrived>());
    }
    const uint32_t slot = free_.back();
    free_.pop_back();
    arrived_[slot]->node = node;
    arrived_[slot]->gradients.resize(node->is_leaf() ? 1 : node->outputs.size());
    arrived_[slot]->owned = 0;
    if (node->visited_by) {  // a backward inside this one, or of another thread
      elsewhere_.insert(node.get(), slot);
    } else {
      node->visited_by = this;
      node->visit_slot = slot;
    }
    queue_.emplace_back(node->sequence, node.get());
    std::push_heap(queue_.begin(), queue_.end());
    return slot;
  }

  // Where the node's gradients are; the node is free for other backwards again.
  uint32_t take_slot(Node* node) {
    if (node->visited_by == this) {
      node->visited_by = nullptr;
      return node->visit_slot;
    }
    const uint32_t slot = elsewhere_.find(node);
    elsewhere_.erase(node);
    return slot;
  }

  void run_hooks(Node& node, Values& gradients) {
    // A hook may add or remove hooks.
    const auto hooks = node.extras->hooks;
    for (const graph::OutputHook& hook : hooks) {
      Value& gradient = gradients[hook.output];
      if (!gradient) continue;
      if (Value replaced = hook.hook->call(gradient)) {
        if (replaced.sizes() != gradient.sizes()) {
          base::fail(ErrorKind::shape, "a hook on the result of ", place(node),
                     " returned a gradient of shape ", replaced.sizes(), " for one of shape ",
                     gradient.sizes());
        }
        gradient = std::move(replaced);
      }
    }
    if (graph::KeptValues* kept = node.extras->kept.get()) {
      kept->gradients.clear();
      for (const Value& gradient : gradients)
        kept->gradients.push_back(gradient ? gradient.array() : Array{});
    }
    const auto retained = node.extras->retained;
    for (const graph::OutputHook& hook : retained) {
      if (gradients[hook.output]) hook.hook->call(gradients[hook.output]);
    }
  }

  void capture(const Arrived& arrived) {
    const auto [first, last] = captures_.equal_range(arrived.node.get());
    for (auto found = first; found != last; ++found) {
      const uint32_t output = request_.inputs[found->second]->output;
      results_[found->second] = arrived.gradients[arrived.node->is_leaf() ? 0 : output];
    }
  }

  void visit(Arrived& arrived) {
    Node& node = *arrived.node;
    if (node.extras) run_hooks(node, arrived.gradients);
    if (!captures_.empty()) capture(arrived);
    if (node.is_leaf()) {
      if (request_.accumulate) accumulate(node, arrived.gradients[0], request_.create_graph);
      return;
    }
    if (!request_.inputs.empty() && !leads_on_.contains(&node)) return;
    modes_.position = node.position;
    Values gradients = run_rule(node, arrived.gradients);
    arrived.gradients.clear();
    for (size_t i = 0; i < node.edges.size(); ++i) {
      const graph::Edge& edge = node.edges[i];
      if (edge.node && gradients[i]) {
        send(edge.node, edge.output, fit(std::move(gradients[i]), node.input_meta(i)));
      }
    }
    modes_.position = called_at_;
    if (!request_.retain_graph) node.release_saved(called_at_);
  }

  const Request& request_;
  graph::Modes& modes_ = graph::modes;  // looked up once: they are of this thread
  base::PointerMap elsewhere_;          // slots of nodes that another backward visits too
  std::vector<std::unique_ptr<Arrived>> arrived_;
  std::vector<uint32_t> free_;
  std::vector<std::pair<uint64_t, Node*>> queue_;  // a heap: the youngest node is next
  std::unordered_multimap<Node*, size_t> captures_;
  std::unordered_set<Node*> wanted_, leads_on_;
  std::vector<Value> results_;
  graph::Position called_at_ = 0;
};

}  // namespace

std::vector<Value> run_backward(const Request& request) { return Backward(request).run(); }

}  // namespace weft::autograd
