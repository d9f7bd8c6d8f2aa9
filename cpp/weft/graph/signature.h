// An op's signature text, parsed once. Argument checking, the Python function, the stub, the docs
// and error messages all come from it.
//
//   "sum(input: Tensor, dim: int[]? = None, keepdim: bool = False, *, dtype: dtype? = None) ->
//   Tensor"
//
// Parameter types: Tensor, Tensor?, Tensor[], Tensor|Number (a Python number becomes a 0-d value
// that promotes weakly), Number, Number?, int, int?, int[], int[]?, int[*] (also as separate
// positional arguments), float, float?, bool, bool?, str, str?, dtype, dtype?, Generator?. An
// attribute `int` also accepts what int() of a 0-d integer tensor gives.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/graph/attributes.h"

namespace weft::graph {

enum class ParameterType : uint8_t {
  tensor,
  tensor_or_number,
  tensor_list,
  number,
  integer,
  integer_list,
  real,
  boolean,
  string,
  dtype,
  generator,
};

struct Parameter {
  std::string name;
  ParameterType type;
  bool optional = false;  // None is accepted
  bool variadic = false;  // int[*]
  bool keyword_only = false;
  std::optional<Attribute> fallback;  // default value; monostate for None
  int index = 0;                      // position among the tensors, or among the attributes
  bool is_tensor() const { return type <= ParameterType::tensor_list; }
};

struct Signature {
  std::string text;
  std::string name;
  std::string heading;  // with the tensors: "matmul(input, other)"
  std::vector<Parameter> parameters;
  std::vector<std::string> outputs;  // their names ("out" when there is one), or {"outputs..."}
  bool returns_list = false;
  int tensor_count = 0;
  int attribute_count = 0;

  static Signature parse(std::string_view text);
  const Parameter* find(std::string_view parameter) const;
};

}  // namespace weft::graph
