// Backward for Python, the modes of recording, and facts about graphs.
#include <set>
#include <unordered_set>

#include "ops.h"
#include "weft/autograd/engine.h"
#include "weft/autograd/lazy.h"
#include "weft/bind/binding.h"
#include "weft/graph/modes.h"
#include "weft/graph/program.h"
#include "weft/graph/record.h"

namespace weft::bind {
namespace {

using graph::modes;

[[noreturn]] void refuse_root(const Value& value) {
  const std::string at = graph::position_text(value->cut_at);
  std::string why = "nothing it was computed from has requires_grad=True";
  switch (value->cut) {
    case graph::Cut::detach:
      why = base::text("detach() cut the graph at ", at);
      break;
    case graph::Cut::no_grad:
      why = base::text("it was computed under no_grad() at ", at);
      break;
    case graph::Cut::integer:
      why =
          base::text("the result at ", at, " has an integer or bool dtype, which has no gradient");
      break;
    case graph::Cut::not_differentiable:
      why = base::text("the op at ", at, " has no gradient");
      break;
    default:
      break;
  }
  if (value->cut == graph::Cut::none && graph::last_item_read) {
    why +=
        base::text("; numbers carry no graph, and a tensor with one was last read as a number at ",
                   graph::position_text(graph::last_item_read), " (item(), float() or tolist())");
  }
  base::fail(ErrorKind::gradient,
             "element 0 of tensors does not require grad and does not have a grad_fn: ", why, ".");
}

Value implicit_gradient(const Value& value) {
  if (value.count() != 1) {
    base::fail(ErrorKind::gradient,
               "grad can be implicitly created only for scalar outputs; this output has shape ",
               value.sizes(), ". Reduce it (sum(), mean()) or pass a gradient of its shape.");
  }
  Array one = Array::allocate(value.sizes(), value.dtype());
  if (one.dtype == DType::f32) {
    *one.as<float>() = 1;
  } else {
    graph::host.copy(graph::number_value(1.0).array().expand(value.sizes()), one);
  }
  return Value(std::move(one));
}

void add_root(autograd::Request& request, const TensorObject& root,
              const std::optional<TensorObject>& given) {
  const Value value = root.value();
  if (!value->requires_grad) refuse_root(value);
  Value gradient = given ? given->value() : implicit_gradient(value);
  if (gradient.sizes() != value.sizes()) {
    const size_t i = request.roots.size();
    base::fail(ErrorKind::shape, "Mismatch in shape: grad_output[", i, "] has a shape of ",
               gradient.sizes(), " and output[", i, "] has a shape of ", value.sizes());
  }
  if (gradient.dtype() != value.dtype()) gradient = ops::cast(gradient, value.dtype());
  request.roots.push_back(value);
  request.gradients.push_back(std::move(gradient));
}

// Everything that the engine looks at, at once: what a map's examples wait for runs together.
void compute(const autograd::Request& request) {
  for (const auto* values : {&request.roots, &request.gradients, &request.inputs})
    graph::settle(*values);
}

nb::tuple run_backward(const std::vector<TensorObject>& tensors,
                       const std::vector<std::optional<TensorObject>>& gradients,
                       const std::optional<std::vector<TensorObject>>& inputs, bool retain_graph,
                       bool create_graph, bool accumulate) {
  autograd::Request request;
  request.retain_graph = retain_graph;
  request.create_graph = create_graph;
  request.accumulate = accumulate;
  if (tensors.size() != gradients.size()) {
    raise(PyExc_RuntimeError,
          base::text("got ", tensors.size(), " tensors and ", gradients.size(), " gradients"));
  }
  for (size_t i = 0; i < tensors.size(); ++i) add_root(request, tensors[i], gradients[i]);
  for (size_t i = 0; inputs && i < inputs->size(); ++i) {
    const Value value = (*inputs)[i].value();
    if (!value->requires_grad) {
      base::fail(ErrorKind::gradient,
                 "One of the differentiated Tensors does not require grad (input ", i, ")");
    }
    if (accumulate) retain_grad((*inputs)[i]);
    request.inputs.push_back(accumulate ? (*inputs)[i].value() : value);
  }
  const bool waits = autograd::gradients_can_wait(request);
  if (!waits) compute(request);
  const std::vector<Value> results =
      waits ? autograd::record_backward(request) : autograd::run_backward(request);
  return wrapped(Values(results.begin(), results.end()));
}

// loss.backward(), the call of every training step, without a detour through Python.
void backward_of_one(const TensorObject& tensor) {
  autograd::Request request;
  add_root(request, tensor, std::nullopt);
  compute(request);
  autograd::run_backward(request);
}

// Whether a tensor's graph has leaves other than these. What is pending stays so.
bool has_other_leaves(const TensorObject& tensor, const std::vector<TensorObject>& leaves) {
  using Place = std::pair<const Node*, int32_t>;  // with the row that it is for
  std::set<Place> seen;
  std::unordered_set<const graph::Pending*> seen_pending;
  std::vector<Place> nodes;
  std::vector<const graph::Pending*> pending;
  const auto visit_node = [&](const Node* node, int32_t row) {
    if (node && node->is_leaf()) row = graph::ValueData::whole;
    if (node && seen.emplace(node, row).second) nodes.emplace_back(node, row);
  };
  const auto visit = [&](const Value& value) {
    if (!value || !value->requires_grad) return;
    if (!value->pending) return visit_node(value->producer.get(), value->row);
    if (seen_pending.insert(value->pending.get()).second) pending.push_back(value->pending.get());
  };
  for (const TensorObject& leaf : leaves)
    seen.emplace(leaf.value()->producer.get(), leaf.value()->row);
  visit(tensor.value());
  while (!pending.empty() || !nodes.empty()) {
    if (!pending.empty()) {
      const graph::Pending& next = *pending.back();
      pending.pop_back();
      for (const Value& input : next.inputs) visit(input);
      continue;
    }
    const auto [node, row] = nodes.back();
    nodes.pop_back();
    if (node->is_leaf()) return true;
    for (const graph::Edge& edge : edges_of_row(*node, row)) visit_node(edge.node.get(), edge.row);
  }
  return false;
}

void bump_version(const TensorObject& tensor) {
  const Ref<tensor::Storage> storage = tensor.computed().array().storage;
  graph::run_readers(*storage);
  storage->version += 1;
  storage->written_at = graph::current_position();
  storage->written_by = nullptr;
}

void show_as(const TensorObject& tensor, const std::string& name) {
  const Value& value = tensor.value();
  if (value->requires_grad || modes.tracer) graph::show_as(value, graph::shown_name(name));
}

}  // namespace

void define_autograd(nb::module_& module) {
  module.def("run_backward", run_backward, "Differentiate; see weft.autograd.");
  module.def("backward_of_one", backward_of_one, "Differentiate one tensor of one element.");
  module.def(
      "is_grad_enabled", [] { return graph::refuse_in_program("asks for a mode"), modes.grad; },
      "Tell whether ops are recorded.");
  module.def(
      "set_grad_enabled",
      [](bool wanted) {
        graph::refuse_in_program("changes a mode");
        return std::exchange(modes.grad, wanted);
      },
      "Switch recording; return what it was.");
  module.def(
      "is_inference_mode_enabled", [] { return modes.inference; },
      "Tell whether inference mode is on.");
  module.def(
      "set_inference_mode", [](bool wanted) { return std::exchange(modes.inference, wanted); },
      "Switch inference mode; return what it was.");
  module.def(
      "set_keep_values", [](bool wanted) { return std::exchange(modes.keep_values, wanted); },
      "Let nodes keep their results; return what it was.");
  module.def("has_other_leaves", has_other_leaves,
             "Tell whether a tensor's graph has leaves other than these.");
  module.def("live_nodes", Node::live, "Return the number of graph nodes alive.");
  module.def("show_as", show_as, "Let a tensor's grad_fn go by the name of a composite.");
  module.def("bump_version", bump_version, "Count a write to a tensor's memory.");
}

}  // namespace weft::bind
