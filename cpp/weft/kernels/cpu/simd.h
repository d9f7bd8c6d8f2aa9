// Vectors as wide as the instruction set at hand, for the *_isa.cpp files only: the namespace keeps
// the copies of different instruction sets apart.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#ifdef __AVX2__
#include <immintrin.h>
#endif

namespace weft::kernels::WEFT_ISA {

#if defined(__AVX512F__)
inline constexpr int vector_bytes = 64;
#elif defined(__AVX2__)
inline constexpr int vector_bytes = 32;
#else
inline constexpr int vector_bytes = 16;
#endif

template <class T>
struct VectorOf {
  typedef T type __attribute__((vector_size(vector_bytes)));
};
template <class T>
using Vector = typename VectorOf<T>::type;
template <class T>
inline constexpr int width = vector_bytes / static_cast<int>(sizeof(T));

template <class T>
inline Vector<T> load(const T* from) {
  Vector<T> result;
  std::memcpy(&result, from, sizeof result);
  return result;
}
template <class T>
inline void store(T* to, Vector<T> value) {
  std::memcpy(to, &value, sizeof value);
}
template <class T>
inline Vector<T> broadcast(T value) {
  return value - Vector<T>{};  // taking zero away changes nothing, not even -0, and costs nothing
}

#if defined(__AVX512F__)
inline __mmask16 first(int count) { return static_cast<__mmask16>((1u << count) - 1); }
#elif defined(__AVX2__)
// Eight words of ones, then eight of zeros: a window into them selects the first few lanes.
alignas(32) inline constexpr int32_t mask_words[16] = {-1, -1, -1, -1, -1, -1, -1, -1};
template <class T>
inline __m256i first(int count) {
  return _mm256_loadu_si256(
      reinterpret_cast<const __m256i*>(mask_words + 8 - count * static_cast<int>(sizeof(T) / 4)));
}
#endif

// The first `count` lanes, zeros behind them; memory past them is not touched.
template <class T>
inline Vector<T> load_first(const T* from, int count) {
#if defined(__AVX512F__)
  // As an instruction, not an intrinsic: around those g++ 12 keeps arrays of vectors in memory.
  Vector<T> result;
  const auto& memory = *reinterpret_cast<const T(*)[width<T>]>(from);
  if constexpr (std::is_same_v<T, float>) {
    asm("vmovups %1, %0%{%2%}%{z%}" : "=v"(result) : "m"(memory), "Yk"(first(count)));
    return result;
  } else if constexpr (std::is_same_v<T, double>) {
    asm("vmovupd %1, %0%{%2%}%{z%}" : "=v"(result) : "m"(memory), "Yk"(first(count)));
    return result;
  }
#elif defined(__AVX2__)
  if constexpr (std::is_same_v<T, float>) {
    return (Vector<T>)_mm256_maskload_ps(from, first<T>(count));
  } else if constexpr (std::is_same_v<T, double>) {
    return (Vector<T>)_mm256_maskload_pd(from, first<T>(count));
  }
#endif
  Vector<T> result_of_loop{};
  for (int i = 0; i < count; ++i) result_of_loop[i] = from[i];
  return result_of_loop;
}
template <class T>
inline void store_first(T* to, Vector<T> value, int count) {
#if defined(__AVX512F__)
  if constexpr (std::is_same_v<T, float>) {
    return _mm512_mask_storeu_ps(to, first(count), (__m512)value);
  } else if constexpr (std::is_same_v<T, double>) {
    return _mm512_mask_storeu_pd(to, static_cast<__mmask8>(first(count)), (__m512d)value);
  }
#elif defined(__AVX2__)
  if constexpr (std::is_same_v<T, float>) {
    return _mm256_maskstore_ps(to, first<T>(count), (__m256)value);
  } else if constexpr (std::is_same_v<T, double>) {
    return _mm256_maskstore_pd(to, first<T>(count), (__m256d)value);
  }
#endif
  for (int i = 0; i < count; ++i) to[i] = value[i];
}

// a * b + c, rounded once where the processor can.
template <class T>
inline Vector<T> fma(Vector<T> a, Vector<T> b, Vector<T> c) {
#if defined(__AVX512F__)
  if constexpr (std::is_same_v<T, float>) {
    return (Vector<T>)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
  } else if constexpr (std::is_same_v<T, double>) {
    return (Vector<T>)_mm512_fmadd_pd((__m512d)a, (__m512d)b, (__m512d)c);
  }
#elif defined(__AVX2__)
  if constexpr (std::is_same_v<T, float>) {
    return (Vector<T>)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
  } else if constexpr (std::is_same_v<T, double>) {
    return (Vector<T>)_mm256_fmadd_pd((__m256d)a, (__m256d)b, (__m256d)c);
  }
#endif
  return a * b + c;
}

// The larger (or smaller) of each pair of lanes; b where either is NaN.
template <class T>
inline Vector<T> larger(Vector<T> a, Vector<T> b) {
#if defined(__AVX512F__)
  // The masked form, because the plain one warns in g++ 12 by mistake.
  if constexpr (std::is_same_v<T, float>) {
    return (Vector<T>)_mm512_maskz_max_ps(0xffff, (__m512)a, (__m512)b);
  } else if constexpr (std::is_same_v<T, double>) {
    return (Vector<T>)_mm512_maskz_max_pd(0xff, (__m512d)a, (__m512d)b);
  }
#elif defined(__AVX2__)
  if constexpr (std::is_same_v<T, float>) return (Vector<T>)_mm256_max_ps((__m256)a, (__m256)b);
  if constexpr (std::is_same_v<T, double>) return (Vector<T>)_mm256_max_pd((__m256d)a, (__m256d)b);
#endif
  return a > b ? a : b;
}
template <class T>
inline Vector<T> smaller(Vector<T> a, Vector<T> b) {
#if defined(__AVX512F__)
  // The masked form, because the plain one warns in g++ 12 by mistake.
  if constexpr (std::is_same_v<T, float>) {
    return (Vector<T>)_mm512_maskz_min_ps(0xffff, (__m512)a, (__m512)b);
  } else if constexpr (std::is_same_v<T, double>) {
    return (Vector<T>)_mm512_maskz_min_pd(0xff, (__m512d)a, (__m512d)b);
  }
#elif defined(__AVX2__)
  if constexpr (std::is_same_v<T, float>) return (Vector<T>)_mm256_min_ps((__m256)a, (__m256)b);
  if constexpr (std::is_same_v<T, double>) return (Vector<T>)_mm256_min_pd((__m256d)a, (__m256d)b);
#endif
  return a < b ? a : b;
}

// Remembers whether any lane it has seen was NaN.
template <class T>
class NanWatch {
 public:
  void see(Vector<T> a, Vector<T> b) {
#if defined(__AVX512F__)
    if constexpr (std::is_same_v<T, float>) {
      seen_ |= _mm512_cmp_ps_mask((__m512)a, (__m512)b, _CMP_UNORD_Q);
    } else if constexpr (std::is_same_v<T, double>) {
      seen_ |= _mm512_cmp_pd_mask((__m512d)a, (__m512d)b, _CMP_UNORD_Q);
    }
#else
    seen_ |= (a != a) | (b != b);
#endif
  }
  bool any() const {
#if defined(__AVX512F__)
    return seen_ != 0;
#else
    bool found = false;
    for (int i = 0; i < width<T>; ++i) found = found || seen_[i] != 0;
    return found;
#endif
  }

 private:
#if defined(__AVX512F__)
  uint32_t seen_ = 0;
#else
  decltype(Vector<T>{} != Vector<T>{}) seen_{};
#endif
};

template <class T>
inline T sum_lanes(Vector<T> value) {
  T lanes[width<T>];
  store(lanes, value);
  for (int half = width<T> / 2; half > 0; half /= 2) {
    for (int i = 0; i < half; ++i) lanes[i] += lanes[i + half];
  }
  return lanes[0];
}

}  // namespace weft::kernels::WEFT_ISA
