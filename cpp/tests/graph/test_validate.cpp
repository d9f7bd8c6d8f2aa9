// An ill-formed Program or tape is refused, with a sentence that names the place.
#include "weft/graph/validate.h"

#include <doctest/doctest.h>

#include <functional>

#include "tests/recording.h"
#include "weft/graph/strand.h"

namespace weft::graph {
namespace {

using tests::at_line;
using tests::counting;

// What is said against it, or nothing.
template <class Thing>
std::string complaint(const Thing& thing) {
  try {
    validate(thing);
  } catch (const base::Error& error) {
    CHECK(error.kind() == base::ErrorKind::internal);
    const std::string start = "an ill-formed ", end = " (this is a bug in Weft; please report it)";
    const std::string& text = error.message();
    REQUIRE(text.size() > start.size() + end.size());
    CHECK(text.substr(0, start.size()) == start);
    return text.substr(start.size(), text.size() - start.size() - end.size());
  }
  return {};
}

// in0 -> split (2 results); linear(result 1, in1); exp -> mul by a constant
struct Sample : tests::Recording {
  Sample() {
    ProgramBuilder builder;
    const Value x(Array::meta({4, 3}, DType::f32)), w(Array::meta({2, 3}, DType::f32));
    for (const Value& input : {x, w}) builder.add_input(input);
    inputs = {x, w};
    modes.executor = &meta_executor();
    modes.tracer = &builder;
    const Values halves = record(tests::op("split"), {x}, {int64_t{2}, int64_t{0}});
    const Value a = ops::linear(halves[1], w), b = ops::exp(a) * counting({2});
    modes.tracer = nullptr;
    modes.executor = nullptr;
    program = builder.finish(std::array{b, halves[0]});
    REQUIRE(complaint(program) == "");
  }
  std::string complaint_after(const std::function<void(Program&)>& change) const {
    Program changed = program;
    change(changed);
    return complaint(changed);
  }
  std::vector<Value> inputs;
  Program program;
};

TEST_CASE_FIXTURE(Sample, "a Program: slots") {
  CHECK(complaint_after([](Program& p) { p.instructions[1].inputs[0] = 5; }) ==
        "Program, instruction 1 (linear): input 0 is slot 5, of 5 that are written before");
  CHECK(complaint_after([](Program& p) { p.instructions[0].inputs[0] = -2; }) ==
        "Program, instruction 0 (split): input 0 is slot -2, of 3 that are written before");
  CHECK(complaint_after([](Program& p) { p.instructions[2].first_output = 4; }) ==
        "Program, instruction 2 (exp): its results begin at slot 4, not at 6");
  CHECK(complaint_after([](Program& p) { ++p.slot_count; }) ==
        "Program: it has 9 slots, of which 8 are written");
  CHECK(complaint_after([](Program& p) { p.outputs[1] = 8; }) ==
        "Program: output 1 is slot 8 of 8");
  CHECK(complaint_after([](Program& p) { p.constants[0] = Value(); }) ==
        "Program: constant 0 is missing");
  CHECK(complaint_after([](Program& p) { p.input_count = -1; }) == "Program: it has -1 inputs");
  CHECK(complaint_after([](Program& p) { p.outputs[1] = -1; }) == "");
}

TEST_CASE_FIXTURE(Sample, "a Program: what ops take and give") {
  CHECK(complaint_after([](Program& p) { p.instructions[1].inputs[1] = -1; }) ==
        "Program, instruction 1 (linear): input 1, weight, is missing");
  CHECK(complaint_after([](Program& p) { p.instructions[1].inputs.pop_back(); }) ==
        "Program, instruction 1 (linear): it reads 2 inputs, not the 3 of its signature");
  CHECK(complaint_after([](Program& p) { p.instructions[2].op = &tests::op("add"); }) ==
        "Program, instruction 2 (add): it reads 1 inputs, not the 2 of its signature");
  CHECK(complaint_after([](Program& p) { p.instructions[2].op = nullptr; }) ==
        "Program, instruction 2 (no op): it has no op");
  CHECK(complaint_after([](Program& p) { p.instructions[0].attributes = {}; }) ==
        "Program, instruction 0 (split): it has 0 attributes, not the 2 of its signature");
  CHECK(complaint_after([](Program& p) {
          p.instructions[0].attributes = Attributes({int64_t{2}, std::string("x")});
        }) ==
        "Program, instruction 0 (split): the attribute dim is 'x', which its signature does "
        "not allow");
  CHECK(complaint_after([](Program& p) { p.instructions[2].output_count = 2; }) ==
        "Program, instruction 2 (exp): it writes 2 results, not the 1 of its signature");
  for (const Op* op : all_ops()) {
    if (!op->is_composite() || op->sig.tensor_count != 1) continue;
    CHECK(complaint_after([&](Program& p) { p.instructions[2].op = op; }) ==
          "Program, instruction 2 (" + op->name + "): it is made of other ops");
    break;
  }
}

TEST_CASE_FIXTURE(Sample, "a Program as one op: what is known of its slots") {
  const auto complaint_after = [&](const std::function<void(ProgramOp&)>& change) {
    ProgramOp op("cell", program, inputs, 0, {});
    REQUIRE(complaint(op) == "");
    change(op);
    return complaint(op);
  };
  CHECK(complaint_after([](ProgramOp& op) { op.metas.pop_back(); }) ==
        "Program (cell): it has 8 slots, and something is known of 7");
  CHECK(complaint_after([](ProgramOp& op) { op.metas[1] = Value(); }) ==
        "Program, instruction 1 (linear): slot 1 is read, and nothing is known of it");
  const Value other(Array::meta({2, 2}, DType::f64));
  CHECK(complaint_after([&](ProgramOp& op) { op.metas[6] = other; }) ==
        "Program, instruction 2 (exp): result 0 has the shape (2, 2) and dtype float32, and "
        "something else is known of slot 6");
  CHECK(complaint_after([&](ProgramOp& op) { op.metas[2] = other; }) ==
        "Program (cell): something else is known of constant 0");
  CHECK(complaint_after([](ProgramOp& op) { op.program.instructions[2].compute = DType::f64; }) ==
        "Program, instruction 2 (exp): it computes in float64, not in float32");
  CHECK(complaint_after([](ProgramOp& op) { op.results[1].sizes = {7}; }) ==
        "Program (cell): something else is known of output 1");
  CHECK(complaint_after([](ProgramOp& op) { op.results.pop_back(); }) ==
        "Program (cell): it has 2 outputs, and something is known of 1");
  CHECK(complaint_after([](ProgramOp& op) { op.program.outputs[0] = -1; }) ==
        "Program (cell): output 0 is missing");
  CHECK(complaint_after([](ProgramOp& op) { ++op.bytes; }) ==
        "Program (cell): its results have 40 bytes, not 41");
}

// exp, exp again, neg of the first, and sum of that.
struct Waiting : tests::Lazily {
  Waiting() {
    const Value x = counting({4});
    a = ops::exp(x);
    b = ops::exp(x);
    c = ops::neg(a);
    d = ops::sum(c, Dims{0});
    REQUIRE(complaint(tape()) == "");
  }
  ~Waiting() { CHECK(complaint(tape()) == ""); }  // all changes were of copies, or taken back
  static std::string complaint_after(const std::function<void(Tape&)>& change) {
    Tape changed = tape();
    change(changed);
    return complaint(changed);
  }
  // Sets something of an op that is pending, and sets it back.
  template <class T>
  static std::string complaint_with(T& place, T other) {
    std::swap(place, other);
    const std::string said = complaint(tape());
    std::swap(place, other);
    return said;
  }
  Value a, b, c, d;
};

TEST_CASE_FIXTURE(Waiting, "a tape: needs") {
  CHECK(complaint_after([](Tape& tape) { tape.needs[0] = 2; }) ==
        "tape, entry 2 (neg): it needs entry 2");
  CHECK(complaint_after([](Tape& tape) { tape.needs[0] = -1; }) ==
        "tape, entry 2 (neg): it needs entry -1");
  CHECK(complaint_after([](Tape& tape) { tape.needs[0] = 1; }) ==
        "tape, entry 2 (neg): input 0 waits for 0, which is none of its needs");
  CHECK(complaint_after([](Tape& tape) { tape.entries[1].needs_end = 1; }) ==
        "tape, entry 2 (neg): input 0 waits for 0, which is none of its needs");
  CHECK(complaint_after([](Tape& tape) { tape.entries[2].needs_end = 3; }) ==
        "tape, entry 2 (neg): its needs end at 3, not between 0 and 2");
  CHECK(complaint_after([](Tape& tape) { tape.entries[3].needs_end = 0; }) ==
        "tape, entry 3 (sum): its needs end at 0, not between 1 and 2");
  CHECK(complaint_after([](Tape& tape) { tape.needs.push_back(0); }) ==
        "tape: there are 3 needs, and the last entry's end at 2");
}

TEST_CASE_FIXTURE(Waiting, "a tape: what computes the same, and types") {
  CHECK(complaint_after([](Tape& tape) { tape.entries[0].first = 1; }) ==
        "tape, entry 0 (exp): the first that computes the same is 1");
  CHECK(complaint_after([](Tape& tape) { tape.entries[2].first = 1; }) ==
        "tape, entry 2 (neg): entry 1, the first that computes the same, is not its own first");
  CHECK(complaint_after([](Tape& tape) { tape.entries[1].type = tape.entries[2].type; }) ==
        base::text("tape, entry 1 (exp): its type is ", tape().entries[2].type,
                   ", and of the first that computes the same it is ", tape().entries[0].type));
  CHECK(complaint_after([](Tape& tape) { tape.entries[3].type = type_count(); }) ==
        base::text("tape, entry 3 (sum): its type is ", type_count(), " of ", type_count()));
  CHECK(complaint_after([](Tape& tape) { tape.entries[2].type = tape.entries[0].type; }) ==
        "tape: entries 0 and 2 are of one type, and not of one op");
}

TEST_CASE_FIXTURE(Waiting, "a tape: sums") {
  CHECK(complaint_after([](Tape& tape) { ++tape.ops; }) == "tape: 4 ops are pending, not 5");
  CHECK(complaint_after([](Tape& tape) { tape.bytes -= 4; }) ==
        "tape: they will take 52 bytes, not 48");
  CHECK(complaint_after([](Tape& tape) { tape.entries[3].pending = nullptr; }) ==
        "tape: 3 ops are pending, not 4");
}

TEST_CASE_FIXTURE(Waiting, "a tape: ops and the values that they will compute") {
  Pending& neg = *c->pending;
  CHECK(complaint_with(neg.number, 1u) == "tape, entry 2 (neg): the op takes itself for entry 1");
  CHECK(complaint_with(c->pending, a->pending) ==
        "tape, entry 2 (neg): held value 0 waits for another op");
  CHECK(complaint_with(c->output, 1u) == "tape, entry 2 (neg): held value 0 takes itself for 1");
  CHECK(complaint_with(neg.outputs[0].number, 1u) ==
        "tape, entry 2 (neg): held value 0 is result 1 of 1");
  CHECK(complaint_with(c->array.storage, tensor::Storage::allocate(16)) ==
        "tape, entry 2 (neg): held value 0 waits, and has memory");
  CHECK(complaint_with(neg.inputs[0], Value()) ==
        "tape, entry 2 (neg): input 0, input, is missing");
  CHECK(complaint_with(neg.inputs[0], Value(Array::meta({4}, DType::f32))) ==
        "tape, entry 2 (neg): input 0 neither waits nor has memory");
  CHECK(complaint_with(neg.op, &tests::op("add")) ==
        "tape, entry 2 (add): it reads 1 inputs, not the 2 of its signature");
  CHECK(complaint_with(d->pending->attributes, Attributes()) ==
        "tape, entry 3 (sum): it has 0 attributes, not the 3 of its signature");
  CHECK(complaint_with(c->output, 0u) == "");
}

TEST_CASE_FIXTURE(tests::WithStrands, "a tape: strands, open and closed") {
  at_line(1);
  const Value a = ops::sin(counting({3}));
  at_line(2);
  const Value b = ops::cos(a);
  REQUIRE(open_strand());
  Pending& open = *b->pending;
  CHECK(complaint(tape()) == "");
  open.number = 0;
  CHECK(complaint(tape()) == "tape, the open strand (sin): it is on the tape");
  open.number = Pending::not_yet;
  std::swap(a->output, b->output);
  CHECK(complaint(tape()) == "tape, the open strand (sin): held value 0 takes itself for 1");
  std::swap(a->output, b->output);
  close_strand();
  const Op* whole = std::exchange(open.op, &tests::op("sin"));
  CHECK(complaint(tape()) == "tape, entry 0 (sin): it has another op than its strand");
  open.op = whole;
  open.inputs.push_back(counting({3}));
  CHECK(complaint(tape()) ==
        "tape, entry 0 (sin..cos (2 ops)): it reads 2 inputs, not the 1 of its Program");
  open.inputs.pop_back();
  CHECK(complaint(tape()) == "");
}

}  // namespace
}  // namespace weft::graph
