// Autograd for Python: backward and grad, grad_fn objects, hooks, user-written functions, modes.
#include <unordered_map>

#include "ops.h"
#include "weft/autograd/engine.h"
#include "weft/autograd/in_place.h"
#include "weft/autograd/saved.h"
#include "weft/bind/python.h"
#include "weft/graph/modes.h"
#include "weft/graph/record.h"

namespace weft::bind {
namespace {

using graph::modes;

// A Python object owned by the core; let go of with the interpreter lock held, which it always is.
struct Kept {
  explicit Kept(PyObject* object) : object(Object::borrow(object)) {}
  Object object;
};

// --- grad_fn objects ---

struct PyNode {
  PyObject_HEAD Node* node;  // owned
  int32_t row;               // of a node that ran for many: the one that this object shows
};
PyTypeObject* node_type = nullptr;
std::unordered_map<std::string, PyTypeObject*> node_types;  // one class per name, as in PyTorch

PyTypeObject* node_class(const std::string& name) {
  auto [found, is_new] = node_types.try_emplace(name, nullptr);
  if (is_new) {
    Object made = Object::check(PyObject_CallFunction(reinterpret_cast<PyObject*>(&PyType_Type),
                                                      "s(O){s:s,s:()}", name.c_str(), node_type,
                                                      "__module__", "weft.autograd", "__slots__"));
    found->second = reinterpret_cast<PyTypeObject*>(made.release());
  }
  return found->second;
}

PyObject* wrap_node(Node* node, int32_t row) {
  const bool whole = row == graph::ValueData::whole;
  if (whole && node->extras && node->extras->wrapper) {
    return Py_NewRef(static_cast<PyObject*>(node->extras->wrapper));
  }
  PyTypeObject* type = node_class(node->name());
  Object object = Object::check(type->tp_alloc(type, 0));
  reinterpret_cast<PyNode*>(object.get())->node = node;
  reinterpret_cast<PyNode*>(object.get())->row = row;
  node->retain();
  if (whole) node->extra().wrapper = object.get();
  return object.release();
}

// An edge as one row sees it: past the nodes that only bring rows together.
graph::Edge edge_of_row(const Node& node, size_t i, int32_t row) {
  graph::Edge edge = node.edges[i];
  if (row == graph::ValueData::whole || !node.extras || !node.extras->rows ||
      !(node.extras->rows->stacked & graph::bit_of(i)) || !edge.node) {
    return edge;
  }
  const graph::Gathered* gathered = edge.node->extras ? edge.node->extras->gathered.get() : nullptr;
  if (!gathered) return {edge.node, edge.output, row};
  if (gathered->sources[row] < 0) return {};
  const graph::Edge& source = edge.node->edges[gathered->sources[row]];
  return {source.node, source.output, gathered->rows[row]};
}

void node_dealloc(PyObject* object) {
  auto* self = reinterpret_cast<PyNode*>(object);
  PyTypeObject* type = Py_TYPE(object);
  if (self->node) {
    if (self->node->extras && self->node->extras->wrapper == object)
      self->node->extras->wrapper = nullptr;
    self->node->release();
  }
  type->tp_free(object);
  Py_DECREF(type);
}

Node& node_of(PyObject* object) { return *reinterpret_cast<PyNode*>(object)->node; }
int32_t row_of(PyObject* object) { return reinterpret_cast<PyNode*>(object)->row; }

PyObject* node_compare(PyObject* a, PyObject* b, int how) {
  if ((how != Py_EQ && how != Py_NE) || !PyObject_TypeCheck(b, node_type)) Py_RETURN_NOTIMPLEMENTED;
  const bool same = &node_of(a) == &node_of(b) && row_of(a) == row_of(b);
  return PyBool_FromLong(same == (how == Py_EQ));
}
Py_hash_t node_hash(PyObject* self) {
  return static_cast<Py_hash_t>((reinterpret_cast<size_t>(&node_of(self)) >> 4) * 31 +
                                static_cast<size_t>(row_of(self)) + 1);
}

PyObject* node_name(PyObject* self, PyObject*) {
  return PyUnicode_FromString(node_of(self).name().c_str());
}
PyObject* node_repr(PyObject* self) {
  return PyUnicode_FromFormat("<%s object at %p>", node_of(self).name().c_str(), self);
}
PyObject* node_next(PyObject* self, void*) {
  return guarded([&]() -> PyObject* {
    const Node& node = node_of(self);
    Object result = Object::check(PyTuple_New(static_cast<Py_ssize_t>(node.edges.size())));
    for (size_t i = 0; i < node.edges.size(); ++i) {
      const graph::Edge edge = edge_of_row(node, i, row_of(self));
      Object function =
          edge.node ? Object::check(wrap_node(edge.node.get(), edge.row)) : Object::borrow(Py_None);
      PyTuple_SET_ITEM(result.get(), i,
                       Object::check(Py_BuildValue("(OI)", function.get(), edge.output)).release());
    }
    return result.release();
  });
}
PyObject* node_variable(PyObject* self, void*) {
  return guarded([&]() -> PyObject* {
    const Node& node = node_of(self);
    if (!node.is_leaf()) raise(PyExc_AttributeError, "only AccumulateGrad nodes have a variable");
    return wrap(TensorRef(node.extras->leaf->tensor));
  });
}
PyObject* node_position(PyObject* self, void*) {
  const Node& node = node_of(self);
  const bool is_row = row_of(self) != graph::ValueData::whole && node.extras && node.extras->rows;
  return PyLong_FromUnsignedLong(is_row ? node.position_of(row_of(self)) : node.position);
}
PyObject* node_sequence(PyObject* self, PyObject*) {
  return PyLong_FromUnsignedLongLong(node_of(self).sequence);
}
PyObject* node_op(PyObject* self, void*) {
  const Node& node = node_of(self);
  if (!node.op) Py_RETURN_NONE;
  return PyUnicode_FromString(node.op->name.c_str());
}
// Nothing while they are being freed, which may run a user's code.
std::span<const graph::Saved> saved_of(const Node& node) {
  if (node.released) return {};
  return node.saved;
}
PyObject* node_saved(PyObject* self, void*) {
  return guarded([&]() -> PyObject* {
    Values values;
    for (const graph::Saved& saved : saved_of(node_of(self))) {
      if (!saved.packed)
        values.push_back(saved.is_output ? Value(saved.value.array()) : saved.value);
    }
    return wrap_all(std::move(values), nullptr, false);
  });
}
PyObject* node_saved_bytes(PyObject* self, void*) {
  int64_t bytes = 0;
  for (const graph::Saved& saved : saved_of(node_of(self))) {
    if (!saved.packed) bytes += saved.value.count() * tensor::item_size(saved.value.dtype());
  }
  return PyLong_FromLongLong(bytes);
}
PyObject* node_attributes(PyObject* self, void*) {
  return guarded([&]() -> PyObject* {
    const Node& node = node_of(self);
    Object result = Object::check(PyDict_New());
    if (!node.op) return result.release();
    for (const graph::Parameter& parameter : node.op->sig.parameters) {
      if (parameter.is_tensor() || static_cast<size_t>(parameter.index) >= node.attributes.size())
        continue;
      const std::string text = graph::attribute_text(node.attributes[parameter.index]);
      Object value = Object::check(PyUnicode_FromString(text.c_str()));
      if (PyDict_SetItemString(result.get(), parameter.name.c_str(), value.get()) < 0)
        throw PythonError{};
    }
    return result.release();
  });
}
PyObject* node_shapes(PyObject* self, void*) {
  return guarded([&]() -> PyObject* {
    const Node& node = node_of(self);
    Object result = Object::check(PyList_New(0));
    for (const graph::Meta& meta : node.outputs) {
      Object entry =
          Object::check(Py_BuildValue("(NO)", size_object(meta.sizes), dtype_object(meta.dtype)));
      if (PyList_Append(result.get(), entry.get()) < 0) throw PythonError{};
    }
    return result.release();
  });
}

PyObject* kept_tensors(const std::vector<Array>& arrays) {
  Object result = Object::check(PyTuple_New(static_cast<Py_ssize_t>(arrays.size())));
  for (size_t i = 0; i < arrays.size(); ++i) {
    PyTuple_SET_ITEM(result.get(), i,
                     arrays[i].storage ? wrap(Value(arrays[i])) : Py_NewRef(Py_None));
  }
  return result.release();
}
PyObject* node_values(PyObject* self, void*) {
  return guarded([&]() -> PyObject* {
    const Node& node = node_of(self);
    return node.extras && node.extras->kept ? kept_tensors(node.extras->kept->outputs)
                                            : PyTuple_New(0);
  });
}
PyObject* node_gradients(PyObject* self, void*) {
  return guarded([&]() -> PyObject* {
    const Node& node = node_of(self);
    return node.extras && node.extras->kept ? kept_tensors(node.extras->kept->gradients)
                                            : PyTuple_New(0);
  });
}

PyGetSetDef node_properties[] = {
    {"next_functions", node_next, nullptr,
     "The nodes that gradients flow on to, with output numbers.", nullptr},
    {"variable", node_variable, nullptr, "The leaf that an AccumulateGrad node belongs to.",
     nullptr},
    {"_position", node_position, nullptr, "Source position of the op.", nullptr},
    {"_op", node_op, nullptr, "Name of the op, or None.", nullptr},
    {"_saved_tensors", node_saved, nullptr, "The tensors saved for backward.", nullptr},
    {"_saved_bytes", node_saved_bytes, nullptr, "Bytes of the tensors saved for backward.",
     nullptr},
    {"_attributes", node_attributes, nullptr, "The op's attributes as texts.", nullptr},
    {"_values", node_values, nullptr, "The results, where they were kept (see weft.debug).",
     nullptr},
    {"_gradients", node_gradients, nullptr, "Gradients of the results, where they were kept.",
     nullptr},
    {"_outputs", node_shapes, nullptr, "Shape and dtype of each output.", nullptr},
    {},
};
PyMethodDef node_methods[] = {
    {"name", node_name, METH_NOARGS, "Return the node's name, such as 'MulBackward0'."},
    {"_sequence_nr", node_sequence, METH_NOARGS, "Return the node's creation number."},
    {},
};

// --- backward ---

[[noreturn]] void refuse_root(TensorData& tensor) {
  const Value& value = tensor.value();
  const std::string at = graph::position_text(value->cut_at);
  std::string why;
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
      why = "nothing it was computed from has requires_grad=True";
  }
  if (value->cut == graph::Cut::none && graph::last_item_read) {
    why +=
        base::text("; numbers carry no graph, and a tensor with one was last read as a number at ",
                   graph::position_text(graph::last_item_read), " (item(), float() or tolist())");
  }
  base::fail(ErrorKind::gradient,
             "element 0 of tensors does not require grad and does not have a grad_fn: ", why, ".");
}

[[noreturn]] void refuse_implicit_gradient(const Value& value) {
  base::fail(ErrorKind::gradient,
             "grad can be implicitly created only for scalar outputs; this output has shape ",
             value.sizes(), ". Reduce it (sum(), mean()) or pass a gradient of its shape.");
}

Value ones_like(const Value& value) {
  Array ones = Array::allocate(value.sizes(), value.dtype());
  if (ones.dtype == DType::f32) {
    *ones.as<float>() = 1;
  } else {
    graph::host.copy(graph::number_value(1.0).array().expand(value.sizes()), ones);
  }
  return Value(std::move(ones));
}

void add_roots(PyObject* tensors, PyObject* gradients, autograd::Request& request) {
  Object roots = Object::check(PySequence_Fast(tensors, "expected a sequence of tensors"));
  const Py_ssize_t count = PySequence_Fast_GET_SIZE(roots.get());
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject* root = PySequence_Fast_GET_ITEM(roots.get(), i);
    if (!is_tensor(root)) raise(PyExc_TypeError, "backward: expected tensors");
    PyObject* given = PySequence_Fast_GET_ITEM(gradients, i);
    const Value& value = computed_value_of(root);
    if (!value->requires_grad) refuse_root(tensor_of(root));
    Value gradient;
    if (given == Py_None) {
      if (value.count() != 1) {
        refuse_implicit_gradient(value);
      }
      gradient = ones_like(value);
    } else {
      if (!is_tensor(given)) raise(PyExc_TypeError, "backward: gradients must be tensors or None");
      gradient = computed_value_of(given);
      if (gradient.sizes() != value.sizes()) {
        base::fail(ErrorKind::shape, "Mismatch in shape: grad_output[", i, "] has a shape of ",
                   gradient.sizes(), " and output[", i, "] has a shape of ", value.sizes());
      }
      if (gradient.dtype() != value.dtype()) gradient = ops::cast(gradient, value.dtype());
    }
    request.roots.push_back(value);
    request.gradients.push_back(std::move(gradient));
  }
}

