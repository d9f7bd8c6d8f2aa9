// The looks themselves: the body runs, and is stopped at the first number that nobody has read yet.
#include "weft/bind/look.h"

#include <algorithm>
#include <cstring>
#include <unordered_map>

#include "weft/exec/rows.h"
#include "weft/graph/modes.h"
#include "weft/graph/record.h"
#include "weft/graph/validate.h"
#include "weft/graph/vmap.h"

namespace weft::bind {
namespace {

using graph::modes;

// Which inputs of an op are rows and which are shared is said by the bits of a word; one with more
// would run row by row.
constexpr size_t most_inputs = 32;

// Without memory, but laid out as the value is.
Value meta_of(const Value& value) {
  Value meta(Array::meta(value.sizes(), value.dtype()));
  if (!value.array().is_contiguous()) meta->array.strides = value.array().strides;
  meta->is_number = value->is_number;
  return meta;
}

bool collect_tensors(PyObject* object, std::vector<graph::TensorData*>& found, int depth = 0) {
  if (is_tensor(object)) {
    found.push_back(&tensor_of(object));
    return true;
  }
  if (PyTuple_Check(object) || PyList_CheckExact(object)) {
    if (depth == deepest_nesting) return false;
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(object); ++i) {
      if (!collect_tensors(PySequence_Fast_GET_ITEM(object, i), found, depth + 1)) return false;
    }
    return true;
  }
  return object == Py_None || PyLong_Check(object) || PyUnicode_Check(object);
}

// Whether a tensor, and what it is a view of, has values that are no matter of gradients.
bool is_known(const Value& value) {
  if (!value.array().storage) return false;
  const graph::ValueData* at = value.get();
  while (!at->requires_grad && at->view) at = at->view->parent.get();
  return !at->requires_grad;
}

// Runs only what does not depend on what was given: caches that nobody sees may keep that.
struct LookExecutor final : graph::Executor {
  void run(graph::Call& call) const override {
    if (call.op.run.kind == graph::Run::Kind::by_value)
      graph::refuse_in_program("gives shapes that depend on values");
    const bool known = std::all_of(call.inputs.begin(), call.inputs.end(),
                                   [](const Value& input) { return !input || is_known(input); });
    (known ? *graph::host.eager : graph::meta_executor()).run(call);
  }
  void run_fused(const graph::Program&, std::span<const Array* const>,
                 std::span<const Array* const>) const override {}
};

// Whether somebody holds a tensor without values that is none of the results, or one of those
// besides the result that they are in.
bool keeps_tensors(std::span<const Value> seen, std::span<graph::TensorData* const> results) {
  std::unordered_map<graph::TensorData*, Py_ssize_t> returned;  // how often
  for (graph::TensorData* tensor : results) ++returned[tensor];
  for (graph::TensorData* tensor : results) {
    while ((tensor = tensor->base())) returned.emplace(tensor, 0);
  }
  std::unordered_map<const graph::ValueData*, uint32_t> holders;
  for (const auto& [tensor, times] : returned) {
    if (tensor->wrapper && Py_REFCNT(static_cast<PyObject*>(tensor->wrapper)) > times) return true;
    ++holders[tensor->last_value().get()];
  }
  return std::any_of(seen.begin(), seen.end(), [&](const Value& value) {
    return !value.array().storage && !value->pending && !value->mapped &&
           value->handles > holders[value.get()];
  });
}
// Young garbage may hold them: a function that calls itself is a circle.
void collect_young() {
  const Object collector = Object::check(PyImport_ImportModule("gc"));
  Object::check(PyObject_CallMethod(collector.get(), "collect", "i", 1));
}

// Ends a body where it reads a number that is not known.
PyObject* stop_type() {
  static PyObject* const type = PyErr_NewException("weft._core.Stop", PyExc_BaseException, nullptr);
  return type;
}

// One run of a body over metas: notes the ops since the last of the steps.
class Look final : public Looking {
 public:
  explicit Look(std::span<const Step> steps) : steps_(steps) {}

  void learn(const Value& value) {
    places_.emplace(value.get(), static_cast<int>(known.size()));
    known.push_back(value);
  }
  int64_t decide(const Value& value, bool as_truth) override;
  bool is_known(const Value& value) const override { return places_.contains(value.get()); }
  // Makes a Program of what was noted, which gives these values. What it reads that is known
  // becomes its inputs.
  void end_part(std::span<const Value> outputs);
  // All that the body has seen, and might keep.
  std::vector<Value> all_seen() const;

