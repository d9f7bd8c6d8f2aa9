#include "weft/exec/lazy.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <unordered_set>

#include "weft/exec/program.h"
#include "weft/exec/rows.h"
#include "weft/graph/kept_rows.h"
#include "weft/graph/modes.h"
#include "weft/graph/node.h"
#include "weft/graph/observer.h"
#include "weft/graph/record.h"
#include "weft/graph/shared_writes.h"
#include "weft/graph/strand.h"
#include "weft/graph/tape.h"
#include "weft/graph/tensor.h"
#include "weft/graph/validate.h"
#include "weft/kernels/map.h"
#include "weft/schedule/explain.h"
#include "weft/schedule/place.h"

namespace weft::exec {
namespace {

using graph::modes;
using graph::Op;
using graph::Pending;
using graph::seconds_now;
using graph::Value;
using graph::ValueData;
using graph::Values;

constexpr size_t most_plans = 64;
std::deque<RanPlan> plans;
thread_local RanCounts counts;

int64_t bytes_of(const Value& value) {
  return value ? value.count() * tensor::item_size(value.dtype()) : 0;
}
bool is_same_memory(const Value& one, const Value& other) {
  return one && other && one.array().storage && one.array().storage == other.array().storage &&
         one.array().offset == other.array().offset;
}
// What one row reads: all of it, or only what it has in common with another one.
int64_t bytes_read(const Pending& row, const Pending* other = nullptr) {
  int64_t bytes = 0;
  for (size_t i = 0; i < row.inputs.size(); ++i) {
    if (!other || is_same_memory(row.inputs[i], other->inputs[i])) bytes += bytes_of(row.inputs[i]);
  }
  if (row.op->is_program()) {
    for (const Value& constant : static_cast<const graph::ProgramOp&>(*row.op).program.constants)
      bytes += bytes_of(constant);
  }
  return bytes;
}

// What the user holds may be kept for long: it does not keep the memory of a whole batch.
void leave_large_batch(const Value& value) {
  if (!value || !value->in_batch) return;
  const int64_t bytes = value.count() * tensor::item_size(value.dtype());
  constexpr int64_t small = 4096;
  const int64_t held = value.array().storage->bytes();
  if (held > small && held > 8 * bytes) graph::leave_batch(value);
}

// A copy of what was computed, whose dimensions lie as was recorded: by that, views of it are
// pending.
tensor::Array in_order_of(const tensor::Array& recorded, const tensor::Array& computed) {
  tensor::Array copy = tensor::Array::allocate_like(recorded);
  kernels::copy(tensor::without_repeats(computed, copy.strides),
                tensor::without_repeats(copy, copy.strides));
  return copy;
}

constexpr size_t ahead = 8;  // rows

template <class T>
void prefetch(const T* object) {
  for (size_t line = 0; line < sizeof(T); line += 64)
    __builtin_prefetch(reinterpret_cast<const char*>(object) + line, 1);
}

class Runner {
 public:
  Runner(schedule::Work& work, RanPlan& plan, graph::Observer* observer)
      : work_(work), plan_(plan), observer_(observer) {
    for (size_t i = 0; i < work_.twins.size(); ++i) {
      Pending &first = *work_.first[work_.twin_of[i]], &twin = *work_.twins[i];
      if (!first.twin) add_twin(first);
      add_twin(twin);
      twin.twin = std::exchange(first.twin, &twin);
    }
    if (!alike_.empty()) find_shown();
  }
  // After an error those that ran must not share memory either.
  ~Runner() {
    for (const auto& pending : twins_) pending->twin = nullptr;
    separate_twins();
  }
  Runner(const Runner&) = delete;
  Runner& operator=(const Runner&) = delete;

  // Twins that somebody still holds get memory of their own: one of them may be written.
  void separate_twins() {
    twins_.clear();
    for (const Value& value : alike_) {
      if (value.get()->use_count() > 1) {
        separate(value);
      } else {
        value->is_alike = false;
      }
    }
  }

  void separate_rows() {
    for (const Value& value : held_) {
      leave_large_batch(value);
      if (value->producer) graph::note_kept_row(*value.get());
    }
  }

