#include "weft/kernels/random.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "weft/base/blocking.h"
#include "weft/base/thread_pool.h"
#include "weft/kernels/cpu/drawn.h"
#include "weft/kernels/cpu/isa.h"
#include "weft/kernels/cpu/random_table.h"
#include "weft/kernels/map.h"

namespace weft::kernels {

using tensor::Dims;
using tensor::DType;

WEFT_CHOOSE(RandomTable, random_table)

namespace {

constexpr int64_t grain = 1 << 14;

// Calls body(stretch of the stream) over all of `count`, on threads.
template <class Body>
void stretches(RandomStream stream, int64_t count, Body body) {
  base::BlockingRegion region(count > grain);
  base::parallel_for(count, grain, [&](int64_t begin, int64_t end) {
    body(Draw{stream.seed, stream.counter, begin, end - begin});
  });
}

__extension__ using Wide = unsigned __int128;

// In [0, range) for a range of at most 2**64 (written as 0).
uint64_t bounded(uint64_t bits, uint64_t range) {
  if (range == 0) return bits;
  return static_cast<uint64_t>(static_cast<Wide>(bits) * range >> 64);
}

double unit(uint64_t bits) { return static_cast<double>(bits >> 11) * 0x1p-53; }

// Calls body(loops, memory) for one of the two floating lanes.
template <class Body>
void on_lane(const Array& array, Body body) {
  tensor::on_float_lane(tensor::lane_of(array.dtype),
                        [&]<class T>(T) { body(part<T>(random_table()), array.as<T>()); });
}

// PyTorch's way with short floats that round up to `high`.
void put_back(const Array& out, double low, double high) {
  const Array numbers = Array::allocate(out.sizes, DType::f32);
  copy(out, numbers);
  std::replace(numbers.as<float>(), numbers.as<float>() + numbers.count(), static_cast<float>(high),
               static_cast<float>(low));
  copy(numbers, out);
}

}  // namespace

void random_uniform(RandomStream stream, const Array& out, double low, double high) {
  // As many bits as the dtype holds exactly: rounding up would give `high` itself.
  const int bits = out.dtype == DType::bf16 ? 8 : out.dtype == DType::f16 ? 11 : 24;
  made_as(tensor::lane_dtype(out.dtype), out, [&](const Array& array) {
    on_lane(array, [&]<class T>(const RandomLoops<T>& loop, T* data) {
      if (stream.engine) return drawn::uniform(*stream.engine, data, array.count(), low, high);
      stretches(stream, array.count(), [&](const Draw& draw) {
        loop.uniform(draw, data + draw.first, bits, static_cast<T>(low),
                     static_cast<T>(high - low));
      });
    });
  });
  if (stream.engine && tensor::lane_dtype(out.dtype) != out.dtype) put_back(out, low, high);
}

void random_normal(RandomStream stream, const Array& out, double mean, double deviation) {
  made_as(tensor::lane_dtype(out.dtype), out, [&](const Array& array) {
    on_lane(array, [&]<class T>(const RandomLoops<T>& loop, T* data) {
      if (stream.engine)
        return drawn::normal(*stream.engine, data, array.count(), mean, deviation,
                             array.dtype != out.dtype);
      stretches(stream, array.count(), [&](const Draw& draw) {
        loop.normal(draw, data + draw.first, static_cast<T>(mean), static_cast<T>(deviation));
      });
    });
  });
}

void random_integers(RandomStream stream, const Array& out, int64_t low, uint64_t range) {
  made_as(DType::i64, out, [&](const Array& array) {
    auto* values = array.as<uint64_t>();
    if (stream.engine) return drawn::integers(*stream.engine, values, array.count(), low, range);
    stretches(stream, array.count(), [&](const Draw& draw) {
      random_table().bits(draw, values + draw.first);
      for (int64_t i = draw.first; i < draw.first + draw.count; ++i) {
        values[i] = static_cast<uint64_t>(low) + bounded(values[i], range);
      }
    });
  });
}

void random_permutation(RandomStream stream, const Array& out) {
  auto* order = out.as<int64_t>();
  const int64_t count = out.count();
  if (stream.engine) return drawn::permutation(*stream.engine, order, count);
  const Array scratch = Array::allocate(out.sizes, DType::i64);
  auto* bits = scratch.as<uint64_t>();
  random_table().bits({stream.seed, stream.counter, 0, count}, bits);
  std::iota(order, order + count, 0);
  for (int64_t i = 0; i + 1 < count; ++i)
    std::swap(order[i], order[i + bounded(bits[i], static_cast<uint64_t>(count - i))]);
}

void dropout(RandomStream stream, const Array& in, double p, const Array& out) {
  const auto threshold = static_cast<uint32_t>(std::min(std::round(p * 0x1p32), 0x1p32 - 1));
  const double scale = p < 1 ? 1 / (1 - p) : 0;
  on_lane(out, [&]<class T>(const RandomLoops<T>& loop, T* to) {
    const T* from = in.as<T>();
    stretches(stream, in.count(), [&](const Draw& draw) {
      loop.dropout(draw, from + draw.first, to + draw.first, threshold, static_cast<T>(scale));
    });
  });
}

namespace {

// One position, or several different ones: those whose weight divided by an exponential number is
// largest. Several that may be equal: by partial sums.
void draw_like_pytorch(base::Mersenne& engine, const double* weight, int64_t rows, int64_t length,
                       int64_t samples, bool replacement, int64_t* chosen) {
  std::vector<double> keys(rows * length);
  std::vector<int64_t> order(length);
  const bool by_sums = replacement && samples > 1;
  if (!by_sums) {
    for (double& key : keys) key = -std::log1p(-engine.unit());
  }
  for (int64_t row = 0; row < rows; ++row, weight += length, chosen += samples) {
    double* key = keys.data() + row * length;
    if (by_sums) {
      std::partial_sum(weight, weight + length, key);
      for (int64_t i = 0; i < samples; ++i) {
        const double target = engine.unit() * key[length - 1];
        chosen[i] = std::lower_bound(key, key + length - 1, target) - key;
      }
      continue;
    }
    for (int64_t i = 0; i < length; ++i) key[i] = weight[i] / key[i];
    std::iota(order.begin(), order.end(), 0);
    std::partial_sort(order.begin(), order.begin() + samples, order.end(),
                      [&](int64_t a, int64_t b) { return key[a] > key[b]; });
    std::copy_n(order.begin(), samples, chosen);
  }
}

}  // namespace

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
  // Random numbers; then partial sums, or arrival times and positions without replacement.
  if (stream.engine) {
    draw_like_pytorch(*stream.engine, weight, rows, length, samples, replacement, chosen);
    return std::nullopt;
  }
  const int64_t numbers = rows * (distinct ? length : samples);
  const Array scratch = Array::allocate({numbers + 2 * length}, DType::f64);
  auto* bits = scratch.as<uint64_t>();
  double* sums = scratch.as<double>() + numbers;
  random_table().bits({stream.seed, stream.counter, 0, numbers}, bits);
  base::BlockingRegion region(rows * length > (1 << 14));
  for (int64_t row = 0; row < rows; ++row, weight += length, chosen += samples) {
    if (!distinct) {
      std::partial_sum(weight, weight + length, sums);
      for (int64_t i = 0; i < samples; ++i) {
        const double target = sums[length - 1] * unit(bits[row * samples + i]);
        auto found = std::upper_bound(sums, sums + length, target) - sums;
        if (found == length) found = std::lower_bound(sums, sums + length, sums[length - 1]) - sums;
        chosen[i] = found;
      }
    } else {
      // The first of independent exponential arrivals with these rates, again and again.
      auto* order = reinterpret_cast<int64_t*>(sums + length);
      for (int64_t i = 0; i < length; ++i) {
        order[i] = i;
        const double uniform = unit(bits[row * length + i]);
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
