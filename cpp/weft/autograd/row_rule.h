// A gradient rule that ran for rows and is to be differentiated. Its ops, recorded one by one,
// would mix the rows; so it is one node, whose own rule runs it again for the rows that a gradient
// reaches and differentiates that.
#pragma once

#include "weft/graph/node.h"

namespace weft::autograd {

// The node for another number of rows, without history.
base::Ref<graph::Node> with_rows(const graph::Node& node, int64_t rows);

class RowRule : public graph::CustomRule {
 public:
  explicit RowRule(base::Ref<graph::Node> of)
      : of_(std::move(of)), name_(of_->name() + "Backward") {}

  // What the rule of `of` gives from gradients, inputs and outputs; each row has its own history.
  static graph::Values record(const base::Ref<graph::Node>& of, const graph::Values (&read)[3],
                              std::shared_ptr<const graph::RowTable> table);

  // The gradients of what the rule reads, from those of what it gives.
  graph::Values run(const graph::Values& gradients, const graph::Values& given) const;
  void set_rows(int64_t rows) { of_ = with_rows(*of_, rows); }

  const char* name() const override { return name_.c_str(); }
  bool has_rows(size_t output) const override;
  graph::Values backward(graph::Node& node, const graph::Values& gradients) override;
  void release() noexcept override {}

 private:
  graph::Values apply(const graph::Values& given) const;

  base::Ref<graph::Node> of_;  // whose rule it is, without history
  std::string name_;
  std::vector<size_t> places_;  // of inputs: among gradients, inputs and outputs in turn
  std::vector<size_t> gives_;   // of outputs: which input of `of` they are the gradient of
  std::vector<bool> needs_;     // of inputs: whether they need a gradient
};

}  // namespace weft::autograd