// run_backward(tensors, gradients, inputs or None, retain_graph, create_graph, accumulate)
PyObject* run_backward(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    PyObject *tensors, *gradients, *inputs;
    int retain_graph, create_graph, accumulate;
    if (!PyArg_ParseTuple(args, "OOOppp", &tensors, &gradients, &inputs, &retain_graph,
                          &create_graph, &accumulate)) {
      throw PythonError{};
    }
    autograd::Request request;
    request.retain_graph = retain_graph;
    request.create_graph = create_graph;
    request.accumulate = accumulate;
    Object given = Object::check(PySequence_Fast(gradients, "expected a sequence of gradients"));
    Object roots = Object::check(PySequence_Fast(tensors, "expected a sequence of tensors"));
    if (PySequence_Fast_GET_SIZE(given.get()) != PySequence_Fast_GET_SIZE(roots.get())) {
      raise(PyExc_RuntimeError,
            base::text("got ", PySequence_Fast_GET_SIZE(roots.get()), " tensors and ",
                       PySequence_Fast_GET_SIZE(given.get()), " gradients"));
    }
    add_roots(roots.get(), given.get(), request);
    if (inputs != Py_None) {
      Object wanted = Object::check(PySequence_Fast(inputs, "expected a sequence of inputs"));
      for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(wanted.get()); ++i) {
        PyObject* input = PySequence_Fast_GET_ITEM(wanted.get(), i);
        if (!is_tensor(input)) raise(PyExc_TypeError, "inputs must be tensors");
        const Value& value = computed_value_of(input);
        if (!value->requires_grad) {
          base::fail(ErrorKind::gradient,
                     "One of the differentiated Tensors does not require grad (input ", i, ")");
        }
        request.inputs.push_back(value);
      }
    }
    std::vector<Value> results = autograd::run_backward(request);
    Values values(results.begin(), results.end());
    return wrap_all(std::move(values), nullptr, false);
  });
}

