#include "weft/graph/strand.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "weft/graph/marks.h"
#include "weft/graph/modes.h"
#include "weft/graph/node.h"
#include "weft/graph/tape.h"
#include "weft/graph/vmap.h"

namespace weft::graph {

inline ValueData::ValueData(const ValueData& meta, Pending& strand, uint32_t number)
    : array{nullptr, meta.array.sizes, meta.array.strides, 0, meta.array.dtype},
      pending(&strand),
      output(number),
      requires_grad(meta.requires_grad) {}

namespace {

constexpr uint32_t most_ops = 64, most_results = 120;
constexpr uint32_t least_round = 16;  // of a loop: shorter ones are joined
constexpr size_t most_inputs = 8;
constexpr size_t most_steps = 1 << 14;
constexpr size_t most_ways = 8;            // in which a strand goes on, by parameters
constexpr size_t most_kinds = 8;           // of shapes that begin strands at one line
constexpr int64_t most_heat = UINT16_MAX;  // above it nothing is hot

int64_t threshold = 100;
// After so many times a strand goes on as it did: sooner, once its beginning is well known.
uint32_t tries() { return static_cast<uint32_t>(std::min<int64_t>(threshold, 3)); }

Pending* open = nullptr;  // one at a time
std::vector<Held> open_outputs;
bool declined = false;  // it is known already that the op to be recorded begins no strand
size_t step_count = 0;
constexpr size_t least_new = 1024;
size_t many_steps = least_new;
uint32_t sweeps = 0;
size_t refused = 0;  // ops whose lines had begun strands of too many shapes
std::unordered_map<size_t, std::vector<std::unique_ptr<Step>>> first_steps;
std::unordered_map<size_t, std::vector<std::unique_ptr<StrandOp>>> wholes;

size_t place_of(const Op& op, Position position) {
  return op.number * 0x9e3779b97f4a7c15u + position;
}

// The same, apart by parameters: what a module at one line is may be decided anew each time.
size_t place_of(const Op& op, std::span<const Value> inputs, Position position) {
  size_t place = place_of(op, position);
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i]) place = place * 31 + weight_identity(op, i, inputs[i]);
  }
  return place;
}

// How often an op was recorded at a line. Others may be counted with it.
int64_t heat_of(const Op& op, Position position) {
  static uint16_t heats[4096];
  uint16_t& heat = heats[place_of(op, position) * 0x9e3779b97f4a7c15u >> 52];
  return heat < most_heat ? ++heat : heat;
}

// Hashes, which are as good as what they are of. Nothing is forgotten before all is: which are kept
// would depend on addresses, and with it what runs together.
class Hashes {
 public:
  // Whether it was there already.
  bool add(uint64_t hash) {
    hash += hash == 0;
    size_t place = hash >> 32;
    for (;; ++place) {
      uint64_t& slot = slots_[place % slots_.size()];
      if (slot == hash) return true;
      if (slot != 0) continue;
      slot = hash;
      break;
    }
    if (2 * ++count_ > slots_.size()) grow();
    return false;
  }
  void clear() {
    if (count_ == 0) return;
    if (slots_.size() > 4 * least) slots_.resize(least);
    std::fill(slots_.begin(), slots_.end(), 0);
    count_ = 0;
  }

 private:
  static constexpr size_t least = 1 << 12;
  void grow() {
    const std::vector<uint64_t> before =
        std::exchange(slots_, std::vector<uint64_t>(2 * slots_.size()));
    count_ = 0;
    for (uint64_t hash : before) {
      if (hash != 0) add(hash);
    }
  }
  std::vector<uint64_t> slots_ = std::vector<uint64_t>(least);
  size_t count_ = 0;
};

// Whether the same op on the same inputs began a strand since the last plan: then it is better off
// alone, where those that compute the same run once.
bool was_begun(const Op& op, const Attributes& attributes, std::span<const Value> inputs) {
  static Hashes begun;
  static uint64_t began = 0;
  const uint64_t now = tape().plans + (uint64_t{tape_generation()} << 32);
  if (std::exchange(began, now) != now) begun.clear();
  return begun.add(hash_of_reads(op, attributes, inputs, modes.grad));
}

bool is_exposed(const Value& value) {
  return value.array().storage && value.array().storage->is_exposed();
}

