// Random tensors drawn one number after the other from a Mersenne Twister, in PyTorch's order.
#pragma once

#include "weft/base/mersenne.h"

namespace weft::kernels::drawn {

template <class T>
void uniform(base::Mersenne& engine, T* out, int64_t count, double low, double high);
template <class T>
void normal(base::Mersenne& engine, T* out, int64_t count, double mean, double deviation,
            bool in_groups);
// 0 to count - 1 in random order.
void permutation(base::Mersenne& engine, int64_t* out, int64_t count);
// low + (0..range-1); a range of 0 means 2**64.
void integers(base::Mersenne& engine, uint64_t* out, int64_t count, int64_t low, uint64_t range);

}  // namespace weft::kernels::drawn
