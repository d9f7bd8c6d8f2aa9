#include "weft/ops/batching.h"

#include "weft/ops/lanes.h"

namespace weft::ops {

using graph::Attribute;
using graph::Attributes;
using graph::Parameter;
using graph::Values;

namespace {

bool names_dimensions(const Parameter& parameter) {
  return parameter.name.starts_with("dim");  // dim, dim0, dims, dimension
}

int64_t moved(int64_t dim) { return dim < 0 ? dim : dim + 1; }

// Empty when a dimension cannot be moved: a row without dimensions has none to count from the end.
std::optional<std::vector<Attribute>> moved_attributes(const Batched& batch) {
  std::vector<Attribute> result;
  for (size_t i = 0; i < batch.attributes.size(); ++i) result.push_back(batch.attributes[i]);
  const int64_t rank = batch.rank(0);
  for (const Parameter& parameter : batch.op.sig.parameters) {
    if (parameter.is_tensor() || !names_dimensions(parameter)) continue;
    if (rank == 0) return std::nullopt;
    Attribute& attribute = result[parameter.index];
    if (auto* dim = std::get_if<int64_t>(&attribute)) {
      *dim = moved(*dim);
    } else if (auto* dims = std::get_if<Dims>(&attribute)) {
      if (dims->empty()) return std::nullopt;
      for (int64_t& dim : *dims) dim = moved(dim);
    } else if (parameter.type == graph::ParameterType::integer_list) {
      Dims all;
      for (int64_t dim = 1; dim <= rank; ++dim) all.push_back(dim);
      attribute = std::move(all);
    } else {
      return std::nullopt;  // over the flattened row
    }
  }
  return result;
}

Values with_rows(const Batched& batch) {
  Values inputs;
  for (size_t i = 0; i < batch.input_count(); ++i)
    inputs.push_back(batch.was_given(i) ? batch.with_rows(i) : Value());
  return inputs;
}

}  // namespace

Values rows_alike(const Batched& batch) {
  return graph::record(batch.op, with_rows(batch), batch.attributes);
}

Values rows_along(const Batched& batch) {
  auto attributes = moved_attributes(batch);
  if (!attributes) return {};
  return graph::record(batch.op, with_rows(batch), Attributes(std::move(*attributes)));
}

Values rows_of_first(const Batched& batch) {
  auto attributes = moved_attributes(batch);
  if (!attributes) return {};
  Values inputs{batch.with_rows(0)};
  for (size_t i = 1; i < batch.input_count(); ++i) {
    if (batch.is_stacked(i)) return {};
    inputs.push_back(batch.in(i));
  }
  return graph::record(batch.op, inputs, Attributes(std::move(*attributes)));
}

Values rows_sized(const Batched& batch) {
  const Dims& sizes = batch.integers("size");
  const auto rank = static_cast<int64_t>(sizes.size());
  const Value input =
      batch.op.name == "expand" ? batch.with_rows(0, rank) : batch.with_rows(0);
  return graph::record(batch.op, {input}, {batch.with_rows(sizes)});
}

namespace {

using graph::BatchFunction;

Values batch_squeeze(const Batched& b) {
  Dims dims;
  if (b.has("dim")) {
    for (int64_t dim : b.integers("dim")) dims.push_back(tensor::wrap_dim("squeeze", dim, b.rank(0)) + 1);
  } else {
    for (int64_t dim = 0; dim < b.rank(0); ++dim) dims.push_back(dim + 1);
  }
  if (dims.empty()) return {alias(b.with_rows(0))};
  return {squeeze(b.with_rows(0), dims)};
}

Values batch_permute(const Batched& b) {
  Dims dims{0};
  for (int64_t dim : b.integers("dims"))
    dims.push_back(tensor::wrap_dim("permute", dim, b.rank(0)) + 1);
  return {permute(b.with_rows(0), dims)};
}

Values batch_t(const Batched& b) {
  if (b.rank(0) < 2) return {alias(b.with_rows(0))};
  return {transpose(b.with_rows(0), 1, 2)};
}

// A row's own index: `table[word]`, where each row has another word.
Values batch_select(const Batched& b) {
  const int64_t dim = tensor::wrap_dim("select", b.integer("dim"), b.rank(0));
  const int64_t size = b.sizes(0)[dim];
  const size_t at = b.op.sig.find("index")->index;
  tensor::Array indices = tensor::Array::allocate({b.rows()}, DType::i64);
  auto* chosen = indices.as<int64_t>();
  bool same = true;
  for (int64_t r = 0; r < b.rows(); ++r) {
    const int64_t i = std::get<int64_t>(b.row_attributes(r)[at]);
    chosen[r] = i < 0 ? i + size : i;
    same = same && chosen[r] == chosen[0];
  }
  if (same && b.is_stacked(0)) return {select(b.with_rows(0), dim + 1, chosen[0])};
  Value rows(std::move(indices));
  rows->has_rows = true;
  if (!b.is_stacked(0)) {
    if (dim != 0) return {};
    return {index_select(b.in(0), 0, rows)};
  }
  const Value input = b.with_rows(0);
  Dims sizes = input.sizes(), ones(sizes.size(), 1);
  sizes[dim + 1] = 1;
  ones[0] = b.rows();
  return {squeeze(gather(input, dim + 1, expand(view(rows, ones), sizes)), Dims{dim + 1})};
}

Values batch_linear(const Batched& b) {
  if (b.is_stacked(1) || (b.was_given(2) && b.is_stacked(2))) return {};
  return {linear(b.with_rows(0), b.in(1), b.was_given(2) ? b.in(2) : Value())};
}

// [n, k] @ [k, m]
Values batch_mm(const Batched& b) {
  if (!b.is_stacked(1)) return {linear(b.with_rows(0), t(b.in(1)))};
  if (!b.is_stacked(0)) {
    return {transpose(linear(transpose(b.with_rows(1), 1, 2), b.in(0)), 1, 2)};
  }
  return {batched_matmul(b.with_rows(0), b.with_rows(1))};
}

// [n, k] @ [k]
Values batch_mv(const Batched& b) {
  if (!b.is_stacked(0)) return {linear(b.with_rows(1), b.in(0))};
  const Value column = b.is_stacked(1) ? unsqueeze(b.with_rows(1), 2) : unsqueeze(b.in(1), 1);
  return {squeeze(batched_matmul(b.with_rows(0), column), Dims{2})};
}

Values batch_dot(const Batched& b) { return {sum(b.with_rows(0) * b.with_rows(1), Dims{1})}; }

Values batch_batched_matmul(const Batched& b) {
  const int64_t rank = std::max(b.rank(0), b.rank(1));
  return {batched_matmul(b.is_stacked(0) ? b.with_rows(0, rank) : b.in(0),
                         b.is_stacked(1) ? b.with_rows(1, rank) : b.in(1))};
}

Values batch_addmm(const Batched& b) {
  if (b.is_stacked(2) || b.real("beta") != 1 || b.real("alpha") != 1) return {};
  const Value product = linear(b.with_rows(1), t(b.in(2)));
  return {product + (b.is_stacked(0) ? b.with_rows(0, 2) : b.in(0))};
}

Values batch_embedding(const Batched& b) {
  if (b.is_stacked(0)) return {};
  return {embedding(b.in(0), b.with_rows(1), b.integer("padding_idx"))};
}

Values batch_index_select(const Batched& b) {
  const int64_t dim = tensor::wrap_dim("index_select", b.integer("dim"), b.rank(0));
  if (!b.is_stacked(1)) return {index_select(b.with_rows(0), dim + 1, b.in(1))};
  if (b.is_stacked(0) || dim != 0 || b.rank(1) == 0) return {};
  return {index(b.in(0), Values{b.with_rows(1)}, Dims{0})};
}

// Advanced indexing of one tensor that all rows share, from its first dimension on.
Values batch_index(const Batched& b) {
  const Dims& dims = b.integers("dims");
  if (b.is_stacked(0)) return {};
  int64_t rank = 0;
  for (size_t i = 1; i < b.input_count(); ++i) {
    if (dims[i - 1] != static_cast<int64_t>(i) - 1) return {};
    rank = std::max(rank, b.rank(i));
  }
  Values inputs{b.in(0)};
  for (size_t i = 1; i < b.input_count(); ++i)
    inputs.push_back(b.is_stacked(i) ? b.with_rows(i, rank) : b.in(i));
  return graph::record(b.op, inputs, b.attributes);
}

// Examples that lie in a row each: their rows are one more dimension.
Values batch_strided_view(const Batched& b) {
  if (b.integers("input_stride") != tensor::contiguous_strides(b.sizes(0))) return {};
  const Value all = contiguous(b.with_rows(0));
  const graph::Array& array = all.array();
  Dims size = b.integers("size"), stride = b.integers("stride");
  size.insert(0, array.sizes[0]);
  stride.insert(0, tensor::count_of(b.sizes(0)));
  const int64_t offset = b.integer("storage_offset") - b.integer("input_offset");
  return {strided_view(all, size, stride, array.offset + offset, array.strides, array.offset)};
}

// All rows of scores of all examples at once; then each example's own sum or mean.
Values batch_cross_entropy(const Batched& b) {
  const int64_t count = b.sizes(1)[0], ignored = b.integer("ignore_index");
  const Value scores = reshape(b.with_rows(0), {b.rows() * count, b.sizes(0)[1]});
  const Value target = reshape(b.with_rows(1), {b.rows() * count});
  Value losses = cross_entropy_classes(scores, target, ignored, "none")[0];
  losses = view(losses, {b.rows(), count});
  const Value counted = cast(ne(target, Value(ignored)), lane_dtype(losses.dtype()));
  const Value rows = sum(view(counted, {b.rows(), count}), Dims{1});
  const std::string& reduction = b.string("reduction");
  if (reduction == "none") return {losses, rows};
  const Value total = sum(losses, Dims{1});
  return {reduction == "sum" ? total : cast(total / rows, losses.dtype()), rows};
}

// Images one by one: N is 1.
Values batch_convolution(const Batched& b) {
  if (b.is_stacked(1) || (b.was_given(2) && b.is_stacked(2)) || b.sizes(0)[0] != 1) return {};
  Values inputs{squeeze(b.with_rows(0), Dims{1}), b.in(1), b.was_given(2) ? b.in(2) : Value()};
  return {unsqueeze(graph::record(b.op, inputs, b.attributes)[0], 1)};
}

struct RuleOf {
  const char* name;
  BatchFunction function;
  uint32_t weights = 0;
  const char* free = "";
};

const RuleOf rules[] = {
    {"alias", rows_alike},
    {"clone", rows_alike},
    {"contiguous", rows_alike},
    {"cast", rows_alike},
    {"copy", rows_alike},
    {"zeros_like", rows_alike},
    {"lstm_gates", rows_alike},
    {"gru_gates", rows_alike},
    {"all", rows_along},
    {"any", rows_along},
    {"amax", rows_along},
    {"amin", rows_along},
    {"argmax", rows_along},
    {"argmin", rows_along},
    {"sum", rows_along},
    {"mean", rows_along},
    {"prod", rows_along},
    {"var", rows_along},
    {"softmax", rows_along},
    {"log_softmax", rows_along},
    {"cumsum", rows_along},
    {"cumprod", rows_along},
    {"max_dim", rows_along},
    {"min_dim", rows_along},
    {"sort", rows_along},
    {"topk", rows_along},
    {"gather", rows_along},
    {"scatter_add", rows_along},
    {"flip", rows_along},
    {"cat", rows_along},
    {"stack", rows_along},
    {"slice", rows_along},
    {"split", rows_along},
    {"split_with_sizes", rows_along},
    {"unbind", rows_along},
    {"transpose", rows_along},
    {"layer_norm", rows_of_first, 0b1110},
    {"view", rows_sized},
    {"expand", rows_sized},
    {"squeeze", batch_squeeze},
    {"permute", batch_permute},
    {"t", batch_t},
    {"select", batch_select, 0, "index"},
    {"linear", batch_linear, 0b110},
    {"mm", batch_mm, 0b11},
    {"mv", batch_mv, 0b11},
    {"dot", batch_dot},
    {"bmm", batch_batched_matmul},
    {"batched_matmul", batch_batched_matmul},
    {"addmm", batch_addmm, 0b111},
    {"embedding", batch_embedding, 0b1},
    {"index_select", batch_index_select, 0b1},
    {"index", batch_index, 0b1},
    {"strided_view", batch_strided_view},
    {"cross_entropy_classes", batch_cross_entropy},
    {"convolution", batch_convolution, 0b110},
};

// An unsqueeze counts from the end of the result.
Values batch_unsqueeze(const Batched& b) {
  const int64_t dim = b.integer("dim");
  return {unsqueeze(b.with_rows(0), dim < 0 ? dim : dim + 1)};
}

// A stack of rows without dimensions.
Values batch_stack(const Batched& b) {
  const int64_t dim = b.integer("dim");
  return {graph::record(b.op, with_rows(b), Attributes({moved(dim)}))[0]};
}

}  // namespace

void set_batch_rules() {
  auto set = [](const char* name, BatchFunction function, uint32_t weights, const char* free) {
    const graph::Op* op = graph::find_op(name);
    if (!op) return;
    auto& batch = const_cast<graph::Op*>(op)->batch;
    batch = graph::BatchRule(function, weights);
    batch.free = free;
  };
  for (const RuleOf& rule : rules) set(rule.name, rule.function, rule.weights, rule.free);
  set("unsqueeze", batch_unsqueeze, 0, "");
  set("stack", batch_stack, 0, "");
}

}  // namespace weft::ops
