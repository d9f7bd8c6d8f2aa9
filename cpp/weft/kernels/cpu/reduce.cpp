// Walks strided arrays for reductions: finds contiguous rows or columns, splits large work over
// threads into pieces that do not depend on their number.
#include "weft/kernels/reduce.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "weft/base/blocking.h"
#include "weft/base/thread_pool.h"
#include "weft/kernels/cpu/isa.h"
#include "weft/kernels/cpu/reduce_table.h"
#include "weft/kernels/map.h"

namespace weft::kernels {

using tensor::Array;
using tensor::Dims;
using tensor::DType;
using tensor::Lane;

WEFT_CHOOSE(ReduceTable, reduce_table)

namespace {

template <class T>
const Reducer<T>& reducer(Reduction kind) {
  return part<T>(reduce_table())[static_cast<size_t>(kind)];
}

// Calls body with a zero of the lane's type.
template <class Body>
void with_lane(const Array& array, Body body) {
  tensor::on_lane(tensor::lane_of(array.dtype), body);
}

// Dimensions as nested loops, outermost first.
struct Loops {
  Dims sizes, strides;
  int64_t count() const { return tensor::count_of(sizes); }
  // Where iteration `index` begins.
  int64_t offset(int64_t index) const { return tensor::offset_at(index, sizes, strides); }
  void add(int64_t size, int64_t stride) {
    if (size == 1) return;
    if (!sizes.empty() && strides.back() == size * stride) {
      sizes.back() *= size;
      strides.back() = stride;
      return;
    }
    sizes.push_back(size);
    strides.push_back(stride);
  }
  bool ends_with_stride_one() const { return !strides.empty() && strides.back() == 1; }
  // Takes the innermost loop away.
  int64_t pop() {
    const int64_t size = sizes.back();
    sizes.pop_back();
    strides.pop_back();
    return size;
  }
};

constexpr int64_t chunk_elements = 1 << 16;  // a piece of work, and of the order of adding up

template <class T>
struct Job {
  const Reducer<T>& reducer;
  const T* in;
  const T* shift;
  double divisor;
  void* out;
  bool out_is_double;

  void finish(int64_t index, Total<T> total) const {
    if constexpr (!std::is_same_v<T, int64_t>) total /= divisor;
    if (out_is_double) {
      static_cast<double*>(out)[index] = static_cast<double>(total);
    } else {
      static_cast<T*>(out)[index] = static_cast<T>(total);
    }
  }
};

// Each output is reduced from contiguous runs of `length` elements.
template <class T>
void reduce_rows(const Job<T>& job, const Loops& kept, const Loops& outer, int64_t length) {
  const int64_t outputs = kept.count(), runs = outer.count();
  const int64_t blocks_in_run = (length + block_elements - 1) / block_elements;
  const int64_t blocks = runs * blocks_in_run;
  // Blocks first..last of one output. They are numbered along the runs.
  const auto some_blocks = [&](int64_t output, int64_t first, int64_t last) {
    const T* from = job.in + kept.offset(output);
    T shift[4];
    std::fill(shift, shift + 4, job.shift ? job.shift[output] : T(0));
    Total<T> total = job.reducer.identity;
    for (int64_t b = first; b < last;) {
      const int64_t start = b % blocks_in_run * block_elements;
      const int64_t count = std::min(block_elements, length - start);
      // Whole blocks of a run go together.
      const int64_t some =
          std::clamp<int64_t>(std::min((length - start) / block_elements, last - b), 1, 4);
      Total<T> parts[4];
      job.reducer.blocks(from + outer.offset(b / blocks_in_run) + start, some, block_elements,
                         count, shift, parts);
      for (int64_t i = 0; i < some; ++i) total = job.reducer.combine(total, parts[i]);
      b += some;
    }
    return total;
  };
  const int64_t chunk =
      std::max<int64_t>(1, chunk_elements / std::min(std::max<int64_t>(length, 1), block_elements));
  const int64_t chunks = (blocks + chunk - 1) / chunk;
  if (chunks <= 1) {
    const int64_t grain =
        std::max<int64_t>(1, chunk_elements / std::max<int64_t>(1, runs * length));
    base::parallel_for(outputs, grain, [&](int64_t begin, int64_t end) {
      if (blocks != 1 || kept.sizes.size() > 1) {
        for (int64_t i = begin; i < end; ++i) job.finish(i, some_blocks(i, 0, blocks));
        return;
      }
      // One block an output, evenly spaced: several outputs a call.
      const int64_t stride = kept.sizes.empty() ? 0 : kept.strides[0];
      for (int64_t i = begin; i < end; i += 64) {
        Total<T> totals[64];
        const int64_t some = std::min<int64_t>(64, end - i);
        job.reducer.blocks(job.in + i * stride, some, stride, length,
                           job.shift ? job.shift + i : nullptr, totals);
        for (int64_t j = 0; j < some; ++j) job.finish(i + j, totals[j]);
      }
    });
    return;
  }
  std::vector<Total<T>> parts(outputs * chunks);
  base::parallel_for(outputs * chunks, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t first = i % chunks * chunk;
      parts[i] = some_blocks(i / chunks, first, std::min(first + chunk, blocks));
    }
  });
  for (int64_t i = 0; i < outputs; ++i) {
    Total<T> total = parts[i * chunks];
    for (int64_t c = 1; c < chunks; ++c) {
      total = job.reducer.combine(total, parts[i * chunks + c]);
    }
    job.finish(i, total);
  }
}

