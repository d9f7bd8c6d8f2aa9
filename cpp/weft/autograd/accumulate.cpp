#include "weft/autograd/accumulate.h"

#include "ops.h"
#include "weft/base/blocking.h"
#include "weft/base/errors.h"
#include "weft/graph/modes.h"
#include "weft/graph/pending.h"
#include "weft/graph/record.h"
#include "weft/graph/tensor.h"

namespace weft::autograd {

using graph::modes;
using graph::TensorData;
using graph::TensorRef;
using graph::Value;

void add_into(const tensor::Array& sum, const tensor::Array& addend) {
  constexpr int64_t small_count = 4096;
  if (sum.dtype <= tensor::DType::f64 && sum.dtype == addend.dtype && sum.count() <= small_count &&
      sum.sizes == addend.sizes && sum.is_contiguous() && addend.is_contiguous()) {
    const void* operands[] = {sum.data(), addend.data()};
    ops::op_add.blocks[sum.dtype == tensor::DType::f64](sum.data(), operands, sum.count());
    sum.storage->version += 1;
    return;
  }
  graph::ModesGuard guard;
  modes.grad = false;
  const Value operands[] = {Value(sum), Value(addend)};
  graph::record_into(ops::op_add, operands, {}, sum);
}

void accumulate(graph::Node& node, const Value& gradient, bool create_graph) {
  graph::Leaf& leaf = *node.extras->leaf;
  if (!gradient || !leaf.tensor) return;
  const TensorRef tensor(leaf.tensor);
  if (gradient->mapped) {
    base::fail(base::ErrorKind::gradient,
               "vmap: backward() inside the function cannot add to .grad, which all rows share; "
               "return the gradients of weft.func.grad or weft.autograd.grad instead");
  }
  if (gradient.sizes() != tensor->value().sizes()) {
    base::fail(base::ErrorKind::shape, "backward: a leaf was ", gradient.sizes(),
               " when this graph was recorded and is ", tensor->value().sizes(),
               " now. Compute the loss again after its shape has changed.");
  }
  {
    // Two threads may accumulate into one leaf: nobody else may run between the read and the write.
    base::KeepLock keep;
    if (!tensor->grad) {
      // Only a gradient that nobody else can see may be kept as it is.
      const bool ours = gradient->array.storage->use_count() == 1 &&
                        gradient.get()->use_count() == 1 && gradient.array().is_contiguous() &&
                        !gradient->array.storage->is_foreign();
      graph::ModesGuard guard;
      modes.grad = create_graph;
      Value kept = gradient;
      if (!ours) {
        kept = ops::clone(gradient);
      } else if (!create_graph) {
        kept = Value(gradient.array());
      }
      tensor->grad = TensorRef(new TensorData(kept));
    } else if (graph::demand(tensor->grad->value());
               create_graph || tensor->grad->value()->requires_grad ||
               tensor->grad->array().dtype != gradient.dtype() ||
               tensor->grad->array().sizes != gradient.sizes()) {
      // What has a history, or is to get one, may be part of a graph: others keep it as it is.
      tensor->grad = TensorRef(new TensorData(ops::add(tensor->grad->value(), gradient)));
    } else {
      graph::run_readers(*tensor->grad->array().storage);
      add_into(tensor->grad->array(), gradient.array());
    }
  }
  const auto hooks = leaf.post_accumulate;
  for (const auto& [id, hook] : hooks) hook->call(gradient);
}

}  // namespace weft::autograd
