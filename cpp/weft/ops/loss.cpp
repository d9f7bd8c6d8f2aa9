// Losses of classes. The others are made of plain ops in Python.
#include "ops.h"
#include "weft/kernels/map.h"
#include "weft/kernels/normalize.h"

namespace weft::ops {
using namespace graph;
using base::ErrorKind;

namespace {

DType lane_dtype(DType dtype) { return tensor::dtype_of(tensor::lane_of(dtype)); }

void require_reduction(const Call& call) {
  const std::string& reduction = call.string("reduction");
  call.require(reduction == "mean" || reduction == "sum" || reduction == "none", ErrorKind::value,
               "reduction must be 'mean', 'sum' or 'none', not '", reduction, "'");
}

// Scores as rows of classes, classes as one number a row; (N, C, d1, ...) has classes in the middle.
struct Rows {
  Value scores, classes;
  Dims sizes;  // of the loss of each row
};

Rows as_rows(const Call& call) {
  const Value &input = call[0], &target = call[1];
  const int64_t rank = input.rank();
  call.require(rank >= 1, ErrorKind::shape, "input must have a dimension of classes; input is ()");
  Dims sizes = input.sizes();
  sizes.erase(rank == 1 ? 0 : 1);
  call.require(target.sizes() == sizes, ErrorKind::shape,
               "target must have input's sizes without the classes'; input is ", input.sizes(),
               ", target is ", target.sizes());
  const int64_t classes = input.size(rank == 1 ? 0 : 1), rows = tensor::count_of(sizes);
  call.require(!call[2] || call[2].sizes() == Dims{classes}, ErrorKind::shape,
               "weight must have one value for each class; input is ", input.sizes(), ", weight is ",
               call[2] ? call[2].sizes() : Dims());
  if (rank == 2) return {input, target, sizes};
  Value last = input;
  for (int64_t dim = 1; dim + 1 < rank; ++dim) last = transpose(last, dim, dim + 1);
  return {reshape(last, {rows, classes}), reshape(target, {rows}), sizes};
}

void require_classes(const Call& call, size_t scores, size_t classes, size_t weight) {
  const Array &input = call.in(scores), &target = call.in(classes);
  call.require(input.rank() == 2 && target.rank() == 1 && target.sizes[0] == input.sizes[0],
               ErrorKind::shape, "input must be (N, C) and target (N,); input is ", input.sizes,
               ", target is ", target.sizes);
  call.require(tensor::is_floating(input.dtype) && tensor::is_integral(target.dtype),
               ErrorKind::dtype, "input must be floating point and target integers; input is ",
               tensor::name_of(input.dtype), ", target is ", tensor::name_of(target.dtype));
  call.require(!call[weight] || (call.in(weight).sizes == Dims{input.sizes[1]} &&
                                 call.in(weight).dtype == input.dtype),
               ErrorKind::shape, "weight must have one value of input's dtype for each class");
  require_reduction(call);
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

kernels::CrossEntropy settings_of(const Call& call, const Array* weight) {
  return {weight, call.integer("ignore_index"), call.real("label_smoothing")};
}

Value reduced(const Call& call, const Value& losses, const Dims& sizes, const Value& total) {
  const std::string& reduction = call.string("reduction");
  if (reduction == "none") return reshape(losses, sizes);
  const Value all = sum(losses);
  return reduction == "sum" ? all : all / total;
}

double read(const Array& array) {
  return array.dtype == DType::f32 ? *array.as<float>() : *array.as<double>();
}

}  // namespace

OP(cross_entropy) {
  .signature = "cross_entropy(input: Tensor, target: Tensor, weight: Tensor? = None, "
               "ignore_index: int = -100, reduction: str = 'mean', label_smoothing: float = 0.0) "
               "-> Tensor",
  .doc = "Returns the cross-entropy of scores (N, C, ...) with classes (N, ...), or with "
         "probabilities like the scores. Rows of class `ignore_index` do not count; "
         "`label_smoothing` is the share of the target that is spread over all classes.",
  .shape = of_parts(),
  .run = composite([](const Call& call) -> Values {
    require_reduction(call);
    const double smoothing = call.real("label_smoothing");
    call.require(smoothing >= 0 && smoothing <= 1, ErrorKind::value,
                 "label_smoothing must be between 0 and 1, got ", smoothing);
    const Value &input = call[0], &target = call[1], &weight = call[2];
    if (!tensor::is_floating(target.dtype())) {
      const Rows rows = as_rows(call);
      const Value loss =
          cross_entropy_classes(rows.scores, rows.classes, weight, call.integer("ignore_index"),
                                call.string("reduction"), smoothing)[0];
      return {loss.rank() == 0 && rows.sizes.empty() ? loss
              : call.string("reduction") == "none"   ? reshape(loss, rows.sizes)
                                                     : loss};
    }
    call.require(input.sizes() == target.sizes() && input.rank() > 0, ErrorKind::shape,
                 "target probabilities must be like input; input is ", input.sizes(),
                 ", target is ", target.sizes());
    const int64_t dim = input.rank() == 1 ? 0 : 1;
    const auto classes = static_cast<double>(input.size(dim));
    const Value wanted = smoothing > 0 ? target * (1 - smoothing) + smoothing / classes : target;
    Value terms = log_softmax(input, dim) * wanted;
    if (weight) {
      Dims sizes(static_cast<size_t>(input.rank()), 1);
      sizes[dim] = weight.count();
      terms = terms * reshape(weight, sizes);
    }
    const Value losses = -sum(terms, Dims{dim});
    const auto rows = static_cast<double>(losses.count());
    return {reduced(call, losses, losses.sizes(), Value(rows))};
  }),
  .gradient = of_parts(),
};

OP(cross_entropy_classes) {
  .signature = "cross_entropy_classes(input: Tensor, target: Tensor, weight: Tensor? = None, "
               "ignore_index: int = -100, reduction: str = 'mean', label_smoothing: float = 0.0) "
               "-> (loss: Tensor, total_weight: Tensor)",
  .doc = "Returns the cross-entropy of rows of scores (N, C) with classes (N,), and the sum of the "
         "classes' weights.",
  .shape = [](Call& call) {
    require_classes(call, 0, 1, 2);
    const DType dtype = call.in(0).dtype;
    call.add_output(call.string("reduction") == "none" ? call.in(1).sizes : Dims{}, dtype);
    call.add_output({}, lane_dtype(dtype));
  },
  .run = kernel([](Call& call) {
    const DType lane = lane_dtype(call.in(0).dtype);
    const Array scores = call.contiguous(0, lane);
    const Array targets = checked_targets(call, 1, scores.sizes[1]);
    const Array weight = call[2] ? call.contiguous(2, lane) : Array();
    const Array losses = Array::allocate(targets.sizes, lane);
    const Array weights = Array::allocate(targets.sizes, lane);
    kernels::cross_entropy(scores, targets, settings_of(call, call[2] ? &weight : nullptr), losses,
                           weights);
    double loss = 0, total = 0;
    for (int64_t r = 0; r < targets.count(); ++r) {
      loss += lane == DType::f32 ? losses.as<float>()[r] : losses.as<double>()[r];
      total += lane == DType::f32 ? weights.as<float>()[r] : weights.as<double>()[r];
    }
    kernels::fill(call.out(1), total);
    if (call.string("reduction") == "none") return kernels::copy(losses, call.out(0));
    kernels::fill(call.out(0), call.string("reduction") == "sum" ? loss : loss / total);
  }),
  .gradient = [](Gradient& g) -> Values {
    const Value &grad = g.grad(), &input = g.input(0), &target = g.input(1), &total = g.output(1);
    const Value weight = g.was_given(2) ? g.input(2) : Value();
    if (!g.has_grad(0)) return {Value(), Value(), Value()};  // the weights' sum is a constant
    const int64_t ignored = g.integer("ignore_index");
    const std::string& reduction = g.string("reduction");
    const double smoothing = g.real("label_smoothing");
    if (!modes.grad) {
      return {cross_entropy_backward(grad, input, target, total, weight, ignored, reduction,
                                     smoothing),
              Value(), Value()};
    }
    const auto classes = static_cast<double>(input.size(1));
    const Value skipped = eq(target, Value(ignored));
    const Value safe = masked_fill(target, skipped, 0);
    const Value chances = softmax(input, 1);
    const Value hits = scatter(zeros(input.sizes(), input.dtype()), 1, unsqueeze(safe, 1), 1.0);
    Value slope = (chances - hits) * (1 - smoothing);
    if (weight) slope = slope * unsqueeze(index_select(weight, 0, safe), 1);
    if (smoothing > 0) {
      const Value even = weight ? chances * sum(weight) - weight : chances * classes - 1;
      slope = slope + even * (smoothing / classes);
    }
    Value factor = reduction == "mean" ? grad / total : grad;
    if (factor.rank() == 1) factor = unsqueeze(factor, 1);
    return {masked_fill(slope * factor, unsqueeze(skipped, 1), 0), Value(), Value()};
  },
  .shown_as = "NllLossBackward0",
};

OP(cross_entropy_backward) {
  .signature = "cross_entropy_backward(grad: Tensor, input: Tensor, target: Tensor, "
               "total_weight: Tensor, weight: Tensor? = None, ignore_index: int = -100, "
               "reduction: str = 'mean', label_smoothing: float = 0.0) -> Tensor",
  .doc = "Returns the gradient of the scores of cross_entropy_classes.",
  .shape = [](Call& call) {
    require_classes(call, 1, 2, 4);
    call.require(call.in(0).sizes == (call.string("reduction") == "none" ? call.in(2).sizes : Dims{}) &&
                     call.in(3).rank() == 0 && tensor::is_floating(call.in(3).dtype),
                 ErrorKind::shape, "grad must be like the loss; grad is ", call.in(0).sizes);
    call.add_output(call.in(1).sizes, call.in(1).dtype);
  },
  .run = kernel([](Call& call) {
    const DType lane = lane_dtype(call.in(1).dtype);
    const Array grad = call.contiguous(0, lane), scores = call.contiguous(1, lane);
    const Array targets = checked_targets(call, 2, scores.sizes[1]);
    const Array weight = call[4] ? call.contiguous(4, lane) : Array();
    Array factors = grad;
    if (call.string("reduction") != "none") {
      factors = Array::allocate(targets.sizes, lane);
      const double divisor =
          call.string("reduction") == "mean" ? read(call.contiguous(3, lane)) : 1;
      kernels::fill(factors, read(grad) / divisor);
    }
    const Array& out = call.out();
    const Array wide = out.dtype == lane ? out : Array::allocate(out.sizes, lane);
    kernels::cross_entropy_backward(scores, targets, factors,
                                    settings_of(call, call[4] ? &weight : nullptr), wide);
    if (out.dtype != lane) kernels::copy(wide, out);
  }),
  .gradient = no_gradient("cross_entropy_classes's rule uses plain ops where gradients of gradients "
                          "are wanted"),
};

OP(nll_loss) {
  .signature = "nll_loss(input: Tensor, target: Tensor, weight: Tensor? = None, "
               "ignore_index: int = -100, reduction: str = 'mean') -> Tensor",
  .doc = "Returns the negative of the log-probabilities (N, C, ...) at classes (N, ...). Rows of class "
         "`ignore_index` do not count.",
  .shape = of_parts(),
  .run = composite([](const Call& call) -> Values {
    require_reduction(call);
    const Rows rows = as_rows(call);
    const Value skipped = eq(rows.classes, Value(call.integer("ignore_index")));
    const Value safe = masked_fill(rows.classes, skipped, 0);
    const Value picked = squeeze(gather(rows.scores, 1, unsqueeze(safe, 1)), {{1}});
    const Value weights = call[2] ? index_select(call[2], 0, safe)
                                  : full(rows.classes.sizes(), 1.0, call[0].dtype());
    const Value counted = masked_fill(weights, skipped, 0);
    // A row that does not count may hold anything, even infinities.
    const Value losses = masked_fill(-picked * weights, skipped, 0);
    return {reduced(call, losses, rows.sizes,
                    call.string("reduction") == "mean" ? sum(counted) : Value())};
  }),
  .gradient = of_parts(),
};

}  // namespace weft::ops
