// The only door that makes nodes. The shape rule and its errors run here, in every mode.
#pragma once

#include <initializer_list>
#include <span>
#include <vector>

#include "weft/graph/modes.h"
#include "weft/graph/node.h"
#include "weft/graph/op.h"

namespace weft::graph {

Values record(const Op& op, std::span<const Value> inputs, Attributes attributes = {});

// The same for an element-wise op, with a short way for small tensors.
Value record_pointwise(const Op& op, std::span<const Value> inputs);

// For the generated callables.
Value record_one(const Op& op, std::initializer_list<Value> inputs,
                 std::vector<Attribute> attributes = {});
Value record_one(const Op& op, std::span<const Value> inputs,
                 std::vector<Attribute> attributes = {});
Values record(const Op& op, std::initializer_list<Value> inputs, std::vector<Attribute> attributes);

// The same, but the result is written over `destination`, the memory of an input: an in-place op.
Value record_into(const Op& op, std::span<const Value> inputs, Attributes attributes,
                  const Array& destination);

// A Value that shares memory but has no history; messages can name the line.
Value detach(const Value& value, Cut why = Cut::detach);

// Gives a row of a batch memory of its own, if it lies with its neighbours.
void leave_batch(const Value& row);

// Makes a leaf that accumulates gradients; `tensor` may be cleared later.
base::Ref<Node> make_leaf_node(TensorData* tensor);

// Keeps a tensor for the node's gradient, through saved_tensors_hooks where there are any.
void save(Node& node, const Value& value, bool is_output, size_t index, uint32_t version);

// Gives outputs of a user-written rule a node.
base::Ref<Node> attach_custom(std::unique_ptr<CustomRule> rule, std::span<const Value> inputs,
                              std::span<Value> outputs, Position position);

}  // namespace weft::graph
