// The Mersenne Twister (MT19937), as PyTorch's CPU generator draws from it: the same seed gives the
// same numbers.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "weft/base/ref.h"

namespace weft::base {

struct MersenneState {
  static constexpr int size = 624;
  std::array<uint32_t, size> words;
  uint32_t next = size;                 // the word to be drawn; beyond the last: mix them first
  std::optional<double> second_normal;  // normal numbers are made in pairs
};

class Mersenne : public RefCounted<Mersenne> {
 public:
  explicit Mersenne(uint64_t seed) { start(seed); }
  static void destroy(Mersenne* engine) noexcept { delete engine; }

  void start(uint64_t seed) {
    state.words[0] = static_cast<uint32_t>(seed);
    for (uint32_t i = 1; i < MersenneState::size; ++i) {
      const uint32_t before = state.words[i - 1];
      state.words[i] = 1812433253u * (before ^ (before >> 30)) + i;
    }
    state.next = MersenneState::size;
    state.second_normal.reset();
  }

  uint32_t bits() {
    if (state.next >= MersenneState::size) mix();
    uint32_t y = state.words[state.next++];
    y ^= y >> 11;
    y ^= (y << 7) & 0x9d2c5680u;
    y ^= (y << 15) & 0xefc60000u;
    return y ^ (y >> 18);
  }
  uint64_t long_bits() {
    const uint64_t high = bits();
    return high << 32 | bits();
  }
  // In [0, 1), with all the digits that a float or a double has.
  float unit_float() { return static_cast<float>(bits() & 0xffffffu) * 0x1p-24f; }
  double unit() { return static_cast<double>(long_bits() & ((1ull << 53) - 1)) * 0x1p-53; }

  MersenneState state;

 private:
  void mix() {
    auto& words = state.words;
    constexpr int size = MersenneState::size, ahead = 397;
    auto twisted = [](uint32_t a, uint32_t b) {
      const uint32_t both = (a & 0x80000000u) | (b & 0x7fffffffu);
      return (both >> 1) ^ (b & 1 ? 0x9908b0dfu : 0u);
    };
    for (int i = 0; i < size - ahead; ++i)
      words[i] = words[i + ahead] ^ twisted(words[i], words[i + 1]);
    for (int i = size - ahead; i < size - 1; ++i)
      words[i] = words[i + ahead - size] ^ twisted(words[i], words[i + 1]);
    words[size - 1] = words[ahead - 1] ^ twisted(words[size - 1], words[0]);
    state.next = 0;
  }
};

}  // namespace weft::base