// loss.backward(), the call of every training step, without a detour through Python.
PyObject* backward_of_one(PyObject*, PyObject* tensor) {
  return guarded([&]() -> PyObject* {
    if (!is_tensor(tensor)) raise(PyExc_TypeError, "backward: expected a tensor");
    const Value& value = computed_value_of(tensor);
    if (!value->requires_grad) refuse_root(tensor_of(tensor));
    if (value.count() != 1) refuse_implicit_gradient(value);
    autograd::Request request;
    request.roots.push_back(value);
    request.gradients.push_back(ones_like(value));
    autograd::run_backward(request);
    Py_RETURN_NONE;
  });
}

// --- hooks ---

uint64_t hook_ids = 0;
std::unordered_map<uint64_t, Node*> hooked;  // borrowed: a hook lives no longer than its node

// A user's function that is called during backward.
struct UserHook : graph::GradientHook {
  UserHook(PyObject* function, Node* node)
      : function(Object::borrow(function)), node(node), id(++hook_ids) {
    hooked[id] = node;
  }
  ~UserHook() override { hooked.erase(id); }
  Object function;
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

// retain_grad: stores the gradient on the tensor, as long as it lives.
struct RetainHook : graph::GradientHook {
  explicit RetainHook(PyObject* weak) : reference(weak) {}
  Kept reference;
  Value call(const Value& gradient) override {
    PyObject* object = PyWeakref_GetObject(reference.object.get());
    if (!object || object == Py_None) return {};
    TensorData& tensor = tensor_of(object);
    tensor.grad = TensorRef(new TensorData(modes.grad ? gradient : graph::detach(gradient)));
    return {};
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

// A tensor with hooks holds Python objects, so it joins garbage collection.
void track(PyObject* tensor) {
  if (!PyObject_GC_IsTracked(tensor)) PyObject_GC_Track(tensor);
}

Node& producer_of(PyObject* tensor, const char* what) {
  if (!is_tensor(tensor)) raise(PyExc_TypeError, base::text(what, ": expected a Tensor"));
  const Value& value = computed_value_of(tensor);
  if (!value->producer) {
    base::fail(ErrorKind::gradient, "cannot ", what, " on a tensor that doesn't require gradient");
  }
  return *value->producer;
}

PyObject* add_hook(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    PyObject *tensor, *function;
    if (!PyArg_ParseTuple(args, "OO", &tensor, &function)) throw PythonError{};
    if (!PyCallable_Check(function)) raise(PyExc_TypeError, "a hook must be callable");
    Node& node = producer_of(tensor, "register a hook");
    const uint32_t output = node.is_leaf() ? 0 : value_of(tensor)->output;
    auto hook = std::make_shared<PythonHook>(function, &node);
    const uint64_t id = hook->id;
    node.extra().hooks.push_back({output, value_of(tensor)->row, id, std::move(hook)});
    track(tensor);
    return PyLong_FromUnsignedLongLong(id);
  });
}

PyObject* add_post_accumulate_hook(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    PyObject *tensor, *function;
    if (!PyArg_ParseTuple(args, "OO", &tensor, &function)) throw PythonError{};
    Node& node = producer_of(tensor, "register a post accumulate grad hook");
    if (!node.is_leaf()) {
      base::fail(ErrorKind::gradient,
                 "post accumulate grad hooks cannot be registered on non-leaf tensors");
    }
    if (!PyCallable_Check(function)) raise(PyExc_TypeError, "a hook must be callable");
    auto hook = std::make_shared<LeafHook>(function, &node);
    const uint64_t id = hook->id;
    node.extra().leaf->post_accumulate.emplace_back(id, std::move(hook));
    track(tensor);
    return PyLong_FromUnsignedLongLong(id);
  });
}

