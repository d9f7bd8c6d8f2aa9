#include "weft/exec/rows.h"

#include <doctest/doctest.h>

#include <random>

#include "tests/recording.h"
#include "weft/exec/lazy.h"
#include "weft/graph/modes.h"
#include "weft/graph/strand.h"

namespace weft::exec {
namespace {

using graph::Dims;
using graph::DType;
using graph::modes;
using graph::Pending;
using graph::Value;
using graph::Values;
using tensor::Array;
using tests::at_line;
using tests::counting;
using tests::Lazily;
using tests::numbers_of;

std::vector<Pending*> rows_of(const Values& values) {
  std::vector<Pending*> rows;
  for (const Value& value : values) rows.push_back(value->pending.get());
  return rows;
}

// What each row gives by itself, one after the other.
template <class Make>
std::vector<float> one_by_one(int64_t rows, const Make& make) {
  const graph::ModesGuard guard;
  modes.lazy = false;
  std::vector<float> all;
  for (int64_t row = 0; row < rows; ++row) {
    const std::vector<float> numbers = numbers_of(make(row));
    all.insert(all.end(), numbers.begin(), numbers.end());
  }
  return all;
}

// Records the rows, runs them as one, and compares. Returns how many bytes were copied.
template <class Make>
int64_t bytes_copied(int64_t count, const Make& make) {
  Values values;
  for (int64_t row = 0; row < count; ++row) values.push_back(make(row));
  const std::vector<Pending*> rows = rows_of(values);
  RowBatch batch(rows, {});
  std::string note;
  REQUIRE(batch.can_run(note));
  modes.lazy = false;
  const Values outputs = batch.run();
  modes.lazy = true;
  REQUIRE(outputs.size() == 1);
  CHECK(outputs[0].size(0) == count);
  const std::vector<float> expected = one_by_one(count, make), together = numbers_of(outputs[0]);
  REQUIRE(together.size() == expected.size());
  for (size_t i = 0; i < expected.size(); ++i) CHECK(together[i] == doctest::Approx(expected[i]));
  return batch.bytes_copied();
}

Value row_of(const Value& whole, int64_t row) { return Value(tensor::row_of(whole.array(), row)); }

TEST_CASE_FIXTURE(Lazily, "rows that lie in order are read where they are, others are copied") {
  const Value x = counting({5, 3}), y = counting({5, 3}, 0.5f);
  CHECK(bytes_copied(5, [&](int64_t r) { return row_of(x, r) * row_of(y, r); }) == 0);
  CHECK(bytes_copied(4, [&](int64_t r) { return row_of(x, r) * row_of(y, 4 - r); }) == 4 * 12);
  CHECK(bytes_copied(5, [&](int64_t r) { return row_of(x, r) * row_of(y, 2); }) == 0);
}

TEST_CASE_FIXTURE(Lazily, "rows whose memory is not in order are copied in order") {
  const Value x = counting({4, 3, 2});
  const auto turned = [&](int64_t r) {
    const Array part = tensor::row_of(x.array(), 3 - r);
    return Value(part.permute(std::array<int64_t, 2>{1, 0}));
  };
  CHECK(bytes_copied(4, [&](int64_t r) { return ops::neg(turned(r)); }) == 4 * 24);
}

TEST_CASE_FIXTURE(Lazily, "rows broadcast from the end, as each of them does") {
  const Value x = counting({5, 3}), y = counting({5, 2, 3}, 0.5f);
  bytes_copied(5, [&](int64_t r) { return row_of(x, r) + row_of(y, r); });
  bytes_copied(5, [&](int64_t r) { return row_of(y, 4 - r) * row_of(x, r); });
}

TEST_CASE_FIXTURE(Lazily, "numbers have a row each") {
  const Value x = counting({5, 3});
  bytes_copied(5, [&](int64_t r) { return row_of(x, r) * static_cast<double>(r); });
}

TEST_CASE_FIXTURE(Lazily, "kernels have rules: products, sums, and what has places of its own") {
  const Value x = counting({6, 4, 3}, 0.1f), w = counting({2, 3}), v = counting({6, 3, 2}, 0.2f);
  bytes_copied(6, [&](int64_t r) { return ops::linear(row_of(x, r), w); });
  bytes_copied(6, [&](int64_t r) { return ops::matmul(row_of(x, 5 - r), row_of(v, r)); });
  bytes_copied(6, [&](int64_t r) { return ops::sum(row_of(x, r), Dims{1}); });
  bytes_copied(6, [&](int64_t r) { return ops::softmax(row_of(x, r), -1); });
  bytes_copied(6, [&](int64_t r) { return ops::cat({row_of(x, r), row_of(x, 5 - r)}, 1); });
}

TEST_CASE_FIXTURE(Lazily, "random shapes and places") {
  std::mt19937 random(31);
  for (int round = 0; round < 60; ++round) {
    Dims sizes;
    for (auto rank = random() % 4; rank > 0; --rank) sizes.push_back(1 + random() % 3);
    const auto rows = static_cast<int64_t>(2 + random() % 5);
    std::vector<Value> x, y;
    const Value shared = counting(sizes, 0.3f);
    Dims with_rows = sizes;
    with_rows.insert(0, rows);
    const Value whole = counting(with_rows, 0.1f);
    for (int64_t r = 0; r < rows; ++r) {
      x.push_back(random() % 2 ? row_of(whole, r) : counting(sizes, static_cast<float>(r)));
      y.push_back(random() % 3 ? shared : counting(sizes, 0.7f));
    }
    y[0] = counting(sizes, 2);
    bytes_copied(rows, [&](int64_t r) { return ops::sin(x[r]); });
    bytes_copied(rows, [&](int64_t r) { return x[r] * y[r]; });
  }
}

TEST_CASE_FIXTURE(Lazily, "what has no rule says so") {
  const graph::Op* without = nullptr;
  for (const graph::Op* op : graph::all_ops()) {
    if (!op->pointwise() && !op->is_composite() && !op->batch.function) without = op;
  }
  REQUIRE(without);
  const base::Ref<Pending> pending(new Pending(*without, {}, std::array{counting({3})}, 1));
  const std::vector<Pending*> rows{pending.get(), pending.get()};
  const RowBatch batch(rows, {});
  std::string note;
  CHECK(!batch.can_run(note));
  CHECK(note == without->batch.reason);
}

TEST_CASE_FIXTURE(Lazily, "a plan gives each value its row") {
  forget_plans();
  std::vector<Value> values;
  for (int i = 0; i < 10; ++i) values.push_back(ops::sin(counting({3}, static_cast<float>(i))));
  const Value total = [&] {
    Value sum = values[0];
    for (int i = 1; i < 10; ++i) sum = sum + values[i];
    return sum;
  }();
  const std::vector<float> numbers = tests::computed(total);
  REQUIRE(last_plans().size() == 1);
  const RanPlan& plan = last_plans().back();
  CHECK(plan.nodes == 19);
  CHECK(plan.batches[0].op == "sin");
  CHECK(plan.batches[0].rows == 10);
  CHECK(plan.batches.size() == 10);
  for (int i = 0; i < 10; ++i) {
    CHECK(values[i]->row == i);
    CHECK(numbers_of(values[i])[2] == doctest::Approx(std::sin(2.0 * i)));
  }
  float expected = 0;
  for (int i = 0; i < 10; ++i) expected += static_cast<float>(std::sin(1.0 * i));
  CHECK(numbers[1] == doctest::Approx(expected));
}

TEST_CASE_FIXTURE(tests::WithStrands, "strands run together, op by op") {
  forget_plans();
  std::vector<Value> results;
  for (int i = 0; i < 6; ++i) {
    at_line(1);
    const Value a = ops::sin(counting({4}, static_cast<float>(i)));
    at_line(2);
    const Value b = ops::sum(a, Dims{0}, true);
    at_line(3);
    results.push_back(a * b);
  }
  const graph::Values all(results.begin(), results.end());
  graph::demand(all);
  CHECK(last_plans().back().batches.size() == 1);
  CHECK(last_plans().back().batches[0].rows == 6);
  for (int i = 0; i < 6; ++i) {
    double sum = 0;
    for (int k = 0; k < 4; ++k) sum += std::sin(1.0 * i * k);
    CHECK(numbers_of(results[i])[3] == doctest::Approx(std::sin(3.0 * i) * sum));
  }
}

}  // namespace
}  // namespace weft::exec