  std::vector<Value> known;
  graph::Program program;
  std::vector<int> inputs, given;
  int decision = -1;
  bool as_truth = false;
  Object result;
  std::vector<graph::TensorData*> results;
  Nesting result_shape;
  bool failed = false;        // an error of the body's own
  bool gives_others = false;  // containers that were there before

 private:
  void begin_part(const Part& last);
  std::span<const Step> steps_;  // those that are still to come
  std::unordered_map<const graph::ValueData*, int> places_;
  std::map<std::pair<const graph::ValueData*, bool>, int64_t> decided_;
  std::vector<Value> seen_;  // in parts that have ended
};

std::vector<Value> Look::all_seen() const {
  std::vector<Value> all = seen_;
  all.insert(all.end(), known.begin(), known.end());
  all.insert(all.end(), seen().begin(), seen().end());
  return all;
}

void Look::begin_part(const Part& last) {
  const std::vector<Value> made = made_values();
  for (int number : last.given) {
    if (static_cast<size_t>(number) >= made.size()) graph::refuse_in_program("changes");
    learn(made[number]);
  }
  seen_.insert(seen_.end(), seen().begin(), seen().end());
  const std::string refused = refusal;
  ProgramBuilder::operator=(ProgramBuilder());
  refusal = refused;
}

int64_t Look::decide(const Value& value, bool truth) {
  if (value->mapped) graph::refuse_reading(*value->mapped);
  if (tensor::is_floating(value.dtype()) && !truth) graph::refuse_in_program("reads a value");
  const auto [found, is_new] = decided_.try_emplace({value.get(), truth}, 0);
  if (!is_new) return found->second;
  if (!steps_.empty()) {
    begin_part(*steps_.front().part);
    found->second = steps_.front().number;
    steps_ = steps_.subspan(1);
    return found->second;
  }
  decided_.erase(found);
  if (decision < 0) {
    // What somebody holds may be read later.
    const std::vector<Value> made = made_values();
    std::vector<Value> outputs;
    for (size_t i = 0; i < made.size(); ++i) {
      if (made[i]->handles == 0 && made[i] != value) continue;
      given.push_back(static_cast<int>(i));
      outputs.push_back(made[i]);
    }
    end_part(outputs);
    for (const Value& output : outputs) learn(output);
    const auto place = places_.find(value.get());
    if (place == places_.end()) graph::refuse_in_program("reads a value");
    decision = place->second;
    as_truth = truth;
  }
  PyErr_SetNone(stop_type());
  throw PythonError{};
}

void Look::end_part(std::span<const Value> outputs) {
  program = finish(outputs);
  const auto place_of = [&](const Value& value) {
    const auto found = places_.find(value.get());
    return found == places_.end() ? -1 : found->second;
  };
  std::vector<Value> constants;
  for (const Value& constant : program.constants) {
    if (const int place = place_of(constant); place >= 0) {
      inputs.push_back(place);
    } else {
      constants.push_back(constant);
    }
  }
  std::sort(inputs.begin(), inputs.end());
  std::vector<int> renamed;
  auto next = static_cast<int>(inputs.size());
  for (const Value& constant : program.constants) {
    const auto input = std::lower_bound(inputs.begin(), inputs.end(), place_of(constant));
    const bool is_input = place_of(constant) >= 0;
    renamed.push_back(is_input ? static_cast<int>(input - inputs.begin()) : next++);
  }
  program.constants = std::move(constants);
  program.input_count = static_cast<int>(inputs.size());
  auto rename = [&](int& slot) {
    if (slot >= 0 && static_cast<size_t>(slot) < renamed.size()) slot = renamed[slot];
  };
  for (graph::Instruction& instruction : program.instructions)
    std::for_each(instruction.inputs.begin(), instruction.inputs.end(), rename);
  std::for_each(program.outputs.begin(), program.outputs.end(), rename);
  graph::expect_valid(program);
}

// What a body gives to who calls it. False: something that cannot be given again.
bool take_result(Look& look) {
  if (!collect_tensors(look.result.get(), look.results)) return false;
  Arguments nested;
  if (!flatten(look.result.get(), nested)) return false;
  look.result_shape = nested.shape;
  return true;
}

// Whether containers in a result are nobody else's.
bool is_fresh(PyObject* object, int depth = 0) {
  if (!PyTuple_Check(object) && !PyList_CheckExact(object)) return true;
  if (Py_REFCNT(object) > 1 || depth == deepest_nesting) return false;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(object); ++i) {
    if (!is_fresh(PySequence_Fast_GET_ITEM(object, i), depth + 1)) return false;
  }
  return true;
}