PyObject* remove_hook(PyObject*, PyObject* given) {
  return guarded([&]() -> PyObject* {
    const uint64_t id = PyLong_AsUnsignedLongLong(given);
    if (PyErr_Occurred()) throw PythonError{};
    const auto found = hooked.find(id);
    if (found == hooked.end()) Py_RETURN_NONE;  // its tensor is gone
    graph::NodeExtras& extras = *found->second->extras;
    std::erase_if(extras.hooks, [&](const graph::OutputHook& hook) { return hook.id == id; });
    if (extras.leaf)
      std::erase_if(extras.leaf->post_accumulate,
                    [&](const auto& hook) { return hook.first == id; });
    Py_RETURN_NONE;
  });
}

PyObject* retain_grad(PyObject*, PyObject* tensor) {
  return guarded([&]() -> PyObject* {
    Node& node = producer_of(tensor, "retain_grad");
    if (node.is_leaf() || tensor_of(tensor).retains_grad) Py_RETURN_NONE;
    Object weak = Object::check(PyWeakref_NewRef(tensor, nullptr));
    const Value& value = value_of(tensor);
    node.extra().retained.push_back(
        {value->output, value->row, ++hook_ids, std::make_shared<RetainHook>(weak.get())});
    tensor_of(tensor).retains_grad = true;
    Py_RETURN_NONE;
  });
}
PyObject* gradient_edge(PyObject*, PyObject* tensor) {
  return guarded([&]() -> PyObject* {
    Node& node = producer_of(tensor, "get the gradient edge");
    Object object(wrap_node(&node, value_of(tensor)->row));
    return Py_BuildValue("(OI)", object.get(), node.is_leaf() ? 0 : value_of(tensor)->output);
  });
}
PyObject* retains_grad(PyObject*, PyObject* tensor) {
  return guarded(
      [&] { return PyBool_FromLong(is_tensor(tensor) && tensor_of(tensor).retains_grad); });
}

