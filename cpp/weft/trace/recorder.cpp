#include "weft/trace/recorder.h"

#include <algorithm>
#include <cmath>

namespace weft::trace {

using graph::modes;
using graph::seconds_now;

namespace {

uint32_t next_number = 1;  // of a value in any trace

constexpr int64_t few_values = 64;
constexpr size_t histogram_steps = 24;

}  // namespace

Statistics statistics_of(const graph::Array& array) {
  Statistics all;
  all.count = array.count();
  if (all.count == 0) return all;
  graph::Array numbers = graph::Array::allocate(array.sizes, graph::DType::f64);
  graph::host.copy(array, numbers);
  const std::span<const double> data(numbers.as<double>(), all.count);
  if (all.count <= few_values) all.values.assign(data.begin(), data.end());
  double sum = 0, squares = 0, low = INFINITY, high = -INFINITY;
  for (double number : data) {
    all.nans += std::isnan(number);
    all.infinities += std::isinf(number);
    all.zeros += number == 0;
    if (!std::isfinite(number)) continue;
    low = std::min(low, number);
    high = std::max(high, number);
    sum += number;
  }
  const int64_t finite = all.count - all.nans - all.infinities;
  if (finite == 0) return all;
  all.minimum = low;
  all.maximum = high;
  all.mean = sum / static_cast<double>(finite);
  all.histogram.resize(histogram_steps);
  const double width = high - low;
  for (double number : data) {
    if (!std::isfinite(number)) continue;
    squares += (number - all.mean) * (number - all.mean);
    const double place = width > 0 && std::isfinite(width) ? (number - low) / width : 0;
    ++all.histogram[std::min<size_t>(static_cast<size_t>(place * histogram_steps),
                                     histogram_steps - 1)];
  }
  all.deviation = std::sqrt(squares / static_cast<double>(finite));
  return all;
}

const std::string* Recorder::intern(std::string_view name) { return &*names_.emplace(name).first; }

// The chain of calls that is running, of which mostly only the innermost lines have changed.
uint32_t Recorder::frame_now() {
  positions_.clear();
  if (modes.position) {
    positions_.push_back(modes.position);
  } else {
    graph::host.positions(positions_);
  }
  std::reverse(positions_.begin(), positions_.end());
  size_t same = 0;
  while (same < positions_.size() && same < last_positions_.size() &&
         positions_[same] == last_positions_[same]) {
    ++same;
  }
  last_frames_.resize(same);
  for (size_t i = same; i < positions_.size(); ++i) {
    const uint32_t caller = i == 0 ? none : last_frames_[i - 1];
    const auto [found, is_new] = frame_numbers_.try_emplace(
        (uint64_t{caller} << 32) | positions_[i], static_cast<uint32_t>(frames.size()));
    if (is_new) frames.push_back({positions_[i], caller});
    last_frames_.push_back(found->second);
  }
  std::swap(positions_, last_positions_);
  return last_frames_.empty() ? none : last_frames_.back();
}

// Bytes that nodes made since the first keep, and nobody did before; parameters are there anyway.
int64_t Recorder::count_saved(const Value& output, uint64_t first_node) {
  int64_t bytes = 0;
  std::unordered_set<const graph::Node*> seen;
  std::vector<const graph::Node*> waiting{output->producer.get()};
  while (!waiting.empty()) {
    const graph::Node* node = waiting.back();
    waiting.pop_back();
    if (!node || node->sequence <= first_node || !seen.insert(node).second) continue;
    for (const graph::Edge& edge : node->edges) waiting.push_back(edge.node.get());
    for (const graph::Saved& saved : node->saved) {
      if (!saved.value || saved.value->is_number || !saved.value.array().storage) continue;
      tensor::Storage& storage = *saved.value.array().storage;
      if (std::exchange(storage.counted_by(), id_) != id_) bytes += storage.bytes();
    }
  }
  return bytes;
}

uint32_t Recorder::note(const graph::Array& array) {
  if (!values_ || !array.storage) return none;
  statistics.push_back(statistics_of(array));
  return static_cast<uint32_t>(statistics.size() - 1);
}

// What is known of a value once it is computed.
void Recorder::look_at(const Value& value, Result& result) {
  if (value->producer) {
    result.producer = value->producer->sequence;
    result.output = value->output;
    result.row = value->row;
  }
  result.statistics = note(value.array());
}

uint32_t Recorder::add_result(const Value& value, uint32_t node, bool is_new) {
  if (results.empty()) first_number_ = next_number;
  value->traced = next_number++;
  Result& result = results.emplace_back();
  result.node = node;
  result.sizes = value.sizes();
  result.dtype = value.dtype();
  result.is_new = is_new;
  if (!value->pending) look_at(value, result);
  return static_cast<uint32_t>(results.size() - 1);
}

void Recorder::resume() {
  if (!results.empty()) results.resize(next_number - first_number_);
}

void Recorder::give_back() {
  for (const auto& [value, number] : taken_) value->traced = number;
  taken_.clear();
}

void Recorder::clear() {
  nodes.clear();
  inputs.clear();
  results.clear();
  first_module_ += static_cast<int32_t>(modules.size());
  modules.clear();
  reads.clear();
  plans.clear();
  backwards.clear();
  statistics.clear();
  open_backwards_ = 0;
  overwritten_.clear();
}

uint32_t Recorder::result_of(const Value& value, bool make) {
  if (!results.empty() && value->traced >= first_number_) {
    const uint32_t number = value->traced - first_number_;
    if (number < results.size() && results[number].node != none) return number;
  }
  if (!make) return none;
  if (is_inner && value->traced) taken_.emplace_back(value, value->traced);
  Node& node = nodes.emplace_back();
  node.is_leaf = true;
  node.requires_grad = value->producer && value->producer->is_leaf();
  if (node.requires_grad && value.array().storage) value.array().storage->counted_by() = id_;
  node.name = intern(node.requires_grad ? "parameter" : "input");
  node.begin = seconds_now();
  node.frame = none;
  node.module = -1;
  node.example = -1;
  node.first_result = static_cast<uint32_t>(results.size());
  node.result_count = 1;
  return add_result(value, static_cast<uint32_t>(nodes.size() - 1), true);
}

void Recorder::recorded(const graph::Recorded& recorded) {
  const auto overwritten = std::exchange(overwritten_, {});
  const double end = seconds_now();
  std::vector<Input> read;
  auto read_value = [&](const Value& value, bool make) {
    if (!value) return;
    const auto before = std::find_if(overwritten.begin(), overwritten.end(),
                                     [&](const auto& one) { return one.first == value; });
    if (!recorded.op && before != overwritten.end() && before->second >= first_number_) {
      read.push_back({before->second - first_number_, 0});  // a base as it was before the write
    } else if (value->is_number && !value->traced) {
      const graph::Array& number = value.array();
      graph::Array as_double = graph::Array::allocate({}, graph::DType::f64);
      graph::host.copy(number, as_double);
      read.push_back({none, *as_double.as<double>()});
    } else if (const uint32_t result = result_of(value, make); result != none) {
      read.push_back({result, 0});
    }
  };
  for (const Value& value : recorded.inputs) read_value(value, true);
  // What a user's function made inside has been seen: it gives that to others.
  if (!recorded.op) {
    for (const Value& value : recorded.outputs) read_value(value, false);
  }
  const auto number = static_cast<uint32_t>(nodes.size());
  Node& node = nodes.emplace_back();
  node.op = recorded.op;
  const bool own = recorded.op && !recorded.op->is_program() && recorded.name == recorded.op->name;
  node.name = own ? &recorded.op->name : intern(recorded.name);
  node.attributes = recorded.attributes;
  node.first_input = static_cast<uint32_t>(inputs.size());
  node.input_count = static_cast<uint32_t>(read.size());
  inputs.insert(inputs.end(), read.begin(), read.end());
  node.frame = frame_now();
  node.module = module_at(modes.module);
  node.example = modes.example;
  node.in_place = recorded.in_place;
  node.in_backward = open_backwards_ > 0;
  node.begin = recorded.begin;
  node.first_node = recorded.first_node;
  node.last_node = graph::Node::next_sequence();
  node.first_result = static_cast<uint32_t>(results.size());
  node.result_count = static_cast<uint32_t>(recorded.outputs.size());
  const bool is_new = !(recorded.op && recorded.op->is_view()) && !recorded.in_place;
  bool waits = false;
  for (const Value& output : recorded.outputs) {
    add_result(output, number, is_new);
    waits = waits || output->pending;
  }
  // Of what waits, only when it runs is known how long it takes.
  nodes[number].seconds = waits ? 0 : static_cast<float>(end - recorded.begin);
  if (!waits && !recorded.outputs.empty())
    nodes[number].saved = count_saved(recorded.outputs[0], recorded.first_node);
  // Whoever reads the tensor from now on, or what it is a view of, reads what was written.
  for (Value old = recorded.in_place ? recorded.inputs[0] : Value(); old;
       old = old->view ? old->view->parent : Value()) {
    overwritten_.emplace_back(old, old->traced);
    old->traced = recorded.outputs[0]->traced;
  }
}

void Recorder::will_write(std::span<const Value> inputs) {
  for (const Value& value : inputs) {
    if (value && !value->is_number) result_of(value);
  }
}

void Recorder::read(const Value& value, const char* kind, const std::string& text) {
  const uint32_t result = result_of(value, false);
  reads.push_back({kind, text, result, frame_now(), module_at(modes.module), modes.example,
                   static_cast<uint32_t>(nodes.size())});
}

int32_t Recorder::entered(void*, int32_t caller) {
  modules.push_back({module_at(caller), frame_now()});
  return first_module_ + static_cast<int32_t>(modules.size() - 1);
}

void Recorder::ran(const graph::RanRows& rows) {
  Batch& batch = batches_.emplace_back();
  batch.name = intern(rows.name);
  batch.begin = rows.begin;
  batch.seconds = rows.seconds;
  batch.bytes_copied = rows.bytes_copied;
  batch.position = rows.position;
  batch.note = rows.note;
  batch.first_node = rows.first_node;
  batch.last_node = graph::Node::next_sequence();
  for (const std::vector<Value>& row : rows.rows) {
    uint32_t node = none;
    for (const Value& value : row) {
      const uint32_t number = result_of(value, false);
      if (number == none) continue;
      node = results[number].node;
      if (!value->pending) look_at(value, results[number]);
    }
    if (node == none) continue;
    nodes[node].seconds = static_cast<float>(rows.seconds / static_cast<double>(rows.rows.size()));
    nodes[node].saved = count_saved(row[0], rows.first_node);  // the first counts for all
    batch.nodes.push_back(node);
  }
}

void Recorder::planned(Position position, double begin, double seconds_planning) {
  plans.push_back(
      {position, begin, seconds_now() - begin, seconds_planning, std::exchange(batches_, {})});
}

void Recorder::began_backward(Position position) {
  ++open_backwards_;
  backwards.push_back({position, seconds_now(), 0, {}});
}

void Recorder::ended_backward() {
  if (open_backwards_ > 0) --open_backwards_;
  if (!backwards.empty()) backwards.back().seconds = seconds_now() - backwards.back().begin;
}

void Recorder::ran_rule(const graph::RanRule& ran) {
  if (backwards.empty()) return;
  Rule& rule = backwards.back().rules.emplace_back();
  rule.name = intern(ran.node.name());
  rule.node = ran.node.sequence;
  rule.begin = ran.begin;
  rule.seconds = seconds_now() - ran.begin;
  rule.live.assign(ran.live.begin(), ran.live.end());
  if (!values_) return;
  for (size_t i = 0; i < ran.incoming.size(); ++i) {
    const Value& gradient = ran.incoming[i];
    if (!gradient) {
      rule.incoming.insert(rule.incoming.end(), std::max<size_t>(ran.live.size(), 1), none);
    } else if (ran.live.empty() || !ran.node.has_rows(i)) {
      const uint32_t noted = note(gradient.array());
      rule.incoming.insert(rule.incoming.end(), std::max<size_t>(ran.live.size(), 1), noted);
    } else {
      for (int32_t row : ran.live) {
        graph::Array part = gradient.array();
        part.offset += row * part.strides[0];
        part.sizes = graph::Dims(part.sizes.begin() + 1, part.sizes.end());
        part.strides = graph::Dims(part.strides.begin() + 1, part.strides.end());
        rule.incoming.push_back(note(part));
      }
    }
  }
  for (const Value& gradient : ran.outgoing)
    rule.outgoing.push_back(gradient ? note(gradient.array()) : none);
}

}  // namespace weft::trace