// What runs once for all rows is no part of a strand, nor what rows do each in their own way.
bool can_join(const Op& op, std::span<const Value> inputs) {
  if (op.random || op.is_program() || !op.batch.free.empty() || modes.inference ||
      inputs.size() > most_inputs || !(op.pointwise() || op.batch.function)) {
    return false;
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Value& input = inputs[i];
    if (!input) continue;
    if (is_exposed(input) || (input->pending && weight_identity(op, i, input))) return false;
    if (input->is_number && op.shape.function) return false;  // which may look at the number
  }
  return true;
}

Step::Input describe(const Op& op, size_t i, const Value& value, const Pending* strand) {
  using Kind = Step::Input::Kind;
  if (!value) return {Kind::missing};
  if (strand && value->pending.get() == strand)
    return {.kind = Kind::result, .number = value->output};
  if (strand && !value->is_number) {  // each op computes a number in its own dtype
    const auto found = std::find(strand->inputs.begin(), strand->inputs.end(), value);
    if (found != strand->inputs.end())
      return {.kind = Kind::again, .number = uint32_t(found - strand->inputs.begin())};
  }
  Step::Input input{.kind = Kind::given,
                    .requires_grad = value->requires_grad,
                    .is_number = value->is_number,
                    .dtype = value.dtype(),
                    .weight = weight_identity(op, i, value)};
  input.sizes = value.sizes();
  input.strides = value.array().strides;
  return input;
}

inline bool fits(const Step::Input& input, const Op& op, size_t i, const Value& value,
                 const Pending* strand) {
  using Kind = Step::Input::Kind;
  if (!value) return input.kind == Kind::missing;
  switch (input.kind) {
    case Kind::missing:
      return false;
    case Kind::result:
      return value->pending.get() == strand && value->output == input.number;
    case Kind::again:
      return strand->inputs[input.number] == value;
    case Kind::given:
      return !(strand && value->pending.get() == strand) && value.dtype() == input.dtype &&
             value->requires_grad == input.requires_grad && value->is_number == input.is_number &&
             value.sizes() == input.sizes && value.array().strides == input.strides &&
             weight_identity(op, i, value) == input.weight && !is_exposed(value);
  }
  return false;
}

// Whether this is a step, wherever in the program.
[[gnu::always_inline]] inline bool fits(const Step& step, const Op& op,
                                        std::span<const Value> inputs, const Attributes& attributes,
                                        const Pending* strand) {
  if (step.op != &op || step.inputs.size() != inputs.size() || step.grad != modes.grad ||
      !(step.attributes == attributes)) {
    return false;
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!fits(step.inputs[i], op, i, inputs[i], strand)) return false;
  }
  return true;
}

// A step that applies the call's op, whose shape rule has run.
std::unique_ptr<Step> make_step(const Call& call, Position position, const Pending* strand) {
  auto step = std::make_unique<Step>();
  step->op = &call.op;
  step->attributes = call.attributes;
  step->position = position;
  step->grad = modes.grad;
  step->compute = call.compute;
  step->given_before = strand ? static_cast<uint32_t>(strand->inputs.size()) : 0;
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    Step::Input& input = step->inputs.emplace_back(describe(call.op, i, call.inputs[i], strand));
    // The first step's inputs are the strand's, one for one.
    if (input.kind == Step::Input::Kind::given || !strand)
      input.number = step->given_before + step->given++;
  }
  for (const Array& array : call.outputs) {
    step->outputs.emplace_back(Array(nullptr, array.sizes, array.strides, 0, array.dtype));
    if (!call.op.is_view()) step->bytes += array.count() * tensor::item_size(array.dtype);
  }
  const bool grad = needs_gradient(call, need_of(call.inputs), step->outputs);
  for (Value& output : step->outputs)
    output->requires_grad = grad && tensor::is_floating(output.dtype());
  if (strand) {
    step->before = strand->step;
    step->length = strand->step->length + 1;
    step->results_before = strand->step->result_count();
  }
  ++step_count;
  return step;
}

// Large results are worth a strand at once: what is element-wise runs in one pass over them.
bool is_large(int64_t bytes) { return bytes >= 1 << 18; }

bool is_known(Step& next) { return ++next.seen > tries() || is_large(next.bytes); }

