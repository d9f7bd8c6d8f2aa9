// The loops of random.cpp that are compiled once per instruction set.
#pragma once

#include <cstdint>

namespace weft::kernels {

// A stretch of a stream, from element `first` on.
struct Draw {
  uint64_t seed, counter;
  int64_t first, count;
};

template <class T>
struct RandomLoops {
  // `bits` of an element's word count, for float32.
  void (*uniform)(Draw draw, T* out, int bits, T low, T range);
  void (*normal)(Draw draw, T* out, T mean, T deviation);
  void (*dropout)(Draw draw, const T* in, T* out, uint32_t threshold, T scale);
};

struct RandomTable {
  RandomLoops<float> f32;
  RandomLoops<double> f64;
  void (*bits)(Draw draw, uint64_t* out);
};

// Sixteen blocks of four words give the values of 64 elements: word w of block b belongs to element
// 16 * w + b of the group, so that vectors of blocks store without shuffling. A block's counter is
// its number (below) and the stream's counter (above); the highest bit of the number asks for a
// second word of the same elements.
inline constexpr int group_size = 64, group_blocks = 16;
inline constexpr uint32_t multiplier[2] = {0xD2511F53u, 0xCD9E8D57u};
inline constexpr uint32_t key_step[2] = {0x9E3779B9u, 0xBB67AE85u};

}  // namespace weft::kernels
