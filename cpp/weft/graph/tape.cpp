#include "weft/graph/tape.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <unordered_map>

#include "weft/graph/node.h"
#include "weft/graph/strand.h"
#include "weft/graph/validate.h"

namespace weft::graph {
namespace {

uint32_t generation = 0;  // of the tape: bumped whenever it starts anew

size_t mix(size_t hash, size_t more) {
  hash = (hash ^ more) * 0x9e3779b97f4a7c15u;
  return hash ^ (hash >> 32);
}

// A hash table of numbers that grows; what they stand for is the caller's to compare. Numbers are
// kept as their distance from `base_`, so that clearing is moving that: it costs nothing. Of a
// table that was large once, only as much is used as was needed last time, and stays in the cache.
class Numbers {
 public:
  void clear() {
    base_ += next_;
    used_ = std::min(std::max(std::bit_ceil(4 * count_), least), slots_.size());
    count_ = next_ = 0;
    if (base_ < UINT32_MAX / 2) return;
    slots_.clear();
    used_ = 0;
    base_ = 1;
  }
  // The number with this hash that `is_it`, or `fresh` after putting it in.
  // Places of those that are gone are taken again.
  template <class IsIt, class IsGone>
  int32_t find_or_add(size_t hash, int32_t fresh, const IsIt& is_it, const IsGone& is_gone) {
    if (2 * (count_ + 1) > used_) grow();
    const size_t mask = used_ - 1;
    for (size_t i = static_cast<uint32_t>(hash) & mask;; i = (i + 1) & mask) {
      Slot& slot = slots_[i];
      const bool taken = slot.place >= base_;
      const auto number = static_cast<int32_t>(slot.place - base_);
      if (taken && slot.hash != static_cast<uint32_t>(hash)) continue;
      if (taken && is_it(number)) return number;
      if (taken && !is_gone(number)) continue;
      if (!taken) ++count_;
      slot = {static_cast<uint32_t>(hash), base_ + static_cast<uint32_t>(fresh)};
      next_ = std::max(next_, static_cast<uint32_t>(fresh) + 1);
      return fresh;
    }
  }

