// Generators: PyTorch's engine, and inside the examples of a map streams of their own, of which an
// op takes a stretch when it is recorded.
#include <cstring>
#include <random>

#include "weft/bind/binding.h"
#include "weft/graph/program.h"

namespace weft::bind {
namespace {

// Where streams stand is as it was before, after a look at a cell's body.
void refuse_in_look() { graph::refuse_in_program("draws random numbers"); }

struct Generator : Stream {
  // With an engine of its own: another example of a map may go on with the one before.
  void start(uint64_t given) {
    refuse_in_look();
    seed = given;
    is_counted = false;
    engine = base::make_ref<base::Mersenne>(seed);
  }
  uint64_t take_fresh_seed() {
    std::random_device device;
    start(uint64_t{device()} << 32 | device());
    return seed;
  }
  // The stream of one example of a map, which follows from the map's.
  static uint64_t stream_of_example(uint64_t map, uint64_t index) {
    const auto mixed = [](uint64_t x) {
      x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
      x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
      return x ^ (x >> 31);
    };
    constexpr uint64_t golden = 0x9e3779b97f4a7c15u;
    return mixed(mixed(map + golden) + golden * (index + 1));
  }
  // A number that a map's streams follow from.
  uint64_t draw_map() {
    refuse_in_look();
    return is_counted ? stream_of_example(stream, UINT64_MAX - counter++) : engine->long_bits();
  }
};
// All of it, as bytes.
struct GeneratorState {
  uint64_t seed, stream, counter;
  base::MersenneState engine;
  bool is_counted;
};
Generator* default_generator = nullptr;  // lives as long as the module

nb::object manual_seed(const nb::object& self, nb::handle seed) {
  const Object number = Object::check(PyNumber_Index(seed.ptr()));
  nb::cast<Generator&>(self).start(PyLong_AsUnsignedLongLongMask(number.get()));
  return self;
}

nb::object get_state(const Generator& self) {
  refuse_in_look();
  const Array bytes = Array::allocate({sizeof(GeneratorState)}, DType::u8);
  GeneratorState state{};
  state.seed = self.seed;
  state.stream = self.stream;
  state.counter = self.counter;
  state.engine = self.engine->state;
  state.is_counted = self.is_counted;
  std::memcpy(bytes.data(), &state, sizeof state);
  return wrapped(Value(bytes));
}

nb::object set_state(const nb::object& self, const TensorObject& given) {
  refuse_in_look();
  const Array bytes = given.computed().array();
  GeneratorState state;
  if (bytes.dtype != DType::u8 || bytes.count() != sizeof state || !bytes.is_contiguous())
    throw nb::value_error("set_state(): expects a state that get_state() returned");
  std::memcpy(static_cast<void*>(&state), bytes.data(), sizeof state);
  auto& generator = nb::cast<Generator&>(self);
  generator.seed = state.seed;
  generator.stream = state.stream;
  generator.counter = state.counter;
  generator.is_counted = state.is_counted;
  generator.engine = base::make_ref<base::Mersenne>(state.seed);
  generator.engine->state = state.engine;
  generator.engine->state.next = std::min<uint32_t>(state.engine.next, base::MersenneState::size);
  return self;
}

}  // namespace

graph::RandomKey draw_random(PyObject* given) {
  refuse_in_look();
  Generator* generator = default_generator;
  if (given && given != Py_None && !nb::try_cast(nb::handle(given), generator)) {
    raise(PyExc_TypeError,
          base::text("generator must be a Generator, not ", Py_TYPE(given)->tp_name));
  }
  // Each counter is a stream of its own, indexed by element.
  if (generator->is_counted) return {generator->stream, generator->counter++};
  return {generator->seed, 0, generator->engine};
}

Stream& default_stream() { return *default_generator; }

void define_random(nb::module_& module) {
  const nb::object type =
      nb::class_<Generator>(module, "Generator", "A stream of random numbers.")
          .def("__init__",
               [](Generator* self, const nb::args&, const nb::kwargs&) { new (self) Generator; })
          .def("manual_seed", manual_seed,
               "Set the seed and start the stream over; return the generator.")
          .def(
              "initial_seed", [](const Generator& self) { return refuse_in_look(), self.seed; },
              "Return the seed.")
          .def("seed", &Generator::take_fresh_seed,
               "Take a seed from the operating system; return it.")
          .def("get_state", get_state, "Return the state as a tensor of bytes.")
          .def("set_state", set_state, "Go back to a state from get_state().");
  nb::object made = type();
  default_generator = nb::cast<Generator*>(made);
  default_generator->take_fresh_seed();
  module.attr("default_generator") = made;
  made.release();
  module.def(
      "draw_map", [] { return default_generator->draw_map(); },
      "Draw the number that the streams of a map's examples follow from.");
  module.def(
      "start_stream",
      [](const Stream& outside, uint64_t map, uint64_t index) {
        default_stream() = outside;
        default_generator->is_counted = true;
        default_generator->stream = Generator::stream_of_example(map, index);
        default_generator->counter = 0;
      },
      "Give one example of a map its own stream.");
  nb::class_<Stream>(module, "Stream", "Where a generator is.");
  module.def(
      "get_stream", [] { return Stream(default_stream()); },
      "Return the stream that ops draw from now.");
  module.def(
      "set_stream", [](const Stream& stream) { default_stream() = stream; },
      "Go on with a stream.");
}

}  // namespace weft::bind
