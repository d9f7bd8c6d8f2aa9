#include "tests/recording.h"

#include <doctest/doctest.h>

#include "weft/exec/connect.h"
#include "weft/exec/lazy.h"
#include "weft/graph/record.h"
#include "weft/graph/strand.h"
#include "weft/graph/validate.h"

namespace weft::tests {

using graph::Dims;
using graph::modes;
using tensor::Array;
using tensor::DType;

Recording::Recording() {
  static const bool connected = [] {
    exec::connect();
    graph::host.demand = [](std::span<const Value> values) {
      graph::close_strand();
      exec::run_pending(values);
    };
    return true;
  }();
  (void)connected;
  modes = {.grad = false, .position = 1};
}

Recording::~Recording() = default;

Lazily::Lazily(int64_t strand_threshold) : threshold_before_(graph::strand_threshold()) {
  graph::set_strand_threshold(strand_threshold);
  modes.lazy = true;
}

Lazily::~Lazily() {
  CHECK(graph::tape().ops == 0);
  CHECK(graph::tape().bytes == 0);
  CHECK(graph::tape().size() == 0);
  graph::set_strand_threshold(threshold_before_);
}

WithStrands::WithStrands() : Lazily(0) { graph::forget_steps(); }

const graph::Op& op(std::string_view name) {
  const graph::Op* found = graph::find_op(name);
  REQUIRE(found);
  return *found;
}

Value floats(Dims sizes, std::initializer_list<float> numbers) {
  Array array = Array::allocate(std::move(sizes), DType::f32);
  REQUIRE(array.count() == static_cast<int64_t>(numbers.size()));
  std::copy(numbers.begin(), numbers.end(), array.as<float>());
  return Value(std::move(array));
}

Value counting(Dims sizes, float step) {
  Array array = Array::allocate(std::move(sizes), DType::f32);
  for (int64_t i = 0; i < array.count(); ++i) array.as<float>()[i] = static_cast<float>(i) * step;
  return Value(std::move(array));
}

Value parameter(Dims sizes) {
  Value value = counting(std::move(sizes));
  value->requires_grad = true;
  value->producer = graph::make_leaf_node(nullptr);
  return value;
}

std::vector<float> numbers_of(const Value& value) {
  const Array& array = value.array();
  REQUIRE(array.storage);
  REQUIRE(array.dtype == DType::f32);
  std::vector<float> numbers;
  for (int64_t i = 0; i < array.count(); ++i)
    numbers.push_back(array.as<float>()[tensor::offset_at(i, array.sizes, array.strides)]);
  return numbers;
}

std::vector<float> computed(const Value& value) { return numbers_of(graph::demand(value)); }

}  // namespace weft::tests
