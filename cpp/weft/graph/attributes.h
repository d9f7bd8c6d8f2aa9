// The non-tensor arguments of one application of an op, as the user wrote them: one value with
// equality and printing.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "weft/base/mersenne.h"
#include "weft/base/ref.h"
#include "weft/tensor/dtype.h"
#include "weft/tensor/shape.h"

namespace weft::graph {

using tensor::Dims;
using tensor::DType;

// Where an op's random numbers come from. From an engine they are drawn when the op is recorded,
// which then runs at once. Otherwise this names a stretch of a stream, and when the op runs does
// not matter.
struct RandomKey {
  uint64_t seed = 0;
  uint64_t counter = 0;
  base::Ref<base::Mersenne> engine{};
  bool operator==(const RandomKey&) const = default;
};

using Attribute =
    std::variant<std::monostate, bool, int64_t, double, std::string, Dims, DType, RandomKey>;

std::string attribute_text(const Attribute& attribute);

// Shared and immutable; empty for ops without attributes, which then cost nothing.
class Attributes {
 public:
  Attributes() = default;
  explicit Attributes(std::vector<Attribute> items) {
    if (!items.empty()) list_ = base::make_ref<List>(std::move(items));
  }
  size_t size() const { return list_ ? list_->items.size() : 0; }
  const Attribute& operator[](size_t i) const { return list_->items[i]; }
  bool operator==(const Attributes& other) const {
    if (list_ == other.list_) return true;
    return list_ && other.list_ && list_->items == other.list_->items;
  }

 private:
  struct List final : base::RefCounted<List>, base::Pooled<List> {
    explicit List(std::vector<Attribute> given) : items(std::move(given)) {}
    static void destroy(List* list) noexcept { delete list; }
    std::vector<Attribute> items;
  };
  base::Ref<List> list_;
};

}  // namespace weft::graph
