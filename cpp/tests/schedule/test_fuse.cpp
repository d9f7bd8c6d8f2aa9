#include "weft/schedule/fuse.h"

#include <doctest/doctest.h>

#include <random>

#include "tests/recording.h"
#include "weft/graph/validate.h"

namespace weft::schedule {
namespace {

using graph::Dims;
using graph::DType;
using graph::modes;
using graph::Program;
using graph::ProgramOp;
using graph::Value;
using graph::Values;
using tensor::Array;
using tests::counting;
using tests::numbers_of;
using tests::Recording;

// The Program of what `body` records over inputs of these sizes.
template <class Body>
ProgramOp program_of(std::initializer_list<Dims> sizes, const Body& body,
                     DType dtype = DType::f32) {
  graph::ProgramBuilder builder;
  Values inputs;
  for (const Dims& one : sizes) {
    inputs.push_back(Value(Array::meta(one, dtype)));
    builder.add_input(inputs.back());
  }
  const graph::ModesGuard guard;
  modes.executor = &graph::meta_executor();
  modes.tracer = &builder;
  const Values outputs = body(inputs);
  modes.tracer = nullptr;
  return {"cell", builder.finish(outputs), inputs, 0, {}};
}

std::vector<size_t> ends_of(const ProgramOp& op) {
  return fuse(op, std::vector<bool>(op.program.slot_count, true));
}

TEST_CASE_FIXTURE(Recording, "neighbours over one shape are a stretch") {
  const ProgramOp op = program_of({{3}, {3}}, [](const Values& in) -> Values {
    return {ops::exp(ops::sin(in[0]) * in[1]) + 1};
  });
  CHECK(ends_of(op) == std::vector<size_t>{4, 4, 4, 4});
}

TEST_CASE_FIXTURE(Recording, "other ops, shapes and dtypes end a stretch") {
  const ProgramOp by_op = program_of({{3}}, [](const Values& in) -> Values {
    const Value a = ops::sin(ops::exp(in[0]));
    return {ops::neg(ops::cos(ops::sum(a, Dims{0})))};
  });
  CHECK(ends_of(by_op) == std::vector<size_t>{2, 2, 3, 5, 5});
  const ProgramOp by_shape = program_of({{3}, {2, 3}}, [](const Values& in) -> Values {
    return {ops::sin(ops::exp(in[0]) * in[1])};
  });
  CHECK(ends_of(by_shape) == std::vector<size_t>{1, 3, 3});
  const ProgramOp of_integers = program_of(
      {{3}}, [](const Values& in) -> Values { return {ops::neg(in[0] * in[0])}; }, DType::i64);
  CHECK(ends_of(of_integers) == std::vector<size_t>{1, 2});
}

TEST_CASE_FIXTURE(Recording, "what is not needed does not end one") {
  const ProgramOp op = program_of({{3}}, [](const Values& in) -> Values {
    const Value a = ops::exp(in[0]), unneeded = ops::sum(a, Dims{0});
    return {ops::sin(a), unneeded};
  });
  CHECK(ends_of(op) == std::vector<size_t>{1, 2, 3});
  CHECK(fuse(op, op.program.needed_slots({true, false}))[0] == 3);
}

TEST_CASE_FIXTURE(Recording, "a stretch is no longer than kernels take") {
  const ProgramOp op = program_of({{3}}, [](const Values& in) -> Values {
    Value x = in[0];
    for (int i = 0; i < 60; ++i) x = ops::neg(x);
    return {x};
  });
  const std::vector<size_t> ends = ends_of(op);
  CHECK(ends[0] == 24);
  CHECK(ends[24] == 48);
  CHECK(ends[59] == 60);
}

TEST_CASE_FIXTURE(Recording,
                  "cut out, a stretch reads what was made before and gives what is kept") {
  const ProgramOp op = program_of({{3}, {3}}, [](const Values& in) -> Values {
    const Value a = ops::exp(in[1]), b = ops::sin(a), c = b * in[0] + a;
    return {c, b};
  });
  // Slots: inputs 0 and 1; exp 2, sin 3, mul 4, add 5.
  const std::vector<bool> needed(6, true);
  const Stretch stretch = cut_out(op.program, 1, 4, needed, {5, 3});
  graph::validate(stretch.program);
  CHECK(stretch.inputs == std::vector<int>{2, 0});
  CHECK(stretch.program.to_string() ==
        "%2 = sin(%0)\n%3 = mul(%2, %1)\n%4 = add(%3, %0)\nreturn %4 %2\n");
}

// Random element-wise Programs: in stretches they give what op by op they give.
TEST_CASE_FIXTURE(Recording, "stretches give what single ops give") {
  std::mt19937 random(21);
  for (int round = 0; round < 60; ++round) {
    const ProgramOp op = program_of({{5}, {5}}, [&](const Values& in) -> Values {
      std::vector<Value> all(in.begin(), in.end());
      for (int i = 0; i < 12; ++i) {
        const Value &a = all[random() % all.size()], &b = all[random() % all.size()];
        const auto choice = random() % 4;
        all.push_back(choice == 0   ? ops::sin(a)
                      : choice == 1 ? ops::neg(b)
                      : choice == 2 ? a * b
                                    : a + b * 0.5);
      }
      return {all.back(), all[2 + random() % 12]};
    });
    const std::vector<bool> wanted{true, random() % 2 == 0};
    const std::vector<bool> needed = op.program.needed_slots(wanted);
    const Values given{counting({5}, 0.1f), counting({5}, -0.3f)};
    const Values expected = op.program.apply(given);
    std::vector<Value> slots(given.begin(), given.end());
    slots.insert(slots.end(), op.program.constants.begin(), op.program.constants.end());
    slots.resize(op.program.slot_count);
    const std::vector<size_t> ends = fuse(op, needed);
    for (size_t begin = 0; begin < ends.size(); begin = ends[begin]) {
      REQUIRE(ends[begin] > begin);
      std::vector<int> made;
      for (size_t k = begin; k < ends[begin]; ++k) {
        const graph::Instruction& instruction = op.program.instructions[k];
        if (instruction.is_needed(needed)) made.push_back(instruction.first_output);
      }
      if (made.empty()) continue;
      const Stretch stretch = cut_out(op.program, begin, ends[begin], needed, made);
      graph::validate(stretch.program);
      std::vector<const Array*> inputs, outputs;
      for (const int slot : stretch.inputs) {
        REQUIRE(slots[slot]);
        inputs.push_back(&slots[slot].array());
      }
      for (const int slot : made) {
        slots[slot] = Value(Array::allocate({5}, DType::f32));
        outputs.push_back(&slots[slot].array());
      }
      graph::host.eager->run_fused(stretch.program, inputs, outputs);
    }
    for (size_t i = 0; i < 2; ++i) {
      if (!wanted[i]) continue;
      const std::vector<float> numbers = numbers_of(slots[op.program.outputs[i]]);
      const std::vector<float> wanted_numbers = numbers_of(expected[i]);
      for (size_t k = 0; k < numbers.size(); ++k)
        CHECK(numbers[k] == doctest::Approx(wanted_numbers[k]));
    }
  }
}

}  // namespace
}  // namespace weft::schedule
