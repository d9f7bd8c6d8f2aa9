#include "weft/kernels/pool.h"

#include <algorithm>

#include "weft/base/blocking.h"
#include "weft/base/thread_pool.h"

namespace weft::kernels {

using tensor::Array;
using tensor::DType;

namespace {

constexpr int64_t enough_work = 1 << 15;  // elements for a thread

template <class Body>
void over_planes(const PoolShape& s, Body body) {
  const int64_t work = s.height * s.width + static_cast<int64_t>(s.y.size() * s.x.size());
  const base::BlockingRegion region(s.planes * work > 2 * enough_work);
  base::parallel_for(s.planes, enough_work / (work + 1) + 1, [&](int64_t begin, int64_t end) {
    for (int64_t p = begin; p < end; ++p) body(p);
  });
}

template <class T>
auto comparable(T value) {
  if constexpr (requires { tensor::to_float(value); }) {
    return tensor::to_float(value);
  } else {
    return value;
  }
}

template <class T>
void largest(const PoolShape& s, const T* in, T* out, int64_t* indices) {
  const int64_t outputs = static_cast<int64_t>(s.y.size() * s.x.size());
  over_planes(s, [&](int64_t p) {
    const T* plane = in + p * s.height * s.width;
    T* to = out + p * outputs;
    int64_t* places = indices + p * outputs;
    for (const Window& y : s.y) {
      for (const Window& x : s.x) {
        int64_t best = y.begin * s.width + x.begin;
        auto value = comparable(plane[best]);
        for (int64_t i = y.begin; i < y.end; i += y.step) {
          const int64_t row = i * s.width;
          for (int64_t j = x.begin; j < x.end; j += x.step) {
            const auto candidate = comparable(plane[row + j]);
            if (candidate > value || (candidate != candidate && value == value)) {
              value = candidate;
              best = row + j;
            }
          }
        }
        *to++ = plane[best];
        *places++ = best;
      }
    }
  });
}

double share(double divisor, const Window& y, const Window& x) {
  return 1 / (divisor != 0 ? divisor : static_cast<double>(y.size * x.size));
}

template <class T>
void average(const PoolShape& s, double divisor, const T* in, T* out) {
  const int64_t outputs = static_cast<int64_t>(s.y.size() * s.x.size());
  over_planes(s, [&](int64_t p) {
    const T* plane = in + p * s.height * s.width;
    T* to = out + p * outputs;
    for (const Window& y : s.y) {
      for (const Window& x : s.x) {
        double total = 0;
        for (int64_t i = y.begin; i < y.end; i += y.step) {
          T sum = 0;
          for (int64_t j = x.begin; j < x.end; j += x.step) sum += plane[i * s.width + j];
          total += static_cast<double>(sum);
        }
        *to++ = static_cast<T>(total * share(divisor, y, x));
      }
    }
  });
}

template <class T>
void average_backward(const PoolShape& s, double divisor, const T* grad, T* grad_in) {
  const int64_t outputs = static_cast<int64_t>(s.y.size() * s.x.size());
  over_planes(s, [&](int64_t p) {
    T* plane = grad_in + p * s.height * s.width;
    const T* from = grad + p * outputs;
    std::fill_n(plane, s.height * s.width, T(0));
    for (const Window& y : s.y) {
      for (const Window& x : s.x) {
        const T part = static_cast<T>(static_cast<double>(*from++) * share(divisor, y, x));
        for (int64_t i = y.begin; i < y.end; i += y.step) {
          for (int64_t j = x.begin; j < x.end; j += x.step) plane[i * s.width + j] += part;
        }
      }
    }
  });
}

}  // namespace

void pool_largest(const PoolShape& shape, const Array& in, const Array& out, const Array& indices) {
  tensor::dispatch(in.dtype, [&](auto* typed) {
    using T = std::remove_pointer_t<decltype(typed)>;
    largest(shape, in.as<T>(), out.as<T>(), indices.as<int64_t>());
  });
}

void pool_average(const PoolShape& shape, double divisor, const Array& in, const Array& out) {
  if (in.dtype == DType::f32) {
    average(shape, divisor, in.as<float>(), out.as<float>());
  } else {
    average(shape, divisor, in.as<double>(), out.as<double>());
  }
}

void pool_average_backward(const PoolShape& shape, double divisor, const Array& grad,
                           const Array& grad_in) {
  if (grad.dtype == DType::f32) {
    average_backward(shape, divisor, grad.as<float>(), grad_in.as<float>());
  } else {
    average_backward(shape, divisor, grad.as<double>(), grad_in.as<double>());
  }
}

}  // namespace weft::kernels