// --- user-written functions ---

// What a function's context holds of its node: borrowed, because the node owns the context.
struct PyLink {
  PyObject_HEAD Node* node;  // null once it is gone
};
PyTypeObject* link_type = nullptr;

void link_dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  type->tp_free(self);
  Py_DECREF(type);
}

class PythonRule : public graph::CustomRule {
 public:
  PythonRule(PyObject* function, std::string name, bool materialize)
      : function(Object::borrow(function)),
        link(Object::check(link_type->tp_alloc(link_type, 0))),
        name_(std::move(name)),
        materialize_(materialize) {}
  ~PythonRule() override { reinterpret_cast<PyLink*>(link.get())->node = nullptr; }
  const char* name() const override { return name_.c_str(); }
  void release() noexcept override {}

  Values call(Node& node, const Values& gradients) {
    Values given = gradients;
    for (size_t i = 0; materialize_ && i < given.size(); ++i) {
      if (!given[i]) given[i] = ops::zeros(node.outputs[i].sizes, node.outputs[i].dtype);
    }
    Object arguments(wrap_all(std::move(given), nullptr, false));
    Object result = Object::check(PyObject_CallObject(function.get(), arguments.get()));
    if (!PyTuple_Check(result.get()))
      raise(PyExc_TypeError, base::text(name_, ": backward must return a tuple"));
    Values values;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(result.get()); ++i) {
      PyObject* item = PyTuple_GET_ITEM(result.get(), i);
      if (item != Py_None && !is_tensor(item)) {
        raise(PyExc_TypeError, base::text(name_, ": backward must return tensors or None, not ",
                                          Py_TYPE(item)->tp_name));
      }
      values.push_back(item == Py_None ? Value() : value_of(item));
    }
    return values;
  }

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
  Object function, link;
  std::vector<int> saved;  // for each saved argument its number among node.saved, -1 for None

 private:
  std::string name_;
  bool materialize_;
};

enum class OutputKind { plain, dirty, not_differentiable };

Py_ssize_t find_in(PyObject* tuple, PyObject* item) {
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); ++i) {
    if (PyTuple_GET_ITEM(tuple, i) == item) return i;
  }
  return -1;
}

void require_tensors(PyObject* tuple, const char* what) {
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); ++i) {
    if (!is_tensor(PyTuple_GET_ITEM(tuple, i))) {
      raise(PyExc_TypeError, base::text("attach_function: ", what, " must be tensors"));
    }
  }
}

