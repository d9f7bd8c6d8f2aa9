// Cells: a pure function recorded as one op, its body a Program made once for each kind of call.
#include <list>

#include "weft/bind/python.h"
#include "weft/exec/rows.h"
#include "weft/graph/modes.h"
#include "weft/graph/program.h"
#include "weft/graph/record.h"

namespace weft::bind {
namespace {

using graph::modes;

// The arguments of one call: tensors and floats in a row, and how they were nested.
struct Arguments {
  Values leaves;
  std::string shape;  // "T" a tensor, "N" a float, brackets around containers, else its repr
};

// False: something that a cell cannot take apart.
bool flatten(PyObject* object, Arguments& arguments) {
  if (is_tensor(object)) {
    arguments.shape += 'T';
    arguments.leaves.push_back(value_of(object));
    return true;
  }
  if (PyTuple_Check(object) || PyList_Check(object)) {
    arguments.shape += PyTuple_Check(object) ? '(' : '[';
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(object); ++i) {
      if (!flatten(PySequence_Fast_GET_ITEM(object, i), arguments)) return false;
    }
    arguments.shape += ')';
    return true;
  }
  // Ints are counts and sizes more often than operands.
  if (object == Py_None || PyLong_Check(object) || PyUnicode_Check(object)) {
    const Object text = Object::check(PyObject_Repr(object));
    arguments.shape += PyUnicode_AsUTF8(text.get());
    arguments.shape += ',';
    return true;
  }
  if (PyFloat_Check(object)) {
    arguments.shape += 'N';
    arguments.leaves.push_back(number_from_python(object));
    return true;
  }
  return false;
}

// The same nesting with other leaves.
Object rebuild(PyObject* like, std::vector<Object>& leaves, size_t& next) {
  if (is_tensor(like) || PyFloat_Check(like)) return leaves[next++];
  if (PyTuple_Check(like) || PyList_Check(like)) {
    const Py_ssize_t count = PySequence_Fast_GET_SIZE(like);
    Object result = Object::check(PyTuple_Check(like) ? PyTuple_New(count) : PyList_New(count));
    for (Py_ssize_t i = 0; i < count; ++i) {
      PyObject* item = rebuild(PySequence_Fast_GET_ITEM(like, i), leaves, next).release();
      if (PyTuple_Check(like)) {
        PyTuple_SET_ITEM(result.get(), i, item);
      } else {
        PyList_SET_ITEM(result.get(), i, item);
      }
    }
    return result;
  }
  return Object::borrow(like);
}

// One kind of call, and the Program that runs it.
struct Signature {
  std::string shape;
  std::vector<graph::Meta> metas;
  std::vector<bool> numbers;
  bool grad;
  std::unique_ptr<graph::ProgramOp> op;  // none: the body runs as it is
  Object result;                         // nested as the body nests it, with metas in it
};

struct PyCell {
  PyObject_HEAD vectorcallfunc vectorcall;
  PyObject* body;
  PyObject* name;
  PyObject* parameters;  // a list of tensors that the body reads
  std::list<Signature>* signatures;
  std::string* note;  // why a body runs as it is
};
PyTypeObject* cell_type = nullptr;
constexpr size_t most_signatures = 64;

bool fits(const Signature& signature, const Arguments& arguments) {
  if (signature.grad != modes.grad || signature.shape != arguments.shape) return false;
  for (size_t i = 0; i < signature.metas.size(); ++i) {
    const Value& leaf = arguments.leaves[i];
    if (leaf.dtype() != signature.metas[i].dtype || leaf->is_number != signature.numbers[i] ||
        leaf.sizes() != signature.metas[i].sizes) {
      return false;
    }
  }
  return true;
}

Value meta_of(const Value& value) {
  Value meta(Array::meta(value.sizes(), value.dtype()));
  meta->is_number = value->is_number;
  return meta;
}

bool collect_tensors(PyObject* object, Values& found) {
  if (is_tensor(object)) {
    found.push_back(value_of(object));
    return true;
  }
  if (PyTuple_Check(object) || PyList_Check(object)) {
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(object); ++i) {
      if (!collect_tensors(PySequence_Fast_GET_ITEM(object, i), found)) return false;
    }
    return true;
  }
  return object == Py_None;
}

