#include "weft/graph/pending.h"

#include <vector>

#include "weft/graph/node.h"

namespace weft::graph {
namespace {

int64_t live_count = 0;
int64_t dropped_count = 0;
Pending* newest_pending = nullptr;

// As with nodes: freed one after the other, however long the chain.
std::vector<Pending*> dying;
bool draining = false;

}  // namespace

Pending::Pending(const Op& op, Attributes attributes, std::span<const Value> inputs)
    : op(&op),
      attributes(std::move(attributes)),
      inputs(inputs.begin(), inputs.end()),
      older(newest_pending),
      sequence(Node::next_sequence()),
      position(current_position()),
      example(modes.example),
      grad(modes.grad) {
  if (older) older->newer = this;
  newest_pending = this;
  ++live_count;
}

Pending::~Pending() {
  (newer ? newer->older : newest_pending) = older;
  if (older) older->newer = newer;
  --live_count;
  if (!ran) ++dropped_count;
}

void Pending::destroy(Pending* pending) noexcept {
  if (draining) {
    dying.push_back(pending);
    return;
  }
  draining = true;
  delete pending;
  while (!dying.empty()) {
    Pending* next = dying.back();
    dying.pop_back();
    delete next;
  }
  draining = false;
}

int64_t Pending::live() { return live_count; }
int64_t Pending::dropped() { return dropped_count; }
Pending* Pending::newest() { return newest_pending; }

void run_readers(const tensor::Storage& storage) {
  if (live_count == 0) return;
  Values readers;
  for (Pending* at = newest_pending; at; at = at->older) {
    for (const Value& input : at->inputs) {
      if (!input || input.array().storage.get() != &storage) continue;
      for (ValueData* output : at->outputs) {
        if (output) readers.push_back(Value(base::Ref<ValueData>(output)));
      }
      break;
    }
  }
  if (!readers.empty()) demand(readers);
}

}  // namespace weft::graph
