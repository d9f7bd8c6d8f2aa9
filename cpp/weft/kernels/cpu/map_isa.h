// What the element-wise kernels of one instruction set offer.
#pragma once

#include "weft/kernels/map.h"

namespace weft::kernels {

// Reads `count` elements that lie `stride` elements apart into a contiguous tile of a lane.
using LoadFunction = void (*)(void* tile, const void* from, int64_t stride, int64_t count);
// Writes a tile of a lane to elements that lie `stride` elements apart.
using StoreFunction = void (*)(const void* tile, void* to, int64_t stride, int64_t count);

struct MapTable {
  const BlockFunction (*blocks)[3];  // by formula and lane
  LoadFunction load[tensor::dtype_count][3];
  StoreFunction store[tensor::dtype_count][3];
};

}  // namespace weft::kernels
