#include "weft/graph/signature.h"

#include <charconv>

namespace weft::graph {
namespace {

std::string_view trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\n')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\n')) text.remove_suffix(1);
  return text;
}

// Splits at commas that are not inside brackets.
std::vector<std::string_view> split_list(std::string_view text) {
  std::vector<std::string_view> parts;
  int depth = 0;
  size_t start = 0;
  for (size_t i = 0; i <= text.size(); ++i) {
    if (i == text.size() || (text[i] == ',' && depth == 0)) {
      if (auto part = trim(text.substr(start, i - start)); !part.empty()) parts.push_back(part);
      start = i + 1;
    } else if (text[i] == '(' || text[i] == '[') {
      ++depth;
    } else if (text[i] == ')' || text[i] == ']') {
      --depth;
    }
  }
  return parts;
}

int64_t parse_integer(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) {
    base::bug("cannot read the default '", text, "'");
  }
  return value;
}

Attribute parse_default(std::string_view text, ParameterType type) {
  if (text == "None") return std::monostate{};
  if (text == "True" || text == "False") return text == "True";
  if (text.front() == '\'' || text.front() == '"')
    return std::string(text.substr(1, text.size() - 2));
  if (text.front() == '[' || text.front() == '(') {
    Dims dims;
    for (auto item : split_list(text.substr(1, text.size() - 2)))
      dims.push_back(parse_integer(item));
    return dims;
  }
  if (type == ParameterType::integer_list) return Dims{parse_integer(text)};
  if (type == ParameterType::real || text.find_first_of(".en") != std::string_view::npos) {
    return std::stod(std::string(text));
  }
  return parse_integer(text);
}

ParameterType parse_type(std::string_view text, std::string_view signature) {
  if (text == "Tensor") return ParameterType::tensor;
  if (text == "Tensor|Number") return ParameterType::tensor_or_number;
  if (text == "Tensor[]") return ParameterType::tensor_list;
  if (text == "Number") return ParameterType::number;
  if (text == "int") return ParameterType::integer;
  if (text == "int[]" || text == "int[*]") return ParameterType::integer_list;
  if (text == "float") return ParameterType::real;
  if (text == "bool") return ParameterType::boolean;
  if (text == "str") return ParameterType::string;
  if (text == "dtype") return ParameterType::dtype;
  if (text == "Generator") return ParameterType::generator;
  base::bug("unknown parameter type '", text, "' in the signature ", signature);
}

}  // namespace

Signature Signature::parse(std::string_view text) {
  Signature result;
  result.text = text;
  const size_t open = text.find('(');
  const size_t arrow = text.rfind("->");
  if (open == std::string_view::npos || arrow == std::string_view::npos) {
    base::bug("a signature needs '(...) -> ...': ", text);
  }
  const size_t close = text.rfind(')', arrow);
  result.name = trim(text.substr(0, open));
  result.heading = result.name + "(";
  bool keyword_only = false;
  for (std::string_view item : split_list(text.substr(open + 1, close - open - 1))) {
    if (item == "*") {
      keyword_only = true;
      continue;
    }
    const size_t colon = item.find(':');
    const size_t equals = item.find('=');
    Parameter parameter;
    parameter.name = trim(item.substr(0, colon));
    std::string_view type = trim(item.substr(colon + 1, equals - colon - 1));
    if (type.back() == '?') {
      parameter.optional = true;
      type.remove_suffix(1);
    }
    parameter.variadic = type == "int[*]";
    parameter.type = parse_type(type, text);
    parameter.keyword_only = keyword_only;
    if (equals != std::string_view::npos) {
      parameter.fallback = parse_default(trim(item.substr(equals + 1)), parameter.type);
    }
    if (parameter.is_tensor()) {
      result.heading += (result.tensor_count ? ", " : "") + parameter.name;
    }
    parameter.index = parameter.is_tensor() ? result.tensor_count++ : result.attribute_count++;
    result.parameters.push_back(std::move(parameter));
  }
  result.heading += ")";
  std::string_view returns = trim(text.substr(arrow + 2));
  if (returns == "Tensor[]") {
    result.returns_list = true;
  } else if (returns.front() == '(') {
    for (auto item : split_list(returns.substr(1, returns.size() - 2))) {
      result.outputs.emplace_back(trim(item.substr(0, item.find(':'))));
    }
  } else {
    result.outputs.emplace_back("out");
  }
  return result;
}

const Parameter* Signature::find(std::string_view parameter) const {
  for (const Parameter& candidate : parameters) {
    if (candidate.name == parameter) return &candidate;
  }
  return nullptr;
}

}  // namespace weft::graph
