#include "weft/schedule/place.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "tests/recording.h"
#include "weft/exec/lazy.h"
#include "weft/graph/tape.h"

namespace weft::schedule {
namespace {

using graph::Dims;
using graph::modes;
using graph::Pending;
using graph::Value;
using graph::Values;
using tests::counting;
using tests::Lazily;

std::vector<Pending*> rows_of(const Values& values) {
  std::vector<Pending*> rows;
  for (const Value& value : values) rows.push_back(value->pending.get());
  return rows;
}

Value part(const Value& whole, int64_t offset, Dims sizes) {
  return Value(
      whole.array().view(sizes, tensor::contiguous_strides(sizes), whole.array().offset + offset));
}

TEST_CASE_FIXTURE(Lazily, "inputs that differ are stacked, and those that are one are not") {
  const Value shared = counting({3}), x = counting({3}), y = counting({3});
  CHECK(stacked_inputs(rows_of({x * shared, y * shared})) == 0b01);
  CHECK(stacked_inputs(rows_of({shared * x, shared * y})) == 0b10);
  CHECK(stacked_inputs(rows_of({x * y, y * x})) == 0b11);
}

TEST_CASE_FIXTURE(Lazily, "views of one place are one input") {
  const Value whole = counting({6}), x = counting({3}), y = counting({3});
  CHECK(stacked_inputs(rows_of({x * part(whole, 3, {3}), y * part(whole, 3, {3})})) == 0b01);
  CHECK(stacked_inputs(rows_of({x * part(whole, 3, {3}), y * part(whole, 0, {3})})) == 0b11);
}

TEST_CASE_FIXTURE(Lazily, "numbers are compared, not tensors that hold them") {
  const Value x = counting({3}), y = counting({3});
  CHECK(stacked_inputs(rows_of({x * 2, y * 2})) == 0b01);
  CHECK(stacked_inputs(rows_of({x * 2, y * 3})) == 0b11);
}

TEST_CASE_FIXTURE(Lazily, "rows that differ in nothing get their places from one input") {
  const Value x = counting({4, 3}), w = counting({2, 3});
  // Not the number, and not a weight where there is another.
  CHECK(stacked_inputs(rows_of({2 * x, 2 * x})) == 0b10);
  CHECK(stacked_inputs(rows_of({ops::linear(x, w), ops::linear(x, w)})) == 0b01);
}

TEST_CASE_FIXTURE(Lazily, "rows at equal distances in one storage need no copy") {
  const Value whole = counting({5, 3});
  Values values;
  for (int64_t i : {0, 1, 2}) values.push_back(ops::exp(part(whole, 3 * i, {3})));
  CHECK(step_in_place(rows_of(values), 0) == 3);
  values.push_back(ops::exp(part(whole, 12, {3})));  // one is left out before it
  CHECK(step_in_place(rows_of(values), 0) == 0);
  Values back;
  for (int64_t i : {2, 1, 0}) back.push_back(ops::exp(part(whole, 3 * i, {3})));
  CHECK(step_in_place(rows_of(back), 0) == 0);
  CHECK(step_in_place(rows_of({values[0], values[0]}), 0) == 0);
  CHECK(step_in_place(rows_of({values[0], ops::exp(counting({3}))}), 0) == 0);
}

TEST_CASE_FIXTURE(Lazily, "few large sources are read in parts, and small ones together") {
  const Value large[] = {counting({64, 1024}), counting({64, 1024})};
  Values values;
  for (int64_t i = 0; i < 16; ++i) values.push_back(ops::select(ops::neg(large[i % 2]), 0, i / 2));
  // Views of what waits: their sources are there once those have run.
  for (const Value& value : values) tests::computed(value->pending->inputs[0]);
  Values views;
  for (int64_t i = 0; i < 16; ++i) views.push_back(values[i]);
  CHECK(parts_by_source(rows_of({values[0]})).empty());
  const auto parts = parts_by_source(rows_of(views));
  size_t count = 0;
  for (const auto& rows : parts) {
    count += rows.size();
    for (const Pending* row : rows)
      CHECK(row->inputs[0].array().storage == rows[0]->inputs[0].array().storage);
  }
  CHECK(count == 16);
  Values small;
  for (int64_t i = 0; i < 4; ++i) small.push_back(ops::exp(counting({4})));
  CHECK(parts_by_source(rows_of(small)).empty());
}

TEST_CASE_FIXTURE(Lazily, "all rows of one batch in their order are its output") {
  modes.grad = true;
  const Value w = tests::parameter({3});
  Values first, second;
  for (int i = 0; i < 3; ++i) first.push_back(ops::exp(counting({3}, 1.0f + i) * w));
  for (const Value& value : first) second.push_back(ops::sin(value));
  graph::demand(first);
  const Dims sizes{3, 3};
  CHECK(is_whole_output(rows_of(second), 0, sizes));
  CHECK(!is_whole_output(rows_of(second), 0, Dims{3, 4}));
  CHECK(!is_whole_output(rows_of({second[0], second[1]}), 0, sizes));
  CHECK(!is_whole_output(rows_of({second[1], second[0], second[2]}), 0, sizes));
  CHECK(!is_whole_output(rows_of({second[0], second[1], second[1]}), 0, sizes));
}

}  // namespace
}  // namespace weft::schedule
