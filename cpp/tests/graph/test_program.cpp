#include "weft/graph/program.h"

#include <doctest/doctest.h>

#include "tests/recording.h"
#include "weft/graph/record.h"
#include "weft/graph/validate.h"

namespace weft::graph {
namespace {

using tests::counting;
using tests::numbers_of;
using tests::Recording;

Value meta(Dims sizes, DType dtype = DType::f32) {
  return Value(Array::meta(std::move(sizes), dtype));
}

// What is recorded while it lives becomes a Program; nothing is computed.
struct Tracing : Recording {
  Tracing() {
    modes.executor = &meta_executor();
    modes.tracer = &builder;
  }
  Value input(Dims sizes, DType dtype = DType::f32) {
    Value value = meta(std::move(sizes), dtype);
    builder.add_input(value);
    return value;
  }
  Program finish(std::initializer_list<Value> outputs) {
    modes.executor = nullptr;
    modes.tracer = nullptr;
    Program program = builder.finish(std::span(outputs.begin(), outputs.size()));
    validate(program);
    return program;
  }
  ProgramBuilder builder;
};

TEST_CASE_FIXTURE(Tracing, "slots are inputs, constants and results in order") {
  const Value x = input({2}), y = input({2}), constant = counting({2});
  const Value a = x * constant, b = ops::exp(y), c = a + b;
  const Program program = finish({c});
  CHECK(program.input_count == 2);
  CHECK(program.constants.size() == 1);
  CHECK(program.constants[0] == constant);
  CHECK(program.slot_count == 6);
  CHECK(program.to_string() == "%3 = mul(%0, %2)\n%4 = exp(%1)\n%5 = add(%3, %4)\nreturn %5\n");
}

TEST_CASE_FIXTURE(Tracing, "what no output needs is left out, with its constants") {
  const Value x = input({2}), unread = counting({2});
  const Value dead = ops::exp(x) * unread, a = ops::sin(x);
  const Program program = finish({a});
  CHECK(program.to_string() == "%1 = sin(%0)\nreturn %1\n");
  CHECK(program.constants.empty());
}

TEST_CASE_FIXTURE(Tracing, "outputs may be inputs, constants, one result twice, or missing") {
  const Value x = input({2}), constant = counting({2});
  const Value a = ops::exp(x);
  const Program program = finish({x, a, constant, a, Value()});
  CHECK(program.outputs == std::vector<int>{0, 2, 1, 2, -1});
}

TEST_CASE_FIXTURE(Tracing, "another name for a value is its slot") {
  const Value x = input({2});
  const Value a = ops::exp(x);
  const Value other = without_history(a);
  builder.alias(other, a);
  const Value b = other * a;
  CHECK(finish({b}).to_string() == "%1 = exp(%0)\n%2 = mul(%1, %1)\nreturn %2\n");
}

TEST_CASE_FIXTURE(Tracing, "of several results some may be read; a missing input stays missing") {
  const Value x = input({4, 3}), weight = input({2, 3});
  const Values halves = record(tests::op("split"), {x}, {int64_t{2}, int64_t{0}});
  const Value a = ops::linear(halves[1], weight);
  CHECK(builder.made_values().size() == 3);
  const Program program = finish({a});
  CHECK(program.instructions[0].output_count == 2);
  CHECK(program.instructions[1].inputs == base::SmallVector<int, 3>{3, 1, -1});
}

TEST_CASE_FIXTURE(Tracing, "applied, it gives what its ops give") {
  const Value x = input({3}), constant = counting({3}, 0.5f);
  const Value a = ops::exp(x) * constant, b = ops::sum(a, Dims{0});
  const Program program = finish({b, a});
  const Value given = counting({3}, 0.25f);
  const Values results = program.apply(std::span(&given, 1));
  const Value expected = ops::exp(given) * constant;
  CHECK(numbers_of(results[1]) == numbers_of(expected));
  CHECK(numbers_of(results[0]) == numbers_of(ops::sum(expected, Dims{0})));
}

TEST_CASE_FIXTURE(Tracing, "needed slots are those on the way to what is wanted") {
  const Value x = input({2}), y = input({2});
  const Value a = ops::exp(x), b = ops::sin(y), c = a * 2;
  const Program program = finish({c, b});
  // x, y, the number, exp, sin, mul
  CHECK(program.needed_slots({true, false}) == std::vector<bool>{1, 0, 1, 1, 0, 1});
  CHECK(program.needed_slots({false, true}) == std::vector<bool>{0, 1, 0, 0, 1, 0});
  CHECK(program.needed_slots({false, false}) == std::vector<bool>(6));
}

TEST_CASE_FIXTURE(Tracing, "as one op it knows its results, and which of them are read inside") {
  const Value x = input({4, 3});
  const Values parts = record(tests::op("split"), {x}, {int64_t{2}, int64_t{0}});
  const Value a = ops::exp(parts[0]), b = ops::sum(a, Dims{1});
  const ProgramOp op("cell", finish({parts[1], a, b}), std::vector{x}, 0, {});
  validate(op);
  CHECK(op.results[0].sizes == Dims{2, 3});
  CHECK(op.results[2].sizes == Dims{2});
  CHECK(op.reads == std::vector<bool>{true, true, false});  // the first with its neighbour
  CHECK(op.bytes == 4 * (6 + 6 + 2));
  CHECK(op.gives_floats);
  CHECK(!op.has_weights);
}

TEST_CASE_FIXTURE(Tracing, "as one op it knows whether it reads tensors that need gradients") {
  const Value x = input({3}), weight = tests::parameter({3});
  CHECK(ProgramOp("cell", finish({x * weight}), std::vector{x}, 0, {}).has_weights);
}

TEST_CASE_FIXTURE(Tracing, "what cannot be repeated is refused by name") {
  CHECK_THROWS_WITH_AS(refuse_in_program("draws random numbers"),
                       "a cell's body draws random numbers, but it is run once for all",
                       base::Error);
  CHECK(builder.refusal == "draws random numbers");
  finish({});
  CHECK_NOTHROW(refuse_in_program("draws random numbers"));  // no Program is being made
}

}  // namespace
}  // namespace weft::graph
