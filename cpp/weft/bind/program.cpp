// Programs for Python: record a function's ops once, run them again, differentiate them.
#include "weft/graph/program.h"
#include "weft/autograd/program_gradient.h"
#include "weft/bind/binding.h"
#include "weft/graph/modes.h"

namespace weft::bind {
namespace {

struct TracedProgram {
  graph::Program program;
  std::vector<graph::Meta> inputs;
};

Values values_of(const nb::args& tensors) {
  Values values;
  for (nb::handle item : tensors) {
    if (!is_tensor(item.ptr())) throw nb::type_error("a Program takes tensors");
    values.push_back(value_of(item.ptr()));
  }
  return values;
}

TracedProgram trace(const nb::callable& function, const nb::args& tensors) {
  graph::ModesGuard guard;
  graph::ProgramBuilder builder;
  TracedProgram traced;
  for (const Value& value : values_of(tensors)) {
    builder.add_input(value);
    traced.inputs.push_back({value.sizes(), value.dtype()});
  }
  graph::modes.grad = false;
  graph::modes.tracer = &builder;
  nb::object result = function(*tensors);
  graph::modes.tracer = nullptr;
  Values outputs;
  nb::object items =
      nb::isinstance<nb::tuple>(result) ? result : nb::object(nb::make_tuple(result));
  for (nb::handle item : items) {
    if (!is_tensor(item.ptr())) throw nb::type_error("trace(): the function must return tensors");
    outputs.push_back(value_of(item.ptr()));
  }
  traced.program = builder.finish(outputs);
  return traced;
}

nb::tuple apply(const TracedProgram& self, const nb::args& tensors) {
  Values values = values_of(tensors);
  if (values.size() != self.inputs.size()) {
    throw nb::type_error(base::text("the Program takes ", self.inputs.size(), " tensors").c_str());
  }
  return wrapped(self.program.apply(values));
}

TracedProgram gradient(const TracedProgram& self, const std::vector<bool>& needed) {
  if (needed.size() != self.inputs.size()) {
    throw nb::value_error("gradient(): one flag for each input is needed");
  }
  TracedProgram result{autograd::gradient_of(self.program, self.inputs, needed), self.inputs};
  // The gradients of the outputs come after the inputs.
  result.inputs.resize(result.program.input_count);
  return result;
}

}  // namespace

void define_programs(nb::module_& module) {
  nb::class_<TracedProgram>(module, "Program", "A straight line of ops over slots, as plain data.")
      .def("__call__", apply, "Run the ops on other tensors; returns a tuple.")
      .def("__str__", [](const TracedProgram& self) { return self.program.to_string(); })
      .def("__len__", [](const TracedProgram& self) { return self.program.instructions.size(); })
      .def("gradient", gradient, nb::arg("needed"),
           "Return the Program that takes the inputs and the outputs' gradients and returns the "
           "gradients of the inputs whose flag is set.");
  module.def("trace", trace, "Run a function and return the ops it recorded as a Program.");
}

}  // namespace weft::bind