// Outputs lie side by side in runs of `width` contiguous elements; whole rows are joined.
template <class T>
void reduce_columns(const Job<T>& job, const Loops& kept, int64_t width, Loops outer) {
  const int64_t groups = kept.count();
  const int64_t row_stride = outer.strides.empty() ? 0 : outer.strides.back();
  const int64_t rows = outer.strides.empty() ? 1 : outer.pop();
  const int64_t runs = outer.count();
  const int64_t tile = std::min(width, most_columns);
  const int64_t tiles = (width + tile - 1) / tile;
  const int64_t chunk = std::max(block_rows, chunk_elements / tile / block_rows * block_rows);
  const int64_t chunks_in_run = (rows + chunk - 1) / chunk, chunks = runs * chunks_in_run;
  const auto some_chunks = [&](int64_t group, int64_t column, int64_t first, int64_t last,
                               Total<T>* totals) {
    const int64_t columns = std::min(tile, width - column);
    std::fill(totals, totals + columns, job.reducer.identity);
    const T* from = job.in + kept.offset(group) + column;
    const T* shift = job.shift ? job.shift + group * width + column : nullptr;
    for (int64_t c = first; c < last; ++c) {
      const int64_t row = c % chunks_in_run * chunk;
      job.reducer.columns(from + outer.offset(c / chunks_in_run) + row * row_stride,
                          std::min(chunk, rows - row), row_stride, columns, shift, totals);
    }
    return columns;
  };
  const int64_t items = groups * tiles;
  // With few outputs the rows are split too.
  if (chunks <= 1 || items >= 64) {
    const int64_t grain =
        std::max<int64_t>(1, chunk_elements / std::max<int64_t>(1, runs * rows * tile));
    base::parallel_for(items, grain, [&](int64_t begin, int64_t end) {
      Total<T> totals[most_columns];
      for (int64_t i = begin; i < end; ++i) {
        const int64_t column = i % tiles * tile, group = i / tiles;
        const int64_t columns = some_chunks(group, column, 0, chunks, totals);
        for (int64_t j = 0; j < columns; ++j) job.finish(group * width + column + j, totals[j]);
      }
    });
    return;
  }
  std::vector<Total<T>> parts(chunks * groups * width);
  base::parallel_for(items * chunks, 1, [&](int64_t begin, int64_t end) {
    Total<T> totals[most_columns];
    for (int64_t i = begin; i < end; ++i) {
      const int64_t c = i % chunks, column = i / chunks % tiles * tile, group = i / chunks / tiles;
      const int64_t columns = some_chunks(group, column, c, c + 1, totals);
      std::copy(totals, totals + columns, &parts[c * groups * width + group * width + column]);
    }
  });
  for (int64_t i = 0; i < groups * width; ++i) {
    Total<T> total = parts[i];
    for (int64_t c = 1; c < chunks; ++c) {
      total = job.reducer.combine(total, parts[c * groups * width + i]);
    }
    job.finish(i, total);
  }
}