// Runs the body over metas.
void run_body(PyCell& cell, PyObject* const* args, size_t count, const Arguments& arguments,
              Look& look) {
  for (const Value& leaf : arguments.leaves) look.learn(meta_of(leaf));
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(cell.parameters); ++i)
    look.learn(value_of(PyList_GET_ITEM(cell.parameters, i)));
  std::vector<Object> given;
  std::vector<PyObject*> stack;
  size_t next = 0;
  auto stand_in = [&](PyObject* leaf) {
    Object tensor = Object::check(wrap(look.known[next++]));
    if (!PyLong_CheckExact(leaf)) return tensor;
    return Object::check(PyObject_CallMethod(cell.renew, "stand_in", "OO", leaf, tensor.get()));
  };
  for (size_t i = 0; i < count; ++i) {
    given.push_back(rebuild(args[i], stand_in, arguments));
    stack.push_back(given.back().get());
  }
  graph::ModesGuard guard;
  modes =
      graph::Modes{.grad = false, .is_look = true, .executor = &look_executor(), .tracer = &look};
  look.result = Object(PyObject_Vectorcall(cell.body, stack.data(), stack.size(), nullptr));
  look.gives_others = look.result && !is_fresh(look.result.get());
}

// Why the body failed; the error goes.
std::string take_error() {
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  const Object held[] = {Object(type), Object(value), Object(trace)};
  const Object text(value ? PyObject_Str(value) : nullptr);
  PyErr_Clear();
  return text ? PyUnicode_AsUTF8(text.get()) : "its body failed";
}

// Whether each result is another tensor that was made in the body: nobody could tell it from what
// the body would give, unless it is a view and someone writes there.
bool gives_new_tensors(const graph::Program& program, bool are_views_new) {
  std::vector<bool> is_new(program.slot_count);
  for (const graph::Instruction& instruction : program.instructions) {
    for (int i = 0; i < instruction.output_count; ++i)
      is_new[instruction.first_output + i] = are_views_new || !instruction.op->is_view();
  }
  return std::all_of(program.outputs.begin(), program.outputs.end(), [&](int slot) {
    const bool was_new = slot >= 0 && is_new[slot];
    if (was_new) is_new[slot] = false;  // once
    return was_new;
  });
}

// Fills in what was seen. Returns why it cannot be repeated; empty: it can.
std::string look_once(PyCell& cell, PyObject* const* args, size_t count, const Arguments& arguments,
                      Look& look) {
  const Object saved = Object::check(PyObject_CallMethod(cell.renew, "save", nullptr));
  run_body(cell, args, count, arguments, look);
  const bool stopped = look.decision >= 0;
  const bool interrupted = !look.result && !stopped && !PyErr_ExceptionMatches(PyExc_Exception);
  // An op may not have known what stands for an integer.
  const bool confused =
      !look.result && !stopped &&
      (PyErr_ExceptionMatches(PyExc_TypeError) || PyErr_ExceptionMatches(PyExc_AttributeError));
  std::string error;
  if (!look.result && stopped) PyErr_Clear();
  if (!look.result && !stopped && !interrupted) error = take_error();
  PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
  if (interrupted) PyErr_Fetch(&type, &value, &trace);
  const Object changed =
      Object::check(PyObject_CallMethod(cell.renew, "put_back", "O", saved.get()));
  if (interrupted) {  // what asks the program to end is nothing of the body's
    PyErr_Restore(type, value, trace);
    throw PythonError{};
  }
  bool reads_integers = false;
  if (arguments.has_integers) {
    const Object read = Object::check(PyObject_CallMethod(cell.renew, "integers_were_read", ""));
    reads_integers = read.get() == Py_True || confused;
  }
  if (!look.refusal.empty()) return "its body " + look.refusal;
  if (reads_integers) {
    cell.reads_integers = true;
    return "it reads integers";
  }
  if (stopped) {
    look.result = Object();
  } else if (!look.result) {
    look.failed = true;
    return error;
  }
  if (changed.get() == Py_True) return "its body changes what is outside of it";
  if (!stopped && !take_result(look)) return "it returns something that is not a tensor";
  const std::vector<Value> seen = look.all_seen();
  if (keeps_tensors(seen, look.results) && (collect_young(), keeps_tensors(seen, look.results)))
    return "its body keeps tensors for later";
  if (stopped) return {};
  std::vector<Value> outputs;
  for (graph::TensorData* tensor : look.results) outputs.push_back(tensor->value());
  look.end_part(outputs);
  if (look.inputs.size() > most_inputs) return "it reads more than 32 tensors";
  if (cell.undeclared && (look.gives_others || !gives_new_tensors(look.program, false)))
    return "it gives what others may have, too";
  return {};
}

