#include "weft/graph/ties.h"

#include <algorithm>
#include <memory>
#include <unordered_map>

#include "weft/graph/modes.h"
#include "weft/graph/pending.h"
#include "weft/graph/record.h"

namespace weft::graph {
namespace {

using ViewChain = std::vector<TensorData::ViewStep>;

// Those detached from one tensor, and from which of its views.
struct Ties {
  struct Detached {
    TensorData* tensor;
    ViewChain chain;
  };
  TensorData* root;
  std::vector<Detached> detached;
};
std::unordered_map<const TensorData*, std::shared_ptr<Ties>> all_ties;

TensorData& base_of(TensorData& tensor) { return tensor.base() ? *tensor.base() : tensor; }

void tie(TensorData& tensor, TensorData& detached) {
  TensorData& base = base_of(tensor);
  ViewChain chain;
  std::shared_ptr<Ties>& found = all_ties[&base];
  if (!found) found = std::make_shared<Ties>(Ties{&base, {}});
  const std::shared_ptr<Ties> ties = found;
  for (const Ties::Detached& one : ties->detached) {
    if (one.tensor == &base) chain = one.chain;
  }
  if (tensor.base()) {
    const ViewChain more = tensor.view_chain();
    chain.insert(chain.end(), more.begin(), more.end());
  }
  ties->detached.push_back({&detached, std::move(chain)});
  all_ties[&detached] = ties;
  base.tied = detached.tied = true;
}

void forget(Ties& ties) {
  all_ties.erase(ties.root);
  ties.root->tied = false;
  ties.root = nullptr;
  for (const Ties::Detached& one : ties.detached) {
    all_ties.erase(one.tensor);
    one.tensor->tied = false;
  }
}

}  // namespace

TensorRef detach(TensorData& tensor) {
  TensorData& base = base_of(tensor);
  if (&base != &tensor && tensor.value()->pending && base.value().array().storage) {
    // A view that is pending, of memory that is there: others may write to that before it runs.
    in_own_place(base);
    ModesGuard guard;
    modes.lazy = false;
    const Value shown = apply_views(tensor.view_chain(), base.value());
    return TensorRef(new TensorData(detach(shown, Cut::detach)));
  }
  if (!(tensor.value()->pending && modes.lazy) && !tensor.value()->mapped && lazy_was_used())
    in_own_place(tensor);
  TensorRef result(new TensorData(detach(tensor.value(), Cut::detach)));
  if (result->last_value()->pending) tie(tensor, *result);
  return result;
}

void share_memory(TensorData& tensor) {
  if (!base_of(tensor).tied) return;
  const std::shared_ptr<Ties> ties = all_ties.at(&base_of(tensor));
  Values values{ties->root->value()};
  for (const Ties::Detached& one : ties->detached) values.push_back(one.tensor->value());
  demand(values);
  if (!ties->root) return;  // while these were computed, others did it, or the root died
  const Value whole = demand(ties->root->value());
  leave_batch(whole);
  whole.array().storage->aliased() = true;
  ties->root->rebind(whole);
  ModesGuard guard;
  modes.lazy = modes.grad = false;
  for (const Ties::Detached& one : ties->detached) {
    const Value value = one.tensor->value();
    value->array = apply_views(one.chain, whole).array();
    ++values_moved;
    value->row = ValueData::whole;
    value->in_batch = false;
    one.tensor->rebind(value);
  }
  forget(*ties);
}

Value in_own_place(TensorData& tensor) {
  share_memory(tensor);
  const Value value = demand(tensor.value());
  if (!lazy_was_used()) return value;
  ModesGuard guard;
  modes.lazy = false;
  leave_batch(tensor);
  // Its views may have been computed with others, as copies: they are made again.
  TensorData& root = base_of(tensor);
  root.rebind(root.value());
  return demand(tensor.value());
}

void leave_ties(const TensorData& tensor) {
  const std::shared_ptr<Ties> ties = all_ties.at(&tensor);
  if (ties->detached.size() == 1) return forget(*ties);
  if (ties->root == &tensor) {
    // One that shows all of it takes its place.
    const auto heir = std::find_if(ties->detached.begin(), ties->detached.end(),
                                   [](const auto& one) { return one.chain.empty(); });
    if (heir == ties->detached.end()) return forget(*ties);
    ties->root = heir->tensor;
  }
  const TensorData* gone = ties->root == &tensor ? nullptr : &tensor;
  std::erase_if(ties->detached,
                [&](const auto& one) { return one.tensor == gone || one.tensor == ties->root; });
  all_ties.erase(&tensor);
}

}  // namespace weft::graph
