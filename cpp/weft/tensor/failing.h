// For tests: lets allocations of tensors' memory fail.
#pragma once

#include <cstdint>

namespace weft::tensor {

// After so many allocations, so many fail. Returns how many were still to fail.
int64_t fail_allocations(int64_t after, int64_t count);

}  // namespace weft::tensor
