// Walks strided operands and feeds tiles of them to the block loops of map_isa.cpp.
#include "weft/kernels/map.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include "weft/base/blocking.h"
#include "weft/base/small_vector.h"
#include "weft/base/thread_pool.h"
#include "weft/kernels/cpu/isa.h"
#include "weft/kernels/cpu/map_isa.h"

namespace weft::kernels {

WEFT_CHOOSE(MapTable, map_table)

namespace {

using tensor::item_size;
using tensor::lane_of;
using tensor::lane_size;

// All tiles of a Program, and the memory that they are read from, fit in the first cache.
constexpr int64_t tile_count = 512;
// Below this many elements threads cost more than they save.
constexpr int64_t parallel_count = int64_t{1} << 17;
constexpr int64_t parallel_grain = int64_t{1} << 15;
constexpr int64_t long_row = 256;

const MapTable& table = map_table();
LoadFunction loader(DType dtype, Lane lane) {
  return table.load[static_cast<int>(dtype)][static_cast<int>(lane)];
}
StoreFunction storer(DType dtype, Lane lane) {
  return table.store[static_cast<int>(dtype)][static_cast<int>(lane)];
}

constexpr std::string_view formula_names[] = {
#define WEFT_FORMULA(name, ...) #name,
#include "formulas.inc"
};

constexpr int64_t tile_bytes(Lane lane, int64_t count) {
  return ((count + 15) & ~int64_t{15}) * lane_size(lane);
}

// --- strided walks ----------------------------------------

// How the elements of an operand lie, seen in the order of the walk: in a row, all at one place,
// the same short row again and again, or some other way.
enum class Layout : uint8_t { dense, scalar, periodic, strided };

Layout layout_of(const Array& array) {
  bool dense = true, scalar = true;
  int64_t expected = 1;
  for (int64_t i = array.rank() - 1; i >= 0; --i) {
    if (array.sizes[i] == 1) continue;
    dense = dense && array.strides[i] == expected;
    scalar = scalar && array.strides[i] == 0;
    expected *= array.sizes[i];
  }
  return dense ? Layout::dense : scalar ? Layout::scalar : Layout::strided;
}

// Common sizes with as few dimensions as all operands allow, and the operands' strides.
class Walk {
 public:
  explicit Walk(std::span<const Array* const> operands) : width_(operands.size()) {
    const tensor::Dims& sizes = operands[0]->sizes;
    for (size_t dim = 0; dim < sizes.size(); ++dim) {
      if (sizes[dim] == 1) continue;
      if (!this->sizes.empty() && merges(operands, dim)) {
        this->sizes.back() *= sizes[dim];
        strides_.resize(strides_.size() - width_);
      } else {
        this->sizes.push_back(sizes[dim]);
      }
      for (const Array* operand : operands) strides_.push_back(operand->strides[dim]);
    }
    if (this->sizes.empty()) {
      this->sizes.push_back(1);
      strides_.resize(width_, 0);
    }
  }

  tensor::Dims sizes;
  int rank() const { return static_cast<int>(sizes.size()); }
  int64_t row() const { return sizes.back(); }
  int64_t stride(int dim, size_t operand) const { return strides_[dim * width_ + operand]; }
  int64_t row_stride(size_t operand) const { return stride(rank() - 1, operand); }

  // Offset of the element with this number in the walk.
  int64_t offset(int64_t index, size_t operand) const {
    int64_t result = 0;
    for (int dim = rank() - 1; dim > 0; --dim) {
      const int64_t outer = index / sizes[dim];
      result += (index - outer * sizes[dim]) * stride(dim, operand);
      index = outer;
    }
    return result + index * stride(0, operand);
  }

  // Whether the operand is its first row again and again. A single row is not: reading on past its
  // end would leave its memory.
  bool is_periodic(size_t operand) const {
    if (rank() < 2) return false;
    for (int dim = 0; dim + 1 < rank(); ++dim) {
      if (stride(dim, operand) != 0) return false;
    }
    return true;
  }

