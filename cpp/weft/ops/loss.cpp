// The cross-entropy of classes in one pass. The other losses are made of plain ops in Python.
#include "weft/kernels/normalize.h"
#include "weft/ops/batching.h"
#include "weft/ops/lanes.h"

namespace weft::ops {
using namespace graph;
using base::ErrorKind;

namespace {

void require_classes(const Call& call, size_t scores, size_t classes) {
  const Array &input = call.in(scores), &target = call.in(classes);
  call.require(input.rank() == 2 && target.rank() == 1 && target.sizes[0] == input.sizes[0],
               ErrorKind::shape, "input must be (N, C) and target (N,); input is ", input.sizes,
               ", target is ", target.sizes);
  call.require(tensor::is_floating(input.dtype) && tensor::is_integral(target.dtype),
               ErrorKind::dtype, "input must be floating point and target integers; input is ",
               tensor::name_of(input.dtype), ", target is ", tensor::name_of(target.dtype));
  const std::string& reduction = call.string("reduction");
  call.require(reduction == "mean" || reduction == "sum" || reduction == "none", ErrorKind::value,
               "reduction must be 'mean', 'sum' or 'none', not '", reduction, "'");
}

Array checked_targets(const Call& call, size_t i, int64_t classes) {
  const Array targets = call.contiguous(i, DType::i64);
  const int64_t ignored = call.integer("ignore_index");
  const int64_t* data = targets.as<int64_t>();
  for (int64_t r = 0; r < targets.count(); ++r) {
    call.require((data[r] >= 0 && data[r] < classes) || data[r] == ignored, ErrorKind::index,
                 "Target ", data[r], " is out of bounds for ", classes, " classes");
  }
  return targets;
}

double read(const Array& array, int64_t i = 0) {
  return array.dtype == DType::f32 ? array.as<float>()[i] : array.as<double>()[i];
}

}  // namespace

OP(cross_entropy_classes,
   "(input: Tensor, target: Tensor, ignore_index: int = -100, reduction: str = 'mean') -> "
   "(loss: Tensor, rows: Tensor)") {
  .doc = "Returns the cross-entropy of rows of scores (N, C) with classes (N,), and how many rows "
         "count: those of class `ignore_index` do not.",
  .shape = [](Call& call) {
    require_classes(call, 0, 1);
    const DType dtype = call.in(0).dtype;
    call.add_output(call.string("reduction") == "none" ? call.in(1).sizes : Dims{}, dtype);
    call.add_output({}, lane_dtype(dtype));
  },
  .run = kernel([](Call& call) {
    const Array scores = call.contiguous(0, lane_dtype(call.in(0).dtype));
    const Array targets = checked_targets(call, 1, scores.sizes[1]);
    const Array losses = Array::allocate(targets.sizes, scores.dtype);
    const int64_t ignored = call.integer("ignore_index");
    kernels::cross_entropy(scores, targets, ignored, losses);
    double loss = 0, rows = 0;
    for (int64_t r = 0; r < targets.count(); ++r) {
      loss += read(losses, r);
      rows += targets.as<int64_t>()[r] != ignored ? 1 : 0;
    }
    kernels::fill(call.out(1), rows);
    if (call.string("reduction") == "none") return kernels::copy(losses, call.out(0));
    kernels::fill(call.out(0), call.string("reduction") == "sum" ? loss : loss / rows);
  }),
  .gradient = [](Gradient& g) -> Values {
    const Value &grad = g.grad(), &input = g.input(0), &target = g.input(1), &rows = g.output(1);
    if (!g.has_grad(0)) return {Value(), Value()};  // the number of rows is a constant
    const int64_t ignored = g.integer("ignore_index");
    const std::string& reduction = g.string("reduction");
    if (!modes.grad) {
      return {cross_entropy_backward(grad, input, target, rows, ignored, reduction), Value()};
    }
    const Value skipped = eq(target, Value(ignored));
    const Value safe = unsqueeze(masked_fill(target, skipped, 0), 1);
    const Value hits = scatter(zeros(input.sizes(), input.dtype()), 1, safe, 1.0);
    Value factor = reduction == "mean" ? grad / rows : grad;
    if (factor.rank() == 1) factor = unsqueeze(factor, 1);
    const Value slope = (softmax(input, 1) - hits) * factor;
    return {masked_fill(slope, unsqueeze(skipped, 1), 0), Value()};
  },
  .batch = [](const Batched& b) -> Values {
    const Value scores = b.with_rows(0), target = b.with_rows(1);
    const int64_t ignored = b.integer("ignore_index");
    const std::string& reduction = b.string("reduction");
    const Value skipped = eq(target, Value(ignored));
    Value losses;
    if (b.sizes(1)[0] == 1) {
      losses = cross_entropy_classes(squeeze(scores, {{1}}), squeeze(target, {{1}}), ignored, "none")[0];
      losses = unsqueeze(losses, 1);
    } else {
      const Value safe = unsqueeze(masked_fill(target, skipped, 0), 2);
      losses = squeeze(gather(-log_softmax(scores, 2), 2, safe), {{2}});
      losses = masked_fill(losses, skipped, 0);
    }
    const Value rows = sum(logical_not(skipped), {{1}}, false, lane_dtype(losses.dtype()));
    if (reduction == "none") return {losses, rows};
    const Value total = sum(losses, {{1}});
    return {reduction == "sum" ? total : cast(total / rows, losses.dtype()), rows};
  },
  .shown_as = "NllLossBackward0",
};

OP(cross_entropy_backward,
   "(grad: Tensor, input: Tensor, target: Tensor, rows: Tensor, ignore_index: int = -100, "
   "reduction: str = 'mean') -> Tensor") {
  .doc = "Returns the gradient of the scores of cross_entropy_classes.",
  .shape = [](Call& call) {
    require_classes(call, 1, 2);
    call.require(call.in(0).sizes == (call.string("reduction") == "none" ? call.in(2).sizes : Dims{}) &&
                     call.in(3).rank() == 0 && tensor::is_floating(call.in(3).dtype),
                 ErrorKind::shape, "grad must be like the loss; grad is ", call.in(0).sizes);
    call.add_output(call.in(1).sizes, call.in(1).dtype);
  },
  .run = kernel([](Call& call) {
    const DType lane = lane_dtype(call.in(1).dtype);
    const Array scores = call.contiguous(1, lane);
    const Array targets = checked_targets(call, 2, scores.sizes[1]);
    Array factors = call.contiguous(0, lane);
    if (call.string("reduction") != "none") {
      const bool mean = call.string("reduction") == "mean";
      const double factor = read(factors) / (mean ? read(call.contiguous(3, lane)) : 1);
      factors = Array::allocate(targets.sizes, lane);
      kernels::fill(factors, factor);
    }
    into(call.out(), [&](const Array& out) {
      kernels::cross_entropy_backward(scores, targets, factors, call.integer("ignore_index"), out);
    });
  }),
  .gradient = no_gradient("cross_entropy_classes's rule uses plain ops where gradients of gradients "
                          "are wanted"),
  .batch = [](const Batched& b) -> Values {
    if (b.sizes(2)[0] != 1) return {};  // the kernel has one loss a row
    const std::string& reduction = b.string("reduction");
    Value factor = b.with_rows(0);
    if (reduction == "none") factor = squeeze(factor, {{1}});
    if (reduction == "mean") factor = factor / b.with_rows(3);
    const Value result =
        cross_entropy_backward(cast(factor, b.dtype(0)), squeeze(b.with_rows(1), {{1}}),
                               squeeze(b.with_rows(2), {{1}}), Value(1.0), b.integer("ignore_index"), "none");
    return {unsqueeze(result, 1)};
  },
};

}  // namespace weft::ops
