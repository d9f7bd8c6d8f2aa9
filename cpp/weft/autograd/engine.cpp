#include "weft/autograd/engine.h"

#include <algorithm>
#include <numeric>
#include <unordered_map>

#include "ops.h"
#include "weft/autograd/accumulate.h"
#include "weft/autograd/arrivals.h"
#include "weft/autograd/rows.h"
#include "weft/autograd/rule.h"
#include "weft/autograd/saved.h"
#include "weft/autograd/shared.h"
#include "weft/autograd/wanted.h"
#include "weft/graph/modes.h"
#include "weft/graph/observer.h"
#include "weft/graph/pending.h"
#include "weft/graph/record.h"

namespace weft::autograd {

using base::ErrorKind;
using base::Ref;
using graph::bit_of;
using graph::Meta;
using graph::modes;
using tensor::Array;

namespace {

class Backward {
 public:
  explicit Backward(const Request& request) : request_(request) {}

  std::vector<Value> run() {
    graph::ModesGuard guard;
    modes_.grad = request_.create_graph;
    modes_.save_hooks = nullptr;
    modes_.lazy = false;
    modes_.rows = nullptr;
    modes_.park = nullptr;  // what a hook needs is computed at once
    called_at_ = graph::current_position();
    if (!request_.create_graph) modes_.observer = nullptr;
    if (observer_) observer_->began_backward(called_at_);
    find_wanted();
    for (size_t i = 0; i < request_.roots.size(); ++i) {
      const Value& root = request_.roots[i];
      if (!root->producer) continue;
      send({root->producer, root->output, root->row}, request_.gradients[i]);
      if (request_.roots.size() == 1) arrivals_.close(root->producer);
    }
    while (!arrivals_.empty()) arrivals_.visit_next([this](Arrived& arrived) { visit(arrived); });
    if (observer_) observer_->ended_backward();
    return std::move(results_);
  }

 private:
  void find_wanted() {
    results_.resize(request_.inputs.size());
    if (request_.inputs.empty()) return;
    wanted_.find(request_.roots, request_.inputs);
    for (size_t i = 0; i < request_.inputs.size(); ++i) {
      const Value& input = request_.inputs[i];
      if (input->producer) captures_.emplace(input->producer.get(), i);
    }
  }

  bool is_wanted(const graph::Edge& edge) const {
    return request_.inputs.empty() || wanted_.contains(edge.node.get());
  }
  void send(const graph::Edge& edge, Value gradient) {
    if (is_wanted(edge)) arrivals_.send(edge, std::move(gradient));
  }
  void send_rows(const graph::Edge& edge, std::span<const int32_t> to, const Value& panel,
                 std::span<const int32_t> from) {
    if (is_wanted(edge)) arrivals_.send_rows(edge, to, panel, from);
  }

  void run_hooks(Arrived& arrived) {
    Node& node = *arrived.node;
    Values& gradients = arrived.gradients;
    // A hook may add or remove hooks.
    const auto hooks = node.extras->hooks;
    for (const graph::OutputHook& hook : hooks) {
      const Value gradient = arrived.part(hook.output, hook.row);
      if (!gradient) continue;
      if (Value replaced = hook.hook->call(gradient)) {
        graph::settle(replaced);
        if (replaced.sizes() != gradient.sizes()) {
          base::fail(ErrorKind::shape, "a hook on the result of ", place(node),
                     " returned a gradient of shape ", replaced.sizes(), " for one of shape ",
                     gradient.sizes());
        }
        Value& all = gradients[hook.output];
        all = hook.row == graph::ValueData::whole ? std::move(replaced)
                                                  : with_row(all, hook.row, replaced);
      }
    }
    if (graph::KeptValues* kept = node.extras->kept.get()) {
      kept->gradients.clear();
      for (const Value& gradient : gradients)
        kept->gradients.push_back(gradient ? gradient.array() : Array{});
    }
    const auto retained = node.extras->retained;
    for (const graph::OutputHook& hook : retained) {
      if (const Value gradient = arrived.part(hook.output, hook.row)) hook.hook->call(gradient);
    }
  }

  void capture(const Arrived& arrived) {
    const auto [first, last] = captures_.equal_range(arrived.node.get());
    for (auto found = first; found != last; ++found) {
      const graph::ValueData& input = *request_.inputs[found->second].get();
      const uint32_t output = arrived.node->is_leaf() ? 0 : input.output;
      results_[found->second] = arrived.part(output, input.row);
    }
  }

