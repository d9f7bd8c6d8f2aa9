// The recorder as Python has it: what it noted, as tuples and lists.
#include "weft/trace/recorder.h"

#include <cmath>

#include "weft/bind/binding.h"
#include "weft/graph/op.h"
#include "weft/graph/shared_writes.h"

namespace weft::bind {
namespace {

using graph::modes;

// Tells Python of each thing that happens, if it wants to know, while nobody watches.
class PythonRecorder : public trace::Recorder {
 public:
  PythonRecorder(bool values, nb::object on_node, nb::object on_event)
      : Recorder(values), on_node_(std::move(on_node)), on_event_(std::move(on_event)) {}

  void recorded(const graph::Recorded& recorded) override {
    Recorder::recorded(recorded);
    if (on_node_.is_none()) return;
    inputs_now = {recorded.inputs.begin(), recorded.inputs.end()};
    outputs_now = {recorded.outputs.begin(), recorded.outputs.end()};
    tell(on_node_, nb::int_(nodes.size() - 1));
    inputs_now.clear();
    outputs_now.clear();
  }
  int32_t entered(void* module, int32_t caller) override {
    module_objects.append(nb::handle(static_cast<PyObject*>(module)));
    return Recorder::entered(module, caller);
  }
  void planned(graph::Position position, double begin, double seconds_planning) override {
    Recorder::planned(position, begin, seconds_planning);
    if (!on_event_.is_none()) tell(on_event_, nb::str("plan"));
  }
  void ran_rule(const graph::RanRule& rule) override {
    Recorder::ran_rule(rule);
    if (on_event_.is_none() || !wants_rules) return;
    inputs_now = {rule.incoming.begin(), rule.incoming.end()};
    outputs_now = {rule.outgoing.begin(), rule.outgoing.end()};
    tell(on_event_, nb::str("rule"));
    inputs_now.clear();
    outputs_now.clear();
  }
  void ended_backward() override {
    Recorder::ended_backward();
    if (!on_event_.is_none()) tell(on_event_, nb::str("backward"));
  }

  void start() {
    if (outer_) throw nb::value_error("the recorder is observing already");
    resume();
    outer_ = modes;
    Py_INCREF(nb::find(this).ptr());  // what observes stays
    is_inner = modes.observer != nullptr;
    modes.observer = this;
    modes.module = -1;
  }
  void stop() {
    // Started around fibers, it is known to all of them: it stops after them.
    if (!outer_ || modes.observer != this || outer_->park != modes.park ||
        outer_->example != modes.example) {
      throw nb::value_error("the recorder is not observing here");
    }
    modes.observer = outer_->observer;
    modes.module = outer_->module;
    outer_.reset();
    give_back();
    Py_DECREF(nb::find(this).ptr());
    if (auto* outer = dynamic_cast<Recorder*>(modes.observer)) outer->resume();
  }
  void forget() {
    clear();
    module_objects.clear();
  }

  nb::list module_objects;
  Values inputs_now, outputs_now;  // while Python is told
  bool wants_rules = false;

 private:
  template <class Argument>
  void tell(const nb::object& function, Argument argument) {
    graph::ModesGuard guard;
    modes.observer = nullptr;
    modes.lazy = false;
    modes.grad = false;
    modes.position = 0;
    const Object result(PyObject_CallOneArg(function.ptr(), argument.ptr()));
    if (!result) throw PythonError{};
  }

