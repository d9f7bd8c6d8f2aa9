// Reading and writing at places that index values name. Indices are int64, contiguous and checked
// (`find_out_of_range`) before any of the other functions sees them; negative ones count from the
// end. Results never depend on the number of threads: where places repeat, later values come later.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "weft/tensor/array.h"

namespace weft::kernels {

using tensor::Array;
using tensor::Dims;

// The first value that is not in [lowest, size); lowest is 0 or -size.
std::optional<int64_t> find_out_of_range(const Array& indices, int64_t lowest, int64_t size);

// What a written value does to the one that is there. Both have the same dtype.
enum class Combine : uint8_t { assign, add, multiply, maximum, minimum };

// Places in an array as the sum of three offsets: of an outer row, of a chosen place in it, and of
// an element from there on.
class Places {
 public:
  // `indices[k]` index dimension `dims[k]`; all have the same count. The other dimensions are outer
  // ones up to the first `before`, then inner ones.
  Places(const Array& array, std::span<const Array> indices, std::span<const int64_t> dims,
         int64_t before);
  // index[i][j] stands for the place (index[i][j], j) if dim is 0, and so on.
  static Places of_elements(const Array& array, const Array& index, int64_t dim);
  // All elements of a view, in order, in its storage; they may coincide.
  static Places of_view(const Array& view);

  int64_t outer_count = 1, chosen_count = 0, inner_count = 1;
  int64_t columns = 1;  // chosen places are rows of so many; those of different columns differ
  const int64_t* outer() const { return outer_.as<int64_t>(); }
  const int64_t* chosen(int64_t row) const {
    return chosen_.as<int64_t>() + (each_its_own_ ? row * chosen_count : 0);
  }
  const int64_t* inner() const { return inner_.storage ? inner_.as<int64_t>() : nullptr; }

 private:
  Places() = default;
  Array outer_, chosen_, inner_;  // offsets in elements; no inner ones: 0, 1, 2, ...
  bool each_its_own_ = false;     // every outer row has chosen places of its own
};

// out[o, c, i] = in at (o, c, i); out is contiguous.
void take(const Array& in, const Places& places, const Array& out);
// Writes values[o, c, i] (contiguous, or one element for all) to each place of `out`.
void put(const Array& values, const Places& places, const Array& out, Combine combine);

}  // namespace weft::kernels
