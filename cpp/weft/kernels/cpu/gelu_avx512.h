// gelu in 16 lanes. Two registers hold 32 values of a coefficient, and one instruction picks among
// them by lane: so the normal distribution's tail is a short polynomial in each of 32 intervals,
// which is faster than the quotient that the other instruction sets use.
#pragma once

#include <immintrin.h>

namespace weft::kernels::WEFT_ISA {

// x P(normal variable > x) e^(x^2 / 2) in 32 intervals: a point of the interval, then coefficients
// of the powers of the distance from it. The intervals are the eighths of [2, 4), [4, 8), [8, 16)
// and [1, 2), seen from x + 1: the last two bits of its exponent and the first three of its
// mantissa are the interval's number. What `bell` (formula_math.h) leaves out is contained.
alignas(64) inline constexpr float tail_table[7][32] = {
    {0x1.275c28p+0f, 0x1.69999ap+0f, 0x1.a051ecp+0f, 0x1.ddeb86p+0f, 0x1.12b852p+1f, 0x1.2bc290p+1f,
     0x1.5347aep+1f, 0x1.731eb8p+1f, 0x1.a51eb8p+1f, 0x1.dfd70ap+1f, 0x1.0e147ap+2f, 0x1.3251ecp+2f,
     0x1.53eb86p+2f, 0x1.6bd70ap+2f, 0x1.926666p+2f, 0x1.b2ccccp+2f, 0x1.e73334p+2f, 0x1.0bc290p+3f,
     0x1.34a3d8p+3f, 0x1.5147aep+3f, 0x1.74147ap+3f, 0x1.8fd70ap+3f, 0x1.ab5c28p+3f, 0x1.cc7ae2p+3f,
     0.0f,           0x1.8ae148p-3f, 0x1.3d70a4p-2f, 0x1.b23d70p-2f, 0x1.29999ap-1f, 0x1.59eb86p-1f,
     0x1.a428f6p-1f, 0x1.db5c28p-1f},
    {0x1.1db852p-2f, 0x1.3577d0p-2f, 0x1.4498f0p-2f, 0x1.5213c2p-2f, 0x1.5e3d74p-2f, 0x1.6513a6p-2f,
     0x1.6dc3d6p-2f, 0x1.735464p-2f, 0x1.7a2eecp-2f, 0x1.802300p-2f, 0x1.84a58ap-2f, 0x1.889f96p-2f,
     0x1.8b5ab8p-2f, 0x1.8ce650p-2f, 0x1.8ee1f4p-2f, 0x1.902fd4p-2f, 0x1.91cddep-2f, 0x1.92ea78p-2f,
     0x1.94428cp-2f, 0x1.94ef44p-2f, 0x1.958f56p-2f, 0x1.95f2eep-2f, 0x1.96438ap-2f, 0x1.969266p-2f,
     0.0f,           0x1.54c7fcp-4f, 0x1.f7f7f2p-4f, 0x1.3f08f4p-3f, 0x1.8b685ap-3f, 0x1.b1fae6p-3f,
     0x1.e4a5f6p-3f, 0x1.025842p-2f},
    {0x1.a7defap-4f,  0x1.3cbe52p-4f,  0x1.f8ff4ap-5f,  0x1.8cb92ap-5f,  0x1.30e1e8p-5f,
     0x1.001112p-5f,  0x1.8ac364p-6f,  0x1.440a7ap-6f,  0x1.e4db6ep-7f,  0x1.626a22p-7f,
     0x1.07ce26p-7f,  0x1.7d852ap-8f,  0x1.21c6fep-8f,  0x1.e2bb98p-9f,  0x1.6ec10cp-9f,
     0x1.280e00p-9f,  0x1.ae87fcp-10f, 0x1.495280p-10f, 0x1.b65d16p-11f, 0x1.532a24p-11f,
     0x1.fdcd4ap-12f, 0x1.9d206ep-12f, 0x1.53e272p-12f, 0x1.10e786p-12f, 0x1.000000p-1f,
     0x1.7b83e6p-2f,  0x1.3ed7f4p-2f,  0x1.0e92e0p-2f,  0x1.b33372p-3f,  0x1.7f89b8p-3f,
     0x1.3dd20cp-3f,  0x1.15aa0ep-3f},
    {-0x1.ed5572p-5f,  -0x1.58fdc0p-5f,  -0x1.04bab8p-5f,  -0x1.8266e2p-6f,  -0x1.161346p-6f,
     -0x1.bebb62p-7f,  -0x1.41b108p-7f,  -0x1.f4f364p-8f,  -0x1.5a2b16p-8f,  -0x1.cf6f04p-9f,
     -0x1.3cdf66p-9f,  -0x1.a0a152p-10f, -0x1.237074p-10f, -0x1.cb55d4p-11f, -0x1.40ca04p-11f,
     -0x1.e4a668p-12f, -0x1.3eee82p-12f, -0x1.c045bcp-13f, -0x1.05fb8cp-13f, -0x1.7543dcp-14f,
     -0x1.ff8962p-15f, -0x1.8327e0p-15f, -0x1.2ae470p-15f, -0x1.bec2eep-16f, -0x1.988438p-2f,
     -0x1.1ebbdep-2f,  -0x1.d23534p-3f,  -0x1.7f4232p-3f,  -0x1.27255cp-3f,  -0x1.fafac0p-4f,
     -0x1.93f5a0p-4f,  -0x1.56e504p-4f},
    {0x1.d439b8p-6f,  0x1.34953cp-6f,  0x1.bca40cp-7f,  0x1.388b24p-7f,  0x1.a7bedep-8f,
     0x1.46d392p-8f,  0x1.ba1e70p-9f,  0x1.47da7ap-9f,  0x1.a4c91cp-10f, 0x1.037318p-10f,
     0x1.478854p-11f, 0x1.8950fcp-12f, 0x1.fc9f94p-13f, 0x1.7c25d4p-13f, 0x1.e97b58p-14f,
     0x1.5abff4p-14f, 0x1.9e0362p-15f, 0x1.0c1056p-15f, 0x1.13ad4cp-16f, 0x1.6a3506p-17f,
     0x1.c51c5ep-18f, 0x1.40999ap-18f, 0x1.d0de0ep-19f, 0x1.4394a4p-19f, 0x1.ffef56p-3f,
     0x1.56a702p-3f,  0x1.0eab5ep-3f,  0x1.b0ce4ap-4f,  0x1.40d2fcp-4f,  0x1.0d5dc6p-4f,
     0x1.9ea2e2p-5f,  0x1.57184cp-5f},
    {-0x1.84239cp-7f,  -0x1.e4187ap-8f,  -0x1.4e91f6p-8f,  -0x1.bfeed0p-9f,  -0x1.1f328ap-9f,
     -0x1.aa376ep-10f, -0x1.1023c6p-10f, -0x1.81a34ep-11f, -0x1.cf6f34p-12f, -0x1.088406p-12f,
     -0x1.35159ap-13f, -0x1.54463ep-14f, -0x1.975faep-15f, -0x1.2128b8p-15f, -0x1.5896ecp-16f,
     -0x1.ca8984p-17f, -0x1.f34666p-18f, -0x1.299072p-18f, -0x1.0dc5aep-19f, -0x1.484980p-20f,
     -0x1.76588ap-21f, -0x1.f072d4p-22f, -0x1.514dbep-22f, -0x1.b5f984p-23f, -0x1.0ec2d2p-3f,
     -0x1.5d9cd8p-4f,  -0x1.0d2116p-4f,  -0x1.a37cb6p-5f,  -0x1.2c4bdcp-5f,  -0x1.ee478ap-6f,
     -0x1.70bd00p-6f,  -0x1.2a1e56p-6f},
    {0x1.347d34p-8f,  0x1.7396dcp-9f,  0x1.c9ba0cp-10f, 0x1.1fead4p-10f, 0x1.7175a4p-11f,
     0x1.e30110p-12f, 0x1.4150b2p-12f, 0x1.b29bdep-13f, 0x1.f43d2cp-14f, 0x1.f30bcap-15f,
     0x1.05ce58p-15f, 0x1.1f474ap-16f, 0x1.480b92p-17f, 0x1.842860p-18f, 0x1.da2c94p-19f,
     0x1.2a08f4p-19f, 0x1.39b1c6p-20f, 0x1.1ccb8cp-21f, 0x1.168256p-22f, 0x1.21d9f4p-23f,
     0x1.3e05e4p-24f, 0x1.6d1604p-25f, 0x1.b3db80p-26f, 0x1.0d39c0p-26f, 0x1.c25c64p-5f,
     0x1.417cf0p-5f,  0x1.d94ad4p-6f,  0x1.5f3cd4p-6f,  0x1.068c5cp-6f,  0x1.8b3128p-7f,
     0x1.2b64b8p-7f,  0x1.c8872ap-8f},
};

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"  // inside the compiler's own header

// Several vectors step by step together, because one alone waits for its own results.
template <int N>
inline void gelu_of(__m512 (&x)[N]) {
  const auto all = [](float value) { return _mm512_set1_ps(value); };
  const __m512 bias = all(rounder + 191);
  __m512 a[N], d[N], tail[N], shifted[N], twice[N], slope[N];
  __m512i number[N];
  const auto entry = [&](int row, int i) {
    return _mm512_permutex2var_ps(_mm512_load_ps(tail_table[row]), number[i],
                                  _mm512_load_ps(tail_table[row] + 16));
  };
  for (int i = 0; i < N; ++i) {
    a[i] = _mm512_min_ps(all(14.9f), _mm512_abs_ps(x[i]));  // this order keeps a NaN
    number[i] = _mm512_srli_epi32(_mm512_castps_si512(_mm512_add_ps(a[i], all(1))), 20);
    d[i] = _mm512_sub_ps(a[i], entry(0, i));
    tail[i] = entry(6, i);
  }
  // e^(-a^2 / 2) = (1 + slope * twice) * scale * 2^-64, as in `bell`.
  for (int i = 0; i < N; ++i) {
    const __m512 square = _mm512_mul_ps(a[i], a[i]);
    shifted[i] = _mm512_fmadd_ps(square, all(-0.5f * log2_of_e), bias);
    const __m512 n = _mm512_sub_ps(shifted[i], bias);
    twice[i] = _mm512_sub_ps(_mm512_fnmsub_ps(n, all(0x1.62e43p+0f), square),
                             _mm512_fmsub_ps(a[i], a[i], square));
    slope[i] = all(bell_coefficients[5]);
  }
  for (int k = 4; k >= 0; --k) {
    for (int i = 0; i < N; ++i) tail[i] = _mm512_fmadd_ps(tail[i], d[i], entry(k + 1, i));
    for (int i = 0; i < N; ++i) {
      slope[i] = _mm512_fmadd_ps(slope[i], twice[i], all(bell_coefficients[k]));
    }
  }
  for (int i = 0; i < N; ++i) {
    const __m512 scale =
        _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_castps_si512(shifted[i]), 23));
    const __m512 part = _mm512_mul_ps(tail[i], scale);
    const __m512 large = _mm512_fmadd_ps(_mm512_mul_ps(slope[i], twice[i]), part, part);
    x[i] = _mm512_fmadd_ps(large, all(-0x1p-64f), _mm512_max_ps(x[i], _mm512_setzero_ps()));
  }
}

// `count` is 8 or a multiple of 16.
inline void gelu_block(float* out, const float* in, int64_t count) {
  int64_t i = 0;
  for (; i + 48 <= count; i += 48) {
    __m512 x[3];
    for (int k = 0; k < 3; ++k) x[k] = _mm512_loadu_ps(in + i + 16 * k);
    gelu_of(x);
    for (int k = 0; k < 3; ++k) _mm512_storeu_ps(out + i + 16 * k, x[k]);
  }
  for (; i < count; i += 16) {
    const __mmask16 mask = count - i == 8 ? 0xff : 0xffff;
    __m512 x[] = {_mm512_maskz_loadu_ps(mask, in + i)};
    gelu_of(x);
    _mm512_mask_storeu_ps(out + i, mask, x[0]);
  }
}

#pragma GCC diagnostic pop

}  // namespace weft::kernels::WEFT_ISA
