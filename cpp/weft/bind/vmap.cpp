// vmap for Python: a function over one row of tensors, called once for all rows.
#include "weft/graph/vmap.h"

#include "weft/bind/binding.h"
#include "weft/graph/record.h"

namespace weft::bind {
namespace {

using graph::modes;
using graph::Vmap;

// Calls a Python function that returns a sequence of tensors.
Values call(const nb::callable& function, const nb::object& arguments) {
  const Object result = Object::check(PyObject_CallObject(function.ptr(), arguments.ptr()));
  Values values;
  for (const TensorObject& tensor : nb::cast<std::vector<TensorObject>>(nb::handle(result.get())))
    values.push_back(tensor.value());
  return values;
}

// vmap(function, tensors, rows, randomness): calls the function with a row of each tensor, which
// has them in dimension 0. Returns all rows of what it returned, and of what has none itself.
nb::tuple vmap(const nb::callable& function, const std::vector<TensorObject>& tensors, int64_t rows,
               int randomness) {
  const auto level = std::make_unique<Vmap>(rows, static_cast<graph::Randomness>(randomness));
  Values outputs;
  {
    graph::ModesGuard guard;
    modes.vmap = level.get();
    modes.executor = nullptr;
    modes.tracer = nullptr;
    modes.keep_values = false;
    Values given;
    for (const TensorObject& tensor : tensors)
      given.push_back(level->enter(tensor.value(), TensorRef(&tensor.data())));
    outputs = call(function, wrapped(std::move(given)));
  }
  nb::list results, has_rows;
  for (const Value& output : outputs) {
    const Value* all = level->rows_of(output);
    results.append(wrapped(all ? *all : output));
    has_rows.append(all != nullptr);
  }
  return nb::make_tuple(results, has_rows);
}

// outside_vmap(function, tensors): calls function(rows, randomness, has_rows, tensors) outside of
// the innermost vmap, with all rows of the tensors that have some. Returns one row of what it
// returned, which has rows in dimension 0.
nb::tuple outside_vmap(const nb::callable& function, const std::vector<TensorObject>& tensors) {
  if (!modes.vmap) raise(PyExc_RuntimeError, "outside_vmap: there is no vmap here");
  const Vmap& level = *modes.vmap;
  nb::list given, has_rows;
  for (const TensorObject& tensor : tensors) {
    const Value* all = level.rows_of(tensor.value());
    given.append(all ? wrapped(*all) : tensor.object);
    has_rows.append(all != nullptr);
  }
  Values outputs;
  {
    const graph::OutsideVmap outside;
    outputs = call(function,
                   nb::make_tuple(level.rows, static_cast<int>(level.randomness), has_rows, given));
  }
  for (Value& output : outputs) output = level.enter(std::move(output));
  return wrapped(std::move(outputs));
}

// Gives a row the rows of another one of its shape, which have a history outside.
void take_rows(const TensorObject& tensor, const TensorObject& other) {
  if (tensor.data().array().sizes != other.data().array().sizes)
    base::fail(ErrorKind::shape, "vmap: a function's vmap gives another shape than its forward");
  if (!tensor.value()->mapped) return;  // the same for all rows
  tensor.value()->mapped = other.value()->mapped;
}

}  // namespace

void define_vmap(nb::module_& module) {
  module.def("vmap", vmap,
             "Call a function with one row of tensors for all of them; see weft.vmap.");
  module.def("outside_vmap", outside_vmap, "Call a function with all rows of tensors.");
  module.def("take_rows", take_rows, "Give a row the rows of another one.");
  module.def(
      "call_outside",
      [](const nb::callable& function, const nb::args& args) {
        if (!modes.vmap) return function(*args);
        const graph::OutsideVmap outside;
        return function(*args);
      },
      "Call a function outside of the innermost vmap.");
  module.def(
      "is_row",
      [](nb::handle object) {
        return is_tensor(object.ptr()) && static_cast<bool>(value_of(object.ptr())->mapped);
      },
      nb::arg().none(), "Tell whether an object is a row of a vmap.");
  module.def(
      "has_rows",
      [](nb::handle object) {
        return modes.vmap && is_tensor(object.ptr()) &&
               modes.vmap->rows_of(value_of(object.ptr())) != nullptr;
      },
      nb::arg().none(), "Tell whether an object is a row of the innermost vmap.");
}

}  // namespace weft::bind
