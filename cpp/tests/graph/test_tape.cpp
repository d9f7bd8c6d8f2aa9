#include "weft/graph/tape.h"

#include <doctest/doctest.h>

#include "tests/recording.h"
#include "weft/graph/record.h"
#include "weft/graph/strand.h"
#include "weft/graph/validate.h"

namespace weft::graph {
namespace {

using tests::at_line;
using tests::computed;
using tests::counting;
using tests::floats;
using tests::Lazily;
using tests::parameter;
using tests::pending_of;

const Tape::Entry& entry_of(const Value& value) { return tape().entries[pending_of(value).number]; }
std::vector<int32_t> needs_of(const Value& value) {
  const auto needs = tape().needs_of(static_cast<int32_t>(pending_of(value).number));
  return {needs.begin(), needs.end()};
}

TEST_CASE_FIXTURE(Lazily, "entries are in order of creation and name what they read") {
  const Value x = counting({3}), y = counting({3}, 2);
  const Value a = ops::exp(x), b = ops::exp(y), c = a * b, d = c + a;
  CHECK(tape().size() == 4);
  CHECK(pending_of(d).number == 3);
  CHECK(needs_of(a).empty());
  CHECK(needs_of(c) == std::vector<int32_t>{0, 1});
  CHECK(needs_of(d) == std::vector<int32_t>{2, 0});
  CHECK(tape().ops == 4);
  CHECK(tape().bytes == 4 * 3 * 4);
  validate(tape());
}

TEST_CASE_FIXTURE(Lazily, "of one type are those that can run together") {
  const Value x = counting({3}), y = counting({3}, 2), longer = counting({4});
  const Value a = ops::exp(x), b = ops::exp(y);
  CHECK(entry_of(a).type == entry_of(b).type);
  at_line(2);
  const Value same_op_elsewhere = ops::exp(counting({3}, 3));
  CHECK(entry_of(same_op_elsewhere).type == entry_of(a).type);
  const Value other_op = ops::sin(x), other_shape = ops::exp(longer);
  CHECK(entry_of(other_op).type != entry_of(a).type);
  CHECK(entry_of(other_shape).type != entry_of(a).type);
  const Value rows = ops::sum(x, Dims{0}), kept = ops::sum(y, Dims{0}, true);
  CHECK(entry_of(rows).type != entry_of(kept).type);
  CHECK(entry_of(rows).type < type_count());
}

TEST_CASE_FIXTURE(Lazily, "parameters are weights: other ones are another type") {
  modes.grad = true;
  const Value w = parameter({2, 3}), v = parameter({2, 3});
  const Value x = counting({4, 3}), y = counting({4, 3}, 2);
  const Value a = ops::linear(x, w), b = ops::linear(y, w), c = ops::linear(x, v);
  CHECK(entry_of(a).type == entry_of(b).type);
  CHECK(entry_of(a).type != entry_of(c).type);
  CHECK(weight_identity(tests::op("linear"), 1, w) != weight_identity(tests::op("linear"), 1, v));
  CHECK(weight_identity(tests::op("linear"), 0, w) == 0);
  CHECK(weight_identity(tests::op("linear"), 1, x) == 0);
  // What is computed from a parameter alone is one, too.
  const Value twice = w * 2, of_row = x * 2;
  CHECK(entry_of(twice).shared);
  CHECK(!entry_of(of_row).shared);
  CHECK(all_shared(Values{w, twice, Value(2)}));
  CHECK(!all_shared(Values{w, x}));
  CHECK(!all_shared({}));
  at_line(3);
  const Value with = ops::linear(counting({4, 3}, 5), w);
  CHECK(entry_of(with).type == entry_of(a).type);
  modes.grad = false;
  const Value without = ops::linear(x, w);  // where the last type is guessed first
  CHECK(entry_of(without).type != entry_of(a).type);
}

TEST_CASE_FIXTURE(Lazily, "what computes the same knows the first that does") {
  const Value x = counting({3}), y = counting({3}, 2);
  const Value a = ops::exp(x), b = ops::exp(y), again = ops::exp(x);
  CHECK(entry_of(again).first == 0);
  CHECK(entry_of(b).first == 1);
  // Through what is pending, and through constants that hold the same.
  const Value c = a * floats({}, {5}), d = again * floats({}, {5}), e = again * floats({}, {6});
  CHECK(entry_of(d).first == entry_of(c).first);
  CHECK(entry_of(e).first != entry_of(c).first);
  const Value zero = a * 0.0, minus_zero = a * -0.0;
  CHECK(entry_of(zero).first != entry_of(minus_zero).first);
  validate(tape());
}

TEST_CASE_FIXTURE(Lazily, "random numbers are each op's own") {
  const auto drop = [](const Value& x, uint64_t counter) {
    return ops::dropout_by_counter(x, 0.5, true, RandomKey{1, counter});
  };
  const Value x = counting({8});
  const Value a = drop(x, 0), b = drop(x, 0);
  CHECK(entry_of(b).first == 1);
  CHECK(computed(a) == computed(b));  // because the stretch of the stream is the same
}

TEST_CASE_FIXTURE(Lazily, "what nobody holds goes away unrun") {
  const int64_t dropped = Pending::dropped();
  const uint32_t generation = tape_generation();
  {
    const Value x = ops::exp(counting({3}));
    Value y = ops::sin(x) * 2;
    CHECK(tape().ops == 3);
    y = Value();
    CHECK(tape().ops == 1);
    CHECK(tape().bytes == 12);
    CHECK(tape().entries[1].pending == nullptr);
    CHECK(tape().entries[2].pending == nullptr);
    validate(tape());
    // The place of what is gone is taken: it is no first of what comes later.
    const Value again = ops::sin(x);
    CHECK(entry_of(again).first == static_cast<int32_t>(pending_of(again).number));
  }
  CHECK(Pending::dropped() == dropped + 4);
  CHECK(tape().size() == 0);
  CHECK(tape_generation() == generation + 1);
}

TEST_CASE_FIXTURE(Lazily, "above the limit of bytes all that is pending runs") {
  const int64_t before = pending_limit();
  set_pending_limit(3 * 40);
  const Value x = counting({10});
  std::vector<Value> values;
  for (int i = 0; i < 3; ++i) values.push_back(x * i);
  CHECK(tape().ops == 3);
  values.push_back(x * 3);
  CHECK(tape().ops == 0);
  for (const Value& value : values) CHECK(value.array().storage);
  CHECK(tests::numbers_of(values[3])[9] == 27);
  set_pending_limit(before);
}

TEST_CASE_FIXTURE(Lazily, "views take no bytes") {
  const Value x = ops::exp(counting({4, 2}));
  const int64_t bytes = tape().bytes;
  const Value row = ops::select(x, 0, 1);
  CHECK(tape().bytes == bytes);
  CHECK(tape().ops == 2);
}

TEST_CASE_FIXTURE(Lazily, "who reads memory runs before it is written") {
  const Value x = counting({3}), y = counting({3});
  const Value a = ops::exp(x), b = ops::exp(y), c = b * 2;
  run_readers(*x.array().storage);
  CHECK(a.array().storage);
  CHECK(!b.array().storage);
  run_readers(*y.array().storage);
  CHECK(b.array().storage);
  CHECK(!c.array().storage);
}

TEST_CASE_FIXTURE(Lazily, "a difference is said in a sentence") {
  const Value x = counting({3}), longer = counting({4});
  const auto difference_of = [](const Value& a, const Value& b) {
    return difference(pending_of(a), pending_of(b));
  };
  CHECK(difference_of(ops::exp(x), ops::exp(longer)) ==
        "the shape of input differs: (3,) and (4,)");
  CHECK(difference_of(ops::sum(x, Dims{0}), ops::sum(x, Dims{0}, true)) ==
        "keepdim differs: False and True");
  modes.grad = true;
  const Value w = parameter({2, 3}), v = parameter({2, 3});
  CHECK(difference_of(ops::linear(counting({1, 3}), w), ops::linear(counting({1, 3}), v)) ==
        "weight is another parameter");
  const Value with = ops::exp(w);
  modes.grad = false;
  const Value without = ops::exp(w);
  CHECK(difference_of(with, without) == "one was recorded under no_grad");
}

}  // namespace
}  // namespace weft::graph
