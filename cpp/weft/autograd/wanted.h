// What a backward with `inputs` runs: the nodes on a way to one of them, and of those that ran for
// many rows only the rows that are.
#pragma once

#include <span>
#include <unordered_map>
#include <vector>

#include "weft/autograd/arrivals.h"

namespace weft::autograd {

class Wanted {
 public:
  void find(std::span<const graph::Value> roots, std::span<const graph::Value> inputs);

  bool contains(const graph::Node* node) const { return wanted_.contains(node); }
  // Forget the rows that are on no way to an input, or that are inputs and lead to no other. Tell
  // whether any are left.
  bool keep(Arrived& arrived) const { return keep(arrived, wanted_); }
  bool keep_leading(Arrived& arrived) const { return keep(arrived, leading_); }

 private:
  using Rows = std::vector<bool>;  // empty: all of them
  using Nodes = std::unordered_map<const graph::Node*, Rows>;

  static bool keep(Arrived& arrived, const Nodes& nodes);
  bool leads(const graph::Edge& edge, int32_t row) const;
  void add_leading_rows(const graph::Node& node, const graph::NodeExtras& extras);

  Nodes wanted_, leading_;
};

}  // namespace weft::autograd