// Whether rows or columns of the array are contiguous; if neither, a copy is needed.
bool split_loops(const Array& in, DimMask dims, Loops& kept, Loops& reduced) {
  for (int64_t i = 0; i < in.rank(); ++i) {
    (dims >> i & 1 ? reduced : kept).add(in.sizes[i], in.strides[i]);
  }
  return kept.ends_with_stride_one() || reduced.ends_with_stride_one() ||
         (kept.sizes.empty() && reduced.sizes.empty());
}

template <class T>
void reduce_lane(Reduction kind, const Array& in, DimMask dims, const Array& out,
                 const ReduceOptions& options) {
  Loops kept, reduced;
  if (!split_loops(in, dims, kept, reduced)) {
    // Reduced dimensions go last, so that rows are contiguous afterwards.
    Dims order;
    for (int reduced_turn = 0; reduced_turn < 2; ++reduced_turn) {
      for (int64_t i = 0; i < in.rank(); ++i) {
        if (static_cast<int>(dims >> i & 1) == reduced_turn) order.push_back(i);
      }
    }
    DimMask last = 0;
    for (int64_t i = 0; i < in.rank(); ++i) {
      if (dims >> order[i] & 1) last |= DimMask{1} << i;
    }
    return reduce_lane<T>(kind, converted(in.permute(order), in.dtype), last, out, options);
  }
  const Job<T> job{reducer<T>(kind), in.as<T>(), options.shift ? options.shift->as<T>() : nullptr,
                   options.divisor,  out.data(), out.dtype == DType::f64 && in.dtype != DType::f64};
  const base::BlockingRegion region(in.count() > chunk_elements);
  // Rows that are too short for vectors are better taken as columns where both are possible.
  if (kept.ends_with_stride_one()) {
    const int64_t width = kept.pop();
    reduce_columns(job, kept, width, std::move(reduced));
  } else {
    const int64_t length = reduced.ends_with_stride_one() ? reduced.pop() : 1;
    reduce_rows(job, kept, reduced, length);
  }
}

}  // namespace

void reduce(Reduction kind, const Array& in, DimMask dims, const Array& out,
            const ReduceOptions& options) {
  if (out.count() == 0) return;
  const Lane lane = tensor::lane_of(in.dtype);
  if (in.count() == out.count() && kind <= Reduction::smallest && options.divisor == 1) {
    // Nothing is reduced but dimensions of size 1.
    if (in.is_contiguous() && in.dtype == out.dtype) {
      std::memcpy(out.data(), in.data(), in.count() * tensor::item_size(in.dtype));
    } else {
      Array like_in = out.view(in.sizes, tensor::contiguous_strides(in.sizes), out.offset);
      copy(in, like_in);
    }
    return;
  }
  if (in.count() == 0) {
    const auto index = static_cast<size_t>(kind);
    if (lane == Lane::i64) return fill(out, reduce_table().i64[index].identity);
    return fill(out, reduce_table().f64[index].identity / options.divisor);
  }
  if (tensor::dtype_of(lane) != in.dtype) {
    return reduce(kind, converted(in, tensor::dtype_of(lane)), dims, out, options);
  }
  with_lane(in, [&]<class T>(T) { reduce_lane<T>(kind, in, dims, out, options); });
}

