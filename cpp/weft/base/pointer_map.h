// A hash map from pointers to small numbers: open addressing in one block of memory, because the
// engine asks it once for each gradient.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace weft::base {

class PointerMap {
 public:
  static constexpr uint32_t missing = UINT32_MAX;

  uint32_t find(const void* key) const {
    if (count_ == 0) return missing;
    for (size_t i = start(key);; i = (i + 1) & mask_) {
      if (slots_[i].key == key) return slots_[i].value;
      if (!slots_[i].key) return missing;
    }
  }

  // The key must not be in the map.
  void insert(const void* key, uint32_t value) {
    if (2 * (count_ + 1) > slots_.size()) grow();
    size_t i = start(key);
    while (slots_[i].key) i = (i + 1) & mask_;
    slots_[i] = {key, value};
    ++count_;
  }

  // The key must be in the map. Entries behind it move up, so that no search stops too early.
  void erase(const void* key) {
    size_t hole = start(key);
    while (slots_[hole].key != key) hole = (hole + 1) & mask_;
    for (size_t i = (hole + 1) & mask_; slots_[i].key; i = (i + 1) & mask_) {
      if (((i - start(slots_[i].key)) & mask_) >= ((i - hole) & mask_)) {
        slots_[hole] = slots_[i];
        hole = i;
      }
    }
    slots_[hole] = {};
    --count_;
  }

 private:
  struct Slot {
    const void* key = nullptr;
    uint32_t value = 0;
  };

  size_t start(const void* key) const {
    return ((reinterpret_cast<size_t>(key) >> 4) * 0x9e3779b97f4a7c15u >> 32) & mask_;
  }

  void grow() {
    std::vector<Slot> old(slots_.empty() ? 16 : 2 * slots_.size());
    old.swap(slots_);
    mask_ = slots_.size() - 1;
    count_ = 0;
    for (const Slot& slot : old) {
      if (slot.key) insert(slot.key, slot.value);
    }
  }

  std::vector<Slot> slots_;
  size_t mask_ = 0;
  size_t count_ = 0;
};

}  // namespace weft::base
