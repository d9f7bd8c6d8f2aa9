// Nodes that equal ops have in common cannot tell whose backward it is that arrives. Who reads them
// can: it notes that a backward has been through, and refuses the second one that eager code would.
#pragma once

#include <algorithm>

#include "weft/autograd/wanted.h"

namespace weft::autograd {

inline bool leads_to_shared(const graph::Edge& edge, const Wanted* wanted) {
  return edge.node && edge.node->is_shared && (!wanted || wanted->contains(edge.node.get()));
}

// Whether gradients go on from here to a node that equal ops have in common. `wanted`: only those
// that are on a way there; null: all.
inline bool reads_shared(const graph::Node& node, const Wanted* wanted) {
  return !node.is_shared &&
         std::any_of(node.edges.begin(), node.edges.end(),
                     [&](const graph::Edge& edge) { return leads_to_shared(edge, wanted); });
}

// Such a node is about to send its gradients on. Raises if an earlier backward that frees did, and
// shared nodes below have saved anything.
void enter_shared(const Arrived& arrived, const Wanted* wanted, bool frees);

}  // namespace weft::autograd
