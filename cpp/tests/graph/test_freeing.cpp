// However long a chain is, it is freed one by one, not each inside the next.
#include <doctest/doctest.h>

#include "tests/recording.h"
#include "weft/graph/node.h"
#include "weft/graph/record.h"

namespace weft::graph {
namespace {

using tests::counting;

constexpr int long_chain = 1'000'000;

TEST_CASE_FIXTURE(tests::Recording, "a long chain of nodes") {
  const int64_t before = Node::live();
  base::Ref<Node> last;
  for (int i = 0; i < long_chain; ++i) {
    base::Ref<Node> node(new Node(nullptr, 1));
    node->edges.emplace_back(std::move(last));
    last = std::move(node);
  }
  CHECK(Node::live() == before + long_chain);
  last.reset();
  CHECK(Node::live() == before);
}

TEST_CASE_FIXTURE(tests::Lazily, "a long chain of pending ops") {
  Value last = counting({});
  for (int i = 0; i < long_chain; ++i) last = ops::neg(last);
  CHECK(Pending::live() == long_chain);
  last = Value();
  CHECK(Pending::live() == 0);
}

TEST_CASE_FIXTURE(tests::Lazily, "a long chain of views") {
  Value last = counting({2, 3});
  for (int i = 0; i < long_chain / 4; ++i) last = ops::transpose(last, 0, 1);
  const base::Ref<tensor::Storage> storage = last.array().storage;
  CHECK(storage->use_count() > 2);
  last = Value();
  CHECK(storage->use_count() == 1);
}

TEST_CASE_FIXTURE(tests::Recording, "a node frees what it saved, and its memory with it") {
  modes.grad = true;
  const int64_t nodes = Node::live(), bytes = tensor::live_bytes();
  {
    Value x = tests::parameter({1000});
    for (int i = 0; i < 10; ++i) x = ops::exp(x);
    CHECK(Node::live() == nodes + 11);
    CHECK(tensor::live_bytes() == bytes + 10 * 4000);  // the last results: none saves its input
  }
  CHECK(Node::live() == nodes);
  CHECK(tensor::live_bytes() == bytes);
}

}  // namespace
}  // namespace weft::graph