  // Calls body(offset, position, count) for the pieces of rows in [begin, begin + count).
  template <class Body>
  void pieces(int64_t begin, int64_t count, size_t operand, Body&& body) const {
    int64_t at = begin % row();
    for (int64_t done = 0; done < count;) {
      const int64_t piece = std::min(row() - at, count - done);
      body(offset(begin + done, operand), done, piece);
      done += piece;
      at = 0;
    }
  }

 private:
  bool merges(std::span<const Array* const> operands, size_t dim) const {
    for (size_t k = 0; k < width_; ++k) {
      const int64_t last = strides_[strides_.size() - width_ + k];
      if (last != operands[k]->strides[dim] * operands[k]->sizes[dim]) return false;
    }
    return true;
  }

  size_t width_;
  base::SmallVector<int64_t, 24> strides_;  // by dimension, then operand
};

// --- programs ----------------------------------------

struct Operand {
  char* data;
  DType dtype;
  Layout layout;
  bool direct;       // dense and of the lane's type: the block loops take its memory as it is
  bool direct_rows;  // the same, row by row
};

// Whether each step along the last dimension is far while another dimension's elements are
// adjacent: such operands are brought into order by blocks before a large walk.
bool is_transposed(const Array& array) {
  if (array.rank() < 2 || array.sizes[array.rank() - 1] == 1) return false;
  if (array.strides[array.rank() - 1] <= 1) return false;
  for (int64_t dim = 0; dim + 1 < array.rank(); ++dim) {
    if (array.strides[dim] == 1 && array.sizes[dim] > 1) return true;
  }
  return false;
}

// Small work without any strided operand: one tile, nothing to plan. False: not such a case.
bool run_small(const MapProgram& program, std::span<const Array> inputs,
               std::span<const Array> outputs, int64_t count) {
  constexpr int64_t most_bytes = 16384;
  constexpr size_t most_slots = 64;
  const Lane lane = program.lane;
  const DType dtype = tensor::dtype_of(lane);
  const int64_t tile = tile_bytes(lane, count);
  const size_t slots = inputs.size() + program.steps.size();
  if (slots > most_slots || tile * static_cast<int64_t>(slots) > most_bytes) return false;
  alignas(64) char tiles[most_bytes];
  char* slot[most_slots];
  char* next = tiles;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Array& input = inputs[i];
    const Layout layout = layout_of(input);
    if (layout == Layout::strided) return false;
    if (layout == Layout::dense && input.dtype == dtype) {
      slot[i] = input.data();
    } else {
      slot[i] = std::exchange(next, next + tile);
      const int64_t stride = layout == Layout::dense ? 1 : 0;
      loader(input.dtype, lane)(slot[i], input.data(), stride, count);
    }
  }
  for (size_t s = 0; s < program.steps.size(); ++s) {
    const MapStep& step = program.steps[s];
    const void* in[4];
    for (int k = 0; k < step.input_count; ++k) in[k] = slot[step.inputs[k]];
    slot[inputs.size() + s] = std::exchange(next, next + tile);
    block_function(step.formula, lane)(slot[inputs.size() + s], in, count);
  }
  for (size_t o = 0; o < outputs.size(); ++o) {
    storer(outputs[o].dtype, lane)(slot[program.outputs[o]], outputs[o].data(), 1, count);
  }
  return true;
}

// One application of a program. Slots are pointers to tiles or straight into operands.
class Application {
 public:
  Application(Lane lane, uint8_t input_count, std::span<const MapStep> steps,
              std::span<const uint8_t> results, std::span<const Array> inputs,
              std::span<const Array> outputs)
      : lane_(lane), input_count_(input_count), steps_(steps), results_(results) {
    bool strided = false;
    base::SmallVector<const Array*, 12> arrays;
    auto add = [&](const Array& array) {
      arrays.push_back(&array);
      const Layout layout = layout_of(array);
      strided = strided || layout == Layout::strided;
      const bool same = array.dtype == tensor::dtype_of(lane);
      operands_.push_back(
          {array.data(), array.dtype, layout, same && layout == Layout::dense, false});
    };
    for (const Array& array : inputs) add(array);
    for (const Array& array : outputs) add(array);
    count_ = outputs[0].count();
    if (strided) {
      walk_ = std::make_unique<Walk>(arrays);
      for (size_t i = 0; i < operands_.size(); ++i) {
        Operand& operand = operands_[i];
        if (walk_->row() >= long_row) {
          operand.direct_rows =
              operand.dtype == tensor::dtype_of(lane) && walk_->row_stride(i) == 1;
        } else if (operand.layout == Layout::strided && walk_->is_periodic(i)) {
          operand.layout = Layout::periodic;
        }
      }
    }
    if (steps.size() > 1) protect_inputs();
    place_tiles();
  }

