// Python functions that the graph calls: with gradients, and with tensors that are saved.
#include <unordered_map>

#include "ops.h"
#include "weft/bind/binding.h"
#include "weft/graph/modes.h"
#include "weft/graph/record.h"

namespace weft::bind {

using graph::modes;

namespace {

// --- gradients ---

uint64_t hook_ids = 0;
std::unordered_map<uint64_t, Node*> hooked;  // borrowed: a hook lives no longer than its node

// A user's function that is called during backward.
struct UserHook : graph::GradientHook, HeldFunction {
  UserHook(nb::handle function, Node* node)
      : HeldFunction(function.ptr()), node(node), id(++hook_ids) {
    if (!PyCallable_Check(function.ptr())) raise(PyExc_TypeError, "a hook must be callable");
    hooked[id] = node;
  }
  ~UserHook() override { hooked.erase(id); }
  Node* node;
  uint64_t id;
};

struct PythonHook : UserHook {
  using UserHook::UserHook;
  Value call(const Value& gradient) override {
    Object argument(wrap(gradient));
    Object result = Object::check(PyObject_CallOneArg(function.get(), argument.get()));
    if (result.get() == Py_None) return {};
    if (!is_tensor(result.get())) raise(PyExc_TypeError, "a hook must return a Tensor or None");
    return value_of(result.get());
  }
};

// Called with the leaf itself.
struct LeafHook : UserHook {
  using UserHook::UserHook;
  Value call(const Value&) override {
    if (!node->extras->leaf->tensor) return {};
    Object argument(wrap(TensorRef(node->extras->leaf->tensor)));
    Object::check(PyObject_CallOneArg(function.get(), argument.get()));
    return {};
  }
};

// retain_grad: adds the gradient up on the tensor, as long as it lives.
struct RetainHook : graph::GradientHook {
  explicit RetainHook(PyObject* tensor)
      : reference(Object::check(PyWeakref_NewRef(tensor, nullptr))) {}
  Object reference;
  Value call(const Value& gradient) override {
    const Object object = Object::check(PyObject_CallNoArgs(reference.get()));
    if (object.get() == Py_None) return {};
    TensorData& tensor = tensor_of(object.get());
    const Value kept = modes.grad ? gradient : graph::detach(gradient);
    tensor.grad =
        TensorRef(new TensorData(tensor.grad ? ops::add(tensor.grad->value(), kept) : kept));
    return {};
  }
};

Node& producer_of(const TensorObject& tensor, const char* what) {
  const Value value = tensor.settled();
  if (!value->producer) {
    base::fail(ErrorKind::gradient, "cannot ", what, " on a tensor that doesn't require gradient");
  }
  return *value->producer;
}

uint64_t add_hook(const TensorObject& tensor, nb::handle function) {
  Node& node = producer_of(tensor, "register a hook");
  const uint32_t output = node.is_leaf() ? 0 : tensor.value()->output;
  auto hook = std::make_shared<PythonHook>(function, &node);
  const uint64_t id = hook->id;
  node.extra().hooks.push_back({output, tensor.value()->row, id, std::move(hook)});
  track(tensor.ptr());
  return id;
}

uint64_t add_post_accumulate_hook(const TensorObject& tensor, nb::handle function) {
  Node& node = producer_of(tensor, "register a post accumulate grad hook");
  if (!node.is_leaf()) {
    base::fail(ErrorKind::gradient,
               "post accumulate grad hooks cannot be registered on non-leaf tensors");
  }
  auto hook = std::make_shared<LeafHook>(function, &node);
  const uint64_t id = hook->id;
  node.extra().leaf->post_accumulate.emplace_back(id, std::move(hook));
  track(tensor.ptr());
  return id;
}

void remove_hook(uint64_t id) {
  const auto found = hooked.find(id);
  if (found == hooked.end()) return;  // its tensor is gone
  graph::NodeExtras& extras = *found->second->extras;
  std::erase_if(extras.hooks, [&](const graph::OutputHook& hook) { return hook.id == id; });
  if (extras.leaf) {
    std::erase_if(extras.leaf->post_accumulate, [&](const auto& hook) { return hook.first == id; });
  }
}

nb::tuple gradient_edge(const TensorObject& tensor) {
  Node& node = producer_of(tensor, "get the gradient edge");
  return nb::make_tuple(wrap_node(&node, tensor.value()->row),
                        node.is_leaf() ? 0 : tensor.value()->output);
}

// --- saved tensors ---

struct PythonPacked : graph::PackedTensor {
  PythonPacked(Object packed, const Object& unpack) : packed(std::move(packed)), unpacker(unpack) {}
  Object packed, unpacker;
  Value unpack() override {
    Object result = Object::check(PyObject_CallOneArg(unpacker.get(), packed.get()));
    if (!is_tensor(result.get())) raise(PyExc_TypeError, "unpack_hook must return a Tensor");
    return value_of(result.get());
  }
};

struct PythonSaveHooks : graph::SaveHooks {
  PythonSaveHooks(nb::handle pack, nb::handle unpack)
      : packer(Object::borrow(pack.ptr())), unpacker(Object::borrow(unpack.ptr())) {}
  Object packer, unpacker;
  graph::SaveHooks* outer = modes.save_hooks;
  std::unique_ptr<graph::PackedTensor> pack(const Value& value) override {
    graph::ModesGuard guard;
    modes.save_hooks = nullptr;
    Object argument(wrap(value));
    return std::make_unique<PythonPacked>(
        Object::check(PyObject_CallOneArg(packer.get(), argument.get())), unpacker);
  }
};

void push_save_hooks(nb::handle pack, nb::handle unpack) {
  modes.save_hooks = new PythonSaveHooks(pack, unpack);
}

void pop_save_hooks() {
  const std::unique_ptr<PythonSaveHooks> hooks(static_cast<PythonSaveHooks*>(modes.save_hooks));
  if (hooks) modes.save_hooks = hooks->outer;
}

// --- garbage collection ---

// The node that nobody but this tensor owns, or null: only then may garbage collection look into
// it.
Node* own_node(const PyTensor& tensor) {
  if (tensor.tensor && tensor.tensor->use_count() != 1) return nullptr;
  const Value& value = tensor.tensor ? tensor.tensor->last_value() : tensor.value;
  if (!value || value.get()->use_count() != 1 || !value->producer ||
      value->producer->use_count() != 1)
    return nullptr;
  return value->producer->extras ? value->producer.get() : nullptr;
}

}  // namespace

void retain_grad(const TensorObject& tensor) {
  Node& node = producer_of(tensor, "retain_grad");
  if (node.is_leaf() || tensor.data().retained) return;
  const Value value = tensor.value();
  tensor.data().retained = ++hook_ids;
  node.extra().retained.push_back(
      {value->output, value->row, hook_ids, std::make_shared<RetainHook>(tensor.ptr())});
}

void track(PyObject* tensor) {
  if (!PyObject_GC_IsTracked(tensor)) PyObject_GC_Track(tensor);
  reinterpret_cast<PyTensor*>(tensor)->tracked = true;
}

int visit_graph(const PyTensor& tensor, visitproc visit, void* arg) {
  const Node* node = own_node(tensor);
  if (!node) return 0;
  const auto visit_hook = [&](const std::shared_ptr<graph::GradientHook>& hook) {
    if (hook.use_count() == 1) Py_VISIT(static_cast<UserHook*>(hook.get())->function.get());
    return 0;
  };
  for (const graph::OutputHook& hook : node->extras->hooks) {
    if (const int stop = visit_hook(hook.hook)) return stop;
  }
  if (const graph::Leaf* leaf = node->extras->leaf.get()) {
    for (const auto& [id, hook] : leaf->post_accumulate) {
      if (const int stop = visit_hook(hook)) return stop;
    }
  }
  if (const auto* rule = dynamic_cast<HeldFunction*>(node->extras->custom.get()))
    Py_VISIT(rule->function.get());
  return 0;
}

void clear_graph(const PyTensor& tensor) {
  Node* node = own_node(tensor);
  if (!node) return;
  const base::Ref<Node> alive(node);
  const auto hooks = std::move(node->extras->hooks);
  if (node->extras->leaf) const auto more = std::move(node->extras->leaf->post_accumulate);
  if (auto* rule = dynamic_cast<HeldFunction*>(node->extras->custom.get())) {
    const Object function = std::exchange(rule->function, Object::borrow(Py_None));
  }
}

void define_hooks(nb::module_& module) {
  module.def("add_hook", add_hook, nb::arg(), nb::arg().none(),
             "Call a function with a tensor's gradient.");
  module.def("add_post_accumulate_hook", add_post_accumulate_hook, nb::arg(), nb::arg().none(),
             "Call a function after a leaf's gradient has accumulated.");
  module.def("remove_hook", remove_hook, "Remove a hook by its number.");
  module.def("gradient_edge", gradient_edge,
             "Return the node a tensor's gradient arrives at, and which output of it.");
  module.def("retain_grad", retain_grad, "Keep the gradient of a tensor that is no leaf.");
  module.def(
      "retains_grad", [](const TensorObject& tensor) { return tensor.data().retained != 0; },
      "Tell whether retain_grad was asked for.");
  module.def("push_save_hooks", push_save_hooks, nb::arg().none(), nb::arg().none(),
             "Start packing saved tensors.");
  module.def("pop_save_hooks", pop_save_hooks, "Stop packing saved tensors.");
}

}  // namespace weft::bind
