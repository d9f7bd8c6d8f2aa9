#include "weft/autograd/program_gradient.h"

#include "weft/autograd/engine.h"
#include "weft/graph/modes.h"
#include "weft/graph/record.h"

namespace weft::autograd {

using graph::modes;

// Runs the Program and its backward over metas, and notes every op on the way: what no gradient
// needs falls away again.
graph::Program gradient_of(const graph::Program& program, std::span<const graph::Meta> inputs,
                           const std::vector<bool>& needed) {
  graph::ModesGuard guard;
  modes = {.grad = false, .executor = &graph::meta_executor(), .position = 1};
  Values values;
  for (const graph::Meta& meta : inputs) {
    values.push_back(Value(tensor::Array::meta(meta.sizes, meta.dtype)));
  }
  Values gradients;
  for (const Value& output : program.apply(values)) {
    gradients.push_back(Value(tensor::Array::meta(output.sizes(), output.dtype())));
  }

  graph::ProgramBuilder builder;
  Request request;
  request.accumulate = false;
  for (size_t i = 0; i < values.size(); ++i) {
    builder.add_input(values[i]);
    if (!needed[i]) continue;
    values[i]->producer = graph::make_leaf_node(nullptr);
    values[i]->requires_grad = true;
    request.inputs.push_back(values[i]);
  }
  for (const Value& gradient : gradients) builder.add_input(gradient);
  modes.grad = true;
  modes.tracer = &builder;
  const Values outputs = program.apply(values);
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!outputs[i]->requires_grad) continue;
    request.roots.push_back(outputs[i]);
    request.gradients.push_back(gradients[i]);
  }
  const std::vector<Value> results = run_backward(request);
  return builder.finish(results);
}

}  // namespace weft::autograd
