// Splits products over threads, for the loops of gemm_isa.cpp.
#include "weft/kernels/gemm.h"

#include <algorithm>

#include "weft/base/blocking.h"
#include "weft/base/thread_pool.h"
#include "weft/kernels/cpu/gemm_table.h"
#include "weft/kernels/cpu/isa.h"
#include "weft/kernels/map.h"

namespace weft::kernels {

using tensor::Array;
using tensor::Dims;
using tensor::Lane;

WEFT_CHOOSE(GemmTable, gemm_table)

namespace {

const char* at(const void* base, Lane lane, int64_t elements) {
  return static_cast<const char*>(base) + elements * tensor::lane_size(lane);
}

// Whether turning a transposed b pays: it costs as much as 8 rows. Dot products lose as much time
// at their ends as 50 more steps would take, and long ones leave the first cache. Asked of the
// whole product, so that the answer does not depend on the threads.
bool pays_to_turn(const GemmShape& s) {
  const int64_t enough = s.k <= 512 ? (s.k + 64) / 4 : std::max<int64_t>(16, 49152 / s.k);
  return s.transpose_b && s.n >= 32 && s.m > enough;
}

void product(Lane lane, const GemmShape& shape, const void* a, int64_t lda, const void* b,
             int64_t ldb, void* c, int64_t ldc) {
  tensor::on_lane(lane, [&]<class T>(T) {
    part<T>(gemm_table())
        .product(shape, static_cast<const T*>(a), lda, static_cast<const T*>(b), ldb,
                 static_cast<T*>(c), ldc);
  });
}

}  // namespace

void gemm_serial(Lane lane, const GemmShape& shape, const void* a, int64_t lda, const void* b,
                 int64_t ldb, void* c, int64_t ldc) {
  GemmShape decided = shape;
  decided.turn_b = pays_to_turn(shape);
  product(lane, decided, a, lda, b, ldb, c, ldc);
}

void gemm(Lane lane, const GemmShape& shape, const void* a, int64_t lda, const void* b, int64_t ldb,
          void* c, int64_t ldc) {
  const double work = static_cast<double>(shape.m) * shape.n * shape.k;
  if (work < 1 << 20) return gemm_serial(lane, shape, a, lda, b, ldb, c, ldc);
  const base::BlockingRegion region(true);
  const bool turn_b = pays_to_turn(shape);
  // The longer side of c is split, in pieces of at least 2**21 multiplications.
  const bool split_rows = shape.m >= shape.n;
  const int64_t sides = split_rows ? shape.m : shape.n;
  const int64_t enough = static_cast<int64_t>((1 << 21) / (work / static_cast<double>(sides))) + 1;
  const int64_t pieces =
      std::clamp<int64_t>(sides / std::max<int64_t>(enough, 16), 1, base::thread_count());
  const auto piece_begin = [&](int64_t i) {
    return i == pieces ? sides : sides * i / pieces / 16 * 16;
  };
  const auto multiply = [&](int64_t begin, int64_t end) {
    GemmShape part = shape;
    (split_rows ? part.m : part.n) = end - begin;
    part.turn_b = turn_b;
    if (shape.start != nullptr) {
      part.start = at(shape.start, lane, split_rows ? begin * shape.start_row : begin);
    }
    const int64_t a_skip = !split_rows ? 0 : shape.transpose_a ? begin : begin * lda;
    const int64_t b_skip = split_rows ? 0 : shape.transpose_b ? begin * ldb : begin;
    product(lane, part, at(a, lane, a_skip), lda, at(b, lane, b_skip), ldb,
            const_cast<char*>(at(c, lane, split_rows ? begin * ldc : begin)), ldc);
  };
  base::parallel_for(
      pieces, 1,
      [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) multiply(piece_begin(i), piece_begin(i + 1));
      },
      work > 1 << 23 ? base::Wake::yes : base::Wake::no);
}

// ---- products of arrays ----------------------------------------------------------------------