  void run(const schedule::Batch& batch, std::string note) {
    since_ = graph::Node::next_sequence();
    // Later ones are kept by the values that wait for them; these until their rows are bound.
    base::SmallVector<base::Ref<Pending>, 8> kept;
    base::SmallVector<Pending*, 8> rows;
    kept.reserve(batch.size());
    rows.reserve(batch.size());
    for (size_t i = 0; i < batch.size(); ++i) {
      // They were recorded long ago, as far as the cache knows.
      if (i + ahead < batch.size()) prefetch(work_.first[batch[i + ahead]]);
      rows.push_back(work_.first[batch[i]]);
      kept.emplace_back(work_.first[batch[i]]);
    }
    for (Pending* row : rows) separate_inputs(*row);
    for (Pending* row : rows) for_all_alike(*row, note_reads);
    const double begin = seconds_now();
    RanBatch ran{rows[0]->op->name, static_cast<int64_t>(rows.size()), 0, 0, rows[0]->position,
                 std::move(note)};
    for (Pending* row : rows) {
      for (const Pending* twin = row->twin; twin; twin = twin->twin) ++ran.equal;
    }
    const std::vector<std::vector<Value>> watched =
        observer_ ? held_by_all(rows) : std::vector<std::vector<Value>>();
    const std::span<Pending* const> all(rows.data(), rows.size());
    const auto parts = schedule::parts_by_source(all);
    if (parts.empty()) run_rows(all, ran);
    for (const std::vector<Pending*>& part : parts) run_rows(part, ran);
    if (!parts.empty())
      ran.note = base::text("in ", parts.size(), " parts, by the large tensors that they read");
    ran.seconds = seconds_now() - begin;
    if (observer_) {
      observer_->ran(
          {ran.op, watched, begin, ran.seconds, ran.bytes_copied, ran.position, ran.note, since_});
    }
    plan_.batches.push_back(std::move(ran));
    for (Pending* pending : rows) {
      show_own(*pending);
      for_all_alike(*pending, [](Pending& alike) { alike.ran = true; });
    }
  }

 private:
  static void note_reads(const Pending& pending) {
    if (!pending.fiber) return;
    for (const Value& input : pending.inputs) {
      if (input) graph::note_read(pending.fiber, input);
    }
  }
  void add_twin(Pending& pending) {
    twins_.emplace_back(&pending);
    if (pending.op->is_view()) return;
    for (const graph::Held& output : pending.outputs) {
      if (!output.value) continue;
      output.value->is_alike = true;
      alike_.emplace_back(base::Ref<ValueData>(output.value));
    }
  }
  static void separate(const Value& twin) {
    if (!std::exchange(twin->is_alike, false) || !twin.array().storage) return;
    try {
      twin->array = graph::own_memory(twin);
      twin->in_batch = false;
    } catch (const base::Error&) {
      // No memory for that now: before it is written, as with a row of a batch.
      twin->is_alike = twin->in_batch = true;
    }
  }
  // The inputs, as bits, whose memory its results may show.
  static uint32_t shown_inputs(const Pending& pending) {
    return pending.op->is_view()    ? graph::bit_of(0)
           : pending.op_count() > 1 ? pending.step->whole->shows
                                    : 0;
  }
  // Finds what users hold a view of, or a view of a view: they may write there.
  void find_shown() {
    std::vector<const Pending*> waiting;
    for (const graph::Tape::Entry& entry : graph::tape().entries) {
      const Pending* pending = entry.pending;
      if (!pending || pending->ran || !shown_inputs(*pending)) continue;
      if (std::any_of(pending->outputs.begin(), pending->outputs.end(),
                      [](const graph::Held& held) { return held.value && is_users(*held.value); }))
        waiting.push_back(pending);
    }
    while (!waiting.empty()) {
      const Pending& pending = *waiting.back();
      waiting.pop_back();
      for (size_t i = 0; i < pending.inputs.size(); ++i) {
        const Value& input = pending.inputs[i];
        if (!input || !(shown_inputs(pending) & graph::bit_of(i))) continue;
        if (shown_.insert(input.get()).second && input->pending && shown_inputs(*input->pending))
          waiting.push_back(input->pending.get());
      }
    }
  }
  static bool is_users(const ValueData& value) { return value.handles > 0 || value.promised; }

