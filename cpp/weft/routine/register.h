// What a register of a routine holds: nothing yet, a small value, or an object of the host.
#pragma once

#include <cstdint>
#include <utility>

namespace weft::routine {

// Something of the host's (under Python: any Python object). It begins with the number of
// references to it, of which the lower 32 bits are negative where nobody counts; only the host
// looks further.
using HostObject = void*;

void destroy(HostObject object) noexcept;

inline intptr_t& references_to(HostObject object) { return *static_cast<intptr_t*>(object); }
inline bool is_counted(HostObject object) {
  return static_cast<int32_t>(references_to(object)) >= 0;
}
inline void retain(HostObject object) {
  if (is_counted(object)) ++references_to(object);
}
[[gnu::always_inline]] inline void release(HostObject object) noexcept {
  if (is_counted(object) && --references_to(object) == 0) [[unlikely]]
    destroy(object);
}

class Register {
 public:
  enum class Tag : uint8_t { unbound, none, boolean, integer, real, object };

  Register() = default;
  static Register none() { return Register(Tag::none, 0); }
  static Register of(bool value) { return Register(Tag::boolean, value); }
  static Register of(int64_t value) { return Register(Tag::integer, value); }
  // No NaN: it is unequal to itself and yet found by identity, so it stays an object.
  static Register of(double value) {
    Register result(Tag::real, 0);
    result.real_ = value;
    return result;
  }
  // Takes over a reference.
  static Register owned(HostObject object) {
    Register result(Tag::object, 0);
    result.object_ = object;
    return result;
  }
  static Register borrowed(HostObject object) {
    retain(object);
    return owned(object);
  }

  Register(const Register& other) : tag_(other.tag_), integer_(other.integer_) {
    if (tag_ == Tag::object) retain(object_);
  }
  Register(Register&& other) noexcept
      : tag_(std::exchange(other.tag_, Tag::unbound)), integer_(other.integer_) {}
  Register& operator=(Register&& other) noexcept {
    const Tag tag = std::exchange(other.tag_, Tag::unbound);
    const int64_t content = other.integer_;
    clear();
    tag_ = tag;
    integer_ = content;
    return *this;
  }
  Register& operator=(const Register& other) noexcept { return *this = Register(other); }
  ~Register() { clear(); }
  [[gnu::always_inline]] void clear() noexcept {
    if (std::exchange(tag_, Tag::unbound) == Tag::object) release(object_);
  }

  Tag tag() const { return tag_; }
  bool is_bound() const { return tag_ != Tag::unbound; }
  bool is_none() const { return tag_ == Tag::none; }
  bool is_boolean() const { return tag_ == Tag::boolean; }
  bool is_integer() const { return tag_ == Tag::integer; }
  bool is_real() const { return tag_ == Tag::real; }
  bool is_object() const { return tag_ == Tag::object; }
  bool boolean() const { return integer_ != 0; }
  int64_t integer() const { return integer_; }
  double real() const { return real_; }
  HostObject object() const { return object_; }
  HostObject take() { return tag_ = Tag::unbound, object_; }

 private:
  Register(Tag tag, int64_t value) : tag_(tag), integer_(value) {}

  Tag tag_ = Tag::unbound;
  union {
    int64_t integer_ = 0;
    double real_;
    HostObject object_;
  };
};

static_assert(sizeof(Register) == 16);

}  // namespace weft::routine