  void run() {
    const int64_t work = count_ * static_cast<int64_t>(steps_.size());
    base::BlockingRegion region(work >= parallel_count);
    if (work < parallel_count) return run_range(0, count_);
    const int64_t grain =
        std::max<int64_t>(parallel_grain / static_cast<int64_t>(steps_.size()), tile_count);
    base::parallel_for(count_, grain,
                       [this](int64_t begin, int64_t end) { run_range(begin, end); });
  }

 private:
  static constexpr uint8_t none = 255;

  // Results go straight to memory while later steps may still read the inputs: not where these
  // are the same.
  void protect_inputs() {
    for (size_t o = input_count_; o < operands_.size(); ++o) {
      for (size_t i = 0; i < input_count_; ++i) {
        if (operands_[o].data == operands_[i].data) {
          operands_[o].direct = operands_[o].direct_rows = false;
        }
      }
    }
  }

  bool can_be_direct(size_t operand) const {
    return operands_[operand].direct || operands_[operand].direct_rows;
  }

  // Gives a tile to each slot that is not in memory already. A step's result takes the tile of a
  // result that is read there for the last time: blocks may write over what they read.
  void place_tiles() {
    const size_t slots = input_count_ + steps_.size();
    tiles_.resize(slots, none);
    output_of_.resize(slots, none);
    for (size_t o = 0; o < results_.size(); ++o) {
      const uint8_t slot = results_[o];
      if (slot >= input_count_ && can_be_direct(input_count_ + o)) {
        output_of_[slot] = static_cast<uint8_t>(input_count_ + o);
      }
    }
    for (size_t slot = 0; slot < input_count_; ++slot) {
      if (!can_be_direct(slot)) tiles_[slot] = tile_number_++;
    }
    base::SmallVector<size_t, 24> last_reads(slots, 0);
    for (size_t s = 0; s < steps_.size(); ++s) {
      for (int k = 0; k < steps_[s].input_count; ++k) last_reads[steps_[s].inputs[k]] = s;
    }
    for (uint8_t slot : results_) last_reads[slot] = steps_.size();
    base::SmallVector<uint8_t, 24> free;
    for (size_t s = 0; s < steps_.size(); ++s) {
      for (int k = 0; k < steps_[s].input_count; ++k) {
        const uint8_t slot = steps_[s].inputs[k];
        if (slot < input_count_ || tiles_[slot] == none || last_reads[slot] != s) continue;
        last_reads[slot] = none;  // once, also where it is read twice
        free.push_back(tiles_[slot]);
      }
      const size_t slot = input_count_ + s;
      if (output_of_[slot] != none) continue;
      tiles_[slot] = free.empty() ? tile_number_++ : free.back();
      if (!free.empty()) free.pop_back();
    }
  }