void save_all(Node& node, PythonRule& rule, PyObject* saved, PyObject* inputs, PyObject* outputs,
              const std::vector<OutputKind>& kinds) {
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(saved); ++i) {
    PyObject* item = PyTuple_GET_ITEM(saved, i);
    if (item == Py_None) {
      rule.saved.push_back(-1);
      continue;
    }
    if (!is_tensor(item))
      raise(PyExc_TypeError, "save_for_backward can only save tensors and None");
    const Value& value = computed_value_of(item);
    const uint32_t version = value.array().storage->version;
    rule.saved.push_back(static_cast<int>(node.saved.size()));
    const Py_ssize_t output = find_in(outputs, item);
    const Py_ssize_t input = find_in(inputs, item);
    if (output >= 0 && kinds[output] != OutputKind::not_differentiable) {
      graph::save(node, Value(value.array()), true, output, version);  // without history: no cycle
    } else {
      graph::save(node, value, false, input >= 0 ? input : graph::Saved::neither, version);
    }
  }
}

// Connects an output of forward with its node, as the object itself or as a new one.
PyObject* bind_output(PyObject* item, const Value& result, OutputKind kind, bool is_shared) {
  TensorData& tensor = tensor_of(item);
  if (kind == OutputKind::not_differentiable) {
    result->producer.reset();
    result->requires_grad = false;
    return is_shared ? wrap(result) : Py_NewRef(item);
  }
  if (kind == OutputKind::dirty) {
    autograd::take_written(tensor, result);
    return Py_NewRef(item);
  }
  if (is_shared || tensor.base() || tensor.requires_grad()) return wrap(result);
  tensor.rebind(result);
  return Py_NewRef(item);
}

// attach_function(name, backward, inputs, outputs, kinds, saved, materialize): gives what a
// user-written function returned its node. Returns the node's link and the outputs to hand on.
PyObject* attach_function(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    const char* name;
    PyObject *backward, *inputs, *outputs, *given_kinds, *saved;
    int materialize;
    if (!PyArg_ParseTuple(args, "sOO!O!O!O!p", &name, &backward, &PyTuple_Type, &inputs,
                          &PyTuple_Type, &outputs, &PyTuple_Type, &given_kinds, &PyTuple_Type,
                          &saved, &materialize)) {
      throw PythonError{};
    }
    require_tensors(inputs, "inputs");
    require_tensors(outputs, "outputs");
    Values given, results;
    std::vector<OutputKind> kinds;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(inputs); ++i) {
      given.push_back(computed_value_of(PyTuple_GET_ITEM(inputs, i)));
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(outputs); ++i) {
      PyObject* item = PyTuple_GET_ITEM(outputs, i);
      results.push_back(Value(computed_value_of(item).array()));
      const long kind =
          i < PyTuple_GET_SIZE(given_kinds) ? PyLong_AsLong(PyTuple_GET_ITEM(given_kinds, i)) : 0;
      if (PyErr_Occurred()) throw PythonError{};
      kinds.push_back(tensor::is_floating(results[i].dtype()) ? static_cast<OutputKind>(kind)
                                                              : OutputKind::not_differentiable);
      if (kinds[i] == OutputKind::dirty)
        autograd::refuse_what_would_be_wrong(tensor_of(item), name);
    }
    auto owned = std::make_unique<PythonRule>(backward, name, materialize);
    PythonRule& rule = *owned;
    const Object link = rule.link;
    const base::Ref<Node> node =
        graph::attach_custom(std::move(owned), given, std::span(results.data(), results.size()),
                             graph::current_position());
    reinterpret_cast<PyLink*>(link.get())->node = node.get();
    save_all(*node, rule, saved, inputs, outputs, kinds);
    Object bound = Object::check(PyTuple_New(PyTuple_GET_SIZE(outputs)));
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(outputs); ++i) {
      PyObject* item = PyTuple_GET_ITEM(outputs, i);
      const bool is_shared = find_in(inputs, item) >= 0 || find_in(outputs, item) < i;
      PyObject* output = bind_output(item, results[i], kinds[i], is_shared);
      track(output);
      PyTuple_SET_ITEM(bound.get(), i, output);
    }
    return Py_BuildValue("(OO)", link.get(), bound.get());
  });
}

// saved_tensors(link): what the function saved, checked for changes.
PyObject* saved_tensors(PyObject*, PyObject* given) {
  return guarded([&]() -> PyObject* {
    if (Py_TYPE(given) != link_type)
      raise(PyExc_TypeError, "saved_tensors: expected a node's link");
    const base::Ref<Node> node(reinterpret_cast<PyLink*>(given)->node);
    if (!node) base::fail(ErrorKind::gradient, "the graph that saved these tensors is gone");
    autograd::refuse_second_backward(*node);
    const std::vector<int> numbers = static_cast<PythonRule&>(*node->extras->custom).saved;
    Object result = Object::check(PyTuple_New(static_cast<Py_ssize_t>(numbers.size())));
    for (size_t i = 0; i < numbers.size(); ++i) {
      PyObject* item =
          numbers[i] < 0 ? Py_NewRef(Py_None) : wrap(autograd::restore(*node, numbers[i]));
      PyTuple_SET_ITEM(result.get(), i, item);
    }
    return result.release();
  });
}

