// Gradients of single rows: of values that were computed many at a time.
#pragma once

#include <span>

#include "weft/graph/node.h"

namespace weft::autograd {

// Row indices as a tensor.
graph::Value index_of(std::span<const int32_t> rows);
// The rows of a panel; the panel itself if those are all, in order.
graph::Value rows_of(const graph::Value& panel, std::span<const int32_t> rows);
// The same of a panel that has not all rows: where these are in it.
graph::Value rows_at(const graph::Value& panel, std::span<const int32_t> rows,
                     std::span<const int32_t> places);

// Whether a row of a panel depends on something that needs a gradient.
bool depends_on_any(const graph::Value& panel, int32_t row);

// One row, with memory of its own.
graph::Value row_at(const graph::Value& panel, int32_t row);
// The panel with another row in place of one of its own.
graph::Value with_row(const graph::Value& panel, int32_t row, const graph::Value& other);
// The panel in memory of its own, to add rows to.
graph::Value copy_rows(const graph::Value& panel);
std::vector<int32_t> all_rows(const graph::Value& panel);

// sum with rows `from` of the panel added to its rows `to`; each row of the panel has as many
// elements as one of the sum.
graph::Value add_rows(const graph::Value& sum, std::span<const int32_t> to,
                      const graph::Value& panel, std::span<const int32_t> from);
// The same in place. Rows that `reached` does not have are written, and then it has them.
void add_rows_into(const tensor::Array& sum, std::span<const int32_t> to,
                   const tensor::Array& panel, std::span<const int32_t> from,
                   std::vector<bool>* reached);
// One or the other; gradients of rows `to` of the sum go to the rows `from` of the panel.
void add_rows_to(graph::Value& sum, std::span<const int32_t> to, const graph::Value& panel,
                 std::span<const int32_t> from, std::vector<bool>* reached = nullptr);
// Zeros in the rows that `reached` does not have.
void clear_rows(const tensor::Array& sum, const std::vector<bool>& reached);

// Adds outer products that were left for later, as one product of all their rows. The sum may be
// none.
graph::Value add_products(graph::Value sum, std::span<const graph::Value> products);

// Runs the gradient rule for some rows of the node; gradients of stacked inputs have those only.
// If it is to be differentiated again, what it gives has a node with those rows.
graph::Values run_rule_on_rows(graph::Node& node, const graph::Values& gradients,
                               std::span<const int32_t> rows);

// The same for the place of one of several equal ops: that one's results are those it reads.
graph::Values run_rule_of_twin(const base::Ref<graph::Node>& twin, const graph::Values& gradients);

// Raises if that op has been through a backward that freed what was saved; notes that one does.
void enter_twin(graph::Node& twin, bool frees, graph::Position at);

// Raises if one of the rows has been through a backward that freed what was saved.
void refuse_second_backward(const graph::Node& node, std::span<const int32_t> rows);
// Frees what was saved once every row has been through a backward. No rows: all of them.
void release_rows(graph::Node& node, std::span<const int32_t> rows, graph::Position at);

}  // namespace weft::autograd
