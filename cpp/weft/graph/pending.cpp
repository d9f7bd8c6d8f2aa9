#include "weft/graph/pending.h"

#include <algorithm>
#include <unordered_set>
#include <utility>
#include <vector>

#include "weft/graph/strand.h"
#include "weft/graph/tape.h"

namespace weft::graph {
namespace {

int64_t dropped_count = 0;

// Which memory is read by what is pending, or was. Where it is asked for often, entries of the tape
// are looked at once, until a plan runs or a value gets other memory.
class ReadMemory {
 public:
  bool may_have(const tensor::Storage& storage) {
    const uint64_t state[] = {tape_generation(), tape().plans, values_moved};
    if (!std::equal(std::begin(state), std::end(state), state_)) {
      std::copy(std::begin(state), std::end(state), state_);
      read_.clear();
      seen_ = asked_ = 0;
    }
    if (++asked_ < often) return true;
    for (; seen_ < tape().size(); ++seen_) {
      const Pending* pending = tape().entries[seen_].pending;
      if (!pending || pending->ran) continue;
      for (const Value& input : pending->inputs) {
        if (input && input.array().storage) read_.insert(input.array().storage.get());
      }
    }
    return read_.contains(&storage);
  }
  void forget(const tensor::Storage& storage) { read_.erase(&storage); }

 private:
  std::unordered_set<const tensor::Storage*> read_;
  static constexpr size_t often = 8;
  size_t seen_ = 0, asked_ = 0;
  uint64_t state_[3] = {};
} read_memory;

// As with nodes: freed one after the other, however long the chain.
std::vector<Pending*> dying;
bool draining = false;

}  // namespace

Pending::Pending(const Op& op, Attributes attributes, std::span<const Value> inputs,
                 Position position)
    : op(&op),
      attributes(std::move(attributes)),
      inputs(inputs.begin(), inputs.end()),
      position(position),
      example(modes.example),
      fiber(modes.fiber),
      grad(modes.grad) {
  expect_values(inputs);
  add_op_to_tape();
}

Pending::~Pending() {
  leave_strand(*this);
  if (!ran) dropped_count += op_count();
  take_from_tape(*this);
}

void Pending::add_output(const Value& value, uint32_t number) {
  value->pending = base::Ref<Pending>(this);
  value->output = static_cast<uint32_t>(outputs.size());
  outputs.emplace_back(value.get(), number);
}

uint32_t Pending::op_count() const { return step ? step->length : 1; }

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

int64_t Pending::live() { return tape().ops; }
int64_t Pending::dropped() { return dropped_count; }
void settle(std::span<const Value> values) {
  Values computed;
  for (const Value& value : values) {
    if (value && value->mapped) {
      expect_running(*value->mapped);
    } else if (value) {
      computed.push_back(value);
    }
  }
  demand(computed);
}

void count_dropped(int64_t ops) { dropped_count += ops; }

// Everything that somebody still holds.
void run_all_pending() {
  close_strand(false);
  Values held;
  for (const Tape::Entry& entry : tape().entries) {
    if (!entry.pending || entry.pending->ran) continue;
    for (const Held& output : entry.pending->outputs) {
      if (output.value) held.push_back(Value(base::Ref<ValueData>(output.value)));
    }
  }
  ModesGuard guard;
  modes.park = nullptr;  // this runs now, whatever other examples do
  demand(held);
}

void set_pending_limit(int64_t bytes) { the_tape.limit = bytes; }
int64_t pending_limit() { return the_tape.limit; }

void run_readers(const tensor::Storage& storage) {
  // A view that has run reads the same memory for those that read it.
  close_strand();
  while (tape().ops > 0 && read_memory.may_have(storage)) {
    Values readers;
    for (const Tape::Entry& entry : tape().entries) {
      const Pending* at = entry.pending;
      if (!at || at->ran) continue;
      const bool reads = std::any_of(at->inputs.begin(), at->inputs.end(), [&](const Value& input) {
        return input && input.array().storage.get() == &storage;
      });
      for (const Held& output : at->outputs) {
        if (reads && output.value) readers.push_back(Value(base::Ref<ValueData>(output.value)));
      }
    }
    if (readers.empty()) return read_memory.forget(storage);
    ModesGuard guard;
    modes.park = nullptr;
    demand(readers);
  }
}

bool lazy_was_used() { return tape_generation() > 0 || tape().ops > 0; }

}  // namespace weft::graph