  nb::object on_node_, on_event_;
  std::optional<graph::Modes> outer_;  // the modes when it began
};

int64_t index_or_none(uint32_t number) {
  return number == trace::none ? -1 : static_cast<int64_t>(number);
}

template <class Item, class Make = std::identity>
nb::list list_of(const std::vector<Item>& items, const Make& make = {}) {
  nb::list list;
  for (const Item& item : items) list.append(make(item));
  return list;
}

// The node that gave a result, and which of its results it is.
std::pair<int64_t, uint32_t> source_of(const PythonRecorder& self, uint32_t result) {
  if (result == trace::none) return {-1, 0};
  const uint32_t node = self.results[result].node;
  return {node, result - self.nodes[node].first_result};
}

nb::list nodes_of(const PythonRecorder& self, size_t first) {
  nb::list list;
  for (size_t i = first; i < self.nodes.size(); ++i) {
    const trace::Node& node = self.nodes[i];
    nb::list inputs;
    for (uint32_t k = 0; k < node.input_count; ++k) {
      const trace::Input& input = self.inputs[node.first_input + k];
      const auto [of, output] = source_of(self, input.result);
      inputs.append(nb::make_tuple(of, output, input.number));
    }
    nb::list results;
    for (uint32_t k = 0; k < node.result_count; ++k) {
      const trace::Result& result = self.results[node.first_result + k];
      const int64_t bytes = tensor::count_of(result.sizes) * tensor::item_size(result.dtype);
      results.append(nb::make_tuple(
          list_of(std::vector<int64_t>(result.sizes.begin(), result.sizes.end())),
          std::string(tensor::name_of(result.dtype)), result.is_new ? bytes : 0,
          index_or_none(result.statistics), result.producer, result.output, result.row));
    }
    const char* kind = node.is_leaf ? "leaf" : node.op && node.op->is_program() ? "cell" : "op";
    list.append(nb::make_tuple(*node.name, kind, node.requires_grad, inputs, results,
                               attribute_texts(node.op, node.attributes), index_or_none(node.frame),
                               node.module, node.example, node.in_backward, node.begin - self.began,
                               node.seconds, node.saved, node.first_node, node.last_node));
  }
  return list;
}

nb::tuple tuple_of(const trace::Statistics& one) {
  const bool finite = one.nans + one.infinities < one.count;
  return nb::make_tuple(one.count, finite, one.minimum, one.maximum, one.mean, one.deviation,
                        one.nans, one.infinities, one.zeros, list_of(one.histogram),
                        one.values.empty() && one.count > 0 ? nb::object(nb::none())
                                                            : nb::object(list_of(one.values)));
}
nb::list statistics_of(const PythonRecorder& self) { return list_of(self.statistics, tuple_of); }
nb::tuple statistics_of_tensor(const TensorObject& tensor) {
  return tuple_of(trace::statistics_of(tensor.computed().array()));
}

nb::list plans_of(const PythonRecorder& self) {
  auto tuple_of_batch = [&](const trace::Batch& batch) {
    return nb::make_tuple(*batch.name, list_of(batch.nodes), batch.bytes_copied, batch.seconds,
                          batch.begin - self.began, batch.position, batch.note, batch.first_node,
                          batch.last_node);
  };
  return list_of(self.plans, [&](const trace::Plan& plan) {
    return nb::make_tuple(list_of(plan.batches, tuple_of_batch), plan.seconds,
                          plan.seconds_planning, plan.begin - self.began, plan.position);
  });
}

nb::list backwards_of(const PythonRecorder& self) {
  auto tuple_of_rule = [&](const trace::Rule& rule) {
    return nb::make_tuple(*rule.name, rule.node, rule.seconds, rule.begin - self.began,
                          list_of(rule.live), list_of(rule.incoming, index_or_none),
                          list_of(rule.outgoing, index_or_none));
  };
  return list_of(self.backwards, [&](const trace::Backward& backward) {
    return nb::make_tuple(list_of(backward.rules, tuple_of_rule), backward.seconds,
                          backward.begin - self.began, backward.position);
  });
}

nb::list frames_of(const PythonRecorder& self) {
  return list_of(self.frames, [](const trace::Frame& frame) {
    return nb::make_tuple(frame.position, index_or_none(frame.caller));
  });
}

nb::list modules_of(const PythonRecorder& self) {
  nb::list list;
  for (size_t i = 0; i < self.modules.size(); ++i) {
    list.append(nb::make_tuple(self.module_objects[i], self.modules[i].caller,
                               index_or_none(self.modules[i].frame)));
  }
  return list;
}

nb::list reads_of(const PythonRecorder& self) {
  return list_of(self.reads, [&](const trace::Read& read) {
    const auto [node, output] = source_of(self, read.result);
    return nb::make_tuple(std::string(read.kind), read.text, node, output,
                          index_or_none(read.frame), read.module, read.after, read.example);
  });
}

// What Python was told last, also while nobody watches: `weft.graph` of a tensor shows the
// decisions on the way to it.
struct LastRead {
  graph::Position position;
  const char* kind;
  uint64_t after;  // this node of the graph
  double number;
};
constexpr size_t most_reads = 1024;
LastRead last_reads[most_reads];
uint64_t read_count = 0;

std::string number_text(const char* kind, double number) {
  if (kind == std::string_view("bool")) return number != 0 ? "True" : "False";
  char text[32];
  const bool whole = number == std::floor(number) && std::abs(number) < 1e15;
  std::snprintf(text, sizeof text, whole ? "%.0f" : "%.6g", number);
  return text;
}

nb::list last_reads_after(uint64_t sequence) {
  nb::list list;
  const uint64_t first = read_count > most_reads ? read_count - most_reads : 0;
  for (uint64_t i = first; i < read_count; ++i) {
    const LastRead& read = last_reads[i % most_reads];
    if (read.after < sequence) continue;
    list.append(nb::make_tuple(std::string(read.kind), number_text(read.kind, read.number),
                               read.position, read.after));
  }
  return list;
}

int64_t node_of(PythonRecorder& self, const TensorObject& tensor) {
  return source_of(self, self.result_of(tensor.value(), false)).first;
}

}  // namespace

void note_read(const Value& value, const char* kind, double number) {
  if (modes.executor || modes.tracer) return;
  graph::note_read(modes.fiber, value);
  last_reads[read_count++ % most_reads] = {graph::current_position(), kind,
                                           graph::Node::next_sequence(), number};
  if (modes.observer) [[unlikely]]
    modes.observer->read(value, kind, number_text(kind, number));
}

const Value& note_copy(const Value& value, const char* kind) {
  graph::note_read(modes.fiber, value);
  if (modes.observer && !modes.executor && !modes.tracer)
    modes.observer->read(value, kind, base::text(value.count(), " numbers"));
  return value;
}

void define_traces(nb::module_& module) {
  nb::class_<PythonRecorder>(module, "Recorder", "Notes what a run does.")
      .def(nb::init<bool, nb::object, nb::object>(), nb::arg("values"),
           nb::arg("on_node").none() = nb::none(), nb::arg("on_event").none() = nb::none())
      .def("start", &PythonRecorder::start, "Observe this thread from now on.")
      .def("stop", &PythonRecorder::stop, "Observe no more.")
      .def("clear", &PythonRecorder::forget, "Forget what was noted.")
      .def("nodes", nodes_of, nb::arg("first") = 0, "Return the nodes from a number on.")
      .def("statistics", statistics_of, "Return what is known of values.")
      .def("plans", plans_of, "Return the plans that ran.")
      .def("backwards", backwards_of, "Return the calls of backward.")
      .def("frames", frames_of, "Return the chains of calls.")
      .def("modules", modules_of, "Return the calls of modules.")
      .def("reads", reads_of, "Return what Python read.")
      .def("node_of", node_of, "Return the node that made a tensor, or -1.")
      .def("__len__", [](const PythonRecorder& self) { return self.nodes.size(); })
      .def_prop_ro(
          "inputs", [](const PythonRecorder& self) { return wrapped(self.inputs_now); },
          "While told of a node: what it read; of a rule: the gradients it was given.")
      .def_prop_ro(
          "outputs", [](const PythonRecorder& self) { return wrapped(self.outputs_now); },
          "While told of a node: what it gave; of a rule: the gradients it made.")
      .def_rw("parts", &PythonRecorder::parts, "Whether cells are seen as what they are made of.")
      .def_rw("at_once", &PythonRecorder::at_once,
              "Whether ops run when they are recorded, in lazy mode too.")
      .def_rw("wants_rules", &PythonRecorder::wants_rules,
              "Whether to tell of each gradient rule.");
  module.def("statistics", statistics_of_tensor,
             "Return what is to be said of a tensor's numbers.");
  module.def("last_reads", last_reads_after,
             "Return what Python was told after a node: (kind, text, position, node).");
}

}  // namespace weft::bind
