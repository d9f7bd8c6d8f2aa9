#include "weft/ops/batching.h"

namespace weft::ops {

using graph::Attribute;
using graph::Attributes;
using graph::Parameter;

namespace {

Values with_rows(const Batched& batch, int64_t rank) {
  Values inputs;
  for (size_t i = 0; i < batch.input_count(); ++i) {
    inputs.push_back(batch.was_given(i) ? batch.with_rows(i, std::max(batch.rank(i), rank))
                                        : Value());
  }
  return inputs;
}

// Dimensions as the user wrote them, of a batch.
void move(const Parameter& parameter, int64_t rank, Attribute& attribute) {
  const auto moved = [](int64_t dim) { return dim < 0 ? dim : dim + 1; };
  auto* list = std::get_if<Dims>(&attribute);
  if (auto* dim = std::get_if<int64_t>(&attribute)) {
    *dim = moved(*dim);
  } else if (parameter.name == "dim" && (!list || list->empty())) {
    Dims all;
    for (int64_t dim = 1; dim <= rank; ++dim) all.push_back(dim);
    attribute = std::move(all);
  } else if (list) {
    for (int64_t& dim : *list) dim = moved(dim);
  }
}

}  // namespace

Values rows_alike(const Batched& batch) {
  return graph::record(batch.op, with_rows(batch, 0), batch.attributes);
}

Values rows_along(const Batched& batch) {
  const int64_t rank = std::max<int64_t>(batch.rank(0), 1);
  for (size_t i = 1; i < batch.input_count(); ++i) {
    if (batch.was_given(i) && batch.rank(i) != batch.rank(0)) return {};
  }
  std::vector<Attribute> attributes;
  for (size_t i = 0; i < batch.attributes.size(); ++i) attributes.push_back(batch.attributes[i]);
  for (const Parameter& parameter : batch.op.sig.parameters) {
    if (!parameter.is_tensor() && parameter.name.starts_with("dim"))  // dim, dim0, dims
      move(parameter, rank, attributes[parameter.index]);
  }
  Values outputs =
      graph::record(batch.op, with_rows(batch, rank), Attributes(std::move(attributes)));
  if (batch.rank(0) == 0) {  // a row without dimensions went as one of size 1
    for (Value& output : outputs) output = reshape(output, {batch.rows()});
  }
  return outputs;
}

Values rows_sized(const Batched& batch) {
  const Dims& sizes = batch.integers("size");
  if (batch.op.name != "expand") return {reshape(batch.with_rows(0), batch.with_rows(sizes))};
  const Value input = batch.with_rows(0, static_cast<int64_t>(sizes.size()));
  return {expand(input, batch.with_rows(sizes))};
}

Value spread_rows(const Value& indices, int64_t dim, Dims sizes) {
  Dims ones(sizes.size(), 1);
  ones[0] = indices.size(0);
  sizes[dim] = ones[dim] = indices.count() / indices.size(0);
  return expand(reshape(indices, ones), sizes);
}

// Slices of dimension 0 by indices of any shape, whose dimensions come first.
static Value slices_of(const Value& table, const Value& indices) {
  const int64_t slices = table.size(0);
  Dims sizes = indices.sizes();
  int64_t count = 1;
  for (int64_t i = 1; i < table.rank(); ++i) {
    sizes.push_back(table.size(i));
    count *= table.size(i);
  }
  return reshape(embedding(reshape(table, {slices, count}), indices), sizes);
}

Value pick_rows(const Batched& batch, int64_t dim, const Value& indices) {
  const int64_t rank = batch.rank(0), count = indices.rank() - 1;
  if (batch.is_stacked(0)) {
    const Value input = batch.with_rows(0);
    Dims sizes = input.sizes();
    sizes.erase(dim + 1);
    for (int64_t i = 0; i < count; ++i) sizes.insert(dim + 1 + i, indices.sizes()[1 + i]);
    return reshape(gather(input, dim + 1, spread_rows(indices, dim + 1, input.sizes())), sizes);
  }
  if (dim == 0) return slices_of(batch.in(0), indices);
  // (rows, indices, rest), where the dimensions before `dim` go back in front of the indices.
  Dims first{dim}, order{0};
  for (int64_t i = 0; i < rank; ++i) {
    if (i != dim) first.push_back(i);
  }
  for (int64_t i = 0; i < dim; ++i) order.push_back(1 + count + i);
  for (int64_t i = 0; i < count; ++i) order.push_back(1 + i);
  for (int64_t i = dim + 1; i < rank; ++i) order.push_back(count + i);
  return clone(permute(slices_of(permute(batch.in(0), first), indices), order));
}

Value rows_in_dtype(const Batched& batch, size_t i, int64_t rank, DType dtype) {
  const Value rows = batch.with_rows(i, rank);
  return rows.dtype() == dtype ? rows : cast(rows, dtype);
}

}  // namespace weft::ops
