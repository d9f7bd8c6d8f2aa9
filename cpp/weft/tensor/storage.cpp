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
struct SizeClass {
  int index;
  int64_t bytes;
};

SizeClass class_of(int64_t bytes) {
  const auto wanted = static_cast<uint64_t>(std::max<int64_t>(bytes, alignment));
  const int power = std::bit_width(wanted - 1);  // wanted <= 2**power
  const uint64_t quarter = std::max<uint64_t>((uint64_t{1} << power) / 8, alignment);
  const uint64_t rounded = (wanted + quarter - 1) / quarter * quarter;
  const int step = static_cast<int>((rounded - (uint64_t{1} << power) / 2) / quarter);
  return {power * 5 + step, static_cast<int64_t>(rounded)};
}

struct FreeBlock {
  FreeBlock* next;
};
FreeBlock* free_blocks[64 * 5 + 5];
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

char* take_block(int64_t bytes) {
  const SizeClass size = class_of(bytes);
#ifndef __SANITIZE_ADDRESS__
  if (FreeBlock* block = free_blocks[size.index]) {
    free_blocks[size.index] = block->next;
    cached -= size.bytes;
    return reinterpret_cast<char*>(block);
  }
#endif
  char* block = allocate_block(size.bytes);
  if (block == nullptr) {
    release_cached_memory();
    block = allocate_block(size.bytes);
  }
  if (block == nullptr) {
    base::fail(base::ErrorKind::memory, "out of memory: cannot allocate ", bytes, " bytes (", live,
               " bytes are in use by tensors)");
  }
  return block;
}

void give_block(char* data, int64_t bytes) noexcept {
#ifndef __SANITIZE_ADDRESS__
  const SizeClass size = class_of(bytes);
  if (size.bytes <= cache_limit) {
    // Sizes that nobody asks for any more must not keep out those that are in use.
    if (cached + size.bytes > cache_limit) release_cached_memory();
    auto* block = reinterpret_cast<FreeBlock*>(data);
    block->next = free_blocks[size.index];
    free_blocks[size.index] = block;
    cached += size.bytes;
    return;
  }
#else
  (void)bytes;
#endif
  std::free(data);
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
  char* data = take_block(bytes);
  live += bytes;
  peak = std::max(peak, live);
  return base::Ref<Storage>(new Storage(data, bytes, {}));
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
    give_block(storage->data_, storage->bytes_);
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
