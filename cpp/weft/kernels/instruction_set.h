// Which of the instruction sets that kernels were compiled for this processor gets.
#pragma once

namespace weft::kernels {

// "x86-64", "x86-64-v3" or "x86-64-v4"; "default" on other processors.
const char* instruction_set();

}  // namespace weft::kernels