  // What may show its inputs' memory to a user shows that of its own inputs.
  void separate_inputs(Pending& pending) {
    if (alike_.empty()) return;
    const uint32_t shown = shown_inputs(pending);
    if (!shown) return;
    for_all_alike(pending, [&](Pending& alike) {
      for (size_t i = 0; i < alike.inputs.size(); ++i) {
        const Value& input = alike.inputs[i];
        if (input && (shown & graph::bit_of(i)) &&
            (is_users(*input.get()) || shown_.contains(input.get()))) {
          separate(input);
        }
      }
    });
  }
  void show_own(Pending& pending) {
    if (!pending.op->is_view() || !pending.twin) return;
    graph::ModesGuard guard;
    modes.grad = false;
    for_all_alike(pending, [&](Pending& alike) {
      const Value& parent = alike.inputs[0];
      if (parent.array().storage == pending.inputs[0].array().storage) return;
      for (const graph::Held& held : alike.outputs) {
        if (!held.value) continue;
        held.value->array =
            graph::apply_views({{alike.op, alike.attributes, held.number}}, parent).array();
        held.value->in_batch = parent->in_batch;
      }
    });
  }

  // The values that each row's application will give, for who watches.
  std::vector<std::vector<Value>> held_by_all(std::span<Pending* const> rows) {
    std::vector<std::vector<Value>> all;
    for (Pending* row : rows) {
      for_all_alike(*row, [&](Pending& alike) {
        std::vector<Value>& values = all.emplace_back();
        for (const graph::Held& held : alike.outputs) {
          if (held.value) values.emplace_back(base::Ref<ValueData>(held.value));
        }
      });
    }
    return all;
  }

  static int64_t kernels_of(const Pending& row) {
    if (!row.op->is_program()) return 1;
    const auto& op = static_cast<const graph::ProgramOp&>(*row.op);
    return static_cast<int64_t>(op.program.instructions.size());
  }

  void run_rows(std::span<Pending* const> rows, RanBatch& ran) {
    for (Pending* row : rows) {
      for_all_alike(*row, [](const Pending& alike) { counts.ops += alike.op_count(); });
      for (const Pending* twin = row->twin; twin; twin = twin->twin)
        counts.spared += bytes_read(*twin);
    }
    if (rows.size() > 1 && run_together(rows, ran)) {
      counts.runs += 1;
      counts.kernels += kernels_of(*rows[0]);
      counts.spared += static_cast<int64_t>(rows.size() - 1) * bytes_read(*rows[0], rows[1]);
      return;
    }
    counts.runs += static_cast<int64_t>(rows.size());
    for (Pending* pending : rows) counts.kernels += kernels_of(*pending);
    for (Pending* pending : rows) run_one(*pending);
  }

  void run_one(Pending& pending) {
    graph::ModesGuard guard;
    modes.position = pending.position;
    modes.grad = pending.grad;
    Values outputs;
    try {
      outputs = pending.op->is_program() ? OneRow(pending, wanted_of(std::array{&pending})).run()
                                         : run_op(*pending.op, pending.inputs, pending.attributes);
    } catch (const base::Error& error) {
      std::string where = base::text(" (recorded at ", graph::position_text(modes.position));
      if (pending.example >= 0) where += base::text(", example ", pending.example);
      base::fail(error.kind(), error.message(), where, ")");
    }
    for_all_alike(pending, [&](Pending& alike) {
      for (const graph::Held& held : alike.outputs) {
        if (!held.value) continue;
        const ValueData& result = *outputs[held.number].get();
        bind(held, result.array, result, result.row);
      }
    });
    allow_passes(std::array{&pending}, outputs);
    set_twins_apart(pending);
  }

  static Values run_op(const Op& op, std::span<const Value> inputs,
                       const graph::Attributes& attributes) {
    if (op.pointwise() && attributes.size() == 0) return {graph::record_pointwise(op, inputs)};
    return graph::record(op, inputs, attributes);
  }

  // A strand or a cell by itself.
  class OneRow : public ProgramRun {
   public:
    OneRow(const Pending& pending, const std::vector<bool>& wanted)
        : ProgramRun(static_cast<const graph::ProgramOp&>(*pending.op), wanted, 1) {
      if (pending.op_count() > 1) steps_ = graph::steps_of(*pending.step);
      for (size_t i = 0; i < pending.inputs.size(); ++i) set_input(i, pending.inputs[i]);
    }

   private:
    Values apply(const graph::Instruction& instruction, const Values& given) override {
      return run_op(*instruction.op, given, instruction.attributes);
    }
    void at(size_t k) override {
      modes.position = steps_.empty() ? op_.program.instructions[k].position : steps_[k]->position;
    }
    void skip() override {
      if (!steps_.empty()) graph::count_dropped(1);
    }

