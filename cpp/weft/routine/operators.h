// Operators by number, as instructions name them.
#pragma once

#include <cstdint>

namespace weft::routine {

enum class Unary : int32_t { negative, positive, invert, not_ };

enum class Binary : int32_t {
  add,
  subtract,
  multiply,
  true_divide,
  floor_divide,
  remainder,
  power,
  matrix_multiply,
  left_shift,
  right_shift,
  and_,
  or_,
  xor_
};

enum class Comparison : int32_t { less, less_equal, equal, not_equal, greater, greater_equal };

}  // namespace weft::routine