  void visit(Arrived& arrived) {
    Node& node = *arrived.node;
    const bool some = !request_.inputs.empty();
    if (some && !wanted_.keep(arrived)) return;
    if (node.extras) run_hooks(arrived);
    if (some) capture(arrived);
    if (node.is_leaf()) {
      if (observer_) observer_->ran_rule({node, {}, arrived.gradients, {}, graph::seconds_now()});
      if (request_.accumulate) accumulate(node, arrived.gradients[0], request_.create_graph);
      return;
    }
    if (some && !wanted_.keep_leading(arrived)) return;
    const Wanted* wanted = some ? &wanted_ : nullptr;
    if (reads_shared(node, wanted)) [[unlikely]]
      enter_shared(arrived, wanted, !request_.retain_graph);
    modes_.position = node.position;
    const bool saves = !node.saved.empty(), alone = allow_no_other(arrived);
    if (node.extras && node.extras->is_twin) [[unlikely]] {
      visit_twin(arrived);
    } else if (node.extras && node.extras->rows) [[unlikely]] {
      visit_rows(arrived);
    } else {
      const double begin = observer_ ? graph::seconds_now() : 0;
      Values gradients = run_rule(node, arrived.gradients);
      if (observer_) observer_->ran_rule({node, {}, arrived.gradients, gradients, begin});
      arrived.gradients.clear();
      send_on(node, std::move(gradients));
      if (!request_.retain_graph) node.release_saved(called_at_);
    }
    if (saves ? node.released : alone || is_own(arrived)) {
      for (const graph::Edge& edge : node.edges) {
        if (edge.node) arrivals_.close(edge.node);
      }
    }
    modes_.position = called_at_;
  }

  // Whether each of its rows is one example's own, and all were reached: a second backward would
  // find released what this one has been through below.
  bool is_own(const Arrived& arrived) const {
    const graph::NodeExtras* extras = arrived.node->extras.get();
    return !request_.retain_graph && arrived.all_rows() && extras &&
           (extras->is_twin || (extras->rows && extras->rows->passes.empty()));
  }

  // Of equal ops, which are one, each may have a backward of its own. Where no other can come, this
  // one frees what was saved.
  bool allow_no_other(const Arrived& arrived) const {
    Node& node = *arrived.node;
    const bool alone =
        !request_.retain_graph && arrived.all_rows() && node.use_count() == 1 + arrived.closed;
    if (alone) {
      node.extra_passes = 0;
      if (node.extras && node.extras->rows) node.extras->rows->passes.clear();
    }
    return alone;
  }

  // A node that ran for many rows: only those that a gradient reached run backward, because a zero
  // times the infinity of another row would not be zero.
  void visit_rows(Arrived& arrived) {
    Node& node = *arrived.node;
    if (node.extras->gathered) return pass_on_rows(arrived);
    const bool fills = node.op && (node.op->is_view() || node.op->missing_is_zero);
    if (fills && !arrived.all_rows() && !graph::records_rows()) arrivals_.fill_missing(arrived);
    const bool all = arrived.all_rows(), whole = all && !graph::records_rows();
    if (whole && node.extras->rows->released.empty() && !observer_) {
      send_on(node, run_rule(node, arrived.gradients));
      if (!request_.retain_graph) release_rows(node, {}, called_at_);
      return;
    }
    const auto groups = arrived.rows_by_outputs(node.extras->rows->count());
    for (const auto& [outputs, rows] : groups) refuse_second_backward(node, rows);
    for (const auto& [outputs, rows] : groups) {
      Values reached = arrived.gradients;
      for (size_t i = 0; i < reached.size(); ++i) {
        if (!outputs[i]) reached[i] = {};
      }
      const double begin = observer_ ? graph::seconds_now() : 0;
      Values gradients = whole ? run_rule(node, reached) : run_rule_on_rows(node, reached, rows);
      if (observer_) observer_->ran_rule({node, rows, reached, gradients, begin});
      send_rows_on(node, std::move(gradients), all ? std::span<const int32_t>() : rows);
      if (!request_.retain_graph) release_rows(node, rows, called_at_);
    }
  }