    std::vector<const graph::Step*> steps_;  // of a strand
  };

  // Which outputs somebody holds, of any row or of what computes the same.
  std::vector<bool> wanted_of(std::span<Pending* const> rows) {
    const graph::Program& program = static_cast<const graph::ProgramOp&>(*rows[0]->op).program;
    std::vector<bool> wanted(program.outputs.size());
    for (Pending* row : rows) {
      for_all_alike(*row, [&](const Pending& alike) {
        for (const graph::Held& held : alike.outputs) {
          if (held.value) wanted[held.number] = true;
        }
      });
    }
    return wanted;
  }

  // False: these rows cannot run as one.
  bool run_together(std::span<Pending* const> rows, RanBatch& ran) {
    RowBatch batch(rows, rows[0]->op->is_program() ? wanted_of(rows) : std::vector<bool>());
    if (!batch.can_run(ran.note)) return false;
    Values outputs;
    try {
      outputs = batch.run();
    } catch (const base::Error& error) {
      // One by one, the row that is to blame says so itself.
      ran.note = base::text("together: ", error.message());
      return false;
    }
    ran.bytes_copied += batch.bytes_copied();
    counts.copied += batch.bytes_copied();
    if (outputs.empty()) {
      ran.note = "its batch rule does not cover this case";
      return false;
    }
    std::vector<tensor::Array> parts;
    for (const Value& output : outputs)
      parts.push_back(output ? tensor::row_of(output.array(), 0) : tensor::Array());
    for (size_t r = 0; r < rows.size(); ++r) {
      if (r + ahead < rows.size()) {
        for (const graph::Held& held : rows[r + ahead]->outputs) prefetch(held.value);
      }
      for_all_alike(*rows[r], [&](Pending& alike) {
        for (const graph::Held& held : alike.outputs) {
          if (!held.value) continue;
          const ValueData& result = *outputs[held.number].get();
          tensor::Array& part = parts[held.number];
          part.offset = result.array.offset + static_cast<int64_t>(r) * result.array.strides[0];
          bind(held, part, result, static_cast<int32_t>(r));
        }
      });
    }
    allow_passes(rows, outputs);
    for (Pending* row : rows) set_twins_apart(*row);
    return true;
  }

  // Gives a pending value what was computed for it.
  void bind(const graph::Held& held, const tensor::Array& array, const ValueData& result,
            int32_t row) {
    ValueData& target = *held.value;
    // Rows may have been copied together in another order than those were recorded with.
    const bool as_recorded = tensor::allows_views_of(array, target.array.strides);
    target.array = as_recorded ? array : in_order_of(target.array, array);
    target.producer = result.producer;
    target.output = result.output;
    target.row = row;
    target.in_batch = row != ValueData::whole && as_recorded;
    target.requires_grad = result.requires_grad;
    if (target.handles > 0 && target.in_batch) held_.emplace_back(base::Ref<ValueData>(&target));
    target.pending.reset();
    if (held.shown_as) graph::show_as(Value(base::Ref<ValueData>(&target)), held.shown_as);
  }

  // What the user holds of equal ops, which have one node, gets one of its own in front of that: a
  // hook on it, or a gradient for it, is not the others'. So do other results of that op.
  void set_twins_apart(Pending& pending) {
    if (!pending.twin) return;
    for_all_alike(pending, [&](Pending& alike) {
      base::SmallVector<base::Ref<graph::Node>, 2> made;
      const auto find = [&](const ValueData& value) {
        return std::find_if(made.begin(), made.end(), [&](const base::Ref<graph::Node>& twin) {
          return twin->edges[0].node == value.producer;
        });
      };
      for (const graph::Held& held : alike.outputs) {
        if (!held.value || !held.value->is_held()) continue;
        const Value value{base::Ref<ValueData>(held.value)};
        if (!pending.op->is_view()) separate(value);
        if (!value->producer->is_leaf() && find(*held.value) == made.end())
          made.push_back(graph::make_twin(value->producer, value->row, alike.position));
      }
      for (const graph::Held& held : alike.outputs) {
        if (!held.value || !held.value->requires_grad) continue;
        const auto twin = find(*held.value);
        if (twin == made.end()) continue;
        held.value->producer = *twin;
        held.value->row = ValueData::whole;
        if (held.shown_as) (*twin)->show_as(held.shown_as, ValueData::whole);
      }
    });
  }

