// Op: one row of the op table. Everything Weft knows of one operation stands in one declaration:
//
//   OP(tanh, "(input: Tensor) -> Tensor") {
//     .doc = "Returns the hyperbolic tangent of each element.",
//     .run = FORMULA(floats, (x), tanh(x)),
//     .gradient = [](Gradient& g) -> Values { return {g.grad() * (1 - g.output() * g.output())}; },
//   };
//
// The build derives typed C++ callables (generated ops.h) and SIMD loops from these declarations.
#pragma once

#include <list>
#include <string_view>
#include <vector>

#include "weft/graph/gradient.h"
#include "weft/graph/signature.h"
#include "weft/graph/value.h"

namespace weft::graph {

// Gives the non-tensor arguments by name. Base of Call and Gradient.
class Arguments {
 public:
  Arguments(const Op& op, const Attributes& attributes) : op(op), attributes(attributes) {}
  const Op& op;
  const Attributes& attributes;

  const Attribute& attribute(std::string_view name) const;
  bool has(std::string_view name) const;  // given and not None
  int64_t integer(std::string_view name) const;
  double real(std::string_view name) const;  // also of an int or bool
  bool flag(std::string_view name) const;
  const Dims& integers(std::string_view name) const;
  const std::string& string(std::string_view name) const;
  DType dtype(std::string_view name) const;
  RandomKey random(std::string_view name) const;
};

// One application of an op while it is recorded: inputs are there, the shape rule adds the outputs,
// the kernel fills them.
class Call : public Arguments {
 public:
  Call(const Op& op, const Attributes& attributes, std::span<const Value> inputs)
      : Arguments(op, attributes), inputs(inputs) {}
  std::span<const Value> inputs;        // optional ones may be empty; a list's items in a row
  base::SmallVector<Array, 2> outputs;  // meta after the shape rule, memory before the kernel
  DType compute = DType::f32;           // element-wise ops: in which dtype to compute

  const Value& operator[](size_t i) const { return inputs[i]; }
  const Array& in(size_t i) const { return inputs[i].array(); }
  // Input i as contiguous memory of `dtype` (a copy only if needed). For kernels.
  Array contiguous(size_t i) const;
  Array contiguous(size_t i, DType dtype) const;
  Array& out(size_t i = 0) { return outputs[i]; }
  void add_output(Dims sizes, DType dtype) {
    outputs.push_back(Array::meta(std::move(sizes), dtype));
  }

  // Errors as sentences: "matmul(input, other): <parts...>".
  template <class... Parts>
  [[noreturn]] void fail(base::ErrorKind kind, const Parts&... parts) const {
    base::fail(kind, heading(), ": ", parts...);
  }
  template <class... Parts>
  void require(bool holds, base::ErrorKind kind, const Parts&... parts) const {
    if (!holds) [[unlikely]]
      fail(kind, parts...);
  }
  const std::string& heading() const;
  int64_t dim(std::string_view name,
              int64_t rank) const;  // an integer argument as a dimension, wrapped
};

using ShapeFunction = void (*)(Call& call);
using KernelFunction = void (*)(Call& call);
using CompositeFunction = Values (*)(const Call& call);
using GradientFunction = Values (*)(Gradient& g);

// A compiled formula over contiguous memory of one lane's type.
using BlockFunction = void (*)(void* out, const void* const* in, int64_t count);

// --- fields -----------------------------------------------------------------------------------
// What is left out follows from the rest; where it does not, generate_ops.py stops the build.

// How results get their dtype in element-wise ops.
enum class Result : uint8_t {
  promoted,  // the operands' common dtype
  floating,  // the same, but integers become the default float dtype
  numeric,   // the operands' common dtype, which may not be bool
  counted,   // the same, but bool becomes int64
  boolean,   // computed in the common dtype, stored as bool
  first,     // the first operand's
};

struct Shape {
  Shape() = default;  // of a formula: by its domain; of a composite: of its parts
  Shape(ShapeFunction function) : function(function) {}  // NOLINT: written as a lambda
  template <class F>
    requires std::is_convertible_v<F, ShapeFunction>
  Shape(F f, Result result = Result::promoted) : function(f), result(result) {}
  Shape(Result result, int masks) : is_said(true), result(result), masks(masks) {}
  ShapeFunction function = nullptr;  // null: element-wise, by `result`
  bool is_said = false;
  Result result = Result::promoted;
  int masks = 0;
};
// `masks`: how many leading operands are bool masks, which take no part in promotion.
inline Shape elementwise(Result result, int masks = 0) { return {result, masks}; }
// The same for shape rules that check more than that.
void infer_elementwise(Call& call, Result result, int masks = 0);
inline constexpr Result promoted = Result::promoted, floating = Result::floating,
                        numeric = Result::numeric, counted = Result::counted,
                        boolean = Result::boolean, first = Result::first;

enum class Domain : uint8_t { floats, numbers, integers };  // lanes a formula is compiled for

struct Formula {
  Domain domain;
  std::string_view parameters;  // "(x, y)"
  std::string_view text;        // "x + y"
};

struct Run {
  enum class Kind : uint8_t { formula, kernel, view, composite, by_value, program };
  Kind kind;
  Formula formula{};
  KernelFunction kernel = nullptr;  // kernel: outputs are allocated; by_value: it adds them itself
  CompositeFunction composite = nullptr;  // made of other ops; makes no node of its own

