// What a batch rule sees: one op applied to many rows. Inputs are stacked along a new dimension 0,
// or shared by all rows; the rule is written with ops and gives the outputs with rows in
// dimension 0.
//
//   .batch = [](const Batched& b) -> Values { return {softmax(b.with_rows(0), b.dim("dim",
//   b.rank(0)))}; }
//
// A rule that cannot do it this time gives nothing: then the rows run one by one.
#pragma once

#include "weft/graph/op.h"

namespace weft::graph {

struct Instruction;

class Batched : public Arguments {
 public:
  Batched(const Op& op, const Attributes& attributes, std::span<const Value> one, int64_t rows,
          uint32_t stacked)
      : Arguments(op, attributes), one_(one), rows_(rows), stacked_(stacked) {}
  virtual ~Batched() = default;

  int64_t rows() const { return rows_; }
  size_t input_count() const { return one_.size(); }
  bool was_given(size_t i) const { return static_cast<bool>(one_[i]); }
  bool is_stacked(size_t i) const { return (stacked_ & bit_of(i)) != 0; }
  bool is_number(size_t i) const { return one_[i]->is_number; }
  // Of one row's input.
  const Dims& sizes(size_t i) const { return one_[i].sizes(); }
  int64_t rank(size_t i) const { return one_[i].rank(); }
  DType dtype(size_t i) const { return one_[i].dtype(); }
  using Arguments::dtype;

  // The input with its rows, or as it is if all rows share it.
  Value in(size_t i) const { return is_stacked(i) ? stack(i, rank(i)) : shared(i); }
  // With rows in any case, and ones put before its sizes until a row has `rank` dimensions.
  Value with_rows(size_t i) const { return with_rows(i, rank(i)); }
  Value with_rows(size_t i, int64_t rank) const { return stack(i, rank); }
  // An integer argument as a dimension of the batch.
  int64_t dim(std::string_view name, int64_t rank) const {
    return tensor::wrap_dim(op.name, integer(name), rank) + 1;
  }
  // The sizes with the number of rows before them.
  Dims with_rows(const Dims& sizes) const {
    Dims result = sizes;
    result.insert(0, rows());
    return result;
  }
  virtual const Attributes& row_attributes(int64_t row) const = 0;

  // Of a Program: whether anybody wants an output, and that an instruction runs now.
  virtual bool wants(size_t) const { return true; }
  virtual void at(const Instruction& instruction, size_t number) const;
  virtual void skip() const {}  // an instruction that nobody needs

 protected:
  virtual Value stack(size_t i, int64_t rank) const = 0;
  virtual Value shared(size_t i) const { return one_[i]; }
  std::span<const Value> one_;  // the first row's inputs

 private:
  int64_t rows_;
  uint32_t stacked_;
};

// Of one application whose inputs have their rows already.
class GivenRows : public Batched {
 public:
  // `one` are metas of one row's inputs; `has_rows` says which of `given` have rows.
  GivenRows(const Op& op, const Attributes& attributes, std::span<const Value> one,
            const Values& given, const std::vector<bool>& has_rows, int64_t rows)
      : Batched(op, attributes, one, rows, bits_of(has_rows)), given_(given), has_rows_(has_rows) {}
  const Attributes& row_attributes(int64_t) const override { return attributes; }

 protected:
  Value stack(size_t i, int64_t rank) const override;
  Value shared(size_t i) const override { return given_[i]; }

 private:
  static uint32_t bits_of(const std::vector<bool>& flags) {
    uint32_t bits = 0;
    for (size_t i = 0; i < flags.size(); ++i) bits |= flags[i] ? bit_of(i) : 0;
    return bits;
  }
  const Values& given_;
  const std::vector<bool>& has_rows_;
};

// The op's batch rule; of an element-wise op, whose shapes broadcast, the op itself. Nothing if
// there is none for this case.
Values run_batch_rule(const Batched& batch);

}  // namespace weft::graph
