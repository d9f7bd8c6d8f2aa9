// Elements become unsigned keys whose order is the wanted one. A key travels with its position, so
// that comparing both makes every sort stable; long rows go through a radix sort.
#include "weft/kernels/sort.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>
#include <type_traits>

#include "weft/base/blocking.h"
#include "weft/base/thread_pool.h"

namespace weft::kernels {
namespace {

using tensor::DType;

template <class T>
auto key_of(T value) {
  if constexpr (std::is_floating_point_v<T>) {
    using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
    constexpr Bits sign = Bits{1} << (8 * sizeof(T) - 1);
    if (value != value) return std::numeric_limits<Bits>::max();
    const auto bits = std::bit_cast<Bits>(value + T(0));  // -0 + 0 is 0
    return (bits & sign) ? Bits(~bits) : Bits(bits | sign);
  } else if constexpr (sizeof(T) == 8) {
    return static_cast<uint64_t>(value) ^ (uint64_t{1} << 63);
  } else if constexpr (std::is_integral_v<T>) {
    return static_cast<uint32_t>(static_cast<int32_t>(value)) ^ (uint32_t{1} << 31);
  } else {
    return key_of(tensor::to_float(value));
  }
}

struct Wide {
  uint64_t key, index;
  friend auto operator<=>(const Wide&, const Wide&) = default;
};
// A key of 32 bits and a position of 32 bits in one word.
using Narrow = uint64_t;

inline uint32_t digit(Narrow item, int pass) { return item >> (32 + 8 * pass) & 255; }
inline uint32_t digit(const Wide& item, int pass) { return item.key >> (8 * pass) & 255; }
inline uint64_t index_of(Narrow item) { return item & 0xffffffffu; }
inline uint64_t index_of(const Wide& item) { return item.index; }

template <class Item, class Key>
Item make_item(Key key, int64_t index, bool descending) {
  if (descending) key = static_cast<Key>(~key);
  if constexpr (std::is_same_v<Item, Narrow>) {
    return uint64_t{key} << 32 | static_cast<uint64_t>(index);
  } else {
    return {key, static_cast<uint64_t>(index)};
  }
}

template <class Item>
void sort_items(Item* items, Item* scratch, int64_t count) {
  if (count < 1500) {
    std::sort(items, items + count);
    return;
  }
  Item* target = items;
  for (int pass = 0; pass < (std::is_same_v<Item, Narrow> ? 4 : 8); ++pass) {
    int64_t places[256] = {};
    for (int64_t i = 0; i < count; ++i) ++places[digit(items[i], pass)];
    if (places[digit(items[0], pass)] == count) continue;  // all alike
    std::exclusive_scan(places, places + 256, places, int64_t{0});
    for (int64_t i = 0; i < count; ++i) scratch[places[digit(items[i], pass)]++] = items[i];
    std::swap(items, scratch);
  }
  if (items != target) std::copy_n(items, count, target);
}

// Calls order(item at a position, room for twice `length` items) for each row; it leaves the wanted
// items in front. Writes the first k.
template <class T, class Item, class Order>
void order_rows(const Array& in, int64_t rows, int64_t length, int64_t k, bool descending,
                const Array& chosen, const Array& indices, Order order) {
  // Scratch memory is taken here: threads must not allocate.
  const int64_t parts = std::min<int64_t>(rows * length > 16384 ? base::thread_count() : 1, rows);
  const Array scratch =
      Array::allocate({parts, 2, length, static_cast<int64_t>(sizeof(Item))}, DType::u8);
  const T* values = in.as<T>();
  T* first = chosen.as<T>();
  auto* positions = indices.as<int64_t>();
  Item* memory = scratch.as<Item>();
  base::BlockingRegion region(rows * length > 4096);
  base::parallel_for(parts, 1, [&](int64_t begin, int64_t end) {
    for (int64_t part = begin; part < end; ++part) {
      Item* items = memory + part * 2 * length;
      for (int64_t row = rows * part / parts; row < rows * (part + 1) / parts; ++row) {
        const T* row_values = values + row * length;
        order([&](int64_t i) { return make_item<Item>(key_of(row_values[i]), i, descending); },
              items);
        for (int64_t i = 0; i < k; ++i) {
          positions[row * k + i] = static_cast<int64_t>(index_of(items[i]));
          first[row * k + i] = row_values[index_of(items[i])];
        }
      }
    }
  });
}

}  // namespace

void select_rows(const Array& in, int64_t rows, int64_t length, int64_t k, bool descending,
                 bool sorted, const Array& values, const Array& indices) {
  if (rows == 0 || length == 0 || k == 0) return;
  const bool few = k <= 128 && k < length / 8;
  const auto order = [=](auto item, auto* items) {
    const int64_t first = few ? k : length;
    for (int64_t i = 0; i < first; ++i) items[i] = item(i);
    if (few) {
      // A heap of the best so far; most others are no match for its worst.
      std::make_heap(items, items + k);
      for (int64_t i = k; i < length; ++i) {
        const auto next = item(i);
        if (next < items[0]) {
          std::pop_heap(items, items + k);
          items[k - 1] = next;
          std::push_heap(items, items + k);
        }
      }
      std::sort_heap(items, items + k);
    } else {
      if (k < length || !sorted) std::nth_element(items, items + k - 1, items + length);
      if (sorted) sort_items(items, items + length, k);
    }
  };
  tensor::dispatch(in.dtype, [&]<class T>(T*) {
    if constexpr (sizeof(T) < 8) {
      if (length <= std::numeric_limits<uint32_t>::max()) {
        return order_rows<T, Narrow>(in, rows, length, k, descending, values, indices, order);
      }
    }
    order_rows<T, Wide>(in, rows, length, k, descending, values, indices, order);
  });
}

void search_sorted(const Array& sorted, const Array& values, bool right, const Array& positions) {
  const int64_t count = values.count(), length = sorted.sizes.back();
  const int64_t row_values = sorted.rank() == 1 ? count : values.sizes.back();
  auto* found = positions.as<int64_t>();
  tensor::on_lane(tensor::lane_of(sorted.dtype), [&]<class T>(T) {
    const T *rows = sorted.as<T>(), *wanted = values.as<T>();
    base::BlockingRegion region(count > 4096);
    base::parallel_for(count, 4096, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const T *row = rows + i / row_values * length, value = wanted[i];
        // Written so that NaN belongs behind everything.
        const auto is_before = [&](T key) { return right ? !(key > value) : !(key >= value); };
        found[i] = std::partition_point(row, row + length, is_before) - row;
      }
    });
  });
}

}  // namespace weft::kernels