// --- saved_tensors_hooks ---

struct PythonPacked : graph::PackedTensor {
  PythonPacked(PyObject* packed, const Object& unpack) : packed(packed), unpacker(unpack) {}
  Object packed, unpacker;
  Value unpack() override {
    Object result = Object::check(PyObject_CallOneArg(unpacker.get(), packed.get()));
    if (!is_tensor(result.get())) raise(PyExc_TypeError, "unpack_hook must return a Tensor");
    return value_of(result.get());
  }
};

struct PythonSaveHooks : graph::SaveHooks {
  PythonSaveHooks(PyObject* pack, PyObject* unpack)
      : packer(Object::borrow(pack)), unpacker(Object::borrow(unpack)) {}
  Object packer, unpacker;
  graph::SaveHooks* outer = nullptr;
  std::unique_ptr<graph::PackedTensor> pack(const Value& value) override {
    graph::ModesGuard guard;
    modes.save_hooks = nullptr;
    Object argument(wrap(value));
    Object packed = Object::check(PyObject_CallOneArg(packer.get(), argument.get()));
    return std::make_unique<PythonPacked>(packed.release(), unpacker);
  }
};

PyObject* push_save_hooks(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    PyObject *pack, *unpack;
    if (!PyArg_ParseTuple(args, "OO", &pack, &unpack)) throw PythonError{};
    auto* hooks = new PythonSaveHooks(pack, unpack);
    hooks->outer = modes.save_hooks;
    modes.save_hooks = hooks;
    Py_RETURN_NONE;
  });
}
PyObject* pop_save_hooks(PyObject*, PyObject*) {
  auto* hooks = static_cast<PythonSaveHooks*>(modes.save_hooks);
  if (hooks) {
    modes.save_hooks = hooks->outer;
    delete hooks;
  }
  Py_RETURN_NONE;
}

// --- modes ---

PyObject* is_grad_enabled(PyObject*, PyObject*) { return PyBool_FromLong(modes.grad); }
PyObject* is_inference(PyObject*, PyObject*) { return PyBool_FromLong(modes.inference); }
PyObject* set_grad_enabled(PyObject*, PyObject* wanted) {
  const bool before = modes.grad;
  const int truth = PyObject_IsTrue(wanted);
  if (truth < 0) return nullptr;
  modes.grad = truth;
  return PyBool_FromLong(before);
}
PyObject* set_inference(PyObject*, PyObject* wanted) {
  const bool before = modes.inference;
  const int truth = PyObject_IsTrue(wanted);
  if (truth < 0) return nullptr;
  modes.inference = truth;
  return PyBool_FromLong(before);
}
PyObject* set_keep_values(PyObject*, PyObject* wanted) {
  const bool before = modes.keep_values;
  const int truth = PyObject_IsTrue(wanted);
  if (truth < 0) return nullptr;
  modes.keep_values = truth;
  return PyBool_FromLong(before);
}
PyObject* live_nodes(PyObject*, PyObject*) { return PyLong_FromLongLong(Node::live()); }
PyObject* bump_version(PyObject*, PyObject* tensor) {
  return guarded([&]() -> PyObject* {
    if (!is_tensor(tensor)) raise(PyExc_TypeError, "expected a Tensor");
    tensor::Storage& storage = *computed_value_of(tensor).array().storage;
    graph::run_readers(storage);
    storage.version += 1;
    storage.written_at = graph::current_position();
    storage.written_by = nullptr;
    Py_RETURN_NONE;
  });
}

PyObject* show_as(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    PyObject* tensor;
    const char* name;
    if (!PyArg_ParseTuple(args, "Os", &tensor, &name)) throw PythonError{};
    if (!is_tensor(tensor)) raise(PyExc_TypeError, "expected a Tensor");
    Node* node = value_of(tensor)->producer.get();
    if (node && !node->is_leaf()) node->extra().shown_as = name;
    Py_RETURN_NONE;
  });
}