  Run(Formula f) : kind(Kind::formula), formula(f) {}
  static Run of(Kind kind, KernelFunction f) { return Run(kind, f, nullptr); }
  static Run of_ops(CompositeFunction f) { return Run(Kind::composite, nullptr, f); }

 private:
  Run(Kind kind, KernelFunction k, CompositeFunction c) : kind(kind), kernel(k), composite(c) {}
};
// A kernel fills call.outputs.
inline Run kernel(KernelFunction f) { return Run::of(Run::Kind::kernel, f); }
// The shape depends on values: the kernel adds and fills outputs; the shape rule only checks.
inline Run by_value(KernelFunction f) { return Run::of(Run::Kind::by_value, f); }
// A view: the shape rule itself adds outputs that share the first input's storage.
inline Run view() { return Run::of(Run::Kind::view, nullptr); }
// Other ops give a composite its shape and its gradient.
inline Run composite(CompositeFunction f) { return Run::of_ops(f); }

struct Rule {
  Rule() = default;
  template <class F>
    requires std::is_convertible_v<F, GradientFunction>
  Rule(F f) : function(f) {}
  struct Reason {
    std::string_view text;
  };
  Rule(Reason reason) : reason(reason.text) {}
  GradientFunction function = nullptr;
  std::string_view reason = "of its parts";  // why there is none
};
inline Rule no_gradient(std::string_view reason) { return Rule::Reason{reason}; }

class Batched;
using BatchFunction = Values (*)(const Batched& batch);

// How many applications, one for each row, run as one (graph/batch.h). Element-wise ops need none:
// their shapes broadcast. Kernels and views have one or a reason, or the build fails.
struct BatchRule {
  BatchRule() = default;
  template <class F>
    requires std::is_convertible_v<F, BatchFunction>
  BatchRule(F f) : function(f) {}
  BatchFunction function = nullptr;
  uint32_t weights = 0;          // bit i: input i, if it is a parameter, is one and the same
  std::string_view free = {};    // an attribute in which rows may differ
  std::string_view reason = "";  // why there is none
};
// Rows that read different parameters as one of these inputs do not run together.
inline BatchRule with_weights(std::initializer_list<int> inputs, BatchRule rule) {
  for (int i : inputs) rule.weights |= bit_of(i);
  return rule;
}
// Rows may differ in this attribute; `Batched::row_attributes` has each one's.
inline BatchRule differing_in(std::string_view attribute, BatchRule rule) {
  rule.free = attribute;
  return rule;
}
inline BatchRule no_batch(std::string_view reason) {
  BatchRule rule;
  rule.reason = reason;
  return rule;
}

// What the declaration says; `Op` adds what is derived from it.
struct Declaration {
  std::string_view signature = {};  // with the name; OP puts it in
  std::string_view doc;
  Shape shape = {};
  Run run;
  Rule gradient = {};
  BatchRule batch = {};
  bool missing_is_zero = false;    // its gradient rule takes a missing gradient for zeros
  std::string_view shown_as = {};  // grad_fn's name where PyTorch's differs from the op's
};

struct Op : Declaration {
  Op(std::string_view declared_name, Declaration declaration, bool listed = true);
  Op(const Op&) = delete;

  Signature sig;
  std::string name;
  std::string node_name;         // "TanhBackward0"
  uint32_t number = 0;           // by when it was made: the same in each run, as addresses are not
  int formula = -1;              // its number among the compiled formulas
  BlockFunction blocks[3] = {};  // its compiled loops over contiguous memory, by lane
  bool random = false;           // draws random numbers
  bool pointwise() const { return run.kind == Run::Kind::formula; }
  bool is_view() const { return run.kind == Run::Kind::view; }
  bool is_composite() const { return run.kind == Run::Kind::composite; }
  bool is_program() const { return run.kind == Run::Kind::program; }
  bool differentiable() const { return gradient.function != nullptr; }
  mutable std::list<GradientPlan> plans;  // by which inputs need gradients; they never move
};

struct Named {
  std::string_view name, signature;
  Op operator+(Declaration declaration) const {
    declaration.signature = signature;
    return Op(name, declaration);
  }
};

// The registry, in order of names.
const std::vector<const Op*>& all_ops();
const Op* find_op(std::string_view name);  // null when there is none
void link_ops();                           // resolves formulas; called once when the module loads

}  // namespace weft::graph

// The two macros of the op language.
#define OP(op_name, signature_text)            \
  extern const ::weft::graph::Op op_##op_name; \
  const ::weft::graph::Op op_##op_name =       \
      ::weft::graph::Named{#op_name, #op_name signature_text} + ::weft::graph::Declaration
#define FORMULA(domain_name, parameters_text, ...) \
  ::weft::graph::Formula { ::weft::graph::Domain::domain_name, #parameters_text, #__VA_ARGS__ }
