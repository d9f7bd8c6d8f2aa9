#include "weft/graph/vmap.h"

#include <algorithm>

#include "weft/graph/batch.h"
#include "weft/graph/pending.h"
#include "weft/graph/record.h"
#include "weft/graph/tensor.h"

namespace weft::graph {

using base::ErrorKind;

namespace {

uint32_t calls = 0;

const Op& named(const char* name) { return *find_op(name); }

bool is_running(uint32_t id) {
  for (const Vmap* vmap = modes.vmap; vmap; vmap = vmap->outside.vmap) {
    if (vmap->id == id) return true;
  }
  return false;
}

void refuse_ended(std::span<const Value> inputs) {
  for (const Value& input : inputs)
    if (input && input->mapped) expect_running(*input->mapped);
}

// Dropout that drops nothing draws nothing.
bool draws(const Op& op, const Attributes& attributes) {
  return op.random && !(op.sig.find("training") && !Arguments(op, attributes).flag("training"));
}

// One op of a vmap, run for all its rows.
class RowRun {
 public:
  RowRun(const Call& call, const Vmap& vmap) : call_(call), vmap_(vmap) {
    for (const Value& input : call.inputs) {
      const Value* rows = vmap.rows_of(input);
      given_.push_back(rows ? *rows : input);
      has_rows_.push_back(rows != nullptr);
    }
  }

  Values run() const {
    const GivenRows batch(call_.op, call_.attributes, call_.inputs, given_, has_rows_, vmap_.rows);
    if (vmap_.rows == 0 && !call_.op.pointwise()) return nothing();
    if (draws(call_.op, call_.attributes)) return draw(batch);
    Values results = run_batch_rule(batch);
    return results.empty() ? one_by_one([](int64_t) {}) : results;
  }

 private:
  Values nothing() const {
    Values results;
    for (const Array& output : call_.outputs) {
      Dims sizes = output.sizes;
      sizes.insert(0, 0);
      results.push_back(record_one(named("zeros"), {}, {sizes, output.dtype}));
    }
    return results;
  }

  // `before` is called with the number of each row.
  template <class Before>
  Values one_by_one(const Before& before) const {
    std::vector<Values> parts(call_.outputs.size());
    for (int64_t row = 0; row < vmap_.rows; ++row) {
      Values inputs = given_;
      for (size_t i = 0; i < inputs.size(); ++i) {
        if (has_rows_[i]) inputs[i] = record_one(named("select"), {given_[i]}, {int64_t{0}, row});
      }
      before(row);
      Values results = record(call_.op, inputs, attributes_of(row));
      for (size_t i = 0; i < results.size(); ++i) parts[i].push_back(std::move(results[i]));
    }
    Values results;
    for (const Values& part : parts)
      results.push_back(
          record_one(named("stack"), std::span(part.data(), part.size()), {int64_t{0}}));
    return results;
  }

  // Of an op that draws from a stretch of a stream: each row has a stretch of its own.
  Attributes attributes_of(int64_t row) const {
    if (vmap_.randomness == Randomness::same || !call_.op.random) return call_.attributes;
    std::vector<Attribute> changed;
    for (size_t i = 0; i < call_.attributes.size(); ++i) {
      changed.push_back(call_.attributes[i]);
      auto* key = std::get_if<RandomKey>(&changed.back());
      if (key && !key->engine) key->seed += 0x9e3779b97f4a7c15u * static_cast<uint64_t>(row + 1);
    }
    return Attributes(std::move(changed));
  }

  Values draw(const GivenRows& batch) const {
    const RandomKey key = batch.random("generator");
    if (vmap_.randomness == Randomness::same) {
      const auto state = key.engine ? key.engine->state : base::MersenneState{};
      return one_by_one([&](int64_t) {
        if (key.engine) key.engine->state = state;
      });
    }
    if (const Parameter* size = call_.op.sig.find("size"); size && batch.input_count() == 0) {
      std::vector<Attribute> changed;
      for (size_t i = 0; i < call_.attributes.size(); ++i) changed.push_back(call_.attributes[i]);
      changed[size->index] = batch.with_rows(batch.integers("size"));
      return record(call_.op, {}, Attributes(std::move(changed)));
    }
    // `multinomial` takes rows of its own; the others draw for each element.
    const bool fits = call_.op.name != "multinomial" || batch.rank(0) == 1;
    if (batch.input_count() == 1 && fits)
      return record(call_.op, Values{batch.with_rows(0)}, call_.attributes);
    return one_by_one([](int64_t) {});
  }