// Whether this is what the strand began with, once more: a loop.
bool is_again(const Step& step) {
  const Step* first = &step;
  while (first->before) first = first->before;
  if (first->op != step.op || first->position != step.position ||
      !(first->attributes == step.attributes)) {
    return false;
  }
  for (size_t i = 0; i < step.inputs.size() && i < first->inputs.size(); ++i) {
    if (first->inputs[i].weight != step.inputs[i].weight &&
        step.inputs[i].kind != Step::Input::Kind::again) {
      return false;
    }
  }
  return true;
}

bool has_weights(const Step& step) {
  return std::any_of(step.inputs.begin(), step.inputs.end(),
                     [](const Step::Input& input) { return input.weight != 0; });
}

// Whether a strand may go on in one more way: where all that differs is which parameters come
// first, as where one model follows another of its class. After parameters it may not: it would be
// computed apart for each of the modules that examples choose between.
bool may_part(const Step& at, const Step& step) {
  for (const Step* before = &at; before; before = before->before) {
    if (has_weights(*before)) return false;
  }
  const Step& other = *at.next[0];
  if (at.next.size() == most_ways || !has_weights(step) || other.op != step.op ||
      other.position != step.position || !(other.attributes == step.attributes)) {
    return false;
  }
  return std::equal(step.inputs.begin(), step.inputs.end(), other.inputs.begin(),
                    other.inputs.end(), [](Step::Input a, const Step::Input& b) {
                      if ((a.weight != 0) != (b.weight != 0)) return false;
                      a.weight = b.weight;
                      return a == b;
                    });
}

void end_at(Step& step) {
  step.ended = true;
  step.way = nullptr;
}

// The step that comes next for this op, if strands have always gone on with it.
Step* next_step(const Op& op, std::span<const Value> inputs, const Attributes& attributes,
                Position position) {
  Step& at = *open->step;
  if (at.ended || at.alone || at.grad != modes.grad || open->example != modes.example)
    return nullptr;
  for (const auto& next : at.next) {
    if (next->position != position || !fits(*next, op, inputs, attributes, open)) continue;
    if (next->alone || !is_known(*next)) return nullptr;
    return at.way = next.get();
  }
  if (!can_join(op, inputs) || at.length >= most_ops || step_count >= most_steps) {
    end_at(at);
    return nullptr;
  }
  Call call(op, attributes, inputs);
  infer(call);
  std::unique_ptr<Step> step = make_step(call, position, open);
  // An op without results would be one that nothing holds.
  if ((at.length >= least_round && is_again(*step)) || step->outputs.empty() ||
      step->result_count() > most_results || (!at.next.empty() && !may_part(at, *step))) {
    end_at(at);
    return nullptr;
  }
  Step& next = *at.next.emplace_back(std::move(step));
  at.way = nullptr;
  return is_known(next) ? &next : nullptr;
}

inline Value make_output(const Step& step, size_t i) {
  const auto number = step.results_before + static_cast<uint32_t>(i);
  Value output(base::Ref<ValueData>(new ValueData(*step.outputs[i].get(), *open, number)));
  open_outputs.push_back({output.get(), number});
  return output;
}

void open_strand(Pending& pending, Step& step) {
  pending.step = &step;
  pending.open = true;
  open_outputs.assign(pending.outputs.begin(), pending.outputs.end());
  pending.outputs.clear();
  open = &pending;
}

bool reads_open(std::span<const Value> inputs) {
  for (const Value& input : inputs) {
    if (input && input->pending.get() == open) return true;
  }
  return false;
}

// An op that reads the strand that is open would be part of it, if it could: that is no end.
void close_before(std::span<const Value> inputs) {
  if (open) close_strand(!reads_open(inputs));
}

Step* first_step(const Op& op, std::span<const Value> inputs, const Attributes& attributes,
                 Position position) {
  const auto found = first_steps.find(place_of(op, inputs, position));
  if (found == first_steps.end()) return nullptr;
  auto& firsts = found->second;
  for (size_t i = 0; i < firsts.size(); ++i) {
    if (firsts[i]->position != position || !fits(*firsts[i], op, inputs, attributes, nullptr))
      continue;
    if (i == 0) return firsts[0].get();
    std::swap(firsts[i], firsts[i - 1]);  // what comes often is found soon
    return firsts[i - 1].get();
  }
  return nullptr;
}