  void run_range(int64_t begin, int64_t end) const {
    // Room for a periodic operand to begin anywhere in its period.
    const int64_t longest = std::min(tile_count, end - begin);
    const int64_t spread = longest + (walk_ ? std::min(walk_->row(), long_row) : 0);
    const int64_t tile = tile_bytes(lane_, spread);
    const int64_t bytes = tile * tile_number_;
    alignas(64) char small[4096];
    thread_local std::unique_ptr<char[]> large;
    thread_local int64_t large_bytes = 0;
    char* tiles = small;
    if (bytes > static_cast<int64_t>(sizeof small)) {
      if (bytes > large_bytes) {
        large.reset(new char[bytes + 64]);
        large_bytes = bytes;
      }
      tiles =
          reinterpret_cast<char*>((reinterpret_cast<uintptr_t>(large.get()) + 63) & ~uintptr_t{63});
    }
    base::SmallVector<char*, 24> slots(tiles_.size(), nullptr);
    for (size_t i = 0; i < tiles_.size(); ++i) {
      if (tiles_[i] != none) slots[i] = tiles + tiles_[i] * tile;
    }
    // Scalars and short rows are spread once and stay.
    base::SmallVector<char*, 12> periods(input_count_, nullptr);
    for (size_t i = 0; i < input_count_; ++i) {
      const Operand& operand = operands_[i];
      if (operand.layout == Layout::scalar)
        loader(operand.dtype, lane_)(slots[i], operand.data, 0, longest);
      if (operand.layout != Layout::periodic) continue;
      periods[i] = slots[i];
      load_tile(operand, i, slots[i], 0, spread);
    }
    const bool by_rows = walk_ && walk_->row() >= long_row;
    for (int64_t at = begin; at < end;) {
      int64_t count = std::min(tile_count, end - at);
      if (by_rows) count = std::min(count, walk_->row() - at % walk_->row());
      for (size_t i = 0; i < input_count_; ++i) {
        if (periods[i]) slots[i] = periods[i] + at % walk_->row() * lane_size(lane_);
      }
      run_tile(slots.data(), at, count);
      at += count;
    }
  }

  // Where elements at..at+count of a direct operand are.
  char* place(size_t i, int64_t at) const {
    const int64_t offset = operands_[i].direct ? at : walk_->offset(at, i);
    return operands_[i].data + offset * lane_size(lane_);
  }

  void run_tile(char** slots, int64_t at, int64_t count) const {
    for (size_t i = 0; i < input_count_; ++i) {
      const Operand& operand = operands_[i];
      if (operand.layout == Layout::scalar || operand.layout == Layout::periodic) continue;
      if (can_be_direct(i)) {
        slots[i] = place(i, at);
      } else {
        load_tile(operand, i, slots[i], at, count);
      }
    }
    for (size_t s = 0; s < steps_.size(); ++s) {
      const MapStep& step = steps_[s];
      const void* in[4];
      for (int k = 0; k < step.input_count; ++k) in[k] = slots[step.inputs[k]];
      const size_t slot = input_count_ + s;
      if (output_of_[slot] != none) slots[slot] = place(output_of_[slot], at);
      block_function(step.formula, lane_)(slots[slot], in, count);
    }
    for (size_t o = 0; o < results_.size(); ++o) {
      const size_t i = input_count_ + o;
      if (output_of_[results_[o]] != i) store_tile(operands_[i], i, slots[results_[o]], at, count);
    }
  }

  void load_tile(const Operand& operand, size_t i, char* tile, int64_t at, int64_t count) const {
    const int64_t item = item_size(operand.dtype);
    const LoadFunction function = loader(operand.dtype, lane_);
    if (operand.layout == Layout::dense) return function(tile, operand.data + at * item, 1, count);
    walk_->pieces(at, count, i, [&](int64_t offset, int64_t position, int64_t piece) {
      function(tile + position * lane_size(lane_), operand.data + offset * item,
               walk_->row_stride(i), piece);
    });
  }

  void store_tile(const Operand& operand, size_t i, const char* tile, int64_t at,
                  int64_t count) const {
    const int64_t item = item_size(operand.dtype);
    const StoreFunction function = storer(operand.dtype, lane_);
    if (operand.layout == Layout::dense) return function(tile, operand.data + at * item, 1, count);
    if (!walk_) return function(tile, operand.data, 0, 1);  // one element
    walk_->pieces(at, count, i, [&](int64_t offset, int64_t position, int64_t piece) {
      function(tile + position * lane_size(lane_), operand.data + offset * item,
               walk_->row_stride(i), piece);
    });
  }

