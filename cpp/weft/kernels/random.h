// Random numbers, drawn one after the other from an engine, or by counter (Philox4x32-10): then a
// value depends on seed, counter and the position of its element, on nothing else; so results do
// not depend on threads, on when an op runs, or on what ran before it. Each counter gives an op a
// stream of its own. Outputs are contiguous.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "weft/base/mersenne.h"
#include "weft/tensor/array.h"

namespace weft::kernels {

using tensor::Array;

struct RandomStream {
  uint64_t seed = 0;
  uint64_t counter = 0;
  base::Mersenne* engine = nullptr;  // then numbers are drawn from this, one after the other
};

// Of any floating dtype.
void random_uniform(RandomStream stream, const Array& out, double low, double high);
void random_normal(RandomStream stream, const Array& out, double mean, double deviation);
// low + (0..range-1), of any dtype; a range of 0 means 2**64.
void random_integers(RandomStream stream, const Array& out, int64_t low, uint64_t range);

// 0 to count - 1 in random order; int64.
void random_permutation(RandomStream stream, const Array& out);

// out = in / (1 - p), or 0 with probability p. Both of one lane's float dtype, contiguous.
void dropout(RandomStream stream, const Array& in, double p, const Array& out);

// Draws `samples` positions of each row of float64 weights; returns what is wrong with the weights,
// if anything.
std::optional<std::string_view> multinomial(RandomStream stream, const Array& weights, int64_t rows,
                                            int64_t length, int64_t samples, bool replacement,
                                            const Array& out);

}  // namespace weft::kernels
