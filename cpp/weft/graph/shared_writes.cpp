#include "weft/graph/shared_writes.h"

#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "weft/graph/op.h"

namespace weft::graph {
namespace {

using tensor::Storage;

uint32_t last_fiber = 0, first_fiber = 1;

// Who has read a storage, and at which version.
class Readers {
 public:
  void note(uint32_t fiber, uint32_t version) {
    if (only_ == fiber || (only_ == 0 && versions_.empty())) {
      only_ = fiber;
      seen_ = version;
      return;
    }
    if (only_) place(std::exchange(only_, 0)) = seen_ + 1;
    place(fiber) = version + 1;
  }
  bool has(uint32_t fiber) const { return only_ == fiber || version_of(fiber) != 0; }
  // Whether it has read it, but not as it is now.
  bool is_stale(uint32_t fiber, uint32_t version) const {
    if (only_ == fiber) return seen_ != version;
    return version_of(fiber) != 0 && version_of(fiber) != version + 1;
  }

 private:
  uint32_t version_of(uint32_t fiber) const {  // plus one; 0: it has read nothing
    const size_t place = fiber - first_fiber;
    return place < versions_.size() ? versions_[place] : 0;
  }
  uint32_t& place(uint32_t fiber) {
    const size_t place = fiber - first_fiber;
    if (place >= versions_.size()) versions_.resize(place + 1);
    return versions_[place];
  }
  uint32_t only_ = 0, seen_ = 0;    // while there is but one
  std::vector<uint32_t> versions_;  // by example
};
std::unordered_map<const Storage*, Readers> readers;

Readers* find_readers(Storage& storage) {
  if (!storage.noted()) return nullptr;
  const auto found = readers.find(&storage);
  return found == readers.end() ? nullptr : &found->second;
}

}  // namespace

void note_read(uint32_t fiber, const Value& value) {
  if (fiber < first_fiber || value->in_batch || value->is_number || value->requires_grad) return;
  Storage* storage = value.array().storage.get();
  if (!storage) return;
  Readers& known = readers[storage];
  if (!std::exchange(storage->noted(), true)) known = {};  // of what lay there before
  known.note(fiber, storage->version);
}

void refuse_lost_writes(Storage& storage, const Op& op) {
  if (modes.fiber < first_fiber) return;
  const Readers* known = find_readers(storage);
  if (!known || !known->is_stale(modes.fiber, storage.version)) return;
  const auto* writer = static_cast<const Op*>(storage.written_by);
  base::fail(base::ErrorKind::gradient, op.name,
             "_: since this example read the tensor, another example of the map has written it (",
             writer ? writer->name + "_" : "in place", " at ", position_text(storage.written_at),
             "), which this write might undo. Read and write it in one op, as index_add_ does, or "
             "wait for no value in between.");
}

void note_write(Storage& storage) {
  if (modes.fiber < first_fiber) return;
  Readers* known = find_readers(storage);
  if (known && known->has(modes.fiber)) known->note(modes.fiber, storage.version);
}

bool depend_on(std::span<const Value> values, const Storage& storage) {
  std::unordered_set<const Pending*> visited;
  std::vector<const Pending*> waiting;
  const auto visit = [&](const Value& value) {
    if (!value) return false;
    if (value->pending && visited.insert(value->pending.get()).second)
      waiting.push_back(value->pending.get());
    return value.array().storage.get() == &storage;
  };
  for (const Value& value : values) {
    if (value && value->pending) visit(value);
  }
  while (!waiting.empty()) {
    const Pending* pending = waiting.back();
    waiting.pop_back();
    for (const Value& input : pending->inputs) {
      if (visit(input)) return true;
    }
  }
  return false;
}

uint32_t next_fiber() { return ++last_fiber; }

void forget_fibers() {
  readers.clear();
  first_fiber = last_fiber + 1;
}

}  // namespace weft::graph