  Lane lane_;
  uint8_t input_count_;
  std::span<const MapStep> steps_;
  std::span<const uint8_t> results_;
  base::SmallVector<Operand, 12> operands_;   // inputs, then outputs
  std::unique_ptr<Walk> walk_;                // only when an operand is strided
  base::SmallVector<uint8_t, 24> tiles_;      // by slot
  base::SmallVector<uint8_t, 24> output_of_;  // by slot: the operand it is written to directly
  int64_t count_ = 0;
  uint8_t tile_number_ = 0;
};

// --- copies ----------------------------------------

// Fills one block and copies it: memcpy uses the widest stores that the processor has.
template <class T>
void fill_row(T* to, T value, int64_t count) {
  constexpr int64_t block = 4096 / sizeof(T);
  std::fill_n(to, std::min(count, block), value);
  for (int64_t at = block; at < count; at += block) {
    std::memcpy(to + at, to, std::min(block, count - at) * sizeof(T));
  }
}

template <class T>
void copy_rows(T* to, int64_t to_stride, const T* from, int64_t from_stride, int64_t count) {
  if (to_stride == 1 && from_stride == 1) {
    std::memmove(to, from, count * sizeof(T));
  } else if (from_stride == 0 && to_stride == 1) {
    fill_row(to, *from, count);
  } else {
    for (int64_t i = 0; i < count; ++i) to[i * to_stride] = from[i * from_stride];
  }
}

// to[r][c] = from[c][r] by square blocks that pass through a buffer: so each cache line is touched
// once, also where lines that are a power of two apart push each other out.
template <class T>
void copy_transposed(T* to, int64_t to_row, const T* from, int64_t from_column, int64_t rows,
                     int64_t columns) {
  constexpr int64_t block = 64 / sizeof(T);
  const auto copy_block = [=](T* out, const T* in, auto height, auto width) {
    T buffer[block][block];
    for (int64_t j = 0; j < width; ++j) {
      for (int64_t i = 0; i < height; ++i) buffer[i][j] = in[j * from_column + i];
    }
    for (int64_t i = 0; i < height; ++i) {
      std::memcpy(out + i * to_row, buffer[i], static_cast<size_t>(width) * sizeof(T));
    }
  };
  constexpr std::integral_constant<int64_t, block> whole;
  for (int64_t r = 0; r < rows; r += block) {
    for (int64_t c = 0; c < columns; c += block) {
      T* const out = to + r * to_row + c;
      const T* const in = from + c * from_column + r;
      if (rows - r >= block && columns - c >= block) {
        copy_block(out, in, whole, whole);  // sizes known to the compiler
      } else {
        copy_block(out, in, std::min(block, rows - r), std::min(block, columns - c));
      }
    }
  }
}

// Elements of equal size without conversion. Operand 0 of the walk is the destination.
template <class T>
void copy_walk(const Walk& walk, T* to, const T* from, int64_t count) {
  const int rank = walk.rank();
  const int64_t to_stride = walk.row_stride(0), from_stride = walk.row_stride(1);
  // The source runs along the second last dimension: a transposition.
  if (rank >= 2 && to_stride == 1 && walk.stride(rank - 2, 1) == 1 && from_stride != 1) {
    const int64_t rows = walk.sizes[rank - 2], columns = walk.row();
    const int64_t matrices = count / (rows * columns);
    const int64_t bands = (rows + 63) / 64;
    base::parallel_for(matrices * bands, std::max<int64_t>(parallel_grain / (64 * columns), 1),
                       [&](int64_t begin, int64_t end) {
                         for (int64_t b = begin; b < end; ++b) {
                           const int64_t row = b % bands * 64;
                           const int64_t first = b / bands * rows * columns + row * columns;
                           copy_transposed(to + walk.offset(first, 0), walk.stride(rank - 2, 0),
                                           from + walk.offset(first, 1), from_stride,
                                           std::min<int64_t>(64, rows - row), columns);
                         }
                       });
    return;
  }
  const int64_t rows = count / walk.row();
  if (rows == 1) {
    base::parallel_for(count, parallel_grain, [&](int64_t begin, int64_t end) {
      copy_rows(to + begin * to_stride, to_stride, from + begin * from_stride, from_stride,
                end - begin);
    });
    return;
  }
  base::parallel_for(rows, std::max<int64_t>(parallel_grain / walk.row(), 1),
                     [&](int64_t begin, int64_t end) {
                       for (int64_t r = begin; r < end; ++r) {
                         const int64_t first = r * walk.row();
                         copy_rows(to + walk.offset(first, 0), to_stride,
                                   from + walk.offset(first, 1), from_stride, walk.row());
                       }
                     });
}

// Through a tile of the lane in which nothing is lost that the destination can hold.
void copy_converted(const Walk& walk, const Array& in, const Array& out, int64_t count) {
  const Lane lane = lane_of(out.dtype == DType::boolean ? in.dtype : out.dtype);
  const LoadFunction load = loader(in.dtype, lane);
  const StoreFunction store = storer(out.dtype, lane);
  const int64_t in_item = item_size(in.dtype), out_item = item_size(out.dtype);
  const bool no_load = in.dtype == tensor::dtype_of(lane) && walk.row_stride(1) == 1;
  const bool no_store = out.dtype == tensor::dtype_of(lane) && walk.row_stride(0) == 1;
  base::parallel_for(count, parallel_grain, [&](int64_t begin, int64_t end) {
    alignas(64) char tile[tile_count * 8];
    for (int64_t at = begin; at < end;) {
      const int64_t piece = std::min({tile_count, end - at, walk.row() - at % walk.row()});
      char* to = out.data() + walk.offset(at, 0) * out_item;
      const char* from = in.data() + walk.offset(at, 1) * in_item;
      if (no_store) {
        load(to, from, walk.row_stride(1), piece);
      } else if (no_load) {
        store(from, to, walk.row_stride(0), piece);
      } else {
        load(tile, from, walk.row_stride(1), piece);
        store(tile, to, walk.row_stride(0), piece);
      }
      at += piece;
    }
  });
}

void fill_with(const Array& out, Lane lane, const void* value) {
  const int64_t count = out.count();
  if (count == 0) return;
  const Array* arrays[] = {&out};
  const Walk walk(arrays);
  const LoadFunction load = loader(tensor::dtype_of(lane), lane);
  const StoreFunction store = storer(out.dtype, lane);
  alignas(64) char tile[tile_count * 8];
  load(tile, value, 0, std::min(tile_count, count));
  base::BlockingRegion region(count >= parallel_count);
  base::parallel_for(count, parallel_grain, [&](int64_t begin, int64_t end) {
    for (int64_t at = begin; at < end;) {
      const int64_t piece = std::min({tile_count, end - at, walk.row() - at % walk.row()});
      store(tile, out.data() + walk.offset(at, 0) * item_size(out.dtype), walk.row_stride(0),
            piece);
      at += piece;
    }
  });
}

}  // namespace