PyMethodDef methods[] = {
    {"run_backward", run_backward, METH_VARARGS, "Differentiate; see weft.autograd."},
    {"backward_of_one", backward_of_one, METH_O, "Differentiate one tensor of one element."},
    {"add_hook", add_hook, METH_VARARGS, "Call a function with a tensor's gradient."},
    {"add_post_accumulate_hook", add_post_accumulate_hook, METH_VARARGS,
     "Call a function after a leaf's gradient has accumulated."},
    {"remove_hook", remove_hook, METH_O, "Remove a hook by its number."},
    {"gradient_edge", gradient_edge, METH_O,
     "Return the node a tensor's gradient arrives at, and which output of it."},
    {"retain_grad", retain_grad, METH_O, "Keep the gradient of a tensor that is no leaf."},
    {"retains_grad", retains_grad, METH_O, "Tell whether retain_grad was asked for."},
    {"attach_function", attach_function, METH_VARARGS,
     "Give outputs of a user-written function a node."},
    {"saved_tensors", saved_tensors, METH_O, "Return what a user-written function saved."},
    {"push_save_hooks", push_save_hooks, METH_VARARGS, "Start packing saved tensors."},
    {"pop_save_hooks", pop_save_hooks, METH_NOARGS, "Stop packing saved tensors."},
    {"is_grad_enabled", is_grad_enabled, METH_NOARGS, "Tell whether ops are recorded."},
    {"set_grad_enabled", set_grad_enabled, METH_O, "Switch recording; return what it was."},
    {"is_inference_mode_enabled", is_inference, METH_NOARGS, "Tell whether inference mode is on."},
    {"set_inference_mode", set_inference, METH_O, "Switch inference mode; return what it was."},
    {"set_keep_values", set_keep_values, METH_O,
     "Let nodes keep their results; return what it was."},
    {"live_nodes", live_nodes, METH_NOARGS, "Return the number of graph nodes alive."},
    {"show_as", show_as, METH_VARARGS, "Let a tensor's grad_fn go by the name of a composite."},
    {"bump_version", bump_version, METH_O, "Count a write to a tensor's memory."},
    {},
};

}  // namespace

namespace {

// The node that nobody but this tensor owns, or null: only then may garbage collection look into
// it.
Node* own_node(const TensorData* tensor) {
  if (!tensor || tensor->use_count() != 1) return nullptr;
  const Value& value = tensor->last_value();
  if (value.get()->use_count() != 1 || !value->producer || value->producer->use_count() != 1)
    return nullptr;
  return value->producer->extras ? value->producer.get() : nullptr;
}

}  // namespace

int visit_graph(const TensorData* tensor, visitproc visit, void* arg) {
  const Node* node = own_node(tensor);
  if (!node) return 0;
  auto visit_hook = [&](const std::shared_ptr<graph::GradientHook>& hook) {
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
  if (const auto* rule = dynamic_cast<PythonRule*>(node->extras->custom.get()))
    Py_VISIT(rule->function.get());
  return 0;
}

void clear_graph(const TensorData* tensor) {
  Node* node = own_node(tensor);
  if (!node) return;
  const base::Ref<Node> alive(node);
  const auto hooks = std::move(node->extras->hooks);
  if (node->extras->leaf) const auto more = std::move(node->extras->leaf->post_accumulate);
  if (auto* rule = dynamic_cast<PythonRule*>(node->extras->custom.get())) {
    const Object function = std::exchange(rule->function, Object::borrow(Py_None));
  }
}

PyObject* grad_function(const Value& value) {
  if (!value->requires_grad) Py_RETURN_NONE;
  graph::demand(value);
  if (!value->producer || value->producer->is_leaf()) Py_RETURN_NONE;
  return wrap_node(value->producer.get(), value->row);
}

void define_autograd(PyObject* module) {
  PyType_Slot slots[] = {
      {Py_tp_doc,
       const_cast<char*>("One recorded operation: what `grad_fn` and `next_functions` give.")},
      {Py_tp_dealloc, reinterpret_cast<void*>(node_dealloc)},
      {Py_tp_repr, reinterpret_cast<void*>(node_repr)},
      {Py_tp_richcompare, reinterpret_cast<void*>(node_compare)},
      {Py_tp_hash, reinterpret_cast<void*>(node_hash)},
      {Py_tp_getset, node_properties},
      {Py_tp_methods, node_methods},
      {Py_tp_doc, const_cast<char*>("A node of the graph: one op that was applied once.")},
      {0, nullptr},
  };
  PyType_Spec spec{"weft.autograd.Node", sizeof(PyNode), 0,
                   Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                   slots};
  node_type = reinterpret_cast<PyTypeObject*>(Object::check(PyType_FromSpec(&spec)).release());
  PyType_Slot link_slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(link_dealloc)}, {0, nullptr}};
  PyType_Spec link_spec{"weft._core.NodeLink", sizeof(PyLink), 0,
                        Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, link_slots};
  link_type = reinterpret_cast<PyTypeObject*>(Object::check(PyType_FromSpec(&link_spec)).release());
  if (PyModule_AddObjectRef(module, "Node", reinterpret_cast<PyObject*>(node_type)) < 0 ||
      PyModule_AddFunctions(module, methods) < 0) {
    throw PythonError{};
  }
}

}  // namespace weft::bind
