#include "weft/graph/op.h"

#include <algorithm>

#include "weft/graph/modes.h"

namespace weft::graph {
namespace {

// A function static: ops register while other files' statics are still being made.
std::vector<const Op*>& registry() {
  static std::vector<const Op*> ops;
  return ops;
}

// "log_softmax" -> "LogSoftmaxBackward0"
std::string node_name_of(std::string_view name) {
  std::string result;
  bool upper = true;
  for (char c : name) {
    if (c == '_') {
      upper = true;
    } else {
      result += upper && c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
      upper = false;
    }
  }
  return result + "Backward0";
}

}  // namespace

Op::Op(std::string_view declared_name, Declaration declaration, bool listed)
    : Declaration(declaration),
      sig(Signature::parse(declaration.signature)),
      name(declared_name),
      node_name(declaration.shown_as.empty() ? node_name_of(declared_name)
                                             : std::string(declaration.shown_as)) {
  static uint32_t made = 0;
  number = made++;
  if (pointwise() && !shape.is_said && run.formula.domain == Domain::floats) {
    shape.result = Result::floating;
  }
  for (const Parameter& parameter : sig.parameters) {
    random = random || parameter.type == ParameterType::generator;
  }
  if (listed) registry().push_back(this);
}

const std::vector<const Op*>& all_ops() { return registry(); }

const Op* find_op(std::string_view name) {
  const auto& ops = registry();
  const auto found = std::lower_bound(
      ops.begin(), ops.end(), name, [](const Op* op, std::string_view n) { return op->name < n; });
  return found != ops.end() && (*found)->name == name ? *found : nullptr;
}

void link_ops() {
  auto& ops = registry();
  std::sort(ops.begin(), ops.end(), [](const Op* a, const Op* b) { return a->name < b->name; });
  for (const Op* op : ops) {
    if (!op->pointwise()) continue;
    const_cast<Op*>(op)->formula = host.find_formula(op->name);
    if (op->formula < 0) base::bug("no compiled formula for ", op->name);
    for (tensor::Lane lane : {tensor::Lane::f32, tensor::Lane::f64, tensor::Lane::i64}) {
      const_cast<Op*>(op)->blocks[static_cast<int>(lane)] = host.block_function(op->formula, lane);
    }
  }
}

const Attribute& Arguments::attribute(std::string_view name) const {
  const Parameter* parameter = op.sig.find(name);
  if (!parameter || parameter->is_tensor()) base::bug(op.name, " has no attribute ", name);
  return attributes[parameter->index];
}

bool Arguments::has(std::string_view name) const {
  return !std::holds_alternative<std::monostate>(attribute(name));
}

namespace {

template <class T>
const T& get(const Arguments& arguments, std::string_view name) {
  const T* value = std::get_if<T>(&arguments.attribute(name));
  if (!value) base::bug(arguments.op.name, ": attribute ", name, " has another type");
  return *value;
}

}  // namespace

int64_t Arguments::integer(std::string_view name) const { return get<int64_t>(*this, name); }
bool Arguments::flag(std::string_view name) const { return get<bool>(*this, name); }
const Dims& Arguments::integers(std::string_view name) const { return get<Dims>(*this, name); }
const std::string& Arguments::string(std::string_view name) const {
  return get<std::string>(*this, name);
}
DType Arguments::dtype(std::string_view name) const { return get<DType>(*this, name); }
RandomKey Arguments::random(std::string_view name) const { return get<RandomKey>(*this, name); }

double Arguments::real(std::string_view name) const {
  const Attribute& value = attribute(name);
  if (const auto* integer = std::get_if<int64_t>(&value)) return static_cast<double>(*integer);
  if (const auto* flag = std::get_if<bool>(&value)) return *flag;
  return get<double>(*this, name);
}

Array Call::contiguous(size_t i) const { return contiguous(i, in(i).dtype); }

Array Call::contiguous(size_t i, DType dtype) const {
  const Array& array = in(i);
  if (array.dtype == dtype && array.is_contiguous()) return array;
  Array copy = Array::allocate(array.sizes, dtype);
  host.copy(array, copy);
  return copy;
}

const std::string& Call::heading() const { return op.sig.heading; }

int64_t Call::dim(std::string_view name, int64_t rank) const {
  return tensor::wrap_dim(heading(), integer(name), rank);
}

}  // namespace weft::graph
