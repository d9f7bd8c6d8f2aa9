// Block loops of every formula, and conversions between dtypes and lanes. Compiled once per
// instruction set.

// Formulas choose with ?:, which must stay one select of two values; threading jumps would compute
// what comes after it once for each.
#pragma GCC optimize("no-thread-jumps")

#include "weft/kernels/cpu/map_isa.h"

#include <cstring>
#include <type_traits>
#include <utility>

#include "weft/kernels/cpu/formula_math.h"
#ifdef __AVX512F__
#include "weft/kernels/cpu/gelu_avx512.h"
#endif

namespace weft::kernels::WEFT_ISA {
namespace {

using tensor::BFloat16;
using tensor::Half;

// --- formulas ----------------------------------------

constexpr bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

// Whether a formula's text calls this function.
constexpr bool calls(std::string_view text, std::string_view function) {
  for (size_t at = text.find(function); at != text.npos; at = text.find(function, at + 1)) {
    if (at == 0 || !is_letter(text[at - 1])) return true;
  }
  return false;
}
// Formulas that need another loop for large arguments.
template <class F>
constexpr bool periodic = calls(F::text, "sin(") || calls(F::text, "cos(");

enum class Domain { floats, numbers, integers };
#define WEFT_FORMULA(name, declared_domain, count, parameters, ...) \
  struct name##_formula {                                           \
    static constexpr auto domain = Domain::declared_domain;         \
    static constexpr int arity = count;                             \
    static constexpr std::string_view text = #__VA_ARGS__;          \
    template <class T>                                              \
    static T apply parameters {                                     \
      return as_lane<T>(__VA_ARGS__);                               \
    }                                                               \
  };
#include "formulas.inc"
#undef WEFT_FORMULA

// Elements are computed this many at a time; the last ones in a padded buffer. So each element
// goes through the same instructions wherever it stands, and loops need no remainder code.
template <class T>
#ifdef __AVX512F__
constexpr int width = 64 / sizeof(T);
#else
constexpr int width = 32 / sizeof(T);
#endif
// The same for a few elements.
template <class T>
constexpr int narrow_width = width<T> < 8 ? width<T> : 8;

// `count` is a multiple of `Width`. The output may be one of the inputs. `flatten` puts the whole
// formula into the loop, without which there is no SIMD.
template <class F, class T, class Compute, int Width, size_t... I>
[[gnu::noinline, gnu::flatten]] void run_whole(T* out, const T* const* in, int64_t count,
                                               std::index_sequence<I...>) {
  const T* const from[] = {in[I]...};
  for (int64_t i = 0; i < count; i += Width) {
    // Each element is read before it is written, also where the output is an input (ivdep); as a
    // loop this becomes SIMD code, unrolled too early often not (unroll 1).
#pragma GCC ivdep
#pragma GCC unroll 1
    for (int j = 0; j < Width; ++j) {
      out[i + j] = static_cast<T>(F::template apply<Compute>(Compute(from[I][i + j])...));
    }
  }
}

template <class T>
bool beyond_limit(const T* in, int64_t count) {
  int32_t beyond = 0;
  for (int64_t i = 0; i < count; ++i) beyond |= abs(in[i]) > T(periodic_limit) ? 1 : 0;
  return beyond != 0;
}

// Exponents that a whole block has in common and that need no logarithm.
struct cube_formula {
  static constexpr int arity = 1;
  template <class T>
  static T apply(T x) {
    return x * x * x;
  }
};

struct exp2_formula {
  static constexpr int arity = 1;
  template <class T>
  static T apply(T x) {
    return exp2(x);
  }
};

template <class T>
bool are_equal(const T* items, int64_t count) {
  int32_t different = 0;
  for (int64_t i = 0; i < count; ++i) different |= items[i] != items[0] ? 1 : 0;
  return different == 0;
}

template <int Width, class T>
bool run_power(T* out, const T* const* in, int64_t count) {
  constexpr auto base = std::make_index_sequence<1>();
  if (in[0][0] == T(2) && are_equal(in[0], count))
    return run_whole<exp2_formula, T, T, Width>(out, in + 1, count, base), true;
  if (!are_equal(in[1], count)) return false;
  const T exponent = in[1][0];
  if (exponent == T(2)) return run_whole<square_formula, T, T, Width>(out, in, count, base), true;
  if (exponent == T(3)) return run_whole<cube_formula, T, T, Width>(out, in, count, base), true;
  if (exponent == T(-1))
    return run_whole<reciprocal_formula, T, T, Width>(out, in, count, base), true;
  if (exponent == T(0.5)) return run_whole<sqrt_formula, T, T, Width>(out, in, count, base), true;
  if (exponent == T(-0.5)) return run_whole<rsqrt_formula, T, T, Width>(out, in, count, base), true;
  if (exponent == T(1)) return std::memmove(out, in[0], count * sizeof(T)), true;
  return false;
}

template <int Width, class F, class T>
void run_checked(T* out, const T* const* in, int64_t count) {
  constexpr auto parameters = std::make_index_sequence<F::arity>();
  if constexpr (periodic<F> && std::is_same_v<T, float>) {
    bool beyond = false;
    for (int k = 0; k < F::arity; ++k) beyond = beyond || beyond_limit(in[k], count);
    if (beyond) return run_whole<F, T, Periodic, Width>(out, in, count, parameters);
  }
#ifdef __AVX512F__
  if constexpr (F::text == "gelu(x)" && std::is_same_v<T, float>) {
    return gelu_block(out, in[0], count);
  }
#endif
  if constexpr (F::text == "pow(x, y)" && !std::is_same_v<T, Int>) {
    if (run_power<Width>(out, in, count)) return;
  }
  run_whole<F, T, T, Width>(out, in, count, parameters);
}

// Copies fewer than `Width` elements by halves: a call of memcpy would take longer.
template <int Width, class T>
inline void copy_few(T* to, const T* from, int64_t count) {
  for (int half = Width / 2; half > 0; half /= 2) {
    if (count & half) {
      std::memcpy(to, from, half * sizeof(T));
      to += half;
      from += half;
    }
  }
}

template <class F, class T>
void run_block(void* out, const void* const* in, int64_t count) {
  constexpr int wide = width<T>, narrow = narrow_width<T>;
  const T* from[F::arity];
  for (int k = 0; k < F::arity; ++k) from[k] = static_cast<const T*>(in[k]);
  T* to = static_cast<T*>(out);
  auto run = [&]<int Width>(std::integral_constant<int, Width>, int64_t part) {
    run_checked<Width, F, T>(to, from, part);
    to += part;
    for (int k = 0; k < F::arity; ++k) from[k] += part;
  };
  if (count >= wide) run(std::integral_constant<int, wide>(), count & -wide);
  if (wide > narrow && (count & narrow)) run(std::integral_constant<int, narrow>(), narrow);
  const int64_t rest = count & (narrow - 1);
  if (rest == 0) return;
  alignas(64) T buffer[F::arity + 1][narrow];
  std::memset(buffer, 0, F::arity * sizeof buffer[0]);
  for (int k = 0; k < F::arity; ++k) {
    copy_few<narrow>(buffer[k], from[k], rest);
    from[k] = buffer[k];
  }
  run_checked<narrow, F, T>(buffer[F::arity], from, narrow);
  copy_few<narrow>(to, buffer[F::arity], rest);
}

template <class F, class T>
constexpr BlockFunction block_or_null() {
  constexpr bool is_integer = std::is_same_v<T, Int>;
  if constexpr (is_integer ? F::domain == Domain::floats : F::domain == Domain::integers) {
    return nullptr;
  } else {
    return run_block<F, T>;
  }
}

#define WEFT_FORMULA(name, ...)                                                     \
  {block_or_null<name##_formula, float>(), block_or_null<name##_formula, double>(), \
   block_or_null<name##_formula, Int>()},
constexpr BlockFunction blocks[][3] = {
#include "formulas.inc"
    {nullptr, nullptr, nullptr}};

// --- conversions ----------------------------------------

// Floats that no integer can hold become the smallest integer; smaller integers keep the low bits.
template <class Float>
int64_t to_integer(Float x) {
  const bool fits = x >= Float(-0x1p63) && x < Float(0x1p63);
  return fits ? static_cast<int64_t>(x) : std::numeric_limits<int64_t>::min();
}

// A stored bool as a byte: any other value than 0 is true, and loops over it become SIMD code.
enum class Flag : uint8_t {};

template <class To, class From>
To convert(From x) {
  if constexpr (std::is_same_v<To, From>) {
    return x;
  } else if constexpr (std::is_same_v<From, Flag>) {
    return convert<To>(static_cast<int32_t>(static_cast<uint8_t>(x) != 0 ? 1 : 0));
  } else if constexpr (std::is_same_v<From, Half> || std::is_same_v<From, BFloat16>) {
    return convert<To>(tensor::to_float(x));
  } else if constexpr (std::is_same_v<To, Half>) {
    return tensor::to_half(static_cast<float>(x));
  } else if constexpr (std::is_same_v<To, BFloat16>) {
    return tensor::to_bfloat16(static_cast<float>(x));
  } else if constexpr (std::is_same_v<To, Flag>) {
    return static_cast<Flag>(x != From(0) ? 1 : 0);
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    return static_cast<To>(to_integer(x));
  } else {
    return static_cast<To>(x);
  }
}

template <class To, class From>
void convert_row(To* to, int64_t to_stride, const From* from, int64_t from_stride, int64_t count) {
  if (to_stride == 1 && from_stride == 1) {
#pragma GCC ivdep
    for (int64_t i = 0; i < count; ++i) to[i] = convert<To>(from[i]);
  } else if (to_stride == 1 && from_stride == 0) {
    const To value = convert<To>(*from);
    for (int64_t i = 0; i < count; ++i) to[i] = value;
  } else {
    for (int64_t i = 0; i < count; ++i) to[i * to_stride] = convert<To>(from[i * from_stride]);
  }
}
template <class From, class LaneType>
void load(void* tile, const void* from, int64_t stride, int64_t count) {
  convert_row(static_cast<LaneType*>(tile), 1, static_cast<const From*>(from), stride, count);
}
template <class To, class LaneType>
void store(const void* tile, void* to, int64_t stride, int64_t count) {
  convert_row(static_cast<To*>(to), stride, static_cast<const LaneType*>(tile), 1, count);
}

// In the order of DType.
template <class... T>
constexpr MapTable table_of() {
  return {blocks,
          {{load<T, float>, load<T, double>, load<T, int64_t>}...},
          {{store<T, float>, store<T, double>, store<T, int64_t>}...}};
}

}  // namespace

// A constant: code of this file must not run while the module loads, before the processor is known.
extern const MapTable map_table;
constinit const MapTable map_table =
    table_of<float, double, Half, BFloat16, int8_t, int16_t, int32_t, int64_t, uint8_t, Flag>();

}  // namespace weft::kernels::WEFT_ISA