 private:
  struct Slot {
    uint32_t hash = 0;
    uint32_t place = 0;  // below base_: nothing here
  };
  static constexpr size_t least = 1024;
  void grow() {
    used_ = std::max(2 * used_, least);
    std::vector<Slot> old(used_);
    old.swap(slots_);
    const size_t mask = used_ - 1;
    for (const Slot& slot : old) {
      if (slot.place < base_) continue;
      size_t i = slot.hash & mask;
      while (slots_[i].place >= base_) i = (i + 1) & mask;
      slots_[i] = slot;
    }
  }
  std::vector<Slot> slots_;
  size_t used_ = 0;  // of the slots
  size_t count_ = 0;
  uint32_t base_ = 1;
  uint32_t next_ = 0;  // above all numbers that are in
};

// What makes applications alike: op, attributes, and of each input its shape and dtype; of a
// weight, which one it is.
struct Type {
  struct Input {
    Dims sizes;
    size_t identity;  // of a weight; 0 otherwise
    DType dtype;
    bool given, requires_grad, is_number;
    bool operator==(const Input&) const = default;
  };
  const Op* op;
  Attributes attributes;
  bool grad;
  std::vector<Input> inputs;
};
std::vector<Type> known_types;
uint32_t types_began = 1;  // how often
Numbers type_numbers;
Numbers same_numbers;
int32_t recent[1024];  // by source position: the type that was last recorded there

bool is_parameter(const Value& value) {
  return value->requires_grad && value->producer && value->producer->is_leaf();
}

bool is_weight(const Op& op, size_t i) { return i < 32 && (op.batch.weights >> i & 1); }

int32_t first_of(const Value& value) {
  return value && value->pending ? the_tape.entries[value->pending->number].first : -1;
}

bool is_shared(const Value& value) {
  if (is_parameter(value)) return true;
  return value->pending && value->pending->number != Pending::not_yet &&
         the_tape.entries[first_of(value)].shared;
}

// Equal for inputs that are one and the same, and for hardly any others.
size_t identity(const Value& value) {
  if (!value) return 0;
  if (value->pending) {
    return (static_cast<size_t>(generation) << 40) + static_cast<size_t>(first_of(value)) * 128 +
           value->pending->outputs[value->output].number + 1;
  }
  return reinterpret_cast<size_t>(value.get());
}

// A constant of a few bytes is what it holds: two times `tensor(5)` is one and the same.
constexpr int64_t most_constant_bytes = 16;
int64_t constant_bytes(const Value& value) {
  const Array& array = value.array();
  if (!array.storage || value->requires_grad || array.storage->is_exposed()) return 0;
  const int64_t bytes = array.count() * tensor::item_size(array.dtype);
  return bytes <= most_constant_bytes && array.is_contiguous() ? bytes : 0;
}

// Equal for inputs that hold or will hold the same, and for hardly any others.
size_t content(const Value& value) {
  const int64_t bytes = value ? constant_bytes(value) : 0;
  if (bytes == 0) return identity(value);
  size_t words[2] = {};
  std::memcpy(words, value.array().data(), static_cast<size_t>(bytes));
  return mix(words[0], words[1] + static_cast<size_t>(value.dtype()));
}

// Number of the attribute in which rows may differ, or none.
size_t free_attribute(const Op& op) {
  if (op.batch.free.empty()) return SIZE_MAX;
  return static_cast<size_t>(op.sig.find(op.batch.free)->index);
}

bool same_attributes(const Op& op, const Attributes& a, const Attributes& b) {
  if (a == b) return true;
  const size_t free = free_attribute(op);
  if (free == SIZE_MAX || a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (i != free && a[i] != b[i]) return false;
  }
  return true;
}

bool is_of_type(const Pending& pending, const Type& type) {
  if (pending.op != type.op || pending.grad != type.grad ||
      pending.inputs.size() != type.inputs.size() ||
      !same_attributes(*type.op, pending.attributes, type.attributes)) {
    return false;
  }
  const bool has_any_shape = !pending.op->is_program();  // a cell's op has the one that it is for
  for (size_t i = 0; i < type.inputs.size(); ++i) {
    const Value& value = pending.inputs[i];
    const Type::Input& input = type.inputs[i];
    if (static_cast<bool>(value) != input.given) return false;
    if (!value) continue;
    if (value->requires_grad != input.requires_grad ||
        weight_identity(*pending.op, i, value) != input.identity ||
        (has_any_shape && (value.dtype() != input.dtype || value->is_number != input.is_number ||
                           value.sizes() != input.sizes))) {
      return false;
    }
  }
  return true;
}

size_t hash_of(const Attribute& attribute) {
  if (const auto* integer = std::get_if<int64_t>(&attribute)) return static_cast<size_t>(*integer);
  if (const auto* real = std::get_if<double>(&attribute)) return std::hash<double>()(*real);
  if (const auto* text = std::get_if<std::string>(&attribute))
    return std::hash<std::string>()(*text);
  size_t hash = attribute.index();
  if (const auto* key = std::get_if<RandomKey>(&attribute)) return mix(key->seed, key->counter);
  if (const auto* dims = std::get_if<Dims>(&attribute)) {
    for (int64_t dim : *dims) hash = mix(hash, static_cast<size_t>(dim));
  }
  return hash;
}

// Without the attribute of that number.
size_t hash_of(const Attributes& attributes, size_t without) {
  size_t hash = attributes.size();
  for (size_t i = 0; i < attributes.size(); ++i) {
    if (i != without) hash = mix(hash, hash_of(attributes[i]));
  }
  return hash;
}

int32_t type_of(const Pending& pending) {
  if (pending.op_count() > 1) {
    const StrandOp& whole = *pending.step->whole;
    if (std::exchange(whole.types_counted, types_began) != types_began) {
      whole.type = type_count();
      known_types.push_back({&whole, {}, false, {}});
    }
    return whole.type;
  }
  int32_t& guess = recent[pending.position % std::size(recent)];
  if (guess < type_count() && is_of_type(pending, known_types[guess])) return guess;
  Type type{pending.op, pending.attributes, pending.grad, {}};
  size_t hash = mix(reinterpret_cast<size_t>(pending.op) + pending.grad,
                    hash_of(pending.attributes, free_attribute(*pending.op)));
  for (size_t i = 0; i < pending.inputs.size(); ++i) {
    const Value& value = pending.inputs[i];
    if (!value) {
      type.inputs.push_back({{}, 0, DType::f32, false, false, false});
      continue;
    }
    type.inputs.push_back({value.sizes(), weight_identity(*pending.op, i, value), value.dtype(),
                           true, value->requires_grad, value->is_number});
    hash = mix(hash, static_cast<size_t>(value.dtype()) + type.inputs.back().identity);
    for (int64_t size : value.sizes()) hash = mix(hash, static_cast<size_t>(size));
  }
  guess = type_numbers.find_or_add(
      hash, type_count(), [&](int32_t number) { return is_of_type(pending, known_types[number]); },
      [](int32_t) { return false; });
  if (guess == type_count()) known_types.push_back(std::move(type));
  return guess;
}

// Closer than equal: 0.0 is not -0.0.
bool identical(const Attributes& a, const Attributes& b) {
  if (!(a == b)) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    const auto* x = std::get_if<double>(&a[i]);
    if (x && std::signbit(*x) != std::signbit(std::get<double>(b[i]))) return false;
  }
  return true;
}

uint32_t number_of(const Value& value) { return value->pending->outputs[value->output].number; }

bool is_same(const Value& a, const Value& b) {
  if (a == b) return true;
  if (!a || !b) return false;
  if (a->pending && b->pending) return first_of(a) == first_of(b) && number_of(a) == number_of(b);
  if (a->pending || b->pending || a.dtype() != b.dtype() || a.sizes() != b.sizes() ||
      a->is_number != b->is_number) {
    return false;
  }
  const int64_t bytes = constant_bytes(a);
  return bytes > 0 && bytes == constant_bytes(b) &&
         std::memcmp(a.array().data(), b.array().data(), static_cast<size_t>(bytes)) == 0;
}

bool computes_the_same(const Pending& a, const Pending& b) {
  return a.op == b.op && a.grad == b.grad && identical(a.attributes, b.attributes) &&
         std::equal(a.inputs.begin(), a.inputs.end(), b.inputs.begin(), b.inputs.end(), is_same);
}

// The first on the tape that computes the same. Random ones never do: each has its own numbers.
int32_t first_like(const Pending& pending) {
  const auto number = static_cast<int32_t>(pending.number);
  if (pending.op->random) return number;
  return same_numbers.find_or_add(
      hash_of(*pending.op, pending.attributes, pending.inputs, pending.grad), number,
      [&](int32_t other) {
        const Pending* earlier = the_tape.entries[other].pending;
        return earlier && computes_the_same(*earlier, pending);
      },
      [](int32_t other) { return the_tape.entries[other].pending == nullptr; });
}

std::unordered_map<const tensor::Storage*, Value> snapshots;

void start_anew() {
  snapshots.clear();
  the_tape.entries.clear();
  the_tape.needs.clear();
  same_numbers.clear();
  ++generation;
  constexpr size_t most_types = 4096;
  const DType dtype = std::exchange(pending_dtype, tensor::default_dtype);
  const bool forget = are_steps_old() || dtype != pending_dtype;
  const bool sweep = !forget && are_steps_many();
  if (forget) forget_steps();
  if (sweep) sweep_steps();
  if (known_types.size() > most_types || forget || sweep) {
    known_types.clear();
    type_numbers.clear();
    ++types_began;
  }
}

}  // namespace

