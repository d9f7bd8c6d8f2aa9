// Element types, their properties, and the two 16-bit floats.
#pragma once

#include <bit>
#include <cstdint>
#include <string_view>

namespace weft::tensor {

enum class DType : uint8_t { f32, f64, f16, bf16, i8, i16, i32, i64, u8, boolean };
inline constexpr int dtype_count = 10;

struct Half {
  uint16_t bits;
};
struct BFloat16 {
  uint16_t bits;
};

inline float to_float(BFloat16 value) {
  return std::bit_cast<float>(static_cast<uint32_t>(value.bits) << 16);
}

inline BFloat16 to_bfloat16(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return {static_cast<uint16_t>((bits >> 16) | 0x40)};
  return {static_cast<uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1)) >> 16)};
}

inline float to_float(Half value) {
  const uint32_t sign = static_cast<uint32_t>(value.bits & 0x8000u) << 16;
  const uint32_t rest = value.bits & 0x7fffu;
  if (rest >= 0x7c00u) return std::bit_cast<float>(sign | 0x7f800000u | (rest & 0x3ffu) << 13);
  // Scaling by a power of two turns half's subnormals into normal floats exactly.
  const float scaled = std::bit_cast<float>(rest << 13) * 0x1p112f;
  return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(scaled));
}

inline Half to_half(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const auto sign = static_cast<uint16_t>((bits >> 16) & 0x8000u);
  const uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return {static_cast<uint16_t>(sign | 0x7e00u)};
  if (magnitude >= 0x477ff000u) return {static_cast<uint16_t>(sign | 0x7c00u)};
  if (magnitude < 0x38800000u) {
    // Adding 0.5 aligns the mantissa so that the float adder rounds to half's subnormal grid.
    const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
    return {static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(shifted) - 0x3f000000u))};
  }
  const uint32_t rounded = magnitude + 0xc8000fffu + ((magnitude >> 13) & 1);
  return {static_cast<uint16_t>(sign | (rounded >> 13))};
}

constexpr int64_t item_size(DType dtype) {
  constexpr int64_t sizes[] = {4, 8, 2, 2, 1, 2, 4, 8, 1, 1};
  return sizes[static_cast<int>(dtype)];
}

constexpr std::string_view name_of(DType dtype) {
  constexpr std::string_view names[] = {"float32", "float64", "float16", "bfloat16", "int8",
                                        "int16",   "int32",   "int64",   "uint8",    "bool"};
  return names[static_cast<int>(dtype)];
}

constexpr bool is_floating(DType dtype) { return dtype <= DType::bf16; }
constexpr bool is_integral(DType dtype) { return dtype >= DType::i8 && dtype <= DType::u8; }

// In which type arithmetic on a dtype is done; the other dtypes are converted on the way.
enum class Lane : uint8_t { f32, f64, i64 };

constexpr Lane lane_of(DType dtype) {
  if (dtype == DType::f64) return Lane::f64;
  return is_floating(dtype) ? Lane::f32 : Lane::i64;
}
constexpr int64_t lane_size(Lane lane) { return lane == Lane::f32 ? 4 : 8; }
constexpr DType dtype_of(Lane lane) {
  return lane == Lane::f32 ? DType::f32 : lane == Lane::f64 ? DType::f64 : DType::i64;
}

constexpr DType lane_dtype(DType dtype) { return dtype_of(lane_of(dtype)); }

// Calls body with a zero of the type in which the lane's arithmetic is done.
template <class Body>
decltype(auto) on_lane(Lane lane, Body&& body) {
  if (lane == Lane::f32) return body(float{});
  if (lane == Lane::f64) return body(double{});
  return body(int64_t{});
}
// The same where there are no integers.
template <class Body>
decltype(auto) on_float_lane(Lane lane, Body&& body) {
  if (lane == Lane::f32) return body(float{});
  return body(double{});
}
// Calls body with a zero that is as large as an element: moving one needs no more.
template <class Body>
decltype(auto) by_size(DType dtype, Body&& body) {
  const int64_t size = item_size(dtype);
  if (size == 1) return body(uint8_t{});
  if (size == 2) return body(uint16_t{});
  if (size == 4) return body(uint32_t{});
  return body(uint64_t{});
}

// Calls body with a null pointer of the C++ type that stores `dtype`.
template <class Body>
decltype(auto) dispatch(DType dtype, Body&& body) {
  if (dtype == DType::f32) return body(static_cast<float*>(nullptr));
  if (dtype == DType::f64) return body(static_cast<double*>(nullptr));
  if (dtype == DType::f16) return body(static_cast<Half*>(nullptr));
  if (dtype == DType::bf16) return body(static_cast<BFloat16*>(nullptr));
  if (dtype == DType::i8) return body(static_cast<int8_t*>(nullptr));
  if (dtype == DType::i16) return body(static_cast<int16_t*>(nullptr));
  if (dtype == DType::i32) return body(static_cast<int32_t*>(nullptr));
  if (dtype == DType::u8) return body(static_cast<uint8_t*>(nullptr));
  if (dtype == DType::boolean) return body(static_cast<bool*>(nullptr));
  return body(static_cast<int64_t*>(nullptr));
}

}  // namespace weft::tensor
