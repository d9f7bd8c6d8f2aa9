#include "weft/graph/value.h"

#include <bit>

#include "weft/graph/kept_rows.h"
#include "weft/graph/node.h"
#include "weft/graph/strand.h"
#include "weft/graph/vmap.h"

namespace weft::graph {
namespace {

template <class T>
Value make_number(T number, DType dtype) {
  Array array = Array::allocate({}, dtype);
  *array.as<T>() = number;
  Value value(std::move(array));
  value->is_number = true;
  return value;
}

// Programs use few different numbers, again and again: a small cache saves making their Values.
// Sharing one is safe because nobody writes to the memory of a number.
template <class T>
Value cached_number(T number, DType dtype) {
  struct Entry {
    uint64_t bits = 0;
    Value value;
  };
  static Entry entries[256];
  const auto bits = std::bit_cast<uint64_t>(number);
  Entry& entry = entries[bits * 0x9e3779b97f4a7c15u >> 56];
  if (!entry.value || entry.bits != bits) entry = {bits, make_number(number, dtype)};
  return entry.value;
}

}  // namespace

ValueData::ValueData(Array given) : array(std::move(given)) {}
ValueData::ValueData(base::Ref<tensor::Storage> storage, const Array& other)
    : array{std::move(storage), other.sizes, other.strides, 0, other.dtype} {}
ValueData::~ValueData() {
  if (pending) held_by(*pending, output).value = nullptr;
  if (is_kept_row) forget_kept_row(*this);
  // A long chain of views goes one by one, not each inside the next.
  base::Ref<ViewOf> next = std::move(view);
  while (next && next->use_count() == 1 && next->parent.get()->use_count() == 1)
    next = base::Ref(std::move(next->parent->view));
}

void ValueData::take_history(const ValueData& other) {
  producer = other.producer;
  output = other.output;
  row = other.row;
  requires_grad = other.requires_grad;
  cut = other.cut;
  if (cut != Cut::none) cut_at = other.cut_at;
}

Value without_history(const Value& value) {
  Value result(value.array());
  result->mapped = value->mapped;
  return result;
}

Value number_value(double number) { return cached_number(number, DType::f64); }
Value number_value(int64_t number) { return cached_number(number, DType::i64); }
Value number_value_bool(bool number) { return make_number(number, DType::boolean); }

Value::Value(double number) : Value(number_value(number)) {}
Value::Value(int64_t number) : Value(number_value(number)) {}

}  // namespace weft::graph
