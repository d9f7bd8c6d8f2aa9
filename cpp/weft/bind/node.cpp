// grad_fn objects: the graph's nodes as Python sees them.
#include <unordered_map>

#include "weft/bind/binding.h"
#include "weft/graph/op.h"

namespace weft::bind {
namespace {

// A node, or one row of a node that ran for many.
struct NodeView {
  NodeView(Node* node, int32_t row) : node(node), row(row) {}
  NodeView(const NodeView&) = delete;
  ~NodeView() {
    if (is_whole()) node->extras->wrapper = nullptr;
  }
  bool is_whole() const { return row == graph::ValueData::whole; }
  base::Ref<Node> node;
  int32_t row;
};

// Never let go of: at the process's end there is no interpreter any more.
nb::handle node_type;
std::unordered_map<std::string, nb::handle> node_types;  // one class per name, as in PyTorch

nb::handle node_class(const std::string& name) {
  nb::handle& type = node_types[name];
  if (!type) {
    nb::dict contents;
    contents["__module__"] = "weft.autograd";
    contents["__slots__"] = nb::tuple();
    type = node_type.type()(name, nb::make_tuple(node_type), contents).release();
  }
  return type;
}

nb::tuple next_functions(const NodeView& self) {
  nb::list result;
  for (size_t i = 0; i < self.node->edges.size(); ++i) {
    const graph::Edge edge = edge_of_row(*self.node, i, self.row);
    result.append(nb::make_tuple(
        edge.node ? wrap_node(edge.node.get(), edge.row) : nb::object(nb::none()), edge.output));
  }
  return nb::tuple(result);
}

nb::object leaf_of(const NodeView& self) {
  if (!self.node->is_leaf()) {
    raise(PyExc_AttributeError, "only AccumulateGrad nodes have a variable");
  }
  return nb::steal(wrap(TensorRef(self.node->extras->leaf->tensor)));
}

graph::Position position_of(const NodeView& self) {
  const Node& node = *self.node;
  const bool is_row = !self.is_whole() && node.extras && node.extras->rows;
  return is_row ? node.position_of(self.row) : node.position;
}

// The tensors that are saved here, nothing while they are being freed: that may run a user's code.
Values saved_of(const NodeView& self) {
  Values values;
  if (self.node->released) return values;
  const graph::NodeExtras* extras = self.node->extras.get();
  const bool is_trimmed = extras && extras->rows && !extras->rows->places.empty();
  for (const graph::Saved& saved : self.node->saved) {
    if (saved.packed) continue;
    values.push_back(saved.is_output || is_trimmed ? Value(saved.value.array()) : saved.value);
  }
  return values;
}

int64_t saved_bytes(const NodeView& self) {
  int64_t bytes = 0;
  for (const Value& value : saved_of(self)) bytes += value.count() * item_size(value.dtype());
  return bytes;
}

nb::dict attributes_of(const NodeView& self) {
  return attribute_texts(self.node->op, self.node->attributes);
}

nb::list outputs_of(const NodeView& self) {
  nb::list result;
  for (const graph::Meta& meta : self.node->outputs) {
    result.append(nb::make_tuple(nb::steal(size_object(meta.sizes)), meta.dtype));
  }
  return result;
}

nb::tuple kept_by(const NodeView& self, std::vector<Array> graph::KeptValues::* which) {
  nb::list result;
  if (self.node->extras && self.node->extras->kept) {
    for (const Array& array : (*self.node->extras->kept).*which) {
      result.append(array.storage ? wrapped(Value(array)) : nb::object(nb::none()));
    }
  }
  return nb::tuple(result);
}

bool is_same(const NodeView& self, nb::handle other) {
  const NodeView* view = nullptr;
  return nb::try_cast(other, view) && view->node == self.node && view->row == self.row;
}

}  // namespace

nb::dict attribute_texts(const Op* op, const graph::Attributes& attributes) {
  nb::dict result;
  if (!op) return result;
  for (const graph::Parameter& parameter : op->sig.parameters) {
    const auto index = static_cast<size_t>(parameter.index);
    if (parameter.is_tensor() || index >= attributes.size()) continue;
    const graph::Attribute& attribute = attributes[index];
    const bool is_usual = parameter.fallback && *parameter.fallback == attribute;
    if (is_usual || parameter.type == graph::ParameterType::generator) continue;
    result[parameter.name.c_str()] = graph::attribute_text(attribute);
  }
  return result;
}

nb::object wrap_node(Node* node, int32_t row) {
  if (node->extras && node->extras->is_twin) {
    const graph::Edge& edge = node->edges[0];
    return wrap_node(edge.node.get(), edge.row);
  }
  const bool whole = row == graph::ValueData::whole;
  if (whole && node->extras && node->extras->wrapper) {
    return nb::borrow(static_cast<PyObject*>(node->extras->wrapper));
  }
  nb::object object = nb::inst_alloc(node_class(node->name(row)));
  if (whole) node->extra().wrapper = object.ptr();
  new (nb::inst_ptr<NodeView>(object)) NodeView(node, row);
  nb::inst_mark_ready(object);
  return object;
}

PyObject* grad_function(const Value& value) {
  if (!value->requires_grad) Py_RETURN_NONE;
  graph::settle(value);
  if (!value->producer || value->producer->is_leaf()) Py_RETURN_NONE;
  return wrap_node(value->producer.get(), value->row).release().ptr();
}

void define_nodes(nb::module_& module) {
  node_type =
      nb::class_<NodeView>(module, "Node", "A node of the graph: one op that was applied once.")
          .def_prop_ro("next_functions", next_functions,
                       "The nodes that gradients flow on to, with output numbers.")
          .def_prop_ro("variable", leaf_of, "The leaf that an AccumulateGrad node belongs to.")
          .def_prop_ro("_position", position_of, "Source position of the op.")
          .def_prop_ro(
              "_op",
              [](const NodeView& self) {
                return self.node->op ? std::optional(self.node->op->name) : std::nullopt;
              },
              "Name of the op, or None.")
          .def_prop_ro(
              "_saved_tensors", [](const NodeView& self) { return wrapped(saved_of(self)); },
              "The tensors saved for backward.")
          .def_prop_ro("_saved_bytes", saved_bytes, "Bytes of the tensors saved for backward.")
          .def_prop_ro("_attributes", attributes_of, "The op's attributes as texts.")
          .def_prop_ro(
              "_values",
              [](const NodeView& self) { return kept_by(self, &graph::KeptValues::outputs); },
              "The results, where they were kept (see weft.debug).")
          .def_prop_ro(
              "_gradients",
              [](const NodeView& self) { return kept_by(self, &graph::KeptValues::gradients); },
              "Gradients of the results, where they were kept.")
          .def_prop_ro("_outputs", outputs_of, "Shape and dtype of each output.")
          .def(
              "name", [](const NodeView& self) { return self.node->name(self.row); },
              "Return the node's name, such as 'MulBackward0'.")
          .def(
              "_sequence_nr", [](const NodeView& self) { return self.node->sequence; },
              "Return the node's creation number.")
          .def("__eq__", is_same, nb::arg().none())
          .def("__hash__",
               [](const NodeView& self) {
                 return (reinterpret_cast<size_t>(self.node.get()) >> 4) * 31 +
                        static_cast<uint32_t>(self.row);
               })
          .def("__repr__",
               [](nb::handle self) {
                 const auto& view = nb::cast<const NodeView&>(self);
                 return base::text("<", view.node->name(view.row), " object at ",
                                   static_cast<void*>(self.ptr()), ">");
               })
          .release();
  node_type.attr("__module__") = "weft.autograd";
}

}  // namespace weft::bind