// ---- positions of extremes -------------------------------------------------------------------

namespace {

// Where the extreme of a row is first.
template <class T>
int64_t first_extreme(const T* row, int64_t size, const Reducer<T>& extreme) {
  Total<T> best = extreme.identity;
  for (int64_t i = 0; i < size; i += block_elements) {
    Total<T> part;
    extreme.blocks(row + i, 1, 0, std::min(block_elements, size - i), nullptr, &part);
    best = extreme.combine(best, part);
  }
  const T value = static_cast<T>(best);
  return std::find_if(row, row + size, [=](T x) { return x == value || x != x; }) - row;
}

// The same for columns that lie side by side.
template <class T>
void first_extremes(const T* in, int64_t size, int64_t columns, bool largest, int64_t* where) {
  std::fill(where, where + columns, 0);
  for (int64_t i = 1; i < size; ++i) {
    for (int64_t j = 0; j < columns; ++j) {
      const T x = in[i * columns + j], best = in[where[j] * columns + j];
      if ((largest ? x > best : x < best) || (x != x && best == best)) where[j] = i;
    }
  }
}

template <class T>
void find_extremes(const T* in, const tensor::Split& split, bool largest, T* values,
                   int64_t* indices) {
  const Reducer<T>& extreme = reducer<T>(largest ? Reduction::largest : Reduction::smallest);
  const int64_t inner = split.inner, stretch = split.size * inner;
  auto find = [&](int64_t begin, int64_t end) {
    for (int64_t o = begin; o < end; ++o) {
      const T* from = in + o * stretch;
      int64_t* where = indices + o * inner;
      if (inner == 1) {
        *where = first_extreme(from, split.size, extreme);
      } else {
        first_extremes(from, split.size, inner, largest, where);
      }
      for (int64_t j = 0; values && j < inner; ++j) {
        values[o * inner + j] = from[where[j] * inner + j];
      }
    }
  };
  base::parallel_for(split.outer, std::max<int64_t>(1, chunk_elements / stretch), find);
}

}  // namespace

void extreme_positions(const Array& in, int64_t dim, bool largest, const Array* values,
                       const Array& indices) {
  if (indices.count() == 0) return;
  const tensor::Split split = tensor::split_at(in.sizes, dim);
  const base::BlockingRegion region(in.count() > chunk_elements);
  with_lane(in, [&]<class T>(T) {
    find_extremes(in.as<T>(), split, largest, values ? values->as<T>() : nullptr,
                  indices.as<int64_t>());
  });
}

// ---- running results -------------------------------------------------------------------------

namespace {

template <class T>
void scan_lane(Scan kind, const T* in, T* out, const tensor::Split& split) {
  using Sum = std::conditional_t<std::is_same_v<T, int64_t>, uint64_t, double>;
  const bool adds = kind == Scan::sum;
  const int64_t inner = split.inner, stretch = split.size * inner;
  auto columns = [&](int64_t begin, int64_t end) {
    for (int64_t column = begin * inner; column < end * inner; ++column) {
      const int64_t start = column / inner * stretch + column % inner;
      Sum total = adds ? 0 : 1;
      for (int64_t i = start; i < start + stretch; i += inner) {
        total = adds ? total + static_cast<Sum>(in[i]) : total * static_cast<Sum>(in[i]);
        out[i] = static_cast<T>(total);
      }
    }
  };
  base::parallel_for(split.outer, std::max<int64_t>(1, chunk_elements / stretch), columns);
}

}  // namespace

void scan(Scan kind, const Array& in, int64_t dim, const Array& out) {
  if (in.count() == 0) return;
  const tensor::Split split = tensor::split_at(in.sizes, dim);
  const base::BlockingRegion region(in.count() > chunk_elements);
  with_lane(in, [&]<class T>(T) { scan_lane(kind, in.as<T>(), out.as<T>(), split); });
}

}  // namespace weft::kernels
