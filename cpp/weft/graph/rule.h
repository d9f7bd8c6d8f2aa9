// The argument of gradient rules. Include this (through ops.h) where rules are written.
#pragma once

#include <span>

#include "weft/graph/node.h"
#include "weft/graph/op.h"

namespace weft::graph {

class Gradient : public Arguments {
 public:
  // Over a recorded node, for backward.
  Gradient(const Node& node, const Values& gradients, const Values& inputs, const Values& outputs);
  // Over metas, to find out what the rule reads.
  Gradient(const Op& op, const Attributes& attributes, const Values& gradients,
           const Values& inputs, const Values& outputs, GradientPlan* plan);

  // The gradient of an output. The first one is always there when the op has one output.
  const Value& grad(size_t output = 0) const { return gradients_[output]; }
  bool has_grad(size_t output) const { return static_cast<bool>(gradients_[output]); }
  // An input or output of the op as it was then. Reading it is what gets it saved, so read it
  // whatever the attributes say: plans are shared between applications that differ in attributes.
  const Value& input(size_t i = 0);
  const Value& output(size_t i = 0);
  // Shapes and dtypes are always known and save nothing.
  const Dims& input_sizes(size_t i = 0) const { return metas_[i].sizes; }
  DType input_dtype(size_t i = 0) const { return metas_[i].dtype; }
  size_t input_count() const { return metas_.size(); }
  size_t output_count() const { return gradients_.size(); }
  const Dims& output_sizes(size_t i = 0) const { return output_metas_[i].sizes; }
  DType output_dtype(size_t i = 0) const { return output_metas_[i].dtype; }
  // Whether anybody wants the gradient of input i; rules may skip work.
  bool needs(size_t i) const { return (needs_ & bit_of(i)) != 0; }
  bool was_given(size_t i) const { return (defined_ & bit_of(i)) != 0; }

 private:
  const Values& gradients_;
  const Values& inputs_;
  const Values& outputs_;
  base::SmallVector<Meta, 2> metas_;
  base::SmallVector<Meta, 1> output_metas_;
  uint32_t needs_;
  uint32_t defined_;
  GradientPlan* plan_ = nullptr;  // notes reads while tracing
};

// Made on first use.
const GradientPlan& plan_gradient(const Op& op, const Attributes& attributes,
                                  std::span<const Value> inputs, std::span<const Value> outputs,
                                  uint32_t needs, uint32_t defined);

}  // namespace weft::graph
