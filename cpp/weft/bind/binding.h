// For functions that are not on the way of every op: nanobind reads their arguments.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "weft/bind/python.h"

namespace weft::bind {

namespace nb = nanobind;

// A Tensor as an argument.
struct TensorObject {
  nb::object object;
  PyObject* ptr() const { return object.ptr(); }
  TensorData& data() const { return tensor_of(ptr()); }
  Value value() const { return value_of(ptr()); }
  Value computed() const { return computed_value_of(ptr()); }
  Value settled() const { return settled_value_of(ptr()); }
};

// A Python function that the graph holds; garbage collection looks for it there.
struct HeldFunction {
  explicit HeldFunction(PyObject* function) : function(Object::borrow(function)) {}
  virtual ~HeldFunction() = default;
  Object function;
};

// Lets a tensor that is no leaf keep its gradient.
void retain_grad(const TensorObject& tensor);
nb::object wrap_node(Node* node, int32_t row);
// The arguments of an op that are no tensors and not what they are by default, as texts.
nb::dict attribute_texts(const Op* op, const graph::Attributes& attributes);
inline nb::object wrapped(Value value) { return nb::steal(wrap(std::move(value))); }
inline nb::tuple wrapped(Values values) {
  return nb::steal<nb::tuple>(wrap_all(std::move(values), nullptr, false));
}

// C++ errors of the core to Python's, in functions that nanobind calls.
void translate_errors();

// --- each in its file ---
void define_dtypes(nb::module_& module);
void define_reading(nb::module_& module);
void define_positions(nb::module_& module);
void define_exchange(nb::module_& module);
void define_random(nb::module_& module);
void define_optimizers(nb::module_& module);
void define_nodes(nb::module_& module);
void define_hooks(nb::module_& module);
void define_functions(nb::module_& module);
void define_autograd(nb::module_& module);
void define_traces(nb::module_& module);
void define_vmap(nb::module_& module);
void define_routines(nb::module_& module);
void define_tasks(nb::module_& module);

}  // namespace weft::bind

template <>
struct nanobind::detail::type_caster<weft::bind::TensorObject> {
  NB_TYPE_CASTER(weft::bind::TensorObject, const_name("weft.Tensor"))
  bool from_python(handle source, uint32_t, cleanup_list*) noexcept {
    value.object = borrow(source);
    return weft::bind::is_tensor(source.ptr());
  }
};
template <>
struct nanobind::detail::type_caster<weft::tensor::DType> {
  NB_TYPE_CASTER(weft::tensor::DType, const_name("weft.dtype"))
  bool from_python(handle source, uint32_t, cleanup_list*) noexcept {
    if (!weft::bind::is_dtype(source.ptr())) return false;
    value = weft::bind::dtype_from(source.ptr());
    return true;
  }
  static handle from_cpp(weft::tensor::DType dtype, rv_policy, cleanup_list*) noexcept {
    return borrow(weft::bind::dtype_object(dtype)).release();
  }
};
