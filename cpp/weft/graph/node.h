// Node: one op applied once. Immutable but for what backward frees. Never owns its outputs, so
// there are no cycles; frees iteratively, so depth does not matter.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "weft/graph/attributes.h"
#include "weft/graph/value.h"

namespace weft::graph {

struct GradientPlan;
struct Op;
struct TensorData;

// A gradient's way back: into which node, as which of its outputs.
struct Edge {
  base::Ref<Node> node;
  uint32_t output = 0;
  int32_t row = ValueData::whole;
};

// What a user's pack hook returned, kept by bind/.
struct PackedTensor {
  virtual ~PackedTensor() = default;
  virtual Value unpack() = 0;
};

// A tensor that the gradient rule reads. An input keeps its Value (with its history); an output
// keeps only its array, because its producer is this very node.
struct Saved {
  Value value;
  uint32_t version = 0;
  bool is_output = false;
  uint16_t index = 0;  // which input or output; `neither` for what a user's function made inside
  std::unique_ptr<PackedTensor> packed;  // set when saved_tensors_hooks took it

  static constexpr uint16_t neither = UINT16_MAX;
  static constexpr uint32_t any_version = UINT32_MAX;  // its numbers do not matter
};

// Called with a gradient; may return another one, or an empty Value to leave it as it is.
struct GradientHook {
  virtual ~GradientHook() = default;
  virtual Value call(const Value& gradient) = 0;
};

struct OutputHook {
  uint32_t output;
  int32_t row;
  uint64_t id;
  std::shared_ptr<GradientHook> hook;
};

// A rule that is not in the op table (a user's autograd.Function, another rule's derivative).
struct CustomRule {
  virtual ~CustomRule() = default;
  virtual const char* name() const = 0;
  virtual bool has_rows(size_t) const { return false; }  // of a node with rows: that output
  virtual Values backward(Node& node, const Values& gradients) = 0;
  virtual void release() noexcept = 0;  // free what was saved
};

// State of a leaf: where its gradient accumulates.
struct Leaf {
  TensorData* tensor = nullptr;  // the leaf itself; cleared when it dies
  std::vector<std::pair<uint64_t, std::shared_ptr<GradientHook>>> post_accumulate;
};

// Results and their gradients, kept where somebody wants to look at them (weft.debug).
struct KeptValues {
  std::vector<Array> outputs;
  std::vector<Array> gradients;  // without memory where there was none
};

// Of a node that ran for several rows at once, dimension 0 of its stacked inputs and of its
// outputs: whose rows they are. Backward runs the rows that a gradient reached.
struct RowTable {
  std::vector<Position> positions;  // of each row's application; none: that of the node
  std::vector<int32_t> examples;    // of a map; -1 outside
};
struct Rows {
  std::shared_ptr<const RowTable> table;
  uint32_t stacked = 0;        // bit i: input i has rows; the others are shared by all
  std::vector<bool> released;  // rows that a backward has been through, or nobody needs
  std::vector<bool> spent;     // of one that reads a shared node: as Node::spent
  // Of each row, backwards before the one that frees: of equal ones, which are one row. Empty:
  // none.
  std::vector<uint32_t> passes;
  // Where rows are in what is saved, -1 for those of which nothing is (graph/kept_rows.h). Empty:
  // each at its own place.
  std::vector<int32_t> places;
  // Of gradients: rows that depend on something that needs a gradient. Empty: all.
  std::vector<bool> dependent;
  bool is_dependent(int32_t row) const { return dependent.empty() || dependent[row]; }
  size_t count() const { return table->examples.size(); }
  int32_t place_of(int32_t row) const { return places.empty() ? row : places[row]; }
};

// Of a node that only collects rows for the next one: row i is row `rows[i]` of edge `sources[i]`
// (-1: not a row but all of it; edges without a node need no gradient).
struct Gathered {
  std::vector<int32_t> sources;
  std::vector<int32_t> rows;
  std::vector<int32_t> targets;  // of sums: the row that each is added to; empty: i, as above
  int32_t target(size_t i) const { return targets.empty() ? static_cast<int32_t>(i) : targets[i]; }
};

struct NodeExtras {
  std::vector<OutputHook> hooks;     // of tensors that are outputs of this node
  std::vector<OutputHook> retained;  // retain_grad
  std::unique_ptr<CustomRule> custom;
  std::unique_ptr<Leaf> leaf;
  std::unique_ptr<KeptValues> kept;
  std::unique_ptr<Rows> rows;
  std::unique_ptr<Gathered> gathered;
  bool is_twin = false;  // stands before a node that several equal ops have in common
  // The composite that it is the last part of, as a shown name: one for all, or one for each row.
  std::vector<uint32_t> shown_as;
  void* wrapper = nullptr;  // bind's Python object for grad_fn, borrowed
};

struct Meta {
  Dims sizes;
  DType dtype;
};

class Node final : public base::RefCounted<Node>, public base::Pooled<Node> {
 public:
  Node(const Op* op, Position position);
  ~Node();
  static void destroy(Node* node) noexcept;