namespace {

// The last two dimensions of an array as a stored matrix.
struct Matrix {
  bool transposed = false;
  int64_t leading = 1;
};

bool describe(const Array& array, Matrix& matrix) {
  const int64_t rank = array.rank();
  const int64_t rows = array.sizes[rank - 2], columns = array.sizes[rank - 1];
  const int64_t row = rows > 1 ? array.strides[rank - 2] : std::max<int64_t>(columns, 1);
  const int64_t column = columns > 1 ? array.strides[rank - 1] : 1;
  // One contiguous column is better read as a row.
  if (column == 1 && row >= columns && !(columns == 1 && row == 1)) {
    matrix = {false, std::max<int64_t>(row, 1)};
    return true;
  }
  const int64_t turned_row = columns > 1 ? column : std::max<int64_t>(rows, 1);
  if ((rows <= 1 || row == 1) && turned_row >= rows) {
    matrix = {true, std::max<int64_t>(turned_row, 1)};
    return true;
  }
  return false;
}

// The operand itself when the loops can read it, else a contiguous copy in the lane's dtype.
const Array* readable(const Array& array, Lane lane, Matrix& matrix, Array& dense) {
  const tensor::DType dtype = tensor::dtype_of(lane);
  if (array.dtype == dtype && describe(array, matrix)) return &array;
  dense = converted(array, dtype);
  describe(dense, matrix);
  return &dense;
}

// Where matrix number `index` of a batch begins.
int64_t batch_offset(const Array& array, int64_t index) {
  return tensor::offset_at(index, {array.sizes.data(), array.sizes.size() - 2}, array.strides);
}

bool is_one_matrix(const Array& array) {
  for (int64_t i = 0; i < array.rank() - 2; ++i) {
    if (array.sizes[i] != 1 && array.strides[i] != 0) return false;
  }
  return true;
}

}  // namespace

void matmul(const Array& a, const Array& b, const Array& out, const Array* start) {
  const Lane lane = tensor::lane_of(out.dtype);
  if (tensor::dtype_of(lane) != out.dtype) {
    const Array wide = Array::allocate(out.sizes, tensor::dtype_of(lane));
    if (start != nullptr) copy(*start, wide);
    matmul(a, b, wide, start != nullptr ? &wide : nullptr);
    return copy(wide, out);
  }
  if (out.count() == 0) return;
  Matrix a_matrix, b_matrix;
  Array dense_a, dense_b;
  const Array& left = *readable(a, lane, a_matrix, dense_a);
  const Array& right = *readable(b, lane, b_matrix, dense_b);
  const int64_t rank = out.rank();
  const int64_t m = out.sizes[rank - 2], n = out.sizes[rank - 1], k = left.sizes[left.rank() - 1];
  GemmShape shape{m, n, k, a_matrix.transposed, b_matrix.transposed};
  const int64_t batch = out.count() / (m * n);
  if (start != nullptr && (batch != 1 || start->strides.back() != 1)) {
    copy(*start, out);
    start = &out;
  }
  if (start != nullptr) shape.start = start->data(), shape.start_row = start->strides[rank - 2];
  const char* a_data = left.data();
  const char* b_data = right.data();
  char* c_data = out.data();
  if (batch == 1 || (is_one_matrix(right) && left.is_contiguous() && !a_matrix.transposed)) {
    // One matrix on the right: the left ones stand below each other.
    shape.m = batch * m;
    const int64_t lda = batch == 1 ? a_matrix.leading : k;
    return gemm(lane, shape, a_data, lda, b_data, b_matrix.leading, c_data, n);
  }
  const int64_t item = tensor::lane_size(lane);
  const auto multiply = [&](auto* function, int64_t i) {
    function(lane, shape, a_data + batch_offset(left, i) * item, a_matrix.leading,
             b_data + batch_offset(right, i) * item, b_matrix.leading, c_data + i * m * n * item,
             n);
  };
  const int64_t work = m * n * (k + 1);
  if (work > 1 << 22) {
    for (int64_t i = 0; i < batch; ++i) multiply(gemm, i);
    return;
  }
  const base::BlockingRegion region(batch * work > 1 << 20);
  base::parallel_for(batch, (1 << 20) / work + 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) multiply(gemm_serial, i);
  });
}

}  // namespace weft::kernels
