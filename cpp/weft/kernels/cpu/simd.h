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

// a * b + c; the compiler makes one instruction of it where there is one.
template <class T>
inline Vector<T> fma(Vector<T> a, Vector<T> b, Vector<T> c) {
  return a * b + c;
}

// The larger of each pair of lanes; b where either is NaN.
template <class T>
inline Vector<T> larger(Vector<T> a, Vector<T> b) {
  return a > b ? a : b;
}

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
