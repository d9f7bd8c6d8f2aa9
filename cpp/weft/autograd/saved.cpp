#include "weft/autograd/saved.h"

#include "weft/graph/modes.h"
#include "weft/graph/op.h"
#include "weft/graph/pending.h"

namespace weft::autograd {

using base::ErrorKind;
using base::Ref;
using graph::Meta;
using graph::modes;
using graph::Node;
using graph::Value;

std::string place(const Node& node) {
  if (node.extras && node.extras->is_twin) return place(*node.edges[0].node);
  return base::text(node.op ? node.op->name : node.name(), " at ",
                    graph::position_text(node.position));
}

void fail_second_backward(const std::string& place, graph::Position freed_at) {
  base::fail(ErrorKind::gradient,
             "Trying to backward through the graph a second time: the result of ", place,
             " was used by an earlier backward",
             freed_at ? base::text(" (at ", graph::position_text(freed_at), ")") : "",
             " that freed the tensors it had saved. Call that backward with retain_graph=True, "
             "or compute the result again, or detach() what the two have in common.");
}

void refuse_second_backward(const Node& node) {
  if (node.released) fail_second_backward(place(node), node.released_at);
}

void refuse_changed(const Node& node, const graph::Saved& saved) {
  if (saved.value.count() == 0) return;  // empty rows of a batch lie in one place
  const tensor::Storage& storage = *saved.value.array().storage;
  const auto* writer = static_cast<const graph::Op*>(storage.written_by);
  base::fail(ErrorKind::gradient,
             "one of the variables needed for gradient computation has been modified by an inplace "
             "operation: ",
             place(node), " saved its ", saved.is_output ? "result" : "input", " of shape ",
             saved.value.sizes(), " (version ", saved.version, "), which ",
             writer ? writer->name + "_" : "an in-place write", " at ",
             graph::position_text(storage.written_at), " changed (now version ", storage.version,
             "). Change a clone() of it, or do it after backward.");
}

// Calls the user's unpack hook, which may do anything, even run and free this very graph: what it
// reads stays out of the node meanwhile.
static Value unpack(Node& node, size_t number) {
  const uint16_t index = node.saved[number].index;
  const Meta* meta = node.saved[number].is_output     ? &node.outputs[index]
                     : index != graph::Saved::neither ? &node.input_meta(index)
                                                      : nullptr;
  struct Outside {
    Node& node;
    size_t number;
    std::unique_ptr<graph::PackedTensor> packed = std::move(node.saved[number].packed);
    ~Outside() {
      if (!node.released) node.saved[number].packed = std::move(packed);
    }
  } const outside{node, number};
  const Value value = outside.packed->unpack();
  graph::settle(value);
  if (meta && (value.sizes() != meta->sizes || value.dtype() != meta->dtype)) {
    base::fail(ErrorKind::gradient, "unpack_hook returned a tensor of shape ", value.sizes(),
               " and dtype ", tensor::name_of(value.dtype()), " for one of shape ", meta->sizes,
               " and dtype ", tensor::name_of(meta->dtype), " that ", place(node), " had saved");
  }
  return value;
}

Value restore(Node& node, size_t number) {
  refuse_second_backward(node);
  const graph::Saved& saved = node.saved[number];
  const uint16_t index = saved.index;
  const bool is_output = saved.is_output;
  const bool was_packed = !saved.value;
  if (was_packed && !saved.packed) {
    base::fail(ErrorKind::gradient,
               "an unpack_hook ran backward through the very tensor it unpacks, which ",
               place(node), " had saved");
  }
  if (!was_packed) refuse_if_changed(node, saved);
  const Value value = was_packed ? unpack(node, number) : saved.value;
  if (!modes.grad || index == graph::Saved::neither || !(is_output || was_packed)) return value;
  // Under create_graph it is what it was when it was saved.
  return connect(value, is_output ? graph::Edge{Ref<Node>(&node), index} : node.edges[index]);
}

Value connect(const Value& value, const graph::Edge& edge) {
  const Value connected = without_history(value);
  connected->producer = edge.node;
  connected->output = edge.output;
  connected->row = edge.row;
  connected->requires_grad = edge.node && tensor::is_floating(value.dtype());
  return connected;
}

}  // namespace weft::autograd
