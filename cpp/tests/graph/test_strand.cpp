#include "weft/graph/strand.h"

#include <doctest/doctest.h>

#include "tests/recording.h"
#include "weft/graph/tape.h"
#include "weft/graph/validate.h"

namespace weft::graph {
namespace {

using tests::at_line;
using tests::computed;
using tests::counting;
using tests::numbers_of;
using tests::pending_of;
using tests::WithStrands;

// Three ops at three lines, one reading what the one before it gave.
Value three_ops(const Value& x, const Value& y) {
  at_line(1);
  const Value a = ops::sin(x);
  at_line(2);
  const Value b = a * y;
  at_line(3);
  return b + x;
}

TEST_CASE_FIXTURE(WithStrands, "ops that follow one another at the same lines wait as one") {
  const Value y = counting({3});
  const Value a = three_ops(counting({3}, 2), y), b = three_ops(counting({3}, 3), y);
  close_strand();
  validate(tape());
  CHECK(tape().size() == 2);
  CHECK(tape().ops == 6);
  CHECK(pending_of(a).op_count() == 3);
  CHECK(pending_of(a).op == pending_of(b).op);
  CHECK(pending_of(a).op->name == "sin..add (3 ops)");
  CHECK(tape().entries[0].type == tape().entries[1].type);
  CHECK(pending_of(b).inputs.size() == 2);  // x is read twice, and is one input
}

TEST_CASE_FIXTURE(WithStrands, "a strand gives what its ops give") {
  for (const float step : {1.0f, 0.5f, -2.0f}) {
    const Value x = counting({4}, step), y = counting({4}, 0.1f);
    const Value waiting = three_ops(x, y);
    modes.lazy = false;
    const Value at_once = three_ops(x, y);
    modes.lazy = true;
    CHECK(computed(waiting) == numbers_of(at_once));
  }
}

TEST_CASE_FIXTURE(WithStrands, "results inside a strand can be held, or dropped") {
  const int64_t dropped = Pending::dropped();
  at_line(1);
  const Value a = ops::sin(counting({3}));
  at_line(2);
  Value b = a * counting({3});
  at_line(3);
  const Value c = a + 1;
  b = Value();
  close_strand();
  validate(tape());
  CHECK(tape().size() == 1);
  CHECK(pending_of(a).outputs.size() == 2);  // nobody holds b
  CHECK(pending_of(c).outputs[c->output].number == 2);
  const std::vector<float> numbers = computed(a);
  modes.lazy = false;
  CHECK(numbers == numbers_of(ops::sin(counting({3}))));
  CHECK(c.array().storage);
  CHECK(Pending::dropped() == dropped + 1);
}

TEST_CASE_FIXTURE(WithStrands, "where ways part, a strand ends") {
  const auto example = [](bool other_way) {
    at_line(1);
    const Value a = ops::sin(counting({3}, other_way ? 2 : 3));
    at_line(2);
    const Value b = a * counting({3});
    at_line(other_way ? 3 : 4);
    const Value c = other_way ? ops::cos(b) : ops::neg(b);
    close_strand(false);
    return c;
  };
  const Value first = example(false), second = example(true), third = example(false);
  CHECK(pending_of(first).op_count() == 3);
  // Here it was seen that ways part after two ops; then they part each time.
  CHECK(pending_of(third).op_count() < 3);
  const Value before = pending_of(third).inputs[0];
  CHECK(pending_of(before).op_count() == 2);
  CHECK(pending_of(second).inputs[0]->pending->op == before->pending->op);
  validate(tape());
}

TEST_CASE_FIXTURE(WithStrands, "steps know their places") {
  const Value c = three_ops(counting({3}), counting({3}, 2));
  close_strand();
  Step& last = *pending_of(c).step;
  const std::vector<const Step*> steps = steps_of(last);
  REQUIRE(steps.size() == 3);
  for (size_t i = 0; i < 3; ++i) {
    CHECK(&step_at(last, i) == steps[i]);
    CHECK(steps[i]->position == i + 1);
    CHECK(steps[i]->length == i + 1);
    CHECK(steps[i]->results_before == i);
  }
  CHECK(steps[1]->inputs[0] ==
        Step::Input{.kind = Step::Input::Kind::result, .sizes = {}, .strides = {}});
  CHECK(steps[2]->inputs[1].kind == Step::Input::Kind::again);
  CHECK(last.whole == pending_of(c).op);
  validate(*last.whole);
}

TEST_CASE_FIXTURE(WithStrands, "a loop of few ops is several rounds; one of many ops is one each") {
  const auto rounds = [](Position line, Position length) {
    Value x = counting({3});
    for (int round = 0; round < 3; ++round) {
      for (Position i = 0; i < length; ++i) {
        at_line(line + i);
        x = ops::sin(x);
      }
    }
    close_strand();
    return x;
  };
  const Value few = rounds(1, 4);
  CHECK(pending_of(few).op_count() == 12);
  const Value many = rounds(10, 20);
  CHECK(pending_of(many).op_count() == 20);
  validate(tape());
}

TEST_CASE_FIXTURE(WithStrands, "other shapes, gradients and examples are other strands") {
  const Value a = three_ops(counting({3}), counting({3}, 2));
  const Value b = three_ops(counting({4}), counting({4}, 2));
  close_strand();
  CHECK(pending_of(a).step != pending_of(b).step);
  CHECK(difference(*pending_of(a).step, *pending_of(b).step) ==
        "the shape of input of sin differs: (3,) and (4,)");
  at_line(1);
  const Value c = ops::sin(counting({3}, 5));
  modes.example = 7;
  at_line(2);
  const Value d = c * counting({3});
  close_strand();
  CHECK(c->pending != d->pending);
}

TEST_CASE_FIXTURE(tests::Lazily, "strands begin when an op was recorded often enough") {
  forget_steps();
  set_strand_threshold(5);
  std::vector<Value> values;
  // A line of its own, so that nothing was counted there before.
  for (int i = 0; i < 20; ++i) {
    at_line(70'001);
    const Value a = ops::sin(counting({3}, static_cast<float>(i)));
    at_line(70'002);
    values.push_back(ops::cos(a));
  }
  close_strand();
  CHECK(pending_of(values[2]).op_count() == 1);
  CHECK(pending_of(values[19]).op_count() == 2);
  validate(tape());
}

TEST_CASE_FIXTURE(WithStrands, "an open strand that nobody holds any more leaves nothing") {
  {
    const Value c = three_ops(counting({3}), counting({3}, 2));
    REQUIRE(open_strand() == &pending_of(c));
    CHECK(held_of(*open_strand()).size() == 3);
    CHECK(held_of(*open_strand())[0].value == nullptr);
    CHECK(&held_by(*c->pending, c->output) == &held_of(pending_of(c))[2]);
    validate(tape());
  }
  CHECK(open_strand() == nullptr);
  CHECK(tape().ops == 0);
}

}  // namespace
}  // namespace weft::graph
