#include "weft/schedule/key.h"

#include <doctest/doctest.h>

#include "tests/recording.h"
#include "weft/graph/tensor.h"

namespace weft::schedule {
namespace {

using graph::modes;
using graph::tape;
using graph::Value;
using graph::Values;
using tests::counting;
using tests::Lazily;

Work collected(const Values& values) { return collect(tape(), values); }
std::vector<int32_t> needs_of(const Work& work, int32_t item) {
  const auto needs = work.items.needs_of(item);
  return {needs.begin(), needs.end()};
}

TEST_CASE_FIXTURE(Lazily, "only what is needed, each after what it needs") {
  const Value x = counting({3}), y = counting({3}, 2);
  const Value a = ops::exp(x), unneeded = ops::sin(a), b = ops::exp(y), c = a * b;
  const Work work = collected({c});
  CHECK(work.first == std::vector{a->pending.get(), b->pending.get(), c->pending.get()});
  CHECK(work.items.types == std::vector<int32_t>{0, 0, 1});
  CHECK(needs_of(work, 0).empty());
  CHECK(needs_of(work, 2) == std::vector<int32_t>{0, 1});
  CHECK(work.twins.empty());
}

TEST_CASE_FIXTURE(Lazily, "what is computed already is not needed") {
  const Value x = counting({3});
  const Value a = ops::exp(x), b = ops::sin(a);
  tests::computed(a);
  const Work work = collected({b, a, Value(), x});
  CHECK(work.first == std::vector{b->pending.get()});
  CHECK(needs_of(work, 0).empty());
  CHECK(collected({x}).first.empty());
}

TEST_CASE_FIXTURE(Lazily, "few items of a long tape are in order, too") {
  const Value x = counting({3});
  std::vector<Value> others;
  for (int i = 0; i < 100; ++i) others.push_back(x * i);
  const Value a = ops::exp(others[70]), b = a * others[3];
  const Work work = collected({b, a});
  CHECK(work.first == std::vector{others[3]->pending.get(), others[70]->pending.get(),
                                  a->pending.get(), b->pending.get()});
  CHECK(needs_of(work, 3) == std::vector<int32_t>{2, 0});
}

TEST_CASE_FIXTURE(Lazily, "what computes the same is one item") {
  const Value x = counting({3});
  const Value a = ops::exp(x), b = ops::exp(x), c = ops::sin(a), d = ops::sin(b), e = c * d;
  const Work work = collected({e});
  CHECK(work.first == std::vector{a->pending.get(), c->pending.get(), e->pending.get()});
  CHECK(work.twins == std::vector{b->pending.get(), d->pending.get()});
  CHECK(work.twin_of == std::vector<int32_t>{0, 1});
  CHECK(needs_of(work, 2) == std::vector<int32_t>{1, 1});
}

TEST_CASE_FIXTURE(Lazily, "unless only the later ones are needed") {
  const Value x = counting({3});
  const Value a = ops::exp(x), b = ops::exp(x), c = ops::exp(x);
  const Work work = collected({c, b});
  CHECK(work.first == std::vector{b->pending.get()});
  CHECK(work.twins == std::vector{c->pending.get()});
}

TEST_CASE_FIXTURE(Lazily, "what users hold with a gradient is read apart") {
  modes.grad = true;
  const Value x = tests::parameter({3});
  const Value a = ops::exp(x), b = ops::exp(x), c = ops::sin(a), d = ops::sin(b);
  CHECK(collected({c, d}).first.size() == 2);
  b->handles = 1;
  const Work work = collected({c, d});
  CHECK(work.first == std::vector{a->pending.get(), c->pending.get(), d->pending.get()});
  CHECK(work.twins == std::vector{b->pending.get()});
  b->handles = 0;
}

TEST_CASE_FIXTURE(Lazily, "types count from 0 as items come") {
  const Value x = counting({3});
  const Value unneeded = ops::cos(x);
  const Value a = ops::exp(x), b = ops::sin(x), c = ops::exp(b);
  CHECK(collected({a, b, c}).items.types == std::vector<int32_t>{0, 1, 0});
  CHECK(collected({c}).items.types == std::vector<int32_t>{0, 1});
}

}  // namespace
}  // namespace weft::schedule
