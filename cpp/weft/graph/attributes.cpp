#include "weft/graph/attributes.h"

#include <cmath>

namespace weft::graph {

std::string attribute_text(const Attribute& attribute) {
  struct Printer {
    std::string operator()(std::monostate) const { return "None"; }
    std::string operator()(bool value) const { return value ? "True" : "False"; }
    std::string operator()(int64_t value) const { return std::to_string(value); }
    std::string operator()(double value) const {
      if (std::isfinite(value) && value == std::floor(value) && std::abs(value) < 1e15) {
        return std::to_string(static_cast<int64_t>(value)) + ".0";
      }
      return base::text(value);
    }
    std::string operator()(const std::string& value) const { return "'" + value + "'"; }
    std::string operator()(const Dims& value) const { return tensor::shape_text(value); }
    std::string operator()(DType value) const { return std::string(tensor::name_of(value)); }
    std::string operator()(const RandomKey& key) const {
      return base::text("random(seed=", key.seed, ", counter=", key.counter, ")");
    }
  };
  return std::visit(Printer{}, attribute);
}

}  // namespace weft::graph