int find_formula(std::string_view name) {
  const auto found = std::lower_bound(std::begin(formula_names), std::end(formula_names), name);
  if (found == std::end(formula_names) || *found != name) return -1;
  return static_cast<int>(found - std::begin(formula_names));
}

BlockFunction block_function(int formula, Lane lane) {
  return table.blocks[formula][static_cast<int>(lane)];
}

// Inputs that are better copied first.
static std::span<const Array> in_order(std::span<const Array> inputs, int64_t count,
                                       base::SmallVector<Array, 6>& copies) {
  if (count < parallel_grain) return inputs;
  if (std::none_of(inputs.begin(), inputs.end(), is_transposed)) return inputs;
  for (const Array& input : inputs) {
    copies.push_back(is_transposed(input) ? Array::allocate(input.sizes, input.dtype) : input);
    if (copies.back().storage != input.storage) copy(input, copies.back());
  }
  return copies;
}

void run_map(const MapProgram& program, std::span<const Array> inputs,
             std::span<const Array> outputs) {
  if (outputs.empty()) return;
  const int64_t count = outputs[0].count();
  if (count == 0) return;
  const bool dense = std::all_of(outputs.begin(), outputs.end(), [](const Array& output) {
    return layout_of(output) == Layout::dense;
  });
  if (count <= tile_count && dense && run_small(program, inputs, outputs, count)) return;
  base::SmallVector<Array, 6> copies;
  Application(program.lane, program.input_count, program.steps, program.outputs,
              in_order(inputs, count, copies), outputs)
      .run();
}

