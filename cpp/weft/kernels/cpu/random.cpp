#include "weft/kernels/random.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "weft/base/blocking.h"
#include "weft/base/thread_pool.h"
#include "weft/kernels/cpu/isa.h"
#include "weft/kernels/cpu/random_table.h"
#include "weft/kernels/map.h"

namespace weft::kernels {

using tensor::Dims;
using tensor::DType;

namespace isa_default {
extern const RandomTable random_table;
}
#ifdef __x86_64__
namespace isa_v3 {
extern const RandomTable random_table;
}
namespace isa_v4 {
extern const RandomTable random_table;
}
#endif

namespace {

constexpr int64_t grain = 1 << 14;

const RandomTable& loops() {
#ifdef __x86_64__
  static const RandomTable& chosen =
      choose(isa_default::random_table, isa_v3::random_table, isa_v4::random_table);
#else
  static const RandomTable& chosen = choose(isa_default::random_table);
#endif
  return chosen;
}

// Calls body(stretch of the stream) over all of `count`, on threads.
template <class Body>
void stretches(RandomStream stream, int64_t count, Body body) {
  base::BlockingRegion region(count > grain);
  base::parallel_for(count, grain, [&](int64_t begin, int64_t end) {
    body(Draw{stream.seed, stream.counter, begin, end - begin});
  });
}

// One word of the stream, as the loops over groups give it.
uint32_t word(RandomStream stream, int64_t element, bool second) {
  const int64_t lane = element % group_size;
  const auto block =
      static_cast<uint64_t>(element / group_size * group_blocks + lane % group_blocks);
  uint32_t state[4] = {
      static_cast<uint32_t>(block), static_cast<uint32_t>(block >> 32) | (second ? 1u << 31 : 0u),
      static_cast<uint32_t>(stream.counter), static_cast<uint32_t>(stream.counter >> 32)};
  auto key0 = static_cast<uint32_t>(stream.seed), key1 = static_cast<uint32_t>(stream.seed >> 32);
  for (int round = 0; round < 10; ++round) {
    const uint64_t first = uint64_t{multiplier[0]} * state[0];
    const uint64_t second = uint64_t{multiplier[1]} * state[2];
    state[0] = static_cast<uint32_t>(second >> 32) ^ state[1] ^ key0;
    state[1] = static_cast<uint32_t>(second);
    state[2] = static_cast<uint32_t>(first >> 32) ^ state[3] ^ key1;
    state[3] = static_cast<uint32_t>(first);
    key0 += key_step[0];
    key1 += key_step[1];
  }
  return state[lane / group_blocks];
}

__extension__ using Wide = unsigned __int128;

// In [0, range) for a range of at most 2**64 (written as 0).
uint64_t bounded(uint64_t bits, uint64_t range) {
  if (range == 0) return bits;
  return static_cast<uint64_t>(static_cast<Wide>(bits) * range >> 64);
}

double unit(uint64_t bits) { return static_cast<double>(bits >> 11) * 0x1p-53; }

// Runs `make` on memory of `dtype` and converts when the output has another one.
template <class Make>
void made_as(DType dtype, const Array& out, Make make) {
  if (out.dtype == dtype) return make(out);
  const Array temporary = Array::allocate(out.sizes, dtype);
  make(temporary);
  copy(temporary, out);
}

DType lane_dtype(const Array& array) { return tensor::dtype_of(tensor::lane_of(array.dtype)); }

}  // namespace

uint64_t random_bits(RandomStream stream, int64_t element) {
  return uint64_t{word(stream, element, false)} << 32 | word(stream, element, true);
}

void random_uniform(RandomStream stream, const Array& out, double low, double high) {
  // As many bits as the dtype holds exactly: rounding up would give `high` itself.
  const int bits = out.dtype == DType::bf16 ? 8 : out.dtype == DType::f16 ? 11 : 24;
  made_as(lane_dtype(out), out, [&](const Array& array) {
    void* data = array.data();
    const bool wide = array.dtype == DType::f64;
    stretches(stream, array.count(), [&](const Draw& draw) {
      if (wide)
        return loops().uniform_f64(draw, static_cast<double*>(data) + draw.first, low, high - low);
      loops().uniform_f32(draw, static_cast<float*>(data) + draw.first, bits,
                          static_cast<float>(low), static_cast<float>(high - low));
    });
  });
}

void random_normal(RandomStream stream, const Array& out, double mean, double deviation) {
  made_as(lane_dtype(out), out, [&](const Array& array) {
    void* data = array.data();
    const bool wide = array.dtype == DType::f64;
    stretches(stream, array.count(), [&](const Draw& draw) {
      if (wide)
        return loops().normal_f64(draw, static_cast<double*>(data) + draw.first, mean, deviation);
      loops().normal_f32(draw, static_cast<float*>(data) + draw.first, static_cast<float>(mean),
                         static_cast<float>(deviation));
    });
  });
}

void random_exponential(RandomStream stream, const Array& out, double rate) {
  made_as(DType::f64, out, [&](const Array& array) {
    auto* values = array.as<double>();
    stretches(stream, array.count(), [&](const Draw& draw) {
      loops().uniform_f64(draw, values + draw.first, 0, 1);
      for (int64_t i = draw.first; i < draw.first + draw.count; ++i)
        values[i] = -std::log1p(-values[i]) / rate;
    });
  });
}

void random_integers(RandomStream stream, const Array& out, int64_t low, uint64_t range) {
  made_as(DType::i64, out, [&](const Array& array) {
    auto* values = array.as<uint64_t>();
    stretches(stream, array.count(), [&](const Draw& draw) {
      loops().bits(draw, values + draw.first);
      for (int64_t i = draw.first; i < draw.first + draw.count; ++i) {
        values[i] = static_cast<uint64_t>(low) + bounded(values[i], range);
      }
    });
  });
}

void random_bernoulli(RandomStream stream, const Array& p, const Array& out) {
  made_as(DType::boolean, out, [&](const Array& array) {
    const auto* probabilities = p.as<double>();
    const int64_t step = p.count() == 1 ? 0 : 1;
    auto* values = array.as<bool>();
    stretches(stream, array.count(), [&](const Draw& draw) {
      constexpr int64_t tile = 512;
      double uniform[tile];
      for (int64_t done = 0; done < draw.count; done += tile) {
        const int64_t count = std::min(tile, draw.count - done);
        loops().uniform_f64({draw.seed, draw.counter, draw.first + done, count}, uniform, 0, 1);
        for (int64_t i = 0; i < count; ++i) {
          values[draw.first + done + i] =
              uniform[i] < probabilities[(draw.first + done + i) * step];
        }
      }
    });
  });
}

void random_permutation(RandomStream stream, const Array& out) {
  auto* values = out.as<int64_t>();
  const int64_t count = out.count();
  base::BlockingRegion region(count > 1024);
  std::iota(values, values + count, int64_t{0});
  constexpr int64_t tile = 512;
  uint64_t bits[tile];
  for (int64_t first = 0; first < count; first += tile) {
    const int64_t length = std::min(tile, count - first);
    loops().bits({stream.seed, stream.counter, first, length}, bits);
    for (int64_t i = first; i < first + length; ++i) {
      const auto left = static_cast<uint64_t>(count - i);
      std::swap(values[i], values[i + static_cast<int64_t>(bounded(bits[i - first], left))]);
    }
  }
}

void dropout(RandomStream stream, const Array& in, double p, const Array& out) {
  const auto threshold = static_cast<uint32_t>(std::min(std::round(p * 0x1p32), 0x1p32 - 1));
  const double scale = p < 1 ? 1 / (1 - p) : 0;
  const void* from = in.data();
  void* to = out.data();
  const bool wide = in.dtype == DType::f64;
  stretches(stream, in.count(), [&](const Draw& draw) {
    if (wide) {
      return loops().dropout_f64(draw, static_cast<const double*>(from) + draw.first,
                                 static_cast<double*>(to) + draw.first, threshold, scale);
    }
    loops().dropout_f32(draw, static_cast<const float*>(from) + draw.first,
                        static_cast<float*>(to) + draw.first, threshold, static_cast<float>(scale));
  });
}

std::optional<std::string_view> multinomial(RandomStream stream, const Array& weights, int64_t rows,
                                            int64_t length, int64_t samples, bool replacement,
                                            const Array& out) {
  const auto* weight = weights.as<double>();
  auto* chosen = out.as<int64_t>();
  const bool distinct = !replacement && samples > 1;
  for (int64_t row = 0; row < rows; ++row) {
    double total = 0;
    int64_t positive = 0;
    for (int64_t i = 0; i < length; ++i) {
      const double value = weight[row * length + i];
      if (!(value >= 0 && std::isfinite(value))) {
        return "the weights must not contain negative values, infinity or NaN";
      }
      total += value;
      positive += value > 0;
    }
    if (!(total > 0)) return "the weights of a row must have a positive sum";
    if (!std::isfinite(total)) return "the sum of a row's weights is too large";
    if (distinct && positive < samples) {
      return "without replacement a row needs as many positive weights as samples are drawn";
    }
  }
  // Partial sums for sampling with replacement; arrival times and positions for sampling without.
  const bool single = samples == 1;
  const Array scratch = single ? Array() : Array::allocate({distinct ? 2 : 1, length}, DType::f64);
  auto* sums = single ? nullptr : scratch.as<double>();
  base::BlockingRegion region(rows * length > (1 << 14));
  for (int64_t row = 0; row < rows; ++row, weight += length, chosen += samples) {
    if (single) {
      double left = std::accumulate(weight, weight + length, 0.0) * unit(random_bits(stream, row));
      int64_t last = 0;
      for (int64_t i = 0; i < length; ++i) {
        if (weight[i] <= 0) continue;
        last = i;
        left -= weight[i];
        if (left < 0) break;
      }
      chosen[0] = last;
    } else if (!distinct) {
      std::partial_sum(weight, weight + length, sums);
      for (int64_t i = 0; i < samples; ++i) {
        const double target = sums[length - 1] * unit(random_bits(stream, row * samples + i));
        auto found = std::upper_bound(sums, sums + length, target) - sums;
        if (found == length) found = std::lower_bound(sums, sums + length, sums[length - 1]) - sums;
        chosen[i] = found;
      }
    } else {
      // The first of independent exponential arrivals with these rates, again and again.
      auto* order = reinterpret_cast<int64_t*>(sums + length);
      for (int64_t i = 0; i < length; ++i) {
        order[i] = i;
        const double uniform = unit(random_bits(stream, row * length + i));
        sums[i] = weight[i] > 0 ? std::min(-std::log1p(-uniform) / weight[i],
                                           std::numeric_limits<double>::max())
                                : HUGE_VAL;
      }
      std::partial_sort(order, order + samples, order + length, [&](int64_t a, int64_t b) {
        return sums[a] < sums[b] || (sums[a] == sums[b] && a < b);
      });
      std::copy_n(order, samples, chosen);
    }
  }
  return std::nullopt;
}

}  // namespace weft::kernels
