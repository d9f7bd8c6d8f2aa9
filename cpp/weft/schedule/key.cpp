#include "weft/schedule/key.h"

#include <algorithm>

#include "weft/graph/node.h"

namespace weft::schedule {
namespace {

using graph::Attribute;
using graph::Op;
using graph::Pending;
using graph::Value;

size_t mix(size_t hash, size_t more) { return (hash ^ more) * 0x9e3779b97f4a7c15u + (more >> 32); }

// Ops that draw random numbers are never the same: each has its own stretch of the stream.
bool is_random(const Pending& pending) {
  for (size_t i = 0; i < pending.attributes.size(); ++i) {
    if (std::holds_alternative<graph::RandomKey>(pending.attributes[i])) return true;
  }
  return false;
}

bool is_parameter(const Value& value) {
  return value->requires_grad && value->producer && value->producer->is_leaf();
}

bool is_weight(const Op& op, size_t i) { return i < 32 && (op.batch.weights >> i & 1); }

// Number of the attribute in which rows may differ, or none.
size_t free_attribute(const Op& op) {
  if (op.batch.free.empty()) return SIZE_MAX;
  return static_cast<size_t>(op.sig.find(op.batch.free)->index);
}

bool same_attributes(const Pending& a, const Pending& b) {
  if (a.attributes == b.attributes) return true;
  const size_t free = free_attribute(*a.op);
  if (free == SIZE_MAX || a.attributes.size() != b.attributes.size()) return false;
  for (size_t i = 0; i < a.attributes.size(); ++i) {
    if (i != free && a.attributes[i] != b.attributes[i]) return false;
  }
  return true;
}

class Collector {
 public:
  explicit Collector(Work& work) : work_(work) {}

  void add_all(std::span<const Value> values) {
    for (const Value& value : values) visit(value);
    while (!stack_.empty()) {
      Pending* pending = stack_.back();
      stack_.pop_back();
      work_.pending.push_back(pending);
      for (const Value& input : pending->inputs) visit(input);
    }
    std::sort(work_.pending.begin(), work_.pending.end(),
              [](Pending* a, Pending* b) { return a->sequence < b->sequence; });
    work_.item_of.resize(work_.pending.size());
    work_.items.starts.push_back(0);
    for (size_t i = 0; i < work_.pending.size(); ++i) {
      Pending* pending = work_.pending[i];
      pending->number = static_cast<uint32_t>(i) + 1;
      work_.item_of[i] = item_of(pending);
    }
    for (Pending* pending : work_.pending) pending->number = 0;
  }

 private:
  void visit(const Value& value) {
    if (!value || !value->pending || value->pending->number != 0) return;
    value->pending->number = 1;
    stack_.push_back(value->pending.get());
  }

  int32_t item_of(const Value& value) const {
    return value && value->pending ? work_.item_of[value->pending->number - 1] : -1;
  }
  // Equal for inputs that are one and the same.
  size_t identity(const Value& value) const {
    if (!value) return 0;
    if (value->pending) return static_cast<size_t>(item_of(value)) * 8 + value->output + 1;
    return reinterpret_cast<size_t>(value.get());
  }
  bool same_input(const Value& a, const Value& b) const {
    if (a == b) return true;
    return a && b && a->pending && b->pending && item_of(a) == item_of(b) && a->output == b->output;
  }

  int32_t item_of(Pending* pending) {
    size_t hash = reinterpret_cast<size_t>(pending->op) + pending->grad;
    for (const Value& input : pending->inputs) hash = mix(hash, identity(input));
    const bool random = is_random(*pending);
    if (!random) {
      const auto [begin, end] = same_.equal_range(hash);
      for (auto at = begin; at != end; ++at) {
        const Pending& other = *work_.first[at->second];
        if (other.op == pending->op && other.grad == pending->grad &&
            other.attributes == pending->attributes &&
            std::equal(other.inputs.begin(), other.inputs.end(), pending->inputs.begin(),
                       pending->inputs.end(),
                       [&](const Value& a, const Value& b) { return same_input(a, b); })) {
          return at->second;
        }
      }
    }
    const auto item = static_cast<int32_t>(work_.first.size());
    if (!random) same_.emplace(hash, item);
    work_.first.push_back(pending);
    bool shared = !pending->inputs.empty();
    for (const Value& input : pending->inputs) {
      const int32_t need = item_of(input);
      if (need >= 0) work_.items.needs.push_back(need);
      shared = shared &&
               (!input || input->is_number || is_parameter(input) || (need >= 0 && shared_[need]));
    }
    shared_.push_back(shared);
    // One item may be needed twice; waiting for it once is enough.
    auto begin = work_.items.needs.begin() + work_.items.starts.back();
    std::sort(begin, work_.items.needs.end());
    work_.items.needs.erase(std::unique(begin, work_.items.needs.end()), work_.items.needs.end());
    work_.items.starts.push_back(static_cast<int32_t>(work_.items.needs.size()));
    work_.items.types.push_back(type_of(*pending));
    return item;
  }

