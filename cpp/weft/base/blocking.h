// Lets the host release its lock (Python's GIL) around work that takes long enough to matter.
#pragma once

#include <utility>

namespace weft::base {

// Installed once by bind/; the core never sees Python.
struct BlockingHooks {
  void* (*enter)() = nullptr;      // gives up the host's lock, returns what `leave` needs
  void (*leave)(void*) = nullptr;  // takes it back
};

inline BlockingHooks blocking_hooks;
inline thread_local int lock_keepers = 0;

// While one of these lives, this thread keeps the host's lock whatever kernels ask for.
struct KeepLock {
  KeepLock() { ++lock_keepers; }
  ~KeepLock() { --lock_keepers; }
  KeepLock(const KeepLock&) = delete;
  KeepLock& operator=(const KeepLock&) = delete;
};

// While one of these lives, other host threads may run. Hold no Ref and touch no graph inside.
class BlockingRegion {
 public:
  explicit BlockingRegion(bool worthwhile) {
    if (worthwhile && blocking_hooks.enter && lock_keepers == 0) state_ = blocking_hooks.enter();
  }
  ~BlockingRegion() {
    if (state_) blocking_hooks.leave(state_);
  }
  BlockingRegion(const BlockingRegion&) = delete;
  BlockingRegion& operator=(const BlockingRegion&) = delete;

 private:
  void* state_ = nullptr;
};

}  // namespace weft::base