// Runs the body over metas and notes its ops.
void look_at_body(PyCell& cell, PyObject* const* args, size_t count, const Arguments& arguments,
                  Signature& signature) {
  Values metas;
  std::vector<Object> tensors;
  graph::ProgramBuilder builder;
  for (const Value& leaf : arguments.leaves) {
    metas.push_back(meta_of(leaf));
    builder.add_input(metas.back());
    tensors.push_back(Object::check(wrap(metas.back())));
  }
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(cell.parameters); ++i) {
    const Value& value = value_of(PyList_GET_ITEM(cell.parameters, i));
    metas.push_back(Value(Array::meta(value.sizes(), value.dtype())));
    builder.add_input(value);
  }
  std::vector<Object> given;
  size_t next = 0;
  for (size_t i = 0; i < count; ++i) given.push_back(rebuild(args[i], tensors, next));
  std::vector<PyObject*> stack;
  for (const Object& object : given) stack.push_back(object.get());
  Object result;
  {
    graph::ModesGuard guard;
    modes = graph::Modes{.grad = false, .executor = &graph::meta_executor(), .tracer = &builder};
    result = Object(PyObject_Vectorcall(cell.body, stack.data(), stack.size(), nullptr));
  }
  if (!result) {
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    const Object text(value ? PyObject_Str(value) : nullptr);
    *cell.note = text ? PyUnicode_AsUTF8(text.get()) : "its body failed";
    PyErr_Clear();
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(trace);
    return;
  }
  Values outputs;
  if (!collect_tensors(result.get(), outputs)) {
    *cell.note = "it returns something that is not a tensor";
    return;
  }
  graph::Program program = builder.finish(outputs);
  for (const graph::Instruction& instruction : program.instructions) {
    if (instruction.op->random) {
      *cell.note = "its body draws random numbers";
      return;
    }
  }
  uint32_t weights = 0;
  for (size_t i = arguments.leaves.size(); i < metas.size() && i < 32; ++i) weights |= 1u << i;
  const char* name = PyUnicode_AsUTF8(cell.name);
  signature.op =
      std::make_unique<graph::ProgramOp>(name ? name : "cell", std::move(program), metas, weights,
                                         graph::BatchRule(exec::run_program_rows));
  signature.result = std::move(result);
}

PyObject* call_body(PyCell& cell, PyObject* const* args, size_t flags, PyObject* keywords) {
  return PyObject_Vectorcall(cell.body, args, flags, keywords);
}

PyObject* call(PyObject* object, PyObject* const* args, size_t flags, PyObject* keywords) {
  auto& cell = *reinterpret_cast<PyCell*>(object);
  const size_t count = PyVectorcall_NARGS(flags);
  if ((keywords && PyTuple_GET_SIZE(keywords)) || modes.tracer || modes.executor) {
    return call_body(cell, args, flags, keywords);
  }
  return guarded([&]() -> PyObject* {
    Arguments arguments;
    for (size_t i = 0; i < count; ++i) {
      if (!flatten(args[i], arguments)) return call_body(cell, args, flags, keywords);
    }
    Signature* found = nullptr;
    for (Signature& signature : *cell.signatures) {
      if (fits(signature, arguments)) found = &signature;
    }
    if (!found) {
      if (cell.signatures->size() == most_signatures) cell.signatures->pop_front();
      found = &cell.signatures->emplace_back();
      found->shape = arguments.shape;
      found->grad = modes.grad;
      for (const Value& leaf : arguments.leaves) {
        found->metas.push_back({leaf.sizes(), leaf.dtype()});
        found->numbers.push_back(leaf->is_number);
      }
      look_at_body(cell, args, count, arguments, *found);
    }
    if (!found->op) return call_body(cell, args, flags, keywords);
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(cell.parameters); ++i)
      arguments.leaves.push_back(value_of(PyList_GET_ITEM(cell.parameters, i)));
    const Values outputs = graph::record(*found->op, arguments.leaves);
    if (is_tensor(found->result.get())) return wrap(outputs[0]);
    std::vector<Object> tensors;
    for (const Value& output : outputs) tensors.push_back(Object::check(wrap(output)));
    size_t next = 0;
    return rebuild(found->result.get(), tensors, next).release();
  });
}