  // Gradients of one of several equal ops go on to the node that those have in common. If its rule
  // reads results and is to be differentiated, it runs for each op by itself: each has its own.
  void visit_twin(Arrived& arrived) {
    Node& node = *arrived.node->edges[0].node;
    const Values& given = arrived.gradients;
    enter_twin(*arrived.node, !request_.retain_graph, called_at_);
    if (observer_) observer_->ran_rule({*arrived.node, {}, given, given, graph::seconds_now()});
    const auto is_output = [](const graph::Saved& saved) { return saved.is_output; };
    if (!modes_.grad || std::ranges::none_of(node.saved, is_output))
      return send_on(*arrived.node, std::move(arrived.gradients));
    const int32_t row = arrived.node->edges[0].row;
    const auto rows = std::span(&row, row == graph::ValueData::whole ? 0 : 1);
    send_rows_on(node, run_rule_of_twin(arrived.node, arrived.gradients), rows);
    if (request_.retain_graph) return;
    rows.empty() ? node.release_saved(called_at_) : release_rows(node, rows, called_at_);
  }

  // Sends gradients of a node's inputs to where those are from.
  void send_on(const Node& node, Values gradients) {
    for (size_t i = 0; i < node.edges.size(); ++i) {
      const graph::Edge& edge = node.edges[i];
      if (edge.node && gradients[i]) send(edge, fit(std::move(gradients[i]), node.input_meta(i)));
    }
  }
  // The same of some rows; none: of all.
  void send_rows_on(const Node& node, Values gradients, std::span<const int32_t> rows) {
    std::vector<int32_t> places(rows.size());
    std::iota(places.begin(), places.end(), 0);
    for (size_t i = 0; i < node.edges.size() && !rows.empty(); ++i) {
      if (!node.edges[i].node || !gradients[i]) continue;
      if (!(node.extras->rows->stacked & bit_of(i))) continue;
      Meta meta = node.input_meta(i);
      meta.sizes[0] = static_cast<int64_t>(rows.size());
      send_rows(node.edges[i], rows, fit(std::exchange(gradients[i], {}), meta), places);
    }
    send_on(node, std::move(gradients));  // what all rows have in common
  }

  // Rows that were collected from several places go back to them.
  void pass_on_rows(const Arrived& arrived) {
    const Node& node = *arrived.node;
    const Value& panel = arrived.gradients[0];
    const graph::Gathered& gathered = *node.extras->gathered;
    const std::vector<int32_t>& targets = gathered.targets;
    std::vector<int32_t> live;
    for (size_t i = 0; i < gathered.sources.size(); ++i) {
      if (arrived.has_row(0, gathered.target(i))) live.push_back(static_cast<int32_t>(i));
    }
    const auto source_of = [&](int32_t r) { return gathered.sources[r]; };
    std::vector<int32_t> from(live.size()), to(live.size());  // by sources
    std::vector<size_t> ends(node.edges.size() + 1);          // where each one's part ends
    for (int32_t r : live) ++ends[source_of(r) + 1];
    ends[0] = 0;
    std::partial_sum(ends.begin(), ends.end(), ends.begin());
    for (int32_t r : live) {
      if (source_of(r) < 0) continue;
      const size_t place = ends[source_of(r)]++;
      from[place] = targets.empty() ? r : targets[r];
      to[place] = gathered.rows[r];
    }
    size_t begin = 0;
    for (size_t i = 0; i < node.edges.size(); ++i) {
      const size_t count = ends[i] - begin;
      const auto part_from = std::span(from).subspan(begin, count);
      const auto part_to = std::span(to).subspan(begin, count);
      begin = ends[i];
      if (count == 0) continue;
      if (part_to[0] != graph::ValueData::whole) {
        send_rows(node.edges[i], part_to, panel, part_from);
      } else {
        const Value sum = count == 1 ? row_at(panel, part_from[0])
                                     : ops::sum(rows_of(panel, part_from), graph::Dims{0});
        send(node.edges[i], fit(sum, node.input_meta(i)));
      }
    }
  }

  const Request& request_;
  graph::Modes& modes_ = graph::modes;  // looked up once: they are of this thread
  graph::Observer* const observer_ = modes_.vmap ? nullptr : modes_.observer;
  Arrivals arrivals_{modes_};
  std::unordered_multimap<Node*, size_t> captures_;
  Wanted wanted_;  // with `inputs`
  std::vector<Value> results_;
  graph::Position called_at_ = 0;
};

}  // namespace

std::vector<Value> run_backward(const Request& request) { return Backward(request).run(); }

}  // namespace weft::autograd
