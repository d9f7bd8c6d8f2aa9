// Chooses who multiplies: OpenBLAS, or the loops of gemm_isa.cpp.
#include "weft/kernels/gemm.h"

#include <dlfcn.h>

#include <algorithm>
#include <mutex>

#include "weft/base/blocking.h"
#include "weft/base/thread_pool.h"
#include "weft/kernels/cpu/gemm_table.h"
#include "weft/kernels/cpu/isa.h"
#include "weft/kernels/lapack.h"
#include "weft/kernels/map.h"

namespace weft::kernels {

using tensor::Array;
using tensor::Dims;
using tensor::Lane;

WEFT_CHOOSE(GemmTable, gemm_table)

namespace {

// ---- OpenBLAS --------------------------------------------------------------------------------

// The C interface of BLAS: order, transpositions, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc.
template <class T>
using BlasGemm = void(int, int, int, int, int, int, T, const T*, int, const T*, int, T, T*, int);

struct Blas {
  BlasGemm<float>* f32 = nullptr;
  BlasGemm<double>* f64 = nullptr;
};

std::string blas_path;

void* load_library() {
  if (blas_path.empty()) return nullptr;
  for (const char* file : {"/libscipy_openblas.so", "/libscipy_openblas.dylib", ""}) {
    void* library = dlopen((blas_path + file).c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) continue;
    using SetThreads = void(int);
    auto* set_threads =
        reinterpret_cast<SetThreads*>(dlsym(library, "scipy_openblas_set_num_threads"));
    if (set_threads == nullptr) return nullptr;
    // Our pool splits the work, so that one setting rules all threads and fork stays safe.
    set_threads(1);
    return library;
  }
  return nullptr;
}

Blas load_blas() {
  Blas blas;
  blas.f32 = reinterpret_cast<BlasGemm<float>*>(blas_symbol("scipy_cblas_sgemm"));
  blas.f64 = reinterpret_cast<BlasGemm<double>*>(blas_symbol("scipy_cblas_dgemm"));
  return blas.f32 == nullptr || blas.f64 == nullptr ? Blas{} : blas;
}

const Blas& blas() {
  static const Blas loaded = load_blas();
  return loaded;
}

template <class T>
void blas_product(BlasGemm<T>* function, const GemmShape& s, const void* a, int64_t lda,
                  const void* b, int64_t ldb, void* c, int64_t ldc) {
  const T* start = static_cast<const T*>(s.start);
  for (int64_t r = 0; start != nullptr && start != c && r < s.m; ++r) {
    std::copy_n(start + r * s.start_row, s.n, static_cast<T*>(c) + r * ldc);
  }
  function(row_major, s.transpose_a ? transposed : as_stored,
           s.transpose_b ? transposed : as_stored, static_cast<int>(s.m), static_cast<int>(s.n),
           static_cast<int>(s.k), T(1), static_cast<const T*>(a), static_cast<int>(lda),
           static_cast<const T*>(b), static_cast<int>(ldb), T(s.start != nullptr ? 1 : 0),
           static_cast<T*>(c), static_cast<int>(ldc));
}

// Only large products: our own loops keep up with BLAS for long, and are faster with few rows. What
// does not fit BLAS's 32-bit integers is ours too.
bool is_for_blas(Lane lane, const GemmShape& s, int64_t lda, int64_t ldb, int64_t ldc) {
  constexpr int64_t largest = (int64_t{1} << 31) - 1;
  return lane != Lane::i64 && s.m > 256 && s.n > 64 && s.k > 64 &&
         static_cast<double>(s.m) * s.n * s.k > 1 << 30 &&
         std::max({s.m, s.n, s.k, lda, ldb, ldc}) <= largest && blas().f32 != nullptr;
}

const char* at(const void* base, Lane lane, int64_t elements) {
  return static_cast<const char*>(base) + elements * tensor::lane_size(lane);
}

}  // namespace

void set_blas_path(std::string path) { blas_path = std::move(path); }

void* blas_symbol(const char* name) {
  static void* const library = load_library();
  return library == nullptr ? nullptr : dlsym(library, name);
}

namespace {

// Whether turning a transposed b pays: it costs as much as 8 rows, and dot products lose as much
// time at their ends as 50 more steps would take. Asked of the whole product, so that the answer
// does not depend on the threads.
bool pays_to_turn(const GemmShape& s) { return s.transpose_b && s.n >= 32 && 4 * s.m > s.k + 64; }

void own_product(Lane lane, const GemmShape& shape, const void* a, int64_t lda, const void* b,
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
  own_product(lane, decided, a, lda, b, ldb, c, ldc);
}

void gemm(Lane lane, const GemmShape& shape, const void* a, int64_t lda, const void* b, int64_t ldb,
          void* c, int64_t ldc) {
  const double work = static_cast<double>(shape.m) * shape.n * shape.k;
  if (work < 1 << 20) return gemm_serial(lane, shape, a, lda, b, ldb, c, ldc);
  const base::BlockingRegion region(true);
  const bool use_blas = is_for_blas(lane, shape, lda, ldb, ldc), turn_b = pays_to_turn(shape);
  // The longer side of c is split, in pieces of at least 2**20 multiplications (about 20 us). BLAS
  // rounds differently in pieces of different sizes, so there they do not depend on the threads.
  const bool split_rows = shape.m >= shape.n;
  const int64_t sides = split_rows ? shape.m : shape.n;
  const int64_t enough = static_cast<int64_t>((1 << 20) / (work / static_cast<double>(sides))) + 1;
  const int64_t most =
      std::clamp<int64_t>(sides / std::max<int64_t>(enough, 16), 1, base::thread_count());
  const int64_t pieces = use_blas ? (sides + 511) / 512 : most;
  const auto piece_begin = [&](int64_t i) {
    return i == pieces ? sides : use_blas ? 512 * i : sides * i / pieces / 16 * 16;
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
    const void* part_a = at(a, lane, a_skip);
    const void* part_b = at(b, lane, b_skip);
    void* part_c = const_cast<char*>(at(c, lane, split_rows ? begin * ldc : begin));
    if (!use_blas) {
      own_product(lane, part, part_a, lda, part_b, ldb, part_c, ldc);
    } else {
      tensor::on_float_lane(lane, [&]<class T>(T) {
        blas_product<T>(kernels::part<T>(blas()), part, part_a, lda, part_b, ldb, part_c, ldc);
      });
    }
  };
  base::parallel_for(pieces, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) multiply(piece_begin(i), piece_begin(i + 1));
  });
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

// The operand itself when BLAS can read it, else a contiguous copy in the lane's dtype.
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
