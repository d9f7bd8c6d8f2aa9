// User-written functions (autograd.Function): their node, its rule and what they saved.
#include <algorithm>

#include "ops.h"
#include "weft/autograd/in_place.h"
#include "weft/autograd/saved.h"
#include "weft/bind/binding.h"
#include "weft/graph/modes.h"
#include "weft/graph/record.h"

namespace weft::bind {
namespace {

// What a function's context holds of its node: borrowed, because the node owns the context.
struct NodeLink {
  Node* node = nullptr;  // null once it is gone
};

class PythonRule : public graph::CustomRule, public HeldFunction {
 public:
  PythonRule(const nb::callable& function, std::string name, bool materialize)
      : HeldFunction(function.ptr()), name_(std::move(name)), materialize_(materialize) {}
  ~PythonRule() override { link->node = nullptr; }
  const char* name() const override { return name_.c_str(); }
  void release() noexcept override {}

  Values backward(Node& node, const Values& gradients) override {
    Values values = call(node, gradients);
    if (values.size() != node.edges.size()) {
      base::fail(ErrorKind::gradient, name_, ": backward returned ", values.size(),
                 " gradients for ", node.edges.size(), " tensor inputs");
    }
    for (size_t i = 0; i < values.size(); ++i) {
      if (!values[i] || !node.edges[i].node) continue;
      // A gradient may be larger by broadcasting: then it is summed.
      const Dims& sizes = values[i].sizes();
      const auto both = tensor::broadcast(sizes, node.input_meta(i).sizes);
      if (!both || *both != sizes) {
        base::fail(ErrorKind::shape, "Function ", name_, " returned an invalid gradient at index ",
                   i, " - got ", sizes, " but expected shape compatible with ",
                   node.input_meta(i).sizes, " (forward at ", graph::position_text(node.position),
                   ")");
      }
    }
    return values;
  }

  std::shared_ptr<NodeLink> link = std::make_shared<NodeLink>();
  std::vector<int> saved;  // for each saved argument its number among node.saved, -1 for None

 private:
  Values call(const Node& node, Values gradients) const {
    for (size_t i = 0; materialize_ && i < gradients.size(); ++i) {
      if (gradients[i]) continue;
      gradients[i] = ops::zeros(node.outputs[i].sizes, node.outputs[i].dtype);
    }
    Object arguments(wrap_all(std::move(gradients), nullptr, false));
    Object result = Object::check(PyObject_CallObject(function.get(), arguments.get()));
    if (!PyTuple_Check(result.get()))
      raise(PyExc_TypeError, base::text(name_, ": backward must return a tuple"));
    Values values;
    for (nb::handle item : nb::borrow<nb::tuple>(result.get())) {
      if (!item.is_none() && !is_tensor(item.ptr())) {
        raise(PyExc_TypeError, base::text(name_, ": backward must return tensors or None, not ",
                                          Py_TYPE(item.ptr())->tp_name));
      }
      values.push_back(item.is_none() ? Value() : value_of(item.ptr()));
    }
    return values;
  }

  std::string name_;
  bool materialize_;
};

enum class OutputKind { plain, dirty, not_differentiable };
using Tensors = std::vector<TensorObject>;

size_t find_in(const Tensors& tensors, const TensorObject& item) {
  const auto found = std::find_if(tensors.begin(), tensors.end(), [&](const TensorObject& other) {
    return other.ptr() == item.ptr();
  });
  return found - tensors.begin();
}

void save_all(Node& node, PythonRule& rule, const std::vector<std::optional<TensorObject>>& saved,
              const Tensors& inputs, const Tensors& outputs, const std::vector<OutputKind>& kinds) {
  for (const std::optional<TensorObject>& item : saved) {
    rule.saved.push_back(item ? static_cast<int>(node.saved.size()) : -1);
    if (!item) continue;
    const Value& value = item->settled();
    const uint32_t version = value->mapped ? 0 : value.array().storage->version;
    const size_t output = find_in(outputs, *item), input = find_in(inputs, *item);
    if (output < outputs.size() && kinds[output] != OutputKind::not_differentiable) {
      graph::save(node, without_history(value), true, output, version);  // no cycle
    } else {
      graph::save(node, value, false, input < inputs.size() ? input : graph::Saved::neither,
                  version);
    }
  }
}

// Connects an output of forward with its node, as the object itself or as a new one.
nb::object bind_output(const TensorObject& item, const Value& result, OutputKind kind,
                       bool is_shared) {
  TensorData& tensor = item.data();
  if (kind == OutputKind::not_differentiable) {
    result->producer.reset();
    result->requires_grad = false;
    return is_shared ? wrapped(result) : item.object;
  }
  if (kind == OutputKind::dirty) {
    autograd::take_written(tensor, result);
    return item.object;
  }
  if (is_shared || tensor.base() || tensor.requires_grad()) return wrapped(result);
  tensor.rebind(result);
  return item.object;
}

// Gives what a user-written function returned its node. Returns the node's link and the outputs to
// hand on.
nb::tuple attach_function(const std::string& name, const nb::callable& backward,
                          const Tensors& inputs, const Tensors& outputs,
                          const std::vector<int>& given_kinds,
                          const std::vector<std::optional<TensorObject>>& saved, bool materialize) {
  Values given, results;
  std::vector<OutputKind> kinds;
  for (const TensorObject& input : inputs) given.push_back(input.settled());
  for (size_t i = 0; i < outputs.size(); ++i) {
    results.push_back(without_history(outputs[i].settled()));
    results[i]->traced = outputs[i].value()->traced;
    const auto kind = static_cast<OutputKind>(i < given_kinds.size() ? given_kinds[i] : 0);
    kinds.push_back(tensor::is_floating(results[i].dtype()) ? kind
                                                            : OutputKind::not_differentiable);
    if (kinds[i] == OutputKind::dirty)
      autograd::refuse_what_would_be_wrong(outputs[i].data(), name.c_str());
  }
  auto owned = std::make_unique<PythonRule>(backward, name, materialize);
  PythonRule& rule = *owned;
  const std::shared_ptr<NodeLink> link = rule.link;
  const base::Ref<Node> node =
      graph::attach_custom(std::move(owned), given, std::span(results.data(), results.size()),
                           graph::current_position());
  link->node = node.get();
  save_all(*node, rule, saved, inputs, outputs, kinds);
  nb::list bound;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const bool is_shared =
        find_in(inputs, outputs[i]) < inputs.size() || find_in(outputs, outputs[i]) < i;
    bound.append(bind_output(outputs[i], results[i], kinds[i], is_shared));
    track(nb::handle(bound[i]).ptr());
  }
  return nb::make_tuple(link, nb::tuple(bound));
}

// What the function saved, checked for changes.
nb::tuple saved_tensors(const NodeLink& link) {
  const base::Ref<Node> node(link.node);
  if (!node) base::fail(ErrorKind::gradient, "the graph that saved these tensors is gone");
  autograd::refuse_second_backward(*node);
  const std::vector<int> numbers = static_cast<PythonRule&>(*node->extras->custom).saved;
  Values values;
  for (int number : numbers) {
    values.push_back(number < 0 ? Value() : autograd::restore(*node, number));
  }
  return wrapped(std::move(values));
}

}  // namespace

void define_functions(nb::module_& module) {
  nb::class_<NodeLink>(module, "NodeLink", "What a function's context knows of its node.",
                       nb::is_final());
  module.def("attach_function", attach_function, "Give outputs of a user-written function a node.");
  module.def("saved_tensors", saved_tensors, "Return what a user-written function saved.");
}

}  // namespace weft::bind