  const Call& call_;
  const Vmap& vmap_;
  Values given_;
  std::vector<bool> has_rows_;
};

}  // namespace

uint32_t vmap_now() { return modes.vmap ? modes.vmap->id : 0; }

Vmap::Vmap(int64_t rows, Randomness randomness)
    : rows(rows), randomness(randomness), id(++calls), outside(modes) {}

bool Vmap::concerns(const Op& op, const Attributes& attributes,
                    std::span<const Value> inputs) const {
  refuse_ended(inputs);
  const bool has_rows = std::ranges::any_of(inputs, [&](const Value& one) { return rows_of(one); });
  if (has_rows && op.run.kind == Run::Kind::by_value) {
    base::fail(ErrorKind::unsupported, "vmap: ", op.name,
               " gives as many elements as the values say, so its shape may differ from row to "
               "row; weft.map runs functions that use it");
  }
  if (!draws(op, attributes)) return has_rows;
  if (randomness == Randomness::error) {
    base::fail(ErrorKind::unsupported, "vmap: ", op.name,
               " draws random numbers; say randomness='different' or randomness='same' to vmap, "
               "or draw them outside of it");
  }
  return has_rows || randomness == Randomness::different;
}

Value Vmap::enter(Value rows, TensorRef memory) const {
  Dims sizes = rows.sizes(), strides = rows.array().strides;
  if (sizes.empty() || sizes[0] != this->rows) {
    base::fail(ErrorKind::shape, "vmap: expected ", this->rows,
               " rows in dimension 0; the shape is ", sizes);
  }
  sizes.erase(0);
  strides.erase(0);
  Value one(Array(nullptr, sizes, strides, rows.array().offset, rows.dtype()));
  if (rows->requires_grad) {
    one->requires_grad = true;
    one->producer = make_leaf_node(nullptr);
  }
  one->mapped = base::make_ref<Mapped>(std::move(rows), id, std::move(memory));
  return one;
}

const Vmap* concerned_vmap(const Op& op, const Attributes& attributes,
                           std::span<const Value> inputs) {
  refuse_ended(inputs);
  const Vmap* vmap = modes.vmap;
  while (vmap && !vmap->concerns(op, attributes, inputs)) vmap = vmap->outside.vmap;
  return vmap;
}

OutsideVmap::OutsideVmap(const Vmap& vmap) {
  const Modes& outside = vmap.outside;
  modes.executor = outside.executor;
  modes.tracer = outside.tracer;
  modes.keep_values = outside.keep_values;
  modes.vmap = outside.vmap;
}

void expect_running(const Mapped& mapped) {
  if (!is_running(mapped.vmap)) refuse_reading(mapped);
}

void follow_memory(const Value& row, const Value& view) {
  if (!row->mapped || !row->mapped->memory) return;
  view->mapped->memory = TensorRef(new TensorData(view->mapped->rows));
  view->mapped->memory->set_view_of(*row->mapped->memory);
}

void refuse_reading(const Mapped& mapped) {
  if (is_running(mapped.vmap)) {
    base::fail(ErrorKind::unsupported,
               "vmap: the function reads a value (by if, bool(), item(), numpy(), print()), which "
               "differs from row to row; weft.map runs functions that read values");
  }
  base::fail(ErrorKind::unsupported,
             "vmap: this tensor is a row of a vmap that has ended; a function inside vmap has to "
             "return what is needed outside");
}

Value with_history_of(const Value& value, const Value& other) {
  Value result = without_history(value);
  result->take_history(*other.get());
  if (value->mapped && other->mapped) {
    result->mapped = base::make_ref<Mapped>(
        with_history_of(value->mapped->rows, other->mapped->rows), value->mapped->vmap);
  } else if (value->mapped && other->requires_grad) {
    base::fail(ErrorKind::unsupported,
               "vmap: rows are written under no_grad() into a tensor that has a gradient and no "
               "rows, which is not supported");
  }
  return result;
}

Values run_mapped(const Call& call) {
  const Vmap& vmap = *modes.vmap;
  const OutsideVmap outside;
  Values rows = RowRun(call, vmap).run();
  Values outputs;
  for (size_t i = 0; i < rows.size(); ++i) {
    const Array& one = call.outputs[i];
    outputs.push_back(Value(Array(nullptr, one.sizes, one.strides, 0, one.dtype)));
    outputs[i]->mapped = base::make_ref<Mapped>(std::move(rows[i]), vmap.id);
  }
  return outputs;
}

}  // namespace weft::graph
