// Loops over groups of elements, compiled once per instruction set.

// Without fused multiply-adds every processor draws the same numbers.
#pragma GCC optimize("fp-contract=off")

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#ifdef __AVX2__
#include <immintrin.h>
#endif

#include "weft/kernels/cpu/random_table.h"

namespace weft::kernels::WEFT_ISA {
namespace {

constexpr double pi = 3.14159265358979323846;

// Sixteen words; the compiler cuts them into registers.
typedef uint32_t Words __attribute__((vector_size(64)));
typedef uint64_t Products __attribute__((vector_size(64)));

// Products of the words at even places with `factor`: 32 times 32 bits, which the general
// multiplication of 64-bit lanes does not know. (Results by reference: the ABI of such wide vectors
// varies.)
inline void multiply_even(const Words& words, uint32_t factor, Products& result) {
#if defined(__AVX512F__)
  result = (Products)_mm512_maskz_mul_epu32(0xff, (__m512i)words,
                                            _mm512_set1_epi32(static_cast<int>(factor)));
#elif defined(__AVX2__)
  __m256i halves[2];
  std::memcpy(halves, &words, sizeof words);
  for (__m256i& half : halves) {
    half = _mm256_mul_epu32(half, _mm256_set1_epi32(static_cast<int>(factor)));
  }
  std::memcpy(&result, halves, sizeof result);
#else
  result = ((Products)words & 0xffffffffu) * factor;
#endif
}

inline void multiply(const Words& words, uint32_t factor, Words& high, Words& low) {
  constexpr uint64_t upper = 0xffffffff00000000u;
  Products even, odd;
  multiply_even(words, factor, even);
  multiply_even((Words)((Products)words >> 32), factor, odd);
  high = (Words)((even >> 32) | (odd & upper));
  low = (Words)((even & ~upper) | (odd << 32));
}

// The words of one group of elements.
inline void make_group(const Draw& draw, int64_t group, bool second_words, uint32_t* words) {
  const uint64_t block = static_cast<uint64_t>(group) * group_blocks;
  Words a =
      Words{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15} + static_cast<uint32_t>(block);
  Words b = Words{} + (static_cast<uint32_t>(block >> 32) | (second_words ? 1u << 31 : 0u));
  Words c = Words{} + static_cast<uint32_t>(draw.counter);
  Words d = Words{} + static_cast<uint32_t>(draw.counter >> 32);
  auto key0 = static_cast<uint32_t>(draw.seed), key1 = static_cast<uint32_t>(draw.seed >> 32);
  for (int round = 0; round < 10; ++round) {
    Words first_high, first_low, second_high, second_low;
    multiply(a, multiplier[0], first_high, first_low);
    multiply(c, multiplier[1], second_high, second_low);
    a = second_high ^ b ^ key0;
    b = second_low;
    c = first_high ^ d ^ key1;
    d = first_low;
    key0 += key_step[0];
    key1 += key_step[1];
  }
  const Words all[4] = {a, b, c, d};
  std::memcpy(words, all, sizeof all);
}

// Calls make(group number, 64 results) for each group and keeps those that belong to the stretch.
template <class T, class Make>
inline void for_groups(Draw draw, T* out, Make make) {
  for (int64_t done = 0; done < draw.count;) {
    const int64_t element = draw.first + done, lane = element % group_size;
    const int64_t count = std::min<int64_t>(group_size - lane, draw.count - done);
    if (count == group_size) {
      make(element / group_size, out + done);
    } else {
      T results[group_size];
      make(element / group_size, results);
      std::copy_n(results + lane, count, out + done);
    }
    done += count;
  }
}

// log of a float in (0, 1], by 2 * atanh((m - 1) / (m + 1)) of its mantissa.
inline float log_of(float x) {
  const auto bits = std::bit_cast<uint32_t>(x);
  const uint32_t shifted = bits - 0x3f3504f3u;  // mantissas in [sqrt(1/2), sqrt(2))
  const auto exponent = static_cast<float>(static_cast<int32_t>(shifted) >> 23);
  const auto m = std::bit_cast<float>((shifted & 0x007fffffu) + 0x3f3504f3u);
  const float s = (m - 1.0f) / (m + 1.0f), square = s * s;
  const float series =
      1.0f + square * (1.0f / 3 + square * (1.0f / 5 + square * (1.0f / 7 + square * (1.0f / 9))));
  return exponent * 0.693147181f + 2.0f * s * series;
}

// Box-Muller: a radius from one word, a direction from the other.
inline void normal_pair(uint32_t radius_word, uint32_t angle_word, float* cosine, float* sine) {
  const float u = (static_cast<float>(static_cast<int32_t>(radius_word >> 1)) + 0.5f) * 0x1p-31f;
  const float radius = std::sqrt(-2.0f * log_of(u));
  // Two bits choose a quadrant, the others an angle in [-pi/4, pi/4) around its middle.
  const auto fraction = static_cast<float>(static_cast<int32_t>(angle_word << 2) >> 1);
  const float t = fraction * static_cast<float>(pi / 4 * 0x1p-30), square = t * t;
  const float c =
      1.0f + square * (-1.0f / 2 + square * (1.0f / 24 + square * (-1.0f / 720 + square / 40320)));
  const float s =
      t * (1.0f + square * (-1.0f / 6 +
                            square * (1.0f / 120 + square * (-1.0f / 5040 + square / 362880))));
  const uint32_t quadrant = angle_word >> 30;
  const float along = quadrant & 1 ? -s : c, across = quadrant & 1 ? c : s;
  const float sign = quadrant & 2 ? -radius : radius;
  *cosine = sign * along;
  *sine = sign * across;
}

void uniform_f32(Draw draw, float* out, int bits, float low, float range) {
  const float unit = std::ldexp(1.0f, -bits);
  for_groups(draw, out, [&](int64_t group, float* results) {
    uint32_t words[group_size];
    make_group(draw, group, false, words);
    for (int i = 0; i < group_size; ++i) {
      results[i] =
          low + static_cast<float>(static_cast<int32_t>(words[i] >> (32 - bits))) * unit * range;
    }
  });
}

// 64 bits for each element of a group.
inline void make_bits(const Draw& draw, int64_t group, uint64_t* bits) {
  uint32_t words[group_size], more[group_size];
  make_group(draw, group, false, words);
  make_group(draw, group, true, more);
  for (int i = 0; i < group_size; ++i) bits[i] = uint64_t{words[i]} << 32 | more[i];
}

inline double unit(uint64_t bits) { return static_cast<double>(bits >> 11) * 0x1p-53; }

void uniform_f64(Draw draw, double* out, int /*bits*/, double low, double range) {
  for_groups(draw, out, [&](int64_t group, double* results) {
    uint64_t bits[group_size];
    make_bits(draw, group, bits);
    for (int i = 0; i < group_size; ++i) results[i] = low + unit(bits[i]) * range;
  });
}

void normal_f32(Draw draw, float* out, float mean, float deviation) {
  for_groups(draw, out, [&](int64_t group, float* results) {
    uint32_t words[group_size];
    make_group(draw, group, false, words);
    for (int half = 0; half < group_size; half += 32) {
      for (int i = half; i < half + 16; ++i) {
        float first, second;
        normal_pair(words[i], words[i + 16], &first, &second);
        results[i] = mean + deviation * first;
        results[i + 16] = mean + deviation * second;
      }
    }
  });
}

void normal_f64(Draw draw, double* out, double mean, double deviation) {
  for_groups(draw, out, [&](int64_t group, double* results) {
    uint64_t bits[group_size];
    make_bits(draw, group, bits);
    for (int half = 0; half < group_size; half += 32) {
      for (int i = half; i < half + 16; ++i) {
        const double u = 1.0 - unit(bits[i]);  // in (0, 1]
        const double angle = 2 * pi * unit(bits[i + 16]);
        const double radius = std::sqrt(-2 * std::log(u));
        results[i] = mean + deviation * radius * std::cos(angle);
        results[i + 16] = mean + deviation * radius * std::sin(angle);
      }
    }
  });
}

template <class T>
void dropout(Draw draw, const T* in, T* out, uint32_t threshold, T scale) {
  T factors[group_size];
  for (int64_t done = 0; done < draw.count;) {
    const int64_t element = draw.first + done, lane = element % group_size;
    const int64_t count = std::min<int64_t>(group_size - lane, draw.count - done);
    uint32_t words[group_size];
    make_group(draw, element / group_size, false, words);
    for (int i = 0; i < group_size; ++i) factors[i] = words[i] >= threshold ? scale : T(0);
    if (count == group_size) {
      for (int i = 0; i < group_size; ++i) out[done + i] = in[done + i] * factors[i];
    } else {
      for (int64_t i = 0; i < count; ++i) out[done + i] = in[done + i] * factors[lane + i];
    }
    done += count;
  }
}

void bits(Draw draw, uint64_t* out) {
  for_groups(draw, out, [&](int64_t group, uint64_t* results) { make_bits(draw, group, results); });
}

}  // namespace

extern const RandomTable random_table;
const RandomTable random_table{.f32 = {uniform_f32, normal_f32, dropout<float>},
                               .f64 = {uniform_f64, normal_f64, dropout<double>},
                               .bits = bits};

}  // namespace weft::kernels::WEFT_ISA