  bool is_shared(const Value& value) const {
    return value && (is_parameter(value) || (value->pending && shared_[item_of(value)]));
  }

  int32_t type_of(const Pending& pending) {
    size_t hash = reinterpret_cast<size_t>(pending.op) + pending.grad;
    for (size_t i = 0; i < pending.inputs.size(); ++i) {
      const Value& input = pending.inputs[i];
      if (!input) continue;
      hash = mix(hash, static_cast<size_t>(input.dtype()) * 4 + input->requires_grad * 2 +
                           input->is_number);
      for (int64_t size : input.sizes()) hash = mix(hash, static_cast<size_t>(size));
      if (is_weight(*pending.op, i) && is_shared(input)) hash = mix(hash, identity(input));
    }
    std::vector<int32_t>& types = types_[hash];
    for (int32_t type : types) {
      if (same_type(*representatives_[type], pending)) return type;
    }
    types.push_back(static_cast<int32_t>(representatives_.size()));
    representatives_.push_back(&pending);
    return types.back();
  }

  bool same_type(const Pending& a, const Pending& b) const {
    if (a.op != b.op || a.grad != b.grad || a.inputs.size() != b.inputs.size() ||
        !same_attributes(a, b)) {
      return false;
    }
    for (size_t i = 0; i < a.inputs.size(); ++i) {
      const Value& x = a.inputs[i];
      const Value& y = b.inputs[i];
      if (static_cast<bool>(x) != static_cast<bool>(y)) return false;
      if (!x) continue;
      if (x.dtype() != y.dtype() || x.sizes() != y.sizes() ||
          x->requires_grad != y->requires_grad || x->is_number != y->is_number) {
        return false;
      }
      const bool weight = is_weight(*a.op, i) && (is_shared(x) || is_shared(y));
      if (weight && !same_input(x, y)) return false;
    }
    return true;
  }

  Work& work_;
  std::vector<Pending*> stack_;
  std::vector<bool> shared_;  // by item: computed from parameters alone
  std::unordered_multimap<size_t, int32_t> same_;
  std::unordered_map<size_t, std::vector<int32_t>> types_;
  std::vector<const Pending*> representatives_;
};

}  // namespace

Work collect(std::span<const Value> values) {
  Work work;
  Collector(work).add_all(values);
  return work;
}

std::string difference(const Pending& a, const Pending& b) {
  if (a.grad != b.grad) return "one was recorded under no_grad";
  if (a.inputs.size() != b.inputs.size()) return "the number of inputs differs";
  if (!same_attributes(a, b)) {
    for (const graph::Parameter& parameter : a.op->sig.parameters) {
      if (parameter.is_tensor()) continue;
      const Attribute& x = a.attributes[parameter.index];
      const Attribute& y = b.attributes[parameter.index];
      if (x != y) {
        return base::text(parameter.name, " differs: ", attribute_text(x), " and ",
                          attribute_text(y));
      }
    }
  }
  for (size_t i = 0; i < a.inputs.size(); ++i) {
    const Value& x = a.inputs[i];
    const Value& y = b.inputs[i];
    if (!x || !y) continue;
    const auto& parameters = a.op->sig.parameters;
    const std::string name = i < parameters.size() ? parameters[i].name : base::text("input ", i);
    if (x.sizes() != y.sizes())
      return base::text("the shape of ", name, " differs: ", x.sizes(), " and ", y.sizes());
    if (x.dtype() != y.dtype()) return base::text("the dtype of ", name, " differs");
    if (x->requires_grad != y->requires_grad)
      return base::text("only one ", name, " needs a gradient");
    if (is_weight(*a.op, i) && x != y) return base::text(name, " is another parameter");
  }
  return "one needs the other's result";
}

}  // namespace weft::schedule