inline Step* go_on(Step& next, std::span<const Value> inputs) {
  expect_values(inputs);
  for (size_t i = 0; next.given && i < inputs.size(); ++i) {
    if (next.inputs[i].kind == Step::Input::Kind::given) open->inputs.push_back(inputs[i]);
  }
  open->step = &next;
  add_op_to_tape();
  return &next;
}

// Makes the op part of a strand: the step that it is, or none. The strand is kept by `kept` until
// there are results that keep it.
[[gnu::noinline]] Step* find_step(const Op& op, std::span<const Value> inputs,
                                  const Attributes& attributes, base::Ref<Pending>& kept) {
  declined = threshold >= most_heat;
  if (declined) return nullptr;
  const Position position = current_position();
  if (open && reads_open(inputs)) {
    if (Step* next = next_step(op, inputs, attributes, position)) return go_on(*next, inputs);
  }
  Step* first = first_step(op, inputs, attributes, position);
  if (!first) return nullptr;
  first->used = sweeps;
  close_before(inputs);
  declined =
      first->alone || modes.inference || all_shared(inputs) || was_begun(op, attributes, inputs);
  if (declined) return nullptr;
  kept = base::Ref<Pending>(new Pending(op, attributes, inputs, position));
  kept->compute = first->compute;
  open_strand(*kept, *first);
  return first;
}

// The same, with a short way for what has always come next.
inline Step* enter_strand(const Op& op, std::span<const Value> inputs, const Attributes& attributes,
                          base::Ref<Pending>& kept) {
  Step* way = open ? open->step->way : nullptr;
  if (way && open->example == modes.example && !way->alone &&
      fits(*way, op, inputs, attributes, open) && is_surely_at(way->position)) {
    return go_on(*way, inputs);
  }
  return find_step(op, inputs, attributes, kept);
}

bool computes_alike(const Step& a, const Step& b) {
  const Step *x = &a, *y = &b;
  for (; x && y; x = x->before, y = y->before) {
    if (x == y) return true;
    if (x->op != y->op || x->grad != y->grad || !(x->attributes == y->attributes) ||
        x->inputs != y->inputs) {
      return false;
    }
  }
  return x == y;
}

size_t hash_of_ops(const Step& last) {
  size_t hash = last.length;
  for (const Step* step = &last; step; step = step->before)
    hash = (hash ^ reinterpret_cast<size_t>(step->op)) * 0x9e3779b97f4a7c15u;
  return hash;
}

StrandOp& whole_of(Step& step) {
  if (step.whole) return *step.whole;
  auto& alike = wholes[hash_of_ops(step)];
  for (const auto& op : alike) {
    if (computes_alike(*op->step, step)) return *(step.whole = op.get());
  }
  alike.push_back(std::make_unique<StrandOp>(step));
  return *(step.whole = alike.back().get());
}

Program program_of(const Step& last) {
  using Kind = Step::Input::Kind;
  const std::vector<const Step*> steps = steps_of(last);
  Program program;
  program.input_count = static_cast<int>(last.given_before + last.given);
  for (const Step* step : steps) {
    Instruction instruction{step->op,
                            step->attributes,
                            {},
                            program.input_count + static_cast<int>(step->results_before),
                            static_cast<int>(step->outputs.size()),
                            step->compute,
                            step->position};
    for (const Step::Input& input : step->inputs) {
      const int number = static_cast<int>(input.number);
      instruction.inputs.push_back(input.kind == Kind::missing  ? -1
                                   : input.kind == Kind::result ? program.input_count + number
                                                                : number);
    }
    program.instructions.push_back(std::move(instruction));
  }
  for (uint32_t i = 0; i < last.result_count(); ++i)
    program.outputs.push_back(program.input_count + static_cast<int>(i));
  program.slot_count = program.input_count + static_cast<int>(last.result_count());
  return program;
}

// Metas of all slots. Numbers have the dtype that they are computed in.
std::vector<Value> metas_of(const Step& last) {
  std::vector<Value> metas;
  for (const Step* step : steps_of(last)) {
    for (const Step::Input& input : step->inputs) {
      if (input.kind != Step::Input::Kind::given && step->before) continue;
      Value& meta = metas.emplace_back();
      if (input.kind == Step::Input::Kind::missing) continue;
      meta = Value(Array(nullptr, input.sizes, input.strides, 0,
                         input.is_number ? step->compute : input.dtype));
      meta->is_number = input.is_number;
    }
  }
  for (const Step* step : steps_of(last))
    metas.insert(metas.end(), step->outputs.begin(), step->outputs.end());
  return metas;
}

