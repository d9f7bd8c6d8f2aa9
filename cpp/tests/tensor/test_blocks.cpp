#include "weft/tensor/blocks.h"

#include <doctest/doctest.h>

#include <cstring>
#include <map>
#include <random>
#include <vector>

namespace weft::tensor {
namespace {

constexpr int64_t granule = 256;

struct Taken {
  Block* block;
  int64_t bytes;
  unsigned char mark;
};

bool holds_mark(const Taken& taken) {
  const char* data = data_of(taken.block);
  for (int64_t i : {int64_t{0}, taken.bytes / 2, taken.bytes - 1}) {
    if (static_cast<unsigned char>(data[i]) != taken.mark) return false;
  }
  return true;
}

TEST_CASE("blocks in use never overlap, whatever was given back before") {
  release_free_blocks();
  std::mt19937 random(7);
  std::vector<Taken> all;
  std::map<const char*, int64_t> places;  // of those in use: where each begins and ends
  for (int step = 0; step < 4000; ++step) {
    if (all.empty() || random() % 5 < 3) {
      const auto bytes = static_cast<int64_t>(1 + random() % (random() % 8 ? 40'000 : 3'000'000));
      const Taken taken{take_block(bytes), bytes, static_cast<unsigned char>(random())};
      REQUIRE(taken.block);
      char* const data = data_of(taken.block);
      const auto next = places.lower_bound(data);
      if (next != places.end()) REQUIRE(data + bytes <= next->first);
      if (next != places.begin()) REQUIRE(std::prev(next)->first + std::prev(next)->second <= data);
      places[data] = bytes;
      CHECK(reinterpret_cast<uintptr_t>(data) % granule == 0);
      for (int64_t i : {int64_t{0}, bytes / 2, bytes - 1}) data[i] = static_cast<char>(taken.mark);
      all.push_back(taken);
    } else {
      std::swap(all[random() % all.size()], all.back());
      REQUIRE(holds_mark(all.back()));
      places.erase(data_of(all.back().block));
      give_block(all.back().block);
      all.pop_back();
    }
    if (step % 1000 == 999) release_free_blocks();  // takes nothing from those in use
  }
  for (const Taken& taken : all) {
    CHECK(holds_mark(taken));
    give_block(taken.block);
  }
  release_free_blocks();
  CHECK(free_block_bytes() == 0);
}

TEST_CASE("neighbours that are free are one, in whatever order they were given back") {
  for (const auto& order : {std::vector{0, 1, 2}, {2, 1, 0}, {0, 2, 1}, {1, 0, 2}}) {
    release_free_blocks();
    constexpr int64_t bytes = 1 << 20;
    Block* blocks[3];
    for (Block*& block : blocks) block = take_block(bytes);
    char* const begin = data_of(blocks[0]);
    CHECK(data_of(blocks[1]) == begin + bytes);
    for (const int i : order) give_block(blocks[i]);
    CHECK(free_block_bytes() == 3 * bytes);
    Block* whole = take_block(3 * bytes);
    CHECK(data_of(whole) == begin);
    CHECK(free_block_bytes() == 0);
    give_block(whole);
  }
  release_free_blocks();
}

TEST_CASE("the smallest block that is large enough is taken") {
  release_free_blocks();
  constexpr int64_t sizes[] = {64 * granule, granule, 16 * granule, granule, 4 * granule, granule};
  Block* blocks[6];
  for (int i = 0; i < 6; ++i) blocks[i] = take_block(sizes[i]);
  char* const places[] = {data_of(blocks[0]), data_of(blocks[2]), data_of(blocks[4])};
  for (const int i : {0, 2, 4}) give_block(blocks[i]);
  CHECK(free_block_bytes() == (64 + 16 + 4) * granule);
  Block* middle = take_block(5 * granule);
  CHECK(data_of(middle) == places[1]);
  Block* small = take_block(3 * granule + 1);  // rounded up
  CHECK(data_of(small) == places[2]);
  CHECK(free_block_bytes() == (64 + 11) * granule);
  give_block(middle);
  give_block(small);
  for (const int i : {1, 3, 5}) give_block(blocks[i]);
  release_free_blocks();
}

TEST_CASE("memory that nobody has touched is not counted, and what is released is not either") {
  release_free_blocks();
  Block* one = take_block(1 << 16);
  CHECK(free_block_bytes() == 0);  // the rest of the segment was never in memory
  Block* other = take_block(1 << 16);
  std::memset(data_of(one), 1, 1 << 16);
  give_block(one);
  CHECK(free_block_bytes() == 1 << 16);
  release_free_blocks();
  CHECK(free_block_bytes() == 0);
  Block* again = take_block(1 << 15);  // a part of it
  CHECK(free_block_bytes() == 0);
  give_block(again);
  CHECK(free_block_bytes() == 1 << 15);
  give_block(other);
  release_free_blocks();
}

TEST_CASE("larger than a segment is a segment of its own") {
  constexpr int64_t bytes = (int64_t{1} << 25) + 5;
  Block* block = take_block(bytes);
  REQUIRE(block);
  char* const data = data_of(block);
  data[0] = data[bytes - 1] = 3;
  CHECK(data[bytes - 1] == 3);
  give_block(block);
  release_free_blocks();
  CHECK(take_block(int64_t{1} << 60) == nullptr);
}

}  // namespace
}  // namespace weft::tensor