// A second look tells what a body makes from what it finds: what is the same tensor both times came
// from outside, unseen, and what differs would differ at each call. Empty: nothing is wrong.
std::string compare(const Look& one, const Look& other) {
  const graph::Program &first = one.program, &second = other.program;
  const char* differs = "its body does something else each time";
  if (one.inputs != other.inputs || one.given != other.given || one.decision != other.decision ||
      one.as_truth != other.as_truth || !(one.result_shape == other.result_shape) ||
      first.instructions.size() != second.instructions.size() || first.outputs != second.outputs ||
      first.constants.size() != second.constants.size()) {
    return differs;
  }
  for (size_t i = 0; i < first.instructions.size(); ++i) {
    const graph::Instruction &a = first.instructions[i], &b = second.instructions[i];
    if (a.op != b.op || !(a.attributes == b.attributes) ||
        !std::equal(a.inputs.begin(), a.inputs.end(), b.inputs.begin(), b.inputs.end())) {
      return differs;
    }
  }
  for (size_t i = 0; i < first.constants.size(); ++i) {
    const Value &a = first.constants[i], &b = second.constants[i];
    if (a == b && !a->is_number) return "it reads a tensor from outside, where it is not seen";
    if (!a.array().storage || !b.array().storage || a.dtype() != b.dtype() ||
        a.sizes() != b.sizes()) {
      return differs;
    }
    const Array x = graph::own_memory(a), y = graph::own_memory(b);
    if (std::memcmp(x.data(), y.data(), a.count() * tensor::item_size(a.dtype())) != 0)
      return differs;
  }
  const int results = first.input_count + static_cast<int>(first.constants.size());
  for (int slot : first.outputs) {
    if (slot >= first.input_count && slot < results) return "it returns what no op has made";
  }
  return {};
}

std::shared_ptr<graph::ProgramOp> make_op(const PyCell& cell, size_t leaves, Look& look) {
  const size_t parameters = PyList_GET_SIZE(cell.parameters);
  Values metas;
  uint32_t weights = 0;
  for (size_t i = 0; i < look.inputs.size(); ++i) {
    const size_t place = look.inputs[i];
    metas.push_back(meta_of(look.known[place]));
    if (place >= leaves && place < leaves + parameters && i < 32) weights |= 1u << i;
  }
  const char* name = PyUnicode_AsUTF8(cell.name);
  return std::make_shared<graph::ProgramOp>(name ? name : "cell", std::move(look.program), metas,
                                            weights, graph::BatchRule(exec::run_program_rows));
}

}  // namespace

const graph::Executor& look_executor() {
  static const LookExecutor executor;
  return executor;
}

void bury_program(std::shared_ptr<graph::ProgramOp> op) {
  static std::vector<std::shared_ptr<graph::ProgramOp>> graveyard;
  if (graph::Pending::live() == 0) graveyard.clear();
  if (op && graph::Pending::live() > 0) graveyard.push_back(std::move(op));
}

Part::~Part() { bury_program(std::move(op)); }

std::shared_ptr<Part> look_at_body(PyCell& cell, PyObject* const* args, size_t count,
                                   const Arguments& arguments, std::span<const Step> steps,
                                   std::string& refusal) {
  Look look(steps);
  refusal = look_once(cell, args, count, arguments, look);
  if (refusal.empty()) {
    Look again(steps);
    refusal = look_once(cell, args, count, arguments, again);
    if (refusal.empty()) refusal = compare(look, again);
  }
  // After what was read the body raises, and so will the call; or it takes integers another way.
  const bool for_now = arguments.has_integers && cell.reads_integers;
  if ((look.failed && !steps.empty()) || for_now) return refusal.clear(), nullptr;
  if (!refusal.empty()) return nullptr;
  auto part = std::make_shared<Part>();
  if (look.decision < 0 || !look.program.outputs.empty())
    part->op = make_op(cell, arguments.leaves.size(), look);
  part->inputs = std::move(look.inputs);
  part->given = std::move(look.given);
  part->decision = look.decision;
  part->as_truth = look.as_truth;
  part->result = std::move(look.result);
  if (part->op) part->gives_new = gives_new_tensors(part->op->program, true);
  return part;
}

int64_t decide(const Value& value, bool as_truth) {
  return static_cast<Looking&>(*modes.tracer).decide(value, as_truth);
}

bool is_given(const Value& value) {
  Value at = value;
  while (at->view) at = at->view->parent;
  return static_cast<Looking&>(*modes.tracer).is_known(at);
}

}  // namespace weft::bind
