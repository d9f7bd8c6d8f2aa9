// The one intrusive pointer. Counts are plain integers: graph structures are touched only by the
// thread that holds the interpreter lock (ARCHITECTURE.md, "Threads").
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace weft::base {

template <class T>
class RefCounted {
 public:
  void retain() const noexcept { ++count_; }
  void release() const noexcept {
    if (--count_ == 0) T::destroy(const_cast<T*>(static_cast<const T*>(this)));
  }
  uint32_t use_count() const noexcept { return count_; }

 protected:
  RefCounted() = default;
  RefCounted(const RefCounted&) = delete;
  RefCounted& operator=(const RefCounted&) = delete;
  ~RefCounted() = default;

 private:
  mutable uint32_t count_ = 0;
};

template <class T>
class Ref {
 public:
  Ref() noexcept = default;
  Ref(std::nullptr_t) noexcept {}
  explicit Ref(T* pointer) noexcept : pointer_(pointer) {
    if (pointer_) pointer_->retain();
  }
  Ref(const Ref& other) noexcept : Ref(other.pointer_) {}
  Ref(Ref&& other) noexcept : pointer_(std::exchange(other.pointer_, nullptr)) {}
  Ref& operator=(Ref other) noexcept {
    std::swap(pointer_, other.pointer_);
    return *this;
  }
  ~Ref() {
    if (pointer_) pointer_->release();
  }

  T* get() const noexcept { return pointer_; }
  T& operator*() const noexcept { return *pointer_; }
  T* operator->() const noexcept { return pointer_; }
  explicit operator bool() const noexcept { return pointer_ != nullptr; }
  bool operator==(const Ref& other) const noexcept = default;
  void reset() noexcept { *this = Ref(); }

 private:
  T* pointer_ = nullptr;
};

template <class T, class... Args>
Ref<T> make_ref(Args&&... args) {
  return Ref<T>(new T(std::forward<Args>(args)...));
}

// Memory for what is recycled and never given back: whole cache lines, side by side in large pages.
// What a batch of examples records takes megabytes, and few pages to look it up in.
void* take_for_good(std::size_t bytes);

// Recycles blocks of one size, because a recorded op makes and frees several small objects.
// Sanitizer builds go to the heap each time, so that use after free is seen.
template <class T>
class Pooled {
#ifndef __SANITIZE_ADDRESS__
 public:
  static void* operator new(std::size_t size) {
    static_assert(std::is_final_v<T>, "blocks have one size");
    if (free_ == nullptr) return take_for_good(size);
    Block* block = free_;
    free_ = block->next;
    // The next one is asked for soon, and may have left the cache long ago.
    for (std::size_t line = 0; line < sizeof(T); line += 64) {
      __builtin_prefetch(reinterpret_cast<const char*>(free_) + line, 1);
    }
    return block;
  }
  static void operator delete(void* memory) noexcept {
    auto* block = static_cast<Block*>(memory);
    block->next = free_;
    free_ = block;
  }

 private:
  struct Block {
    Block* next;
  };
  inline static Block* free_ = nullptr;
#endif
};

}  // namespace weft::base
