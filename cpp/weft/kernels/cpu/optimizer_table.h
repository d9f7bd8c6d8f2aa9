// The loops of optimizer.cpp that are compiled once per instruction set: one step over elements
// [begin, end) of one parameter.
#pragma once

#include "weft/kernels/optimizer.h"

namespace weft::kernels {

struct OptimizerTable {
  void (*adam)(const AdamSettings& settings, const AdamTensors& one, int64_t begin, int64_t end);
  void (*sgd)(const SgdSettings& settings, const SgdTensors& one, int64_t begin, int64_t end);
};

}  // namespace weft::kernels