Value& snapshot_of(const tensor::Storage& storage) { return snapshots[&storage]; }

uint32_t tape_generation() { return generation; }
int32_t type_count() { return static_cast<int32_t>(known_types.size()); }

// A matrix of one row is an example's, not a weight, whatever it was made from.
size_t weight_identity(const Op& op, size_t i, const Value& input) {
  if (!is_weight(op, i) || (input.rank() == 2 && input.size(0) == 1)) return 0;
  return is_shared(input) ? identity(input) : 0;
}

size_t hash_of(const Op& op, const Attributes& attributes, std::span<const Value> inputs,
               bool grad) {
  size_t hash = mix(reinterpret_cast<size_t>(&op) + grad, hash_of(attributes, SIZE_MAX));
  for (const Value& input : inputs) hash = mix(hash, content(input));
  return hash;
}

// Results of equal strands are not the same here: what reads them is equal as a strand, too.
size_t hash_of_reads(const Op& op, const Attributes& attributes, std::span<const Value> inputs,
                     bool grad) {
  size_t hash = mix(reinterpret_cast<size_t>(&op) + grad, hash_of(attributes, SIZE_MAX));
  for (const Value& input : inputs) {
    const bool of_strand = input && input->pending && input->pending->op_count() > 1;
    hash = mix(hash, of_strand ? reinterpret_cast<size_t>(input.get()) : identity(input));
  }
  return hash;
}