  // Each of several equal ops has a graph of its own, as far as backward is concerned.
  void allow_passes(std::span<Pending* const> rows, const Values& outputs) {
    std::vector<uint32_t> twins(rows.size());
    uint32_t all = 0;
    for (size_t r = 0; r < rows.size(); ++r) {
      for (const Pending* twin = rows[r]->twin; twin; twin = twin->twin) ++twins[r];
      all += twins[r];
    }
    if (all == 0) return;
    std::unordered_set<const graph::Node*> visited;
    std::vector<graph::Node*> waiting;
    const auto visit = [&](graph::Node* node) {
      if (node && node->sequence > since_ && !node->is_leaf() && visited.insert(node).second)
        waiting.push_back(node);
    };
    for (const Value& output : outputs) {
      if (output) visit(output->producer.get());
    }
    while (!waiting.empty()) {
      graph::Node& node = *waiting.back();
      waiting.pop_back();
      if (node.extras && node.extras->rows && node.extras->rows->count() == twins.size()) {
        node.extras->rows->passes = twins;
        node.is_shared = true;
      } else {
        node.share(all);
      }
      for (const graph::Edge& edge : node.edges) visit(edge.node.get());
    }
  }

  // It, and those that compute the same.
  template <class Visit>
  static void for_all_alike(Pending& pending, const Visit& visit) {
    for (Pending* alike = &pending; alike; alike = alike->twin) visit(*alike);
  }

  schedule::Work& work_;
  RanPlan& plan_;
  graph::Observer* observer_;
  uint64_t since_ = 0;                          // nodes of the running batch are younger
  std::vector<base::Ref<Pending>> twins_;       // and the first ones, which know them
  std::vector<Value> alike_;                    // results of twins that share memory
  std::unordered_set<const ValueData*> shown_;  // what users hold a view of
  std::vector<Value> held_;                     // rows that the user holds
};

// Sets the default dtype until the end of the scope.
class DefaultDType {
 public:
  explicit DefaultDType(tensor::DType dtype)
      : before_(std::exchange(tensor::default_dtype, dtype)) {}
  ~DefaultDType() { graph::set_default_dtype(before_); }
  DefaultDType(const DefaultDType&) = delete;
  DefaultDType& operator=(const DefaultDType&) = delete;

 private:
  tensor::DType before_;
};

const RanPlan* plan_and_run(std::span<const Value> values) {
  graph::ModesGuard guard;
  const DefaultDType dtype(graph::pending_dtype);
  RanPlan plan;
  plan.position = graph::current_position();
  const double begin = seconds_now();
  graph::Observer* observer = modes.observer;
  modes = graph::Modes{};
  modes.position = plan.position ? plan.position : 1;
  graph::close_strand();
  graph::count_plan();
  schedule::Work work = schedule::collect(graph::tape(), values);
  if (work.first.empty()) return nullptr;
  ++counts.plans;
  Runner runner(work, plan, observer);
  const std::vector<schedule::Batch> batches = schedule::batch(work.items);
  plan.seconds_planning = seconds_now() - begin;
  for (const auto* all : {&work.first, &work.twins}) {
    for (const Pending* pending : *all) plan.nodes += pending->op_count();
  }
  // Before anything runs: then the first of them may be gone.
  std::vector<std::string> notes = schedule::explain(work, batches);
  plan.batches.reserve(batches.size());
  for (size_t i = 0; i < batches.size(); ++i) runner.run(batches[i], std::move(notes[i]));
  runner.separate_twins();
  runner.separate_rows();
  for (const Value& value : values) leave_large_batch(value);
  plan.seconds = seconds_now() - begin;
  if (observer) observer->planned(plan.position, begin, plan.seconds_planning);
  if (plans.size() == most_plans) plans.pop_front();
  plans.push_back(std::move(plan));
  graph::trim_if_grown();
  return &plans.back();
}

}  // namespace

RanCounts& ran_counts() { return counts; }
const std::deque<RanPlan>& last_plans() { return plans; }
void forget_plans() { plans.clear(); }

const RanPlan* run_pending(std::span<const Value> values) {
  graph::expect_valid(graph::tape());
  const RanPlan* plan = plan_and_run(values);
  graph::expect_valid(graph::tape());
  return plan;
}

}  // namespace weft::exec
