// A vector that keeps its first N elements inside itself.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <ostream>
#include <span>
#include <utility>

namespace weft::base {

template <class T, uint32_t N>
class SmallVector {
 public:
  SmallVector() noexcept {}
  explicit SmallVector(size_t count) { resize(count); }
  SmallVector(size_t count, const T& value) { resize(count, value); }
  SmallVector(std::initializer_list<T> items) : SmallVector(items.begin(), items.end()) {}
  template <class Iterator>
    requires(!std::is_integral_v<Iterator>)
  SmallVector(Iterator first, Iterator last) {
    for (; first != last; ++first) push_back(*first);
  }
  SmallVector(const SmallVector& other) {
    if constexpr (copies_whole) {
      if (other.size_ <= N) [[likely]] {
        copy_whole(other);
        return;
      }
    }
    copy_items(other);
  }
  SmallVector(SmallVector&& other) noexcept { take(other); }
  SmallVector& operator=(const SmallVector& other) {
    if (this != &other) {
      if constexpr (copies_whole) {
        if (other.size_ <= N) [[likely]] {
          copy_whole(other);
          return *this;
        }
      }
      clear();
      copy_items(other);
    }
    return *this;
  }
  SmallVector& operator=(SmallVector&& other) noexcept {
    if (this != &other) {
      clear();
      free_heap();
      take(other);
    }
    return *this;
  }
  ~SmallVector() {
    clear();
    free_heap();
  }

  size_t size() const noexcept { return size_; }
  bool empty() const noexcept { return size_ == 0; }
  T* data() noexcept { return data_; }
  const T* data() const noexcept { return data_; }
  T* begin() noexcept { return data_; }
  T* end() noexcept { return data_ + size_; }
  const T* begin() const noexcept { return data_; }
  const T* end() const noexcept { return data_ + size_; }
  T& operator[](size_t i) noexcept { return data_[i]; }
  const T& operator[](size_t i) const noexcept { return data_[i]; }
  T& back() noexcept { return data_[size_ - 1]; }
  const T& back() const noexcept { return data_[size_ - 1]; }
  operator std::span<const T>() const noexcept { return {data_, size_}; }

  void reserve(size_t wanted) {
    if (wanted <= capacity_) return;
    const auto capacity = static_cast<uint32_t>(std::max<size_t>(wanted, 2 * capacity_));
    T* grown = std::allocator<T>().allocate(capacity);
    std::uninitialized_move(begin(), end(), grown);
    std::destroy(begin(), end());
    free_heap();
    data_ = grown;
    capacity_ = capacity;
  }
  template <class... Args>
  T& emplace_back(Args&&... args) {
    if (size_ == capacity_) reserve(size_ + 1);
    return *std::construct_at(data_ + size_++, std::forward<Args>(args)...);
  }
  void push_back(const T& item) {
    if (size_ == capacity_) {
      T copy = item;
      emplace_back(std::move(copy));
    } else {
      emplace_back(item);
    }
  }
  void push_back(T&& item) { emplace_back(std::move(item)); }
  void pop_back() noexcept { std::destroy_at(data_ + --size_); }
  void clear() noexcept {
    std::destroy(begin(), end());
    size_ = 0;
  }
  void resize(size_t count) {
    while (size_ > count) pop_back();
    reserve(count);
    while (size_ < count) std::construct_at(data_ + size_++);
  }
  void resize(size_t count, const T& value) {
    while (size_ > count) pop_back();
    reserve(count);
    while (size_ < count) emplace_back(value);
  }
  void insert(size_t at, const T& item) {
    push_back(item);
    std::rotate(begin() + at, end() - 1, end());
  }
  void erase(size_t at) {
    std::move(begin() + at + 1, end(), begin() + at);
    pop_back();
  }

  friend bool operator==(const SmallVector& a, const SmallVector& b) {
    if (a.size_ != b.size_) return false;
    for (uint32_t i = 0; i < a.size_; ++i) {
      if (!(a.data_[i] == b.data_[i])) return false;
    }
    return true;
  }

 private:
  // Plain items: copying all N of them at a fixed size is cheaper than counting. Each buffer has
  // room for at least N.
  static constexpr bool copies_whole = std::is_trivially_copyable_v<T> && N * sizeof(T) <= 64;
  void copy_whole(const SmallVector& other) noexcept {
    __builtin_memcpy(static_cast<void*>(data_), other.data_, N * sizeof(T));
    size_ = other.size_;
  }

  // Never a part of those who copy, where hardly anything is as long as this.
  [[gnu::noinline]] void copy_items(const SmallVector& other) {
    reserve(other.size_);
    for (const T& item : other) push_back(item);
  }

  bool is_inline() const noexcept { return data_ == reinterpret_cast<const T*>(inline_); }
  void free_heap() noexcept {
    if (!is_inline()) std::allocator<T>().deallocate(data_, capacity_);
    data_ = reinterpret_cast<T*>(inline_);
    capacity_ = N;
  }
  void take(SmallVector& other) noexcept {
    if (other.is_inline()) {
      if constexpr (copies_whole) {
        copy_whole(other);
        other.size_ = 0;
        return;
      }
      std::uninitialized_move(other.begin(), other.end(), data_);
      size_ = other.size_;
      other.clear();
    } else {
      data_ = std::exchange(other.data_, reinterpret_cast<T*>(other.inline_));
      capacity_ = std::exchange(other.capacity_, N);
      size_ = std::exchange(other.size_, 0);
    }
  }

  T* data_ = reinterpret_cast<T*>(inline_);
  uint32_t size_ = 0;
  uint32_t capacity_ = N;
  alignas(T) unsigned char inline_[N * sizeof(T)];
};

// As Python prints a tuple: "(2, 3)", "(4,)".
template <class T, uint32_t N>
std::ostream& operator<<(std::ostream& out, const SmallVector<T, N>& items) {
  out << '(';
  for (size_t i = 0; i < items.size(); ++i) out << (i ? ", " : "") << items[i];
  return out << (items.size() == 1 ? ",)" : ")");
}

}  // namespace weft::base
