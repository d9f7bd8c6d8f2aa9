#include "weft/tensor/storage.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <new>
#include <utility>

#include "weft/base/errors.h"
#include "weft/tensor/blocks.h"
#include "weft/tensor/failing.h"

namespace weft::tensor {
namespace {

constexpr int64_t alignment = 64;
constexpr int64_t cache_limit = int64_t{1} << 29;  // at most 512 MiB are kept for reuse

// Four size classes for each power of two: at most a quarter of a piece is unused.
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

struct FreePiece {
  FreePiece* next;
};
constexpr int64_t large_bytes = int64_t{1} << 14;  // from here on memory is cut to measure
FreePiece* free_pieces[16 * 5];
int64_t cached = 0;  // in free pieces
int64_t live = 0;
int64_t peak = 0;

// Allocations that are to fail, after some that are not. While there are any, `peak` lies below
// anything: then each allocation is a new peak, and at other times nothing is asked.
int64_t failures = 0;
int64_t until_failures = 0;
int64_t kept_peak = 0;
constexpr int64_t below_any = -1;

void new_peak() {
  if (failures == 0) {
    peak = live;
  } else if (until_failures > 0) {
    --until_failures;
    kept_peak = std::max(kept_peak, live);
  } else {
    if (--failures == 0) peak = kept_peak;
    base::fail(base::ErrorKind::memory, "out of memory: this allocation was to fail");
  }
}

base::Ref<Storage> counted(Storage* made) {
  base::Ref<Storage> storage(made);
  live += storage->bytes();
  if (live > peak) [[unlikely]]
    new_peak();
  return storage;
}

struct Piece {
  char* data = nullptr;
  Block* block = nullptr;  // of a large one
};

Piece find_piece(int64_t bytes) {
#ifndef __SANITIZE_ADDRESS__
  if (bytes >= large_bytes) {
    Block* block = take_block(bytes);
    return block ? Piece{data_of(block), block} : Piece{};
  }
  const uint16_t size_class = class_of(bytes);
  if (FreePiece* piece = free_pieces[size_class]) {
    free_pieces[size_class] = piece->next;
    cached -= bytes_of(size_class);
    return {reinterpret_cast<char*>(piece)};
  }
#endif
  void* data = nullptr;
  const auto size = static_cast<size_t>(bytes_of(class_of(bytes)));
  return {posix_memalign(&data, alignment, size) == 0 ? static_cast<char*>(data) : nullptr};
}

Piece take_piece(int64_t bytes) {
  Piece piece = find_piece(bytes);
  if (!piece.data) {
    release_cached_memory();
    piece = find_piece(bytes);
  }
  if (!piece.data) {
    base::fail(base::ErrorKind::memory, "out of memory: cannot allocate ", bytes, " bytes (", live,
               " bytes are in use by tensors)");
  }
  return piece;
}

void give_piece(Piece given, [[maybe_unused]] int64_t bytes) noexcept {
#ifndef __SANITIZE_ADDRESS__
  if (given.block) {
    give_block(given.block);
  } else {
    auto* piece = reinterpret_cast<FreePiece*>(given.data);
    const uint16_t size_class = class_of(bytes);
    piece->next = std::exchange(free_pieces[size_class], piece);
    cached += bytes_of(size_class);
  }
  if (cached_bytes() > cache_limit) release_cached_memory();
#else
  std::free(given.data);
#endif
}

// Up to 64 bytes lie right behind their Storage: one piece of memory instead of two.
constexpr int64_t small_bytes = 64;
static_assert(sizeof(Storage) <= alignment);
FreePiece* free_small = nullptr;

char* take_small() {
#ifndef __SANITIZE_ADDRESS__
  if (free_small) {
    char* block = reinterpret_cast<char*>(std::exchange(free_small, free_small->next));
    __builtin_prefetch(free_small, 1);  // asked for soon, and may have left the cache
    return block;
  }
  return static_cast<char*>(base::take_for_good(alignment + small_bytes));
#else
  void* block = std::aligned_alloc(alignment, alignment + small_bytes);
  if (block == nullptr) throw std::bad_alloc();
  return static_cast<char*>(block);
#endif
}

void give_small(char* block) noexcept {
#ifndef __SANITIZE_ADDRESS__
  auto* free = reinterpret_cast<FreePiece*>(block);
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
    return counted(::new (block) Storage(block + alignment, bytes, {}));
  }
  const Piece piece = take_piece(bytes);
  return counted(new Storage(piece.data, bytes, {.owner = piece.block}));
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
    give_piece({storage->data_, static_cast<tensor::Block*>(storage->foreign_.owner)},
               storage->bytes_);
  }
  delete storage;
}

int64_t live_bytes() { return live; }
int64_t peak_bytes() { return failures ? kept_peak : peak; }
void reset_peak_bytes() { (failures ? kept_peak : peak) = live; }
int64_t fail_allocations(int64_t after, int64_t count) {
  if (failures == 0) kept_peak = peak;
  peak = count > 0 ? below_any : kept_peak;
  until_failures = after;
  return std::exchange(failures, count);
}
int64_t cached_bytes() { return cached + free_block_bytes(); }

void release_cached_memory() {
  for (FreePiece*& head : free_pieces) {
    while (head != nullptr) std::free(std::exchange(head, head->next));
  }
  cached = 0;
  release_free_blocks();
}

}  // namespace weft::tensor
