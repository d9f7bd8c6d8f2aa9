// Generators: a seed and a counter. An op takes its stretch of the stream when it is recorded.
#include <nanobind/stl/pair.h>

#include <random>

#include "weft/bind/binding.h"

namespace weft::bind {
namespace {

struct Generator {
  uint64_t seed = 67280421310721u;  // PyTorch's default
  uint64_t counter = 0;

  uint64_t take_fresh_seed() {
    std::random_device device;
    *this = {uint64_t{device()} << 32 | device(), 0};
    return seed;
  }
  // The stream of one example of a map, which follows from the map's.
  static Generator of_example(uint64_t seed, uint64_t counter, uint64_t index) {
    const auto mixed = [](uint64_t x) {
      x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
      x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
      return x ^ (x >> 31);
    };
    constexpr uint64_t golden = 0x9e3779b97f4a7c15u;
    return {mixed(mixed(seed + golden * (counter + 1)) + golden * (index + 1)), 0};
  }
};
Generator* default_generator = nullptr;  // lives as long as the module

nb::object manual_seed(const nb::object& self, nb::handle seed) {
  const Object number = Object::check(PyNumber_Index(seed.ptr()));
  nb::cast<Generator&>(self) = {PyLong_AsUnsignedLongLongMask(number.get()), 0};
  return self;
}

nb::object set_state(const nb::object& self, std::pair<uint64_t, uint64_t> state) {
  nb::cast<Generator&>(self) = {state.first, state.second};
  return self;
}

}  // namespace

graph::RandomKey draw_random(PyObject* given) {
  Generator* generator = default_generator;
  if (given && given != Py_None && !nb::try_cast(nb::handle(given), generator)) {
    raise(PyExc_TypeError,
          base::text("generator must be a Generator, not ", Py_TYPE(given)->tp_name));
  }
  // Each counter is a stream of its own, indexed by element.
  return {generator->seed, generator->counter++};
}

graph::RandomKey default_stream() { return {default_generator->seed, default_generator->counter}; }
void set_default_stream(const graph::RandomKey& stream) {
  *default_generator = {stream.seed, stream.counter};
}

void define_random(nb::module_& module) {
  const nb::object type =
      nb::class_<Generator>(module, "Generator",
                            "A stream of random numbers: a seed and how far it has been used.")
          .def("__init__",
               [](Generator* self, const nb::args&, const nb::kwargs&) { new (self) Generator; })
          .def("manual_seed", manual_seed,
               "Set the seed and start the stream over; return the generator.")
          .def(
              "initial_seed", [](const Generator& self) { return self.seed; }, "Return the seed.")
          .def("seed", &Generator::take_fresh_seed,
               "Take a seed from the operating system; return it.")
          .def(
              "get_state", [](const Generator& self) { return std::pair(self.seed, self.counter); },
              "Return the state.")
          .def("set_state", set_state, "Go back to a state from get_state().");
  nb::object made = type();
  default_generator = nb::cast<Generator*>(made);
  default_generator->take_fresh_seed();
  module.attr("default_generator") = made;
  made.release();
  module.def(
      "start_stream",
      [](uint64_t seed, uint64_t counter, uint64_t index) {
        *default_generator = Generator::of_example(seed, counter, index);
      },
      "Give one example of a map its own stream.");
}

}  // namespace weft::bind