uint32_t weights_of(const Step& last) {
  uint32_t weights = 0;
  for (const Step* step : steps_of(last)) {
    for (const Step::Input& input : step->inputs) {
      if (input.weight && input.kind == Step::Input::Kind::given) weights |= bit_of(input.number);
    }
  }
  return weights;
}

std::string name_of(const Step& last) {
  const Step* first = steps_of(last)[0];
  return base::text(first->op->name, "..", last.op->name, " (", last.length, " ops)");
}

}  // namespace

StrandOp::StrandOp(const Step& last)
    : ProgramOp(name_of(last), program_of(last), metas_of(last), weights_of(last),
                host.batch_program),
      step(&last) {
  std::vector<int> shown(program.slot_count, -1);  // by slot: the input that it is a view of
  for (int i = 0; i < program.input_count; ++i) shown[i] = i;
  for (const Instruction& instruction : program.instructions) {
    const int input = instruction.op->is_view() ? shown[instruction.inputs[0]] : -1;
    if (input < 0) continue;
    shows |= bit_of(static_cast<size_t>(input));
    for (int i = 0; i < instruction.output_count; ++i) shown[instruction.first_output + i] = input;
  }
}

std::vector<const Step*> steps_of(const Step& last) {
  std::vector<const Step*> steps(last.length);
  const Step* step = &last;
  for (size_t i = steps.size(); i-- > 0; step = step->before) steps[i] = step;
  return steps;
}

Step& step_at(Step& last, size_t number) {
  Step* step = &last;
  while (step->length > number + 1) step = step->before;
  return *step;
}

void leave_strand(const Pending& pending) {
  if (open == &pending) open = nullptr;
}

Held& held_by(Pending& pending, uint32_t place) {
  return pending.open ? open_outputs[place] : pending.outputs[place];
}

std::span<const Held> held_of(const Pending& pending) {
  return pending.open ? std::span<const Held>(open_outputs) : pending.outputs;
}

const Pending* open_strand() { return open; }

Value record_in_strand(const Op& op, std::span<const Value> inputs) {
  base::Ref<Pending> kept;
  const Step* step = enter_strand(op, inputs, {}, kept);
  if (!step) return {};
  Value output = make_output(*step, 0);
  if (!output->requires_grad)
    mark_outputs(Call(op, {}, inputs), std::span(&output, 1), need_of(inputs));
  count_bytes(*open, step->bytes);
  return output;
}

Values record_in_strand(const Op& op, std::span<const Value> inputs, const Attributes& attributes) {
  base::Ref<Pending> kept;
  const Step* step = enter_strand(op, inputs, attributes, kept);
  if (!step) return {};
  Values outputs;
  outputs.reserve(step->outputs.size());
  for (size_t i = 0; i < step->outputs.size(); ++i) outputs.push_back(make_output(*step, i));
  if (op.is_view() || outputs.empty() || !outputs[0]->requires_grad) {
    mark_outputs(Call(op, attributes, inputs), std::span(outputs.data(), outputs.size()),
                 need_of(inputs));
  }
  count_bytes(*open, step->bytes);
  return outputs;
}

void begin_strand(Pending& pending) {
  const Op& op = *pending.op;
  const bool shared = all_shared(pending.inputs);
  if (std::exchange(declined, false) || modes.observer || op.is_program()) {
    if (open && reads_open(pending.inputs)) close_strand(false);
    return add_to_tape(pending, shared);
  }
  int64_t bytes = 0;
  for (const Held& output : pending.outputs)
    bytes += output.value->array.count() * tensor::item_size(output.value->array.dtype);
  const bool hot = !shared && can_join(op, pending.inputs) && threshold < most_heat &&
                   (is_large(bytes) || heat_of(op, pending.position) > threshold);
  if (hot || reads_open(pending.inputs)) close_before(pending.inputs);
  if (!hot || step_count >= most_steps || was_begun(op, pending.attributes, pending.inputs))
    return add_to_tape(pending, shared);
  auto& firsts = first_steps[place_of(op, pending.inputs, pending.position)];
  if (firsts.size() == most_kinds) {
    ++refused;
    return add_to_tape(pending, false);
  }
  Call call(op, pending.attributes, pending.inputs);
  for (const Held& output : pending.outputs) call.outputs.push_back(output.value->array);
  call.compute = pending.compute;
  Step& first = *firsts.emplace_back(make_step(call, pending.position, nullptr));
  first.used = sweeps;
  open_strand(pending, first);
}

