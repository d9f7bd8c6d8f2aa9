// Generators: a seed and a counter. An op takes its stretch of the stream when it is recorded.
#include <random>

#include "weft/bind/python.h"

namespace weft::bind {
namespace {

struct PyGenerator {
  PyObject_HEAD unsigned long long seed;
  unsigned long long counter;
};
PyTypeObject* generator_type = nullptr;
PyObject* default_generator = nullptr;

PyGenerator& generator_of(PyObject* object) { return *reinterpret_cast<PyGenerator*>(object); }

PyObject* make_generator(PyTypeObject* type, PyObject*, PyObject*) {
  PyObject* self = type->tp_alloc(type, 0);
  if (self) generator_of(self).seed = 67280421310721ull;  // PyTorch's default
  return self;
}
PyObject* manual_seed(PyObject* self, PyObject* seed) {
  Object number(PyNumber_Index(seed));
  if (!number) return nullptr;
  const unsigned long long value = PyLong_AsUnsignedLongLongMask(number.get());
  if (PyErr_Occurred()) return nullptr;
  generator_of(self).seed = value;
  generator_of(self).counter = 0;
  return Py_NewRef(self);
}
PyObject* initial_seed(PyObject* self, PyObject*) {
  return PyLong_FromUnsignedLongLong(generator_of(self).seed);
}
PyObject* fresh_seed(PyObject* self, PyObject*) {
  std::random_device device;
  generator_of(self).seed = (static_cast<unsigned long long>(device()) << 32) | device();
  generator_of(self).counter = 0;
  return initial_seed(self, nullptr);
}
PyObject* get_state(PyObject* self, PyObject*) {
  return Py_BuildValue("(KK)", generator_of(self).seed, generator_of(self).counter);
}
PyObject* set_state(PyObject* self, PyObject* state) {
  unsigned long long seed, counter;
  if (!PyTuple_Check(state) || !PyArg_ParseTuple(state, "KK", &seed, &counter)) {
    PyErr_SetString(PyExc_TypeError, "set_state() takes what get_state() returned");
    return nullptr;
  }
  generator_of(self).seed = seed;
  generator_of(self).counter = counter;
  return Py_NewRef(self);
}

PyMethodDef methods[] = {
    {"manual_seed", manual_seed, METH_O,
     "Set the seed and start the stream over; return the generator."},
    {"initial_seed", initial_seed, METH_NOARGS, "Return the seed."},
    {"seed", fresh_seed, METH_NOARGS, "Take a seed from the operating system; return it."},
    {"get_state", get_state, METH_NOARGS, "Return the state."},
    {"set_state", set_state, METH_O, "Go back to a state from get_state()."},
    {},
};

// start_stream(seed, counter, index): the default generator goes on with a stream of its own for
// one example of a map, which follows from the map's.
PyObject* start_stream(PyObject*, PyObject* args) {
  unsigned long long seed, counter, index;
  if (!PyArg_ParseTuple(args, "KKK", &seed, &counter, &index)) return nullptr;
  auto mixed = [](unsigned long long x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
    return x ^ (x >> 31);
  };
  constexpr unsigned long long golden = 0x9e3779b97f4a7c15ull;
  PyGenerator& generator = generator_of(default_generator);
  generator.seed = mixed(mixed(seed + golden * (counter + 1)) + golden * (index + 1));
  generator.counter = 0;
  Py_RETURN_NONE;
}
PyMethodDef module_methods[] = {
    {"start_stream", start_stream, METH_VARARGS, "Give one example of a map its own stream."},
    {},
};

}  // namespace

graph::RandomKey draw_random(PyObject* generator) {
  if (!generator || generator == Py_None) generator = default_generator;
  if (!PyObject_TypeCheck(generator, generator_type)) {
    raise(PyExc_TypeError,
          base::text("generator must be a Generator, not ", Py_TYPE(generator)->tp_name));
  }
  PyGenerator& self = generator_of(generator);
  const graph::RandomKey key{self.seed, self.counter};
  self.counter += 1;  // each counter is a stream of its own, indexed by element
  return key;
}

graph::RandomKey default_stream() {
  return {generator_of(default_generator).seed, generator_of(default_generator).counter};
}
void set_default_stream(const graph::RandomKey& stream) {
  generator_of(default_generator).seed = stream.seed;
  generator_of(default_generator).counter = stream.counter;
}

void define_random(PyObject* module) {
  PyType_Slot slots[] = {
      {Py_tp_doc, const_cast<char*>("A stream of random numbers: a seed and a counter.")},
      {Py_tp_new, reinterpret_cast<void*>(make_generator)},
      {Py_tp_methods, methods},
      {Py_tp_doc,
       const_cast<char*>("A stream of random numbers: a seed and how far it has been used.")},
      {0, nullptr},
  };
  PyType_Spec spec{"weft.Generator", sizeof(PyGenerator), 0,
                   Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots};
  generator_type = reinterpret_cast<PyTypeObject*>(Object::check(PyType_FromSpec(&spec)).release());
  default_generator = Object::check(make_generator(generator_type, nullptr, nullptr)).release();
  Object seeded(fresh_seed(default_generator, nullptr));
  if (PyModule_AddObjectRef(module, "Generator", reinterpret_cast<PyObject*>(generator_type)) < 0 ||
      PyModule_AddObjectRef(module, "default_generator", default_generator) < 0 ||
      PyModule_AddFunctions(module, module_methods) < 0) {
    throw PythonError{};
  }
}

}  // namespace weft::bind
