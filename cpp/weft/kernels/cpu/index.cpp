#include "weft/kernels/index.h"

#include <algorithm>
#include <cstring>

#include "weft/base/blocking.h"
#include "weft/base/thread_pool.h"
#include "weft/kernels/map.h"

namespace weft::kernels {
namespace {

using base::BlockingRegion;
using base::parallel_for;
using tensor::DType;

constexpr int64_t large_work = 1 << 15;  // elements; below it threads cost more than they bring

// Calls body(zero of the element type, function that combines into the first argument).
template <class Body>
void by_combination(DType dtype, Combine combine, Body&& body) {
  if (combine == Combine::assign) {
    return tensor::by_size(dtype,
                           [&](auto zero) { body(zero, [](auto& to, auto from) { to = from; }); });
  }
  tensor::on_lane(tensor::lane_of(dtype), [&]<class T>(T zero) {
    // Integers wrap around, which only unsigned arithmetic may do.
    using Wide = std::conditional_t<std::is_integral_v<T>, uint64_t, T>;
    switch (combine) {
      case Combine::add:
        return body(zero, [](T& to, T from) { to = static_cast<T>(Wide(to) + Wide(from)); });
      case Combine::multiply:
        return body(zero, [](T& to, T from) { to = static_cast<T>(Wide(to) * Wide(from)); });
      case Combine::maximum:  // NaN wins
        return body(zero, [](T& to, T from) { to = to != to || to > from ? to : from; });
      default:
        return body(zero, [](T& to, T from) { to = to != to || to < from ? to : from; });
    }
  });
}

// The offsets of all positions of a shape, in row-major order.
Array offsets_of(const Dims& sizes, const Dims& strides) {
  const int64_t count = tensor::count_of(sizes);
  Array result = Array::allocate({count}, DType::i64);
  auto* offsets = result.as<int64_t>();
  for (int64_t i = 0; i < count; ++i) offsets[i] = tensor::offset_at(i, sizes, strides);
  return result;
}

}  // namespace

std::optional<int64_t> find_out_of_range(const Array& indices, int64_t lowest, int64_t size) {
  const auto* values = indices.as<int64_t>();
  const int64_t count = indices.count();
  // Counted from the lowest, valid values are the smallest unsigned ones: one comparison each.
  const auto start = static_cast<uint64_t>(lowest);
  const uint64_t valid = static_cast<uint64_t>(size) - start;
  const auto is_bad = [&](int64_t value) { return static_cast<uint64_t>(value) - start >= valid; };
  bool bad = false;
  for (int64_t i = 0; i < count; ++i) bad |= is_bad(values[i]);
  if (!bad) return std::nullopt;
  return *std::find_if(values, values + count, is_bad);
}

Places::Places(const Array& array, std::span<const Array> indices, std::span<const int64_t> dims,
               int64_t before) {
  Dims sizes[2], strides[2];
  int64_t seen = 0;
  for (int64_t i = 0; i < array.rank(); ++i) {
    if (std::find(dims.begin(), dims.end(), i) != dims.end()) continue;
    const int side = seen++ < before ? 0 : 1;
    sizes[side].push_back(array.sizes[i]);
    strides[side].push_back(array.strides[i]);
  }
  outer_count = tensor::count_of(sizes[0]);
  inner_count = tensor::count_of(sizes[1]);
  if (outer_count * inner_count == 0) return;  // no places; offsets could still be too many
  outer_ = offsets_of(sizes[0], strides[0]);
  const Array inner = array.view(sizes[1], strides[1], 0);
  if (!inner.is_contiguous()) inner_ = offsets_of(sizes[1], strides[1]);

  chosen_count = indices[0].count();
  chosen_ = Array::allocate({chosen_count}, DType::i64);
  auto* chosen = chosen_.as<int64_t>();
  std::fill_n(chosen, chosen_count, 0);
  for (size_t k = 0; k < indices.size(); ++k) {
    const auto* index = indices[k].as<int64_t>();
    const int64_t size = array.sizes[dims[k]], stride = array.strides[dims[k]];
    for (int64_t c = 0; c < chosen_count; ++c) {
      chosen[c] += (index[c] < 0 ? index[c] + size : index[c]) * stride;
    }
  }
}

Places Places::of_elements(const Array& array, const Array& index, int64_t dim) {
  Places places;
  const int64_t size = array.sizes[dim], stride = array.strides[dim], length = index.sizes.back();
  Dims strides = array.strides;
  strides[dim] = 0;
  // Only places along `dim` can coincide: threads share out the first dimension, or the last one.
  if (dim + 1 < index.rank()) places.columns = length;
  places.each_its_own_ = dim > 0;
  places.outer_count = dim > 0 ? index.sizes[0] : 1;
  places.outer_ = offsets_of({places.outer_count}, {strides[0]});
  if (dim > 0) strides[0] = 0;
  places.chosen_count = index.count() / std::max<int64_t>(1, places.outer_count);
  places.chosen_ = Array::allocate({index.count()}, DType::i64);
  if (index.count() == 0) return places;
  const auto rows = std::span<const int64_t>(index.sizes).first(index.sizes.size() - 1);
  const auto* indices = index.as<int64_t>();
  auto* chosen = places.chosen_.as<int64_t>();
  BlockingRegion region(index.count() > large_work);
  parallel_for(index.count() / length, std::max<int64_t>(1, large_work / length),
               [&](int64_t begin, int64_t end) {
                 for (int64_t row = begin; row < end; ++row) {
                   const int64_t start = tensor::offset_at(row, rows, strides);
                   for (int64_t k = 0; k < length; ++k) {
                     const int64_t i = indices[row * length + k];
                     chosen[row * length + k] =
                         start + k * strides.back() + (i < 0 ? i + size : i) * stride;
                   }
                 }
               });
  return places;
}

Places Places::of_view(const Array& view) {
  Places places;
  places.outer_ = Array::allocate({1}, DType::i64);
  *places.outer_.as<int64_t>() = view.offset;
  places.chosen_ = offsets_of(view.sizes, view.strides);
  places.chosen_count = view.count();
  return places;
}

void take(const Array& in, const Places& places, const Array& out) {
  const int64_t inner = places.inner_count, chosen_count = places.chosen_count;
  const int64_t blocks = places.outer_count * chosen_count;
  if (blocks == 0 || inner == 0) return;
  const int64_t *outer_offsets = places.outer(), *inner_offsets = places.inner();
  tensor::by_size(in.dtype, [&]<class T>(T) {
    const T* source = in.as<T>();
    T* target = out.as<T>();
    BlockingRegion region(blocks * inner > large_work);
    const int64_t grain = std::max<int64_t>(1, large_work / inner);
    parallel_for(blocks, grain, [&](int64_t begin, int64_t end) {
      for (int64_t block = begin; block < end;) {
        const int64_t row = block / chosen_count, first = block % chosen_count;
        const int64_t last = std::min(chosen_count, first + end - block);
        const T* base = source + outer_offsets[row];
        const int64_t* chosen = places.chosen(row);
        T* to = target + block * inner;
        block += last - first;
        if (inner == 1) {
          for (int64_t c = first; c < last; ++c) *to++ = base[chosen[c]];
          continue;
        }
        for (int64_t c = first; c < last; ++c, to += inner) {
          const T* from = base + chosen[c];
          if (!inner_offsets) {
            std::memcpy(to, from, inner * sizeof(T));
          } else {
            for (int64_t i = 0; i < inner; ++i) to[i] = from[inner_offsets[i]];
          }
        }
      }
    });
  });
}

void put(const Array& values, const Places& places, const Array& out, Combine combine) {
  const int64_t inner = places.inner_count, chosen_count = places.chosen_count;
  const int64_t columns = places.columns, count = places.outer_count * chosen_count * inner;
  if (count == 0) return;
  if (const DType lane = tensor::lane_dtype(out.dtype);
      combine != Combine::assign && lane != out.dtype) {
    const Array wide = converted(out, lane);
    put(converted(values, lane), places, wide, combine);
    return copy(wide, out);
  }
  const int64_t step = values.count() == 1 ? 0 : 1;
  const int64_t *outer_offsets = places.outer(), *inner_offsets = places.inner();
  by_combination(out.dtype, combine, [&]<class T>(T, auto write) {
    const T* source = values.as<T>();
    T* target = out.as<T>();
    const auto part = [&](int64_t outer_begin, int64_t outer_end, int64_t begin, int64_t end) {
      for (int64_t o = outer_begin; o < outer_end; ++o) {
        const int64_t* chosen = places.chosen(o);
        const T* from = source + o * chosen_count * inner * step;
        if (columns > 1) {
          for (int64_t row = 0; row < chosen_count; row += columns) {
            for (int64_t c = row + begin; c < row + end; ++c)
              write(target[outer_offsets[o] + chosen[c]], from[c * step]);
          }
          continue;
        }
        for (int64_t c = 0; c < chosen_count; ++c, from += inner * step) {
          T* to = target + outer_offsets[o] + chosen[c];
          if (!inner_offsets && step == 1) {
            for (int64_t i = begin; i < end; ++i) write(to[i], from[i]);
          } else {
            for (int64_t i = begin; i < end; ++i) {
              write(to[inner_offsets ? inner_offsets[i] : i], from[i * step]);
            }
          }
        }
      }
    };
    // Threads own disjoint outer rows or disjoint columns, so each place sees its values in order.
    BlockingRegion region(count > large_work);
    if (places.outer_count > 1) {
      const int64_t grain =
          std::max<int64_t>(1, large_work / std::max<int64_t>(1, chosen_count * inner));
      parallel_for(places.outer_count, grain,
                   [&](int64_t begin, int64_t end) { part(begin, end, 0, inner * columns); });
    } else {
      parallel_for(inner * columns, std::max<int64_t>(64, large_work * columns / chosen_count),
                   [&](int64_t begin, int64_t end) { part(0, 1, begin, end); });
    }
  });
}

}  // namespace weft::kernels
