// Value: a result of the graph, assigned once. Consumers hold Values; users hold Tensors
// (tensor.h).
#pragma once

#include <cstdint>
#include <memory>

#include "weft/base/ref.h"
#include "weft/graph/attributes.h"
#include "weft/tensor/array.h"

namespace weft::graph {

using tensor::Array;
using tensor::Dims;
using tensor::DType;

class Node;
struct Op;
struct Pending;

// Where in the user's program something happened; 0 is unknown. bind/ resolves it to file and line.
using Position = uint32_t;

// Why a value has no gradient although something it was made from had one.
enum class Cut : uint8_t { none, detach, no_grad, integer, not_differentiable, leaf };

struct ViewOf;
struct Mapped;

struct ValueData final : base::RefCounted<ValueData>, base::Pooled<ValueData> {
  Array array;                 // shape, dtype, strides; storage is empty until computed
  base::Ref<Node> producer;    // of a leaf that requires grad: its accumulation node
  base::Ref<Pending> pending;  // what will compute it; empty once it is computed
  uint32_t output = 0;         // which of the producer's outputs
  int32_t row = whole;         // of a producer that ran for several rows at once: which of them
  union {
    Position cut_at = 0;  // where the path of gradients ended, for messages
    uint32_t kept_at;     // of a kept row, whose path has not ended: its place among them
  };
  uint32_t view_output = 0;  // of a view: which of the view op's outputs
  uint32_t handles = 0;      // tensors that users hold on it
  uint32_t traced = 0;       // its number in a trace; 0: in none
  Cut cut = Cut::none;
  bool requires_grad = false;
  bool has_rows = false;       // dimension 0 counts rows of a batch
  bool in_batch = false;       // its memory is a part of what was computed for several rows
  bool is_kept_row = false;    // a user holds it (graph/kept_rows.h)
  bool is_alike = false;       // while a plan runs: its memory is that of an equal value
  bool is_number : 1 = false;  // came from a Python number: promotes weakly
  bool inference : 1 = false;  // made in inference mode
  bool promised : 1 = false;   // a call that goes on may give it to the user
  base::Ref<ViewOf> view;      // set on results of view ops
  base::Ref<Mapped> mapped;    // inside vmap: the rows that this one stands for (graph/vmap.h)

  static constexpr int32_t whole = -1;

  // Whether somebody may ask for its gradient.
  bool is_held() const { return (handles > 0 || promised) && requires_grad; }
  // The same place in the graph of gradients as `other`.
  void take_history(const ValueData& other);

  explicit ValueData(Array given);
  // Memory in order, like that of `other`.
  ValueData(base::Ref<tensor::Storage> storage, const Array& other);
  // What a strand's step will give, like `meta`.
  ValueData(const ValueData& meta, Pending& strand, uint32_t number);
  ~ValueData();
  static void destroy(ValueData* data) noexcept { delete data; }
};

class Value {
 public:
  Value() = default;
  explicit Value(Array array) : data_(new ValueData(std::move(array))) {}
  explicit Value(base::Ref<ValueData> data) : data_(std::move(data)) {}
  // Python numbers in rules: `1 - g.output()`.
  Value(double number);
  Value(int number) : Value(static_cast<int64_t>(number)) {}
  Value(int64_t number);
  Value(bool) = delete;

  explicit operator bool() const { return static_cast<bool>(data_); }
  bool operator==(const Value& other) const = default;
  ValueData* operator->() const { return data_.get(); }
  ValueData* get() const { return data_.get(); }

  const Array& array() const { return data_->array; }
  const Dims& sizes() const { return data_->array.sizes; }
  int64_t size(int64_t dim) const { return data_->array.sizes[dim < 0 ? dim + rank() : dim]; }
  int64_t rank() const { return data_->array.rank(); }
  int64_t count() const { return data_->array.count(); }
  DType dtype() const { return data_->array.dtype; }
  bool requires_grad() const { return data_->requires_grad; }

 private:
  base::Ref<ValueData> data_;
};

// Which view of which Value this is: enough to make it again from another parent. One for all
// results of an op.
struct ViewOf final : base::RefCounted<ViewOf>, base::Pooled<ViewOf> {
  ViewOf(const Value& parent, const Op& op, const Attributes& attributes)
      : parent(parent), op(&op), attributes(attributes) {}
  static void destroy(ViewOf* view) noexcept { delete view; }
  Value parent;
  const Op* op;
  Attributes attributes;
};

using Values = base::SmallVector<Value, 5>;

// Another value of the same memory.
Value without_history(const Value& value);

Value number_value(double number);
Value number_value(int64_t number);
Value number_value_bool(bool number);

}  // namespace weft::graph
