// Optimizer steps as one native call over all parameters of a group.
#include "weft/bind/binding.h"
#include "weft/graph/modes.h"
#include "weft/kernels/map.h"
#include "weft/kernels/optimizer.h"

namespace weft::bind {
namespace {

using Arrays = std::vector<Array>;
using Given = std::optional<nb::list>;

// The arrays of one argument; empty for None.
Arrays arrays_of(const Given& given, const char* name) {
  Arrays arrays;
  if (!given) return arrays;
  arrays.reserve(given->size());
  for (nb::handle item : *given) {
    if (!is_tensor(item.ptr())) raise(PyExc_TypeError, base::text(name, ": expected tensors"));
    arrays.push_back(computed_value_of(item.ptr()).array());
  }
  return arrays;
}

// What is written is written where it lies, so it must lie in order.
void require_in_order(const Arrays& arrays, const char* name) {
  for (size_t i = 0; i < arrays.size(); ++i) {
    if (arrays[i].is_contiguous() && !arrays[i].storage->read_only()) continue;
    base::fail(ErrorKind::value, name, " ", i, " must be contiguous and writable");
  }
}

Arrays parameters_of(const Given& given) {
  Arrays parameters = arrays_of(given, "params");
  for (const Array& parameter : parameters) {
    if (tensor::is_floating(parameter.dtype)) continue;
    base::fail(ErrorKind::dtype, "an optimizer needs floating-point parameters, got ",
               tensor::name_of(parameter.dtype));
  }
  require_in_order(parameters, "parameter");
  return parameters;
}

Arrays like(const Arrays& parameters, const Given& given, const char* name) {
  Arrays arrays = arrays_of(given, name);
  if (given && arrays.size() != parameters.size()) {
    raise(PyExc_ValueError,
          base::text(name, ": expected ", parameters.size(), " tensors, got ", arrays.size()));
  }
  for (size_t i = 0; i < arrays.size(); ++i) {
    if (arrays[i].sizes == parameters[i].sizes && arrays[i].dtype == parameters[i].dtype) continue;
    base::fail(ErrorKind::shape, name, " ", i, " is ", arrays[i].sizes, " of ",
               tensor::name_of(arrays[i].dtype), ", the parameter is ", parameters[i].sizes, " of ",
               tensor::name_of(parameters[i].dtype));
  }
  return arrays;
}

Arrays state_like(const Arrays& parameters, const Given& given, const char* name) {
  Arrays state = like(parameters, given, name);
  require_in_order(state, name);
  return state;
}

Arrays gradients_like(const Arrays& parameters, const Given& given) {
  Arrays gradients = like(parameters, given, "gradient");
  for (Array& gradient : gradients) {
    if (!gradient.is_contiguous()) gradient = kernels::converted(gradient, gradient.dtype);
  }
  return gradients;
}

// Runs a step that writes the parameters, and counts the writes.
template <class Step>
void write(const Arrays& parameters, Step step) {
  for (const Array& parameter : parameters) graph::run_readers(*parameter.storage);
  step();
  const graph::Position position = graph::current_position();
  for (const Array& parameter : parameters) {
    parameter.storage->version += 1;
    parameter.storage->written_at = position;
    parameter.storage->written_by = nullptr;
  }
}

char* data_of(const Arrays& arrays, size_t i) {
  return arrays.empty() ? nullptr : arrays[i].data();
}

void adam_step(const nb::list& params, const nb::list& grads, const nb::list& averages,
               const nb::list& squares, const Given& largest, int64_t step, double learning_rate,
               double beta1, double beta2, double epsilon, double weight_decay, bool decoupled,
               bool maximize) {
  const Arrays parameters = parameters_of(params);
  const Arrays gradients = gradients_like(parameters, grads);
  const Arrays first = state_like(parameters, averages, "exp_avg");
  const Arrays second = state_like(parameters, squares, "exp_avg_sq");
  const Arrays most = state_like(parameters, largest, "max_exp_avg_sq");
  std::vector<kernels::AdamTensors> tensors;
  for (size_t i = 0; i < parameters.size(); ++i) {
    tensors.push_back({parameters[i].dtype, parameters[i].count(), parameters[i].data(),
                       gradients[i].data(), first[i].data(), second[i].data(), data_of(most, i)});
  }
  write(parameters, [&] {
    kernels::adam({step, learning_rate, beta1, beta2, epsilon, weight_decay, decoupled, maximize},
                  tensors);
  });
}

void sgd_step(const nb::list& params, const nb::list& grads, const Given& buffers, bool first,
              double learning_rate, double momentum, double dampening, double weight_decay,
              bool nesterov, bool maximize) {
  const Arrays parameters = parameters_of(params);
  const Arrays gradients = gradients_like(parameters, grads);
  const Arrays kept = state_like(parameters, buffers, "momentum_buffer");
  std::vector<kernels::SgdTensors> tensors;
  for (size_t i = 0; i < parameters.size(); ++i) {
    tensors.push_back({parameters[i].dtype, parameters[i].count(), parameters[i].data(),
                       gradients[i].data(), data_of(kept, i)});
  }
  write(parameters, [&] {
    kernels::sgd({learning_rate, momentum, dampening, weight_decay, nesterov, maximize, first},
                 tensors);
  });
}

}  // namespace

void define_optimizers(nb::module_& module) {
  module.def("adam_step", adam_step, "Update all parameters by Adam in one pass.");
  module.def("sgd_step", sgd_step, "Update all parameters by SGD in one pass.");
}

}  // namespace weft::bind