  const Op* op;  // null for leaves and user-written rules
  Attributes attributes;
  base::SmallVector<Edge, 2> edges;  // one per tensor input; no node where no gradient is needed
  base::SmallVector<Saved, 2> saved;
  base::SmallVector<Meta, 1> outputs;
  std::vector<Meta> inputs;  // empty when each input is like the first output
  uint64_t sequence;         // creation number: a topological order
  Position position;
  uint32_t input_count = 0;
  const GradientPlan* plan = nullptr;  // of an op: how its gradient runs
  uint32_t extra_passes = 0;  // backwards before the one that frees: of equal ops that ran once
  bool is_shared = false;     // by equal ops, or it collects rows of such a one
  bool spent = false;         // of one that reads such a one: a backward that frees went on there
  bool released = false;      // saved tensors were freed by a backward
  Position released_at = 0;
  std::unique_ptr<NodeExtras> extras;
  const void* visited_by = nullptr;  // the backward that has gradients for this node now
  uint32_t visit_slot = 0;           // and where it keeps them

  NodeExtras& extra() {
    if (!extras) extras = std::make_unique<NodeExtras>();
    return *extras;
  }
  bool is_leaf() const { return extras && extras->leaf; }
  void release_saved(Position at);
  // Lets so many backwards more go through before one that frees.
  void share(uint32_t passes) {
    extra_passes += passes;
    is_shared = true;
  }
  std::string name(int32_t row = ValueData::whole) const;  // "MulBackward0"
  // Goes by a name from `shown_name`, as a whole or as one row.
  void show_as(uint32_t shown, int32_t row);
  Position position_of(size_t row) const {
    const auto& positions = extras->rows->table->positions;
    return positions.empty() ? position : positions[row];
  }
  const Meta& input_meta(size_t i) const { return inputs.empty() ? outputs[0] : inputs[i]; }
  // Whether an output has rows; a single number is for all of them.
  bool has_rows(size_t output) const {
    if (!extras || !extras->rows) return false;
    return extras->custom ? extras->custom->has_rows(output) : !outputs[output].sizes.empty();
  }

  static int64_t live();  // number of nodes alive
  static uint64_t next_sequence();
};

// The number of a name that nodes may go by; never 0.
uint32_t shown_name(const std::string& name);
// Lets the node of a value go by a name, now or when there is one.
void show_as(const Value& value, uint32_t shown);

// A node before one that several equal ops have in common, or before one row of it: the place of
// one of those ops.
base::Ref<Node> make_twin(const base::Ref<Node>& node, int32_t row, Position position);

// An edge as one row sees it: past the nodes that only bring rows together.
Edge edge_of_row(const Node& node, size_t i, int32_t row);
// All edges as one row, or the whole, sees them.
std::vector<Edge> edges_of_row(const Node& node, int32_t row);

}  // namespace weft::graph
