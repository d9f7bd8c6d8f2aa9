// Optimizer steps as one native call over all parameters of a group.
#include <vector>

#include "weft/bind/python.h"
#include "weft/graph/modes.h"
#include "weft/kernels/optimizer.h"

namespace weft::bind {
namespace {

// The tensors of one argument; empty for None.
std::vector<Array> arrays_of(PyObject* argument, const char* name, size_t expected) {
  std::vector<Array> result;
  if (argument == Py_None) return result;
  Object items = Object::check(PySequence_Fast(argument, "expected a sequence of tensors"));
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.get()); ++i) {
    PyObject* item = PySequence_Fast_GET_ITEM(items.get(), i);
    if (!is_tensor(item)) raise(PyExc_TypeError, base::text(name, ": expected tensors"));
    result.push_back(computed_value_of(item).array());
  }
  if (expected != SIZE_MAX && result.size() != expected) {
    raise(PyExc_ValueError,
          base::text(name, ": expected ", expected, " tensors, got ", result.size()));
  }
  return result;
}

// State and parameters are written where they lie, so they must lie in order; a gradient may be
// copied.
void check(const std::vector<Array>& parameters, const std::vector<Array>& others, const char* name,
           bool written) {
  for (size_t i = 0; i < others.size(); ++i) {
    if (others[i].sizes != parameters[i].sizes || others[i].dtype != parameters[i].dtype) {
      base::fail(ErrorKind::shape, name, " ", i, " is ", others[i].sizes, " of ",
                 tensor::name_of(others[i].dtype), ", the parameter is ", parameters[i].sizes,
                 " of ", tensor::name_of(parameters[i].dtype));
    }
    if (written && (!others[i].is_contiguous() || others[i].storage->read_only())) {
      base::fail(ErrorKind::value, name, " ", i, " must be contiguous and writable");
    }
  }
}

void check_all(const std::vector<Array>& parameters, std::vector<Array>& gradients) {
  for (const Array& parameter : parameters) {
    if (!tensor::is_floating(parameter.dtype)) {
      base::fail(ErrorKind::dtype, "an optimizer needs floating-point parameters, got ",
                 tensor::name_of(parameter.dtype));
    }
  }
  check(parameters, parameters, "parameter", true);
  check(parameters, gradients, "gradient", false);
  for (Array& gradient : gradients) {
    if (gradient.is_contiguous()) continue;
    Array copy = Array::allocate(gradient.sizes, gradient.dtype);
    graph::host.copy(gradient, copy);
    gradient = copy;
  }
}

void run_readers_of(const std::vector<Array>& parameters) {
  for (const Array& parameter : parameters) graph::run_readers(*parameter.storage);
}

void count_writes(const std::vector<Array>& parameters) {
  const graph::Position position = graph::current_position();
  for (const Array& parameter : parameters) {
    parameter.storage->version += 1;
    parameter.storage->written_at = position;
    parameter.storage->written_by = nullptr;
  }
}

PyObject* adam_step(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    PyObject *params, *grads, *averages, *squares, *largest;
    long long step;
    kernels::AdamSettings settings{};
    int decoupled, maximize;
    if (!PyArg_ParseTuple(args, "OOOOOLdddddpp", &params, &grads, &averages, &squares, &largest,
                          &step, &settings.learning_rate, &settings.beta1, &settings.beta2,
                          &settings.epsilon, &settings.weight_decay, &decoupled, &maximize)) {
      throw PythonError{};
    }
    settings.step = step;
    settings.decoupled = decoupled;
    settings.maximize = maximize;
    const auto parameters = arrays_of(params, "params", SIZE_MAX);
    const size_t count = parameters.size();
    auto gradients = arrays_of(grads, "grads", count);
    const auto first = arrays_of(averages, "exp_avgs", count);
    const auto second = arrays_of(squares, "exp_avg_sqs", count);
    const auto most = arrays_of(largest, "max_exp_avg_sqs", count);
    check_all(parameters, gradients);
    check(parameters, first, "exp_avg", true);
    check(parameters, second, "exp_avg_sq", true);
    check(parameters, most, "max_exp_avg_sq", true);
    run_readers_of(parameters);
    std::vector<kernels::AdamTensors> tensors;
    for (size_t i = 0; i < count; ++i) {
      tensors.push_back({parameters[i].dtype, parameters[i].count(), parameters[i].data(),
                         gradients[i].data(), first[i].data(), second[i].data(),
                         most.empty() ? nullptr : most[i].data()});
    }
    kernels::adam(settings, tensors);
    count_writes(parameters);
    Py_RETURN_NONE;
  });
}

PyObject* sgd_step(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    PyObject *params, *grads, *buffers;
    kernels::SgdSettings settings{};
    int first, nesterov, maximize;
    if (!PyArg_ParseTuple(args, "OOOpddddpp", &params, &grads, &buffers, &first,
                          &settings.learning_rate, &settings.momentum, &settings.dampening,
                          &settings.weight_decay, &nesterov, &maximize)) {
      throw PythonError{};
    }
    settings.first = first;
    settings.nesterov = nesterov;
    settings.maximize = maximize;
    const auto parameters = arrays_of(params, "params", SIZE_MAX);
    const size_t count = parameters.size();
    auto gradients = arrays_of(grads, "grads", count);
    const auto momentum = arrays_of(buffers, "momentum_buffers", count);
    check_all(parameters, gradients);
    check(parameters, momentum, "momentum_buffer", true);
    run_readers_of(parameters);
    std::vector<kernels::SgdTensors> tensors;
    for (size_t i = 0; i < count; ++i) {
      tensors.push_back({parameters[i].dtype, parameters[i].count(), parameters[i].data(),
                         gradients[i].data(), momentum.empty() ? nullptr : momentum[i].data()});
    }
    kernels::sgd(settings, tensors);
    count_writes(parameters);
    Py_RETURN_NONE;
  });
}

PyMethodDef methods[] = {
    {"adam_step", adam_step, METH_VARARGS, "Update all parameters by Adam in one pass."},
    {"sgd_step", sgd_step, METH_VARARGS, "Update all parameters by SGD in one pass."},
    {},
};

}  // namespace

void define_optimizers(PyObject* module) {
  if (PyModule_AddFunctions(module, methods) < 0) throw PythonError{};
}

}  // namespace weft::bind