PyObject* make_cell(PyTypeObject* type, PyObject* args, PyObject*) {
  return guarded([&]() -> PyObject* {
    PyObject *body, *name, *parameters;
    if (!PyArg_ParseTuple(args, "OUO!", &body, &name, &PyList_Type, &parameters))
      throw PythonError{};
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(parameters); ++i) {
      if (!is_tensor(PyList_GET_ITEM(parameters, i)))
        raise(PyExc_TypeError, "a cell's parameters must be tensors");
    }
    Object self = Object::check(type->tp_alloc(type, 0));
    auto& cell = *reinterpret_cast<PyCell*>(self.get());
    cell.vectorcall = call;
    cell.body = Py_NewRef(body);
    cell.name = Py_NewRef(name);
    cell.parameters = Py_NewRef(parameters);
    cell.signatures = new std::list<Signature>();
    cell.note = new std::string();
    return self.release();
  });
}

int traverse(PyObject* object, visitproc visit, void* arg) {
  auto& cell = *reinterpret_cast<PyCell*>(object);
  Py_VISIT(Py_TYPE(object));
  Py_VISIT(cell.body);
  Py_VISIT(cell.parameters);
  return 0;
}
int clear(PyObject* object) {
  auto& cell = *reinterpret_cast<PyCell*>(object);
  Py_CLEAR(cell.body);
  Py_CLEAR(cell.parameters);
  return 0;
}
void dealloc(PyObject* object) {
  PyObject_GC_UnTrack(object);
  auto& cell = *reinterpret_cast<PyCell*>(object);
  PyTypeObject* type = Py_TYPE(object);
  clear(object);
  Py_CLEAR(cell.name);
  delete cell.signatures;
  delete cell.note;
  type->tp_free(object);
  Py_DECREF(type);
}

PyObject* get_note(PyObject* object, void*) {
  return PyUnicode_FromString(reinterpret_cast<PyCell*>(object)->note->c_str());
}
// The Programs made so far, as text.
PyObject* get_programs(PyObject* object, void*) {
  return guarded([&]() -> PyObject* {
    Object result = Object::check(PyList_New(0));
    for (const Signature& signature : *reinterpret_cast<PyCell*>(object)->signatures) {
      if (!signature.op) continue;
      Object text = Object::check(PyUnicode_FromString(signature.op->program.to_string().c_str()));
      if (PyList_Append(result.get(), text.get()) < 0) throw PythonError{};
    }
    return result.release();
  });
}

PyGetSetDef properties[] = {
    {"note", get_note, nullptr, "Why the body runs as it is; empty if it does not.", nullptr},
    {"programs", get_programs, nullptr, "The Programs made so far, as text.", nullptr},
    {},
};
PyMemberDef members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(PyCell, vectorcall), READONLY, nullptr},
    {},
};

}  // namespace

void define_cells(PyObject* module) {
  PyType_Slot slots[] = {
      {Py_tp_doc, const_cast<char*>("Cell(body, name, parameters): calls the body as one op.")},
      {Py_tp_new, reinterpret_cast<void*>(make_cell)},
      {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
      {Py_tp_dealloc, reinterpret_cast<void*>(dealloc)},
      {Py_tp_traverse, reinterpret_cast<void*>(traverse)},
      {Py_tp_clear, reinterpret_cast<void*>(clear)},
      {Py_tp_getset, properties},
      {Py_tp_members, members},
      {0, nullptr},
  };
  PyType_Spec spec{"weft._core.Cell", sizeof(PyCell), 0,
                   Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL, slots};
  cell_type = reinterpret_cast<PyTypeObject*>(Object::check(PyType_FromSpec(&spec)).release());
  if (PyModule_AddObjectRef(module, "Cell", reinterpret_cast<PyObject*>(cell_type)) < 0)
    throw PythonError{};
}

}  // namespace weft::bind
