#include "weft/graph/validate.h"

#include <algorithm>

#include "weft/graph/marks.h"
#include "weft/graph/modes.h"
#include "weft/graph/strand.h"

namespace weft::graph {
namespace {

// Where in a Program or on the tape something is wrong. It has words only when something is: tapes
// are checked before and after each plan.
class Place {
 public:
  explicit Place(const char* what) : what_(what) {}
  Place(const char* what, const std::string& op) : what_(what), op_(&op) {}
  Place(const char* what, size_t number, const Op* op)
      : what_(what), op_(op ? &op->name : nullptr), number_(static_cast<int64_t>(number)) {}
  template <class... Parts>
  void require(bool holds, const Parts&... parts) const {
    if (!holds) fail(parts...);
  }
  template <class... Parts>
  [[noreturn]] void fail(const Parts&... parts) const {
    const std::string number = number_ < 0 ? "" : base::text(" ", number_);
    const std::string op = op_ ? *op_ : "no op";
    base::bug("an ill-formed ", what_, number, op_ || number_ >= 0 ? " (" + op + ")" : "", ": ",
              parts...);
  }

 private:
  const char* what_;
  const std::string* op_ = nullptr;
  int64_t number_ = -1;
};

// --- One application of an op --------------------------------------------------------------------

bool fits(const Parameter& parameter, const Attribute& attribute) {
  const auto is_one_of = [&]<class... Types>(std::variant<Types...>*) {
    return (std::holds_alternative<Types>(attribute) || ...);
  };
  using Real = std::variant<bool, int64_t, double>;
  if (std::holds_alternative<std::monostate>(attribute)) {
    return parameter.optional ||
           (parameter.fallback && std::holds_alternative<std::monostate>(*parameter.fallback));
  }
  switch (parameter.type) {
    case ParameterType::number:
    case ParameterType::real:
      return is_one_of(static_cast<Real*>(nullptr));
    case ParameterType::integer:
      return std::holds_alternative<int64_t>(attribute);
    case ParameterType::integer_list:
      return std::holds_alternative<Dims>(attribute);
    case ParameterType::boolean:
      return std::holds_alternative<bool>(attribute);
    case ParameterType::string:
      return std::holds_alternative<std::string>(attribute);
    case ParameterType::dtype:
      return std::holds_alternative<DType>(attribute);
    case ParameterType::generator:
      return std::holds_alternative<RandomKey>(attribute);
    default:
      return false;
  }
}

void check_attributes(const Place& place, const Op& op, const Attributes& attributes) {
  const auto count = static_cast<size_t>(op.sig.attribute_count);
  place.require(attributes.size() == count, "it has ", attributes.size(), " attributes, not the ",
                count, " of its signature");
  for (const Parameter& parameter : op.sig.parameters) {
    if (parameter.is_tensor()) continue;
    const Attribute& attribute = attributes[parameter.index];
    if (fits(parameter, attribute)) continue;
    place.fail("the attribute ", parameter.name, " is ", attribute_text(attribute),
               ", which its signature does not allow");
  }
}

// `is_given` tells which of `count` inputs are there. A Program takes what its ops take.
template <class IsGiven>
void check_inputs(const Place& place, const Op& op, size_t count, const IsGiven& is_given) {
  if (op.is_program()) {
    const int wanted = static_cast<const ProgramOp&>(op).program.input_count;
    return place.require(static_cast<int>(count) == wanted, "it reads ", count, " inputs, not the ",
                         wanted, " of its Program");
  }
  const auto& parameters = op.sig.parameters;
  const auto wanted = static_cast<size_t>(op.sig.tensor_count);
  const bool has_list = std::any_of(parameters.begin(), parameters.end(), [](const auto& one) {
    return one.type == ParameterType::tensor_list;
  });
  place.require(has_list ? count + 1 >= wanted : count == wanted, "it reads ", count,
                " inputs, not the ", wanted, " of its signature");
  size_t at = 0;
  for (const Parameter& parameter : parameters) {
    if (!parameter.is_tensor()) continue;
    const bool is_list = parameter.type == ParameterType::tensor_list;
    for (size_t left = is_list ? count + 1 - wanted : 1; left > 0; --left, ++at)
      place.require(parameter.optional || is_given(at), "input ", at, ", ", parameter.name,
                    ", is missing");
  }
}

// --- Programs ------------------------------------------------------------------------------------

Place place_of(const Program& program, size_t number) {
  return Place("Program, instruction", number, program.instructions[number].op);
}

// Of an instruction whose results begin at `next`: it reads what was written before.
void check(const Place& place, const Instruction& instruction, int next) {
  place.require(instruction.op != nullptr, "it has no op");
  const Op& op = *instruction.op;
  place.require(!op.is_composite() && !op.is_program(), "it is made of other ops");
  for (size_t i = 0; i < instruction.inputs.size(); ++i) {
    const int slot = instruction.inputs[i];
    place.require(slot >= -1 && slot < next, "input ", i, " is slot ", slot, ", of ", next,
                  " that are written before");
  }
  check_inputs(place, op, instruction.inputs.size(),
               [&](size_t i) { return instruction.inputs[i] >= 0; });
  check_attributes(place, op, instruction.attributes);
  const int outputs = static_cast<int>(op.sig.outputs.size());
  place.require(
      op.sig.returns_list ? instruction.output_count >= 0 : instruction.output_count == outputs,
      "it writes ", instruction.output_count, " results, not the ", outputs, " of its signature");
  place.require(instruction.output_count == 0 || instruction.first_output == next,
                "its results begin at slot ", instruction.first_output, ", not at ", next);
}

// What the op's shape rule says of metas is what is known of the results.
void check_metas(const Place& place, const ProgramOp& op, const Instruction& instruction) {
  Values given;
  for (int slot : instruction.inputs) {
    given.push_back(slot < 0 ? Value() : op.metas[slot]);
    place.require(slot < 0 || given.back(), "slot ", slot, " is read, and nothing is known of it");
  }
  if (instruction.op->run.kind == Run::Kind::by_value) return;
  Call call(*instruction.op, instruction.attributes, given);
  infer(call);
  place.require(static_cast<int>(call.outputs.size()) == instruction.output_count, "it writes ",
                instruction.output_count, " results, and its shape rule gives ",
                call.outputs.size());
  place.require(!instruction.op->pointwise() || call.compute == instruction.compute,
                "it computes in ", tensor::name_of(instruction.compute), ", not in ",
                tensor::name_of(call.compute));
  for (int i = 0; i < instruction.output_count; ++i) {
    const Value& meta = op.metas[instruction.first_output + i];
    const Array& output = call.outputs[i];
    place.require(meta && meta.sizes() == output.sizes && meta.dtype() == output.dtype, "result ",
                  i, " has the shape ", output.sizes, " and dtype ", tensor::name_of(output.dtype),
                  ", and something else is known of slot ", instruction.first_output + i);
  }
}

// --- The tape ------------------------------------------------------------------------------------

uint32_t result_count(const Pending& pending) {
  if (pending.step) return pending.step->result_count();
  if (pending.op->is_program())
    return static_cast<uint32_t>(static_cast<const ProgramOp*>(pending.op)->program.outputs.size());
  return pending.op->sig.returns_list ? UINT32_MAX
                                      : static_cast<uint32_t>(pending.op->sig.outputs.size());
}

// Values that it will compute know it and their place, unless they were computed just now.
void check_held(const Place& place, const Pending& pending) {
  const std::span<const Held> all = held_of(pending);
  for (size_t i = 0; i < all.size(); ++i) {
    const ValueData* value = all[i].value;
    if (!value) continue;
    place.require(all[i].number < result_count(pending), "held value ", i, " is result ",
                  all[i].number, " of ", result_count(pending));
    place.require(value->pending.get() == &pending || (!value->pending && value->array.storage),
                  "held value ", i, " waits for another op");
    place.require(!value->pending || value->output == i, "held value ", i, " takes itself for ",
                  value->output);
    place.require(!value->pending || !value->array.storage, "held value ", i,
                  " waits, and has memory");
  }
}

void check_pending(const Place& place, const Pending& pending) {
  check_held(place, pending);
  check_inputs(place, *pending.op, pending.inputs.size(),
               [&](size_t i) { return static_cast<bool>(pending.inputs[i]); });
  if (!pending.op->is_program()) check_attributes(place, *pending.op, pending.attributes);
  for (size_t i = 0; i < pending.inputs.size(); ++i) {
    const Value& input = pending.inputs[i];
    place.require(!input || input->pending || input.array().storage, "input ", i,
                  " neither waits nor has memory");
  }
  if (!pending.step) return;
  const bool is_whole = !pending.open && pending.step->length > 1;
  place.require(is_whole ? pending.op == pending.step->whole : !pending.op->is_program(),
                "it has another op than its strand");
}

void check_reads(const Place& place, const Tape& tape, size_t number) {
  const std::span<const int32_t> needs = tape.needs_of(static_cast<int32_t>(number));
  const Pending& pending = *tape.entries[number].pending;
  for (size_t i = 0; i < pending.inputs.size(); ++i) {
    const Pending* read = pending.inputs[i] ? pending.inputs[i]->pending.get() : nullptr;
    if (!read) continue;
    place.require(
        std::find(needs.begin(), needs.end(), static_cast<int32_t>(read->number)) != needs.end(),
        "input ", i, " waits for ", static_cast<int32_t>(read->number),
        ", which is none of its needs");
  }
}

// The strand that is open is on the tape later.
void check_open(const Tape& tape, const Pending& pending) {
  const Place place("tape, the open strand", pending.op->name);
  place.require(pending.open && pending.step && pending.number == Pending::not_yet,
                "it is on the tape");
  check_held(place, pending);
  for (size_t i = 0; i < pending.inputs.size(); ++i) {
    const Pending* read = pending.inputs[i] ? pending.inputs[i]->pending.get() : nullptr;
    place.require(!read || (read->number < tape.size() && read != &pending), "input ", i,
                  " waits for what is not on the tape");
  }
}

}  // namespace

void validate(const Program& program) {
  const Place whole("Program");
  whole.require(program.input_count >= 0, "it has ", program.input_count, " inputs");
  for (size_t i = 0; i < program.constants.size(); ++i)
    whole.require(static_cast<bool>(program.constants[i]), "constant ", i, " is missing");
  int next = program.input_count + static_cast<int>(program.constants.size());
  for (size_t k = 0; k < program.instructions.size(); ++k) {
    check(place_of(program, k), program.instructions[k], next);
    next += program.instructions[k].output_count;
  }
  whole.require(program.slot_count == next, "it has ", program.slot_count, " slots, of which ",
                next, " are written");
  for (size_t i = 0; i < program.outputs.size(); ++i) {
    const int slot = program.outputs[i];
    whole.require(slot >= -1 && slot < next, "output ", i, " is slot ", slot, " of ", next);
  }
}

void validate(const ProgramOp& op) {
  const Program& program = op.program;
  validate(program);
  const Place whole("Program", op.name);
  whole.require(op.metas.size() == static_cast<size_t>(program.slot_count), "it has ",
                program.slot_count, " slots, and something is known of ", op.metas.size());
  for (size_t i = 0; i < program.constants.size(); ++i) {
    const Value& meta = op.metas[program.input_count + i];
    whole.require(meta && meta.sizes() == program.constants[i].sizes() &&
                      meta.dtype() == program.constants[i].dtype(),
                  "something else is known of constant ", i);
  }
  for (size_t k = 0; k < program.instructions.size(); ++k)
    check_metas(place_of(program, k), op, program.instructions[k]);
  const size_t count = program.outputs.size();
  whole.require(op.results.size() == count && op.reads.size() == count, "it has ", count,
                " outputs, and something is known of ", op.results.size());
  int64_t bytes = 0;
  for (size_t i = 0; i < count; ++i) {
    const int slot = program.outputs[i];
    whole.require(slot >= 0 && op.metas[slot], "output ", i, " is missing");
    const Array& result = op.results[i];
    whole.require(result.sizes == op.metas[slot].sizes() && result.dtype == op.metas[slot].dtype(),
                  "something else is known of output ", i);
    bytes += result.count() * tensor::item_size(result.dtype);
  }
  whole.require(op.bytes == bytes, "its results have ", bytes, " bytes, not ", op.bytes);
}

void validate(const Tape& tape, size_t number) {
  const Tape::Entry& entry = tape.entries[number];
  const Pending* pending = entry.pending;
  const Place place("tape, entry", number, pending ? pending->op : nullptr);
  const size_t begin = number == 0 ? 0 : tape.entries[number - 1].needs_end;
  place.require(begin <= entry.needs_end && entry.needs_end <= tape.needs.size(),
                "its needs end at ", entry.needs_end, ", not between ", begin, " and ",
                tape.needs.size());
  for (int32_t need : tape.needs_of(static_cast<int32_t>(number)))
    place.require(need >= 0 && static_cast<size_t>(need) < number, "it needs entry ", need);
  place.require(entry.first >= 0 && static_cast<size_t>(entry.first) <= number,
                "the first that computes the same is ", entry.first);
  const Tape::Entry& first = tape.entries[entry.first];
  place.require(first.first == entry.first, "entry ", entry.first,
                ", the first that computes the same, is not its own first");
  place.require(entry.type >= 0 && entry.type < type_count(), "its type is ", entry.type, " of ",
                type_count());
  place.require(first.type == entry.type, "its type is ", entry.type,
                ", and of the first that computes the same it is ", first.type);
  if (!pending) return;
  place.require(pending->number == number, "the op takes itself for entry ",
                static_cast<int32_t>(pending->number));
  if (pending->ran) return;
  check_pending(place, *pending);
  check_reads(place, tape, number);
}

void validate(const Tape& tape) {
  const Place whole("tape");
  int64_t ops = 0, bytes = 0;
  const auto count = [&](const Pending& pending) {
    ops += pending.op_count();
    bytes += pending.bytes;
  };
  std::vector<const Pending*> of_type(static_cast<size_t>(type_count()));
  for (size_t i = 0; i < tape.size(); ++i) {
    validate(tape, i);
    const Pending* pending = tape.entries[i].pending;
    if (!pending) continue;
    count(*pending);
    const Pending*& other = of_type[tape.entries[i].type];
    if (!other) other = pending;
    whole.require(other->op == pending->op && other->grad == pending->grad, "entries ",
                  other->number, " and ", i, " are of one type, and not of one op");
  }
  const size_t end = tape.entries.empty() ? 0 : tape.entries.back().needs_end;
  whole.require(end == tape.needs.size(), "there are ", tape.needs.size(), " needs, and the last ",
                "entry's end at ", end);
  if (const Pending* open = open_strand()) {
    check_open(tape, *open);
    count(*open);
  }
  whole.require(tape.ops == ops, ops, " ops are pending, not ", tape.ops);
  whole.require(tape.bytes == bytes, "they will take ", bytes, " bytes, not ", tape.bytes);
}

}  // namespace weft::graph