void run_formula(int formula, Lane lane, std::span<const Array> inputs, const Array& output) {
  const int64_t count = output.count();
  if (count == 0) return;
  const DType dtype = tensor::dtype_of(lane);
  const BlockFunction block = block_function(formula, lane);
  // Operands in a row, of the lane's type, need no tiles; scalars need one each.
  bool plain = output.dtype == dtype && layout_of(output) == Layout::dense;
  bool scalar[4] = {};
  int scalars = 0;
  for (size_t i = 0; i < inputs.size() && plain; ++i) {
    const Layout layout = layout_of(inputs[i]);
    scalar[i] = layout == Layout::scalar || (count == 1 && inputs[i].dtype != dtype);
    scalars += scalar[i];
    plain = scalar[i] || (layout == Layout::dense && inputs[i].dtype == dtype);
  }
  if (plain && scalars <= 2) {
    auto run = [&](int64_t begin, int64_t end) {
      alignas(64) char tiles[2][tile_count * 8];
      int used = 0;
      const void* at[4];
      for (size_t i = 0; i < inputs.size(); ++i) {
        at[i] = scalar[i] ? tiles[used++] : inputs[i].data() + begin * lane_size(lane);
        if (!scalar[i]) continue;
        loader(inputs[i].dtype, lane)(tiles[used - 1], inputs[i].data(), 0,
                                      std::min(tile_count, end - begin));
      }
      char* to = output.data() + begin * lane_size(lane);
      const int64_t step = scalars == 0 ? end - begin : tile_count;
      for (int64_t done = begin; done < end; done += step) {
        block(to, at, std::min(step, end - done));
        to += step * lane_size(lane);
        for (size_t i = 0; i < inputs.size(); ++i) {
          if (!scalar[i]) at[i] = static_cast<const char*>(at[i]) + step * lane_size(lane);
        }
      }
    };
    if (count < parallel_count) return run(0, count);
    base::BlockingRegion region(true);
    return base::parallel_for(count, parallel_grain, run);
  }
  MapStep step{static_cast<int16_t>(formula), {0, 1, 2, 3}, static_cast<uint8_t>(inputs.size())};
  const uint8_t result = step.input_count;
  base::SmallVector<Array, 6> copies;
  Application(lane, step.input_count, {&step, 1}, {&result, 1}, in_order(inputs, count, copies),
              {&output, 1})
      .run();
}

void copy(const Array& in, const Array& out) {
  const int64_t count = out.count();
  if (count == 0) return;
  const bool same = in.dtype == out.dtype;
  if (same && layout_of(in) == Layout::dense && layout_of(out) == Layout::dense) {
    const int64_t item = item_size(in.dtype);
    if (in.data() == out.data()) return;
    if (count < parallel_count) {
      std::memcpy(out.data(), in.data(), count * item);
      return;
    }
    base::BlockingRegion region(true);
    return base::parallel_for(count, parallel_grain, [&](int64_t begin, int64_t end) {
      std::memcpy(out.data() + begin * item, in.data() + begin * item, (end - begin) * item);
    });
  }
  const Array* arrays[] = {&out, &in};
  const Walk walk(arrays);
  base::BlockingRegion region(count >= parallel_count);
  if (!same) return copy_converted(walk, in, out, count);
  tensor::by_size(in.dtype, [&]<class T>(T) { copy_walk(walk, out.as<T>(), in.as<T>(), count); });
}

Array converted(const Array& array, DType dtype) {
  if (array.dtype == dtype && array.is_contiguous()) return array;
  Array result = Array::allocate(array.sizes, dtype);
  copy(array, result);
  return result;
}

void fill(const Array& out, double value) {
  if (tensor::is_floating(out.dtype) && out.dtype != DType::f64) {
    const auto narrow = static_cast<float>(value);
    return fill_with(out, Lane::f32, &narrow);
  }
  fill_with(out, Lane::f64, &value);
}

void fill(const Array& out, int64_t value) { fill_with(out, Lane::i64, &value); }

}  // namespace weft::kernels