void close_strand(bool ended) {
  if (!open) return;
  Pending& pending = *std::exchange(open, nullptr);
  pending.open = false;
  for (const Held& output : open_outputs) {
    if (!output.value) continue;
    output.value->output = static_cast<uint32_t>(pending.outputs.size());
    pending.outputs.push_back(output);
  }
  Step& last = *pending.step;
  if (ended) end_at(last);
  if (last.length > 1) {
    pending.op = &whole_of(last);
    pending.attributes = {};
  }
  add_to_tape(pending, false);
}

namespace {

std::string difference(const Step::Input& a, const Step::Input& b, const std::string& name) {
  if (a.kind != b.kind || (a.kind != Step::Input::Kind::given && a.number != b.number))
    return name + " comes from another op";
  if (a.sizes != b.sizes)
    return base::text("the shape of ", name, " differs: ", a.sizes, " and ", b.sizes);
  if (a.dtype != b.dtype) return base::text("the dtype of ", name, " differs");
  if (a.requires_grad != b.requires_grad)
    return base::text("a gradient is needed for the ", name, " of only one");
  if (a.weight != b.weight) return name + " is another parameter";
  return base::text("the strides of ", name, " differ");
}

}  // namespace

std::string difference(const Step& a, const Step& b) {
  const std::vector<const Step*> x = steps_of(a), y = steps_of(b);
  const size_t both = std::min(x.size(), y.size());
  for (size_t k = 0; k < both; ++k) {
    const Op& op = *x[k]->op;
    if (&op != y[k]->op)
      return base::text("one goes on with ", op.name, ", the other with ", y[k]->op->name);
    if (!(x[k]->attributes == y[k]->attributes))
      return base::text("the arguments of ", op.name, " differ");
    for (size_t i = 0; i < std::min(x[k]->inputs.size(), y[k]->inputs.size()); ++i) {
      if (x[k]->inputs[i] == y[k]->inputs[i]) continue;
      const auto& parameters = op.sig.parameters;
      return difference(
          x[k]->inputs[i], y[k]->inputs[i],
          base::text(i < parameters.size() ? parameters[i].name : "an input", " of ", op.name));
    }
  }
  if (x.size() == y.size()) return "one needs the other's result";
  return base::text("only one goes on with ", (x.size() > y.size() ? x : y)[both]->op->name);
}

void set_strand_threshold(int64_t times) { threshold = times; }
int64_t strand_threshold() { return threshold; }

bool are_steps_old() { return refused > 4096 || step_count >= most_steps; }

void forget_steps() {
  wholes.clear();
  first_steps.clear();
  step_count = refused = 0;
  many_steps = least_new;
}

namespace {

template <class Visit>
void visit_steps(Step& step, const Visit& visit) {
  visit(step);
  for (const auto& next : step.next) visit_steps(*next, visit);
}

}  // namespace

bool are_steps_many() { return step_count >= many_steps; }

// Of modules and functions that a program makes and lets go of, nobody tells.
void sweep_steps() {
  std::unordered_set<const Step*> gone;
  const auto is_old = [](const auto& first) { return first->used != sweeps; };
  for (const auto& [place, firsts] : first_steps) {
    for (const auto& first : firsts) {
      if (is_old(first)) visit_steps(*first, [&](Step& step) { gone.insert(&step); });
    }
  }
  for (const auto& [place, firsts] : first_steps) {
    for (const auto& first : firsts) {
      visit_steps(*first, [&](Step& step) {
        if (step.whole && gone.contains(step.whole->step)) step.whole = nullptr;
      });
    }
  }
  for (auto& [hash, alike] : wholes)
    std::erase_if(alike, [&](const auto& op) { return gone.contains(op->step); });
  for (auto& [place, firsts] : first_steps) std::erase_if(firsts, is_old);
  const auto is_empty = [](const auto& item) { return item.second.empty(); };
  std::erase_if(wholes, is_empty);
  std::erase_if(first_steps, is_empty);
  step_count -= gone.size();
  many_steps = step_count + std::max(least_new, step_count);
  ++sweeps;
}

}  // namespace weft::graph