bool all_shared(std::span<const Value> inputs) {
  return !inputs.empty() && std::all_of(inputs.begin(), inputs.end(), [](const Value& input) {
    return !input || input->is_number || is_shared(input);
  });
}

void add_to_tape(Pending& pending, bool shared) {
  pending.number = static_cast<uint32_t>(the_tape.size());
  const auto number = static_cast<int32_t>(pending.number);
  for (const Value& input : pending.inputs) {
    if (input && input->pending)
      the_tape.needs.push_back(static_cast<int32_t>(input->pending->number));
  }
  const int32_t first = first_like(pending);
  const int32_t type = first == number ? type_of(pending) : the_tape.entries[first].type;
  const auto needs_end = static_cast<uint32_t>(the_tape.needs.size());
  the_tape.entries.push_back({&pending, type, first, needs_end, shared});
  expect_valid(the_tape, the_tape.size() - 1);
}

void take_from_tape(const Pending& pending) {
  if (pending.number != Pending::not_yet) the_tape.entries[pending.number].pending = nullptr;
  the_tape.bytes -= pending.bytes;
  the_tape.ops -= pending.op_count();
  if (the_tape.ops == 0) start_anew();
}

void count_plan() { ++the_tape.plans; }

void set_default_dtype(DType dtype) {
  if (dtype == tensor::default_dtype) return;
  tensor::default_dtype = dtype;
  if (the_tape.ops == 0) start_anew();
}

std::string difference(const Pending& a, const Pending& b) {
  if (a.grad != b.grad) return "one was recorded under no_grad";
  if (a.op->random) return "each draws its own random numbers";
  if (a.inputs.size() != b.inputs.size()) return "the number of inputs differs";
  if (!same_attributes(*a.op, a.attributes, b.attributes)) {
    for (const Parameter& parameter : a.op->sig.parameters) {
      if (parameter.is_tensor()) continue;
      const Attribute& x = a.attributes[parameter.index];
      const Attribute& y = b.attributes[parameter.index];
      if (x != y) {
        return base::text(parameter.name, " differs: ", attribute_text(x), " and ",
                          attribute_text(y));
      }
    }
  }
  for (size_t i = 0; i < a.inputs.size(); ++i) {
    const Value& x = a.inputs[i];
    const Value& y = b.inputs[i];
    if (!x || !y) continue;
    const auto& parameters = a.op->sig.parameters;
    const std::string name = i < parameters.size() ? parameters[i].name : base::text("input ", i);
    if (x.sizes() != y.sizes())
      return base::text("the shape of ", name, " differs: ", x.sizes(), " and ", y.sizes());
    if (x.dtype() != y.dtype()) return base::text("the dtype of ", name, " differs");
    if (x->requires_grad != y->requires_grad)
      return base::text("a gradient is needed for the ", name, " of only one");
    if (weight_identity(*a.op, i, x) != weight_identity(*b.op, i, y)) {
      const bool leaves = x->producer && x->producer->is_leaf();
      return base::text(name, " is another ", leaves ? "parameter" : "tensor");
    }
  }
  return "one needs the other's result";
}

}  // namespace weft::graph
