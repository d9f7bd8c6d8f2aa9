#include "weft/tensor/storage.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <new>
#include <utility>

#include "weft/base/errors.h"

namespace weft::tensor {
namespace {

constexpr int64_t alignment = 64;
constexpr int64_t cache_limit = int64_t{1} << 29;  // at most 512 MiB are kept for reuse
constexpr int64_t huge_page = int64_t{1} << 21;

// Four size classes for each power of two: at most a quarter of a block is unused.
int quarter_of(int power) { return std::max(power - 3, 6); }  // at least the alignment
uint16_t class_of(int64_t bytes) {
  const auto wanted = static_cast<uint64_t>(std::max<int64_t>(bytes, alignment));
  const int power = std::bit_width(wanted - 1);  // wanted <= 2**power
  const uint64_t above = wanted - (uint64_t{1} << power) / 2;
  const int quarter = quarter_of(power);
  return static_cast<uint16_t>(power * 5 + ((above + (uint64_t{1} << quarter) - 1) >> quarter));
}
int64_t bytes_of(uint16_t size_class) {
  const int power = size_class / 5;
  const uint64_t above = uint64_t{size_class % 5u} << quarter_of(power);
  return static_cast<int64_t>((uint64_t{1} << power) / 2 + above);
}

struct FreeBlock {
  FreeBlock* next;
};
FreeBlock* free_blocks[64 * 5 + 16];
int64_t cached = 0;
int64_t live = 0;
int64_t peak = 0;

// Large blocks in large pages: first touching 64 MB is then 32 page faults, not 16,384.
char* allocate_block(int64_t bytes) {
  const bool large = bytes >= 2 * huge_page;
  void* block = nullptr;
  if (posix_memalign(&block, static_cast<size_t>(large ? huge_page : alignment),
                     static_cast<size_t>(bytes)) != 0) {
    return nullptr;
  }
#ifdef MADV_HUGEPAGE
  if (large) madvise(block, static_cast<size_t>(bytes / huge_page * huge_page), MADV_HUGEPAGE);
#endif
  return static_cast<char*>(block);
}

// Once much is kept, blocks of up to twice the size serve too: programs whose sizes are never the
// same would keep memory for each of them.
constexpr int64_t much = int64_t{1} << 25;
constexpr uint16_t most_larger = 4;

struct Piece {
  char* data;
  uint16_t size_class;
};

Piece take_block(int64_t bytes) {
  const uint16_t size_class = class_of(bytes);
#ifndef __SANITIZE_ADDRESS__
  const uint16_t last = size_class + (cached > much ? most_larger : 0);
  for (uint16_t i = size_class; i <= last; ++i) {
    if (FreeBlock* block = free_blocks[i]) {
      free_blocks[i] = block->next;
      cached -= bytes_of(i);
      return {reinterpret_cast<char*>(block), i};
    }
  }
#endif
  char* data = allocate_block(bytes_of(size_class));
  if (data == nullptr) {
    release_cached_memory();
    data = allocate_block(bytes_of(size_class));
  }
  if (data == nullptr) {
    base::fail(base::ErrorKind::memory, "out of memory: cannot allocate ", bytes, " bytes (", live,
               " bytes are in use by tensors)");
  }
  return {data, size_class};
}

void give_block(Piece given) noexcept {
#ifndef __SANITIZE_ADDRESS__
  const int64_t bytes = bytes_of(given.size_class);
  if (bytes <= cache_limit) {
    // Sizes that nobody asks for any more must not keep out those that are in use.
    if (cached + bytes > cache_limit) release_cached_memory();
    auto* block = reinterpret_cast<FreeBlock*>(given.data);
    block->next = free_blocks[given.size_class];
    free_blocks[given.size_class] = block;
    cached += bytes;
    return;
  }
#endif
  std::free(given.data);
}

// Up to 64 bytes lie right behind their Storage: one piece of memory instead of two.
constexpr int64_t small_bytes = 64;
static_assert(sizeof(Storage) <= alignment);
FreeBlock* free_small = nullptr;

char* take_small() {
#ifndef __SANITIZE_ADDRESS__
  if (free_small) return reinterpret_cast<char*>(std::exchange(free_small, free_small->next));
  return static_cast<char*>(base::take_for_good(alignment + small_bytes));
#else
  void* block = std::aligned_alloc(alignment, alignment + small_bytes);
  if (block == nullptr) throw std::bad_alloc();
  return static_cast<char*>(block);
#endif
}

void give_small(char* block) noexcept {
#ifndef __SANITIZE_ADDRESS__
  auto* free = reinterpret_cast<FreeBlock*>(block);
  free->next = free_small;
  free_small = free;
#else
  std::free(block);
#endif
}

}  // namespace

base::Ref<Storage> Storage::allocate(int64_t bytes) {
  if (bytes <= small_bytes) {
    char* block = take_small();
    live += bytes;
    peak = std::max(peak, live);
    return base::Ref<Storage>(::new (block) Storage(block + alignment, bytes, {}));
  }
  const Piece block = take_block(bytes);
  live += bytes;
  peak = std::max(peak, live);
  return base::Ref<Storage>(new Storage(block.data, bytes, {.block = block.size_class}));
}

base::Ref<Storage> Storage::borrow(void* data, int64_t bytes, Foreign foreign) {
  return base::Ref<Storage>(new Storage(static_cast<char*>(data), bytes, foreign));
}

void Storage::destroy(Storage* storage) noexcept {
  if (storage->is_foreign()) {
    storage->foreign_.release(storage->foreign_.owner);
  } else {
    live -= storage->bytes_;
    if (storage->bytes_ <= small_bytes) {
      storage->~Storage();
      return give_small(reinterpret_cast<char*>(storage));
    }
    give_block({storage->data_, storage->foreign_.block});
  }
  delete storage;
}

int64_t live_bytes() { return live; }
int64_t peak_bytes() { return peak; }
void reset_peak_bytes() { peak = live; }
int64_t cached_bytes() { return cached; }

void release_cached_memory() {
  for (FreeBlock*& head : free_blocks) {
    while (head != nullptr) std::free(std::exchange(head, head->next));
  }
  cached = 0;
}

}  // namespace weft::tensor
