// Memory of large tensors: cut from segments, and joined again once it is free, so that programs
// whose sizes are never the same use the same memory for all of them.
#pragma once

#include <cstdint>

namespace weft::tensor {

struct Block;

Block* take_block(int64_t bytes);  // null when there is no more
void give_block(Block* block) noexcept;
char* data_of(const Block* block);
int64_t free_block_bytes();  // in memory, and ready to be taken
void release_free_blocks() noexcept;

}  // namespace weft::tensor
