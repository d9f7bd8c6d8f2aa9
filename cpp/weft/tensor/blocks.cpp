#include "weft/tensor/blocks.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <set>
#include <utility>

namespace weft::tensor {
namespace {

constexpr int64_t small_page = 4096, huge_page = int64_t{1} << 21;
constexpr int64_t segment_bytes = int64_t{1} << 25;
constexpr int64_t granule = 256;  // blocks are multiples of it

struct BySize {
  using is_transparent = void;
  bool operator()(const Block* a, const Block* b) const;
  bool operator()(const Block* block, int64_t bytes) const;
};
using Blocks = std::set<Block*, BySize>;

}  // namespace

struct Block {
  char* data;
  int64_t bytes;
  Block *before, *after;      // its neighbours in the segment
  int64_t touched = 0;        // of a free one: so many of its bytes are in memory
  Blocks::node_type place{};  // of one in use: its place among the free ones, so that giving it
                              // back allocates nothing
  bool is_free() const { return place.empty(); }
};

namespace {

bool BySize::operator()(const Block* a, const Block* b) const {
  return std::pair(a->bytes, a->data) < std::pair(b->bytes, b->data);
}
bool BySize::operator()(const Block* block, int64_t bytes) const { return block->bytes < bytes; }

Blocks& free_blocks = *new Blocks;  // never destroyed: tensors may be freed after it would be
int64_t free_bytes = 0;

int64_t round_up(int64_t bytes, int64_t unit) { return (bytes + unit - 1) / unit * unit; }

// In large pages: first touching 64 MB is then 32 page faults, not 16,384.
Blocks::iterator add_segment(int64_t bytes) {
  const int64_t whole = round_up(std::max(bytes, segment_bytes), huge_page);
  void* data = nullptr;
  if (posix_memalign(&data, huge_page, static_cast<size_t>(whole)) != 0) return free_blocks.end();
#ifdef MADV_HUGEPAGE
  madvise(data, static_cast<size_t>(whole), MADV_HUGEPAGE);
#endif
  return free_blocks.insert(new Block{static_cast<char*>(data), whole, nullptr, nullptr}).first;
}

// Leaves the block so many bytes; the rest of it is another free one.
void cut(Block* block, int64_t bytes) {
  const int64_t touched = std::min(block->touched, bytes);
  std::unique_ptr<Block> made(new Block{block->data + bytes, block->bytes - bytes, block,
                                        block->after, block->touched - touched});
  free_blocks.insert(made.get());
  Block* rest = made.release();
  block->bytes = bytes;
  block->touched = touched;
  if (rest->after) rest->after->before = rest;
  block->after = rest;
}

// Makes one of two neighbours, none of which is among the free ones.
void join(Block* first, Block* second) noexcept {
  first->bytes += second->bytes;
  first->touched += second->touched;
  first->after = second->after;
  if (first->after) first->after->before = first;
  delete second;
}

}  // namespace

Block* take_block(int64_t bytes) {
  bytes = round_up(bytes, granule);
  auto found = free_blocks.lower_bound(bytes);
  if (found == free_blocks.end()) found = add_segment(bytes);
  if (found == free_blocks.end()) return nullptr;
  Block* block = *found;
  if (block->bytes > bytes) cut(block, bytes);
  block->place = free_blocks.extract(found);
  free_bytes -= block->touched;
  return block;
}

void give_block(Block* block) noexcept {
  free_bytes += block->bytes;
  block->touched = block->bytes;
  Blocks::node_type place = std::move(block->place);
  if (Block* after = block->after; after && after->is_free()) {
    free_blocks.erase(after);
    join(block, after);
  }
  if (Block* before = block->before; before && before->is_free()) {
    free_blocks.erase(before);
    join(before, block);
    block = before;
  }
  place.value() = block;
  free_blocks.insert(std::move(place));
}

char* data_of(const Block* block) { return block->data; }
int64_t free_block_bytes() { return free_bytes; }

void release_free_blocks() noexcept {
  for (auto item = free_blocks.begin(); item != free_blocks.end();) {
    Block* block = *item;
    if (!block->before && !block->after) {
      std::free(block->data);
      delete block;
      item = free_blocks.erase(item);
      continue;
    }
    char* const page = block->data + (-reinterpret_cast<intptr_t>(block->data) & (small_page - 1));
    const int64_t pages = (block->data + block->bytes - page) / small_page * small_page;
    if (pages > 0) madvise(page, static_cast<size_t>(pages), MADV_DONTNEED);
    block->touched = 0;
    ++item;
  }
  free_bytes = 0;
}

}  // namespace weft::tensor
