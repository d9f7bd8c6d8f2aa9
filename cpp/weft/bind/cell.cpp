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
  ~Signature();
  Object result;  // nested as the body nests it, with metas in it
};

// A Program that a pending op may still run is kept until nothing is pending any more.
void bury(std::unique_ptr<graph::ProgramOp> op) {
  static std::vector<std::unique_ptr<graph::ProgramOp>> graveyard;
  if (graph::Pending::live() == 0) graveyard.clear();
  if (op && graph::Pending::live() > 0) graveyard.push_back(std::move(op));
}

Signature::~Signature() { bury(std::move(op)); }

struct PyCell {
  PyObject_HEAD vectorcallfunc vectorcall;
  PyObject* body;
  PyObject* name;
  PyObject* parameters;  // a list of tensors that the body reads
  PyObject* renew;       // of a module's cell: gives the list if the module has changed, else None
  uint64_t epoch;        // of the modules, when that was last asked
  bool as_it_is;         // the body runs as it is, because there are hooks inside
  std::list<Signature>* signatures;
  std::string* note;  // why a body runs as it is
};
PyTypeObject* cell_type = nullptr;
constexpr size_t most_signatures = 64;
uint64_t module_epoch = 0;  // how often an attribute of any module was set

// What a cell has seen of its module may be old: then it starts anew.
void look_at_modules(PyCell& cell) {
  cell.epoch = module_epoch;
  if (cell.renew == Py_None) return;
  Object found = Object::check(PyObject_CallNoArgs(cell.renew));
  if (found.get() == Py_None) return;
  cell.as_it_is = found.get() == Py_False;
  if (cell.as_it_is) return;
  if (!PyList_Check(found.get())) raise(PyExc_TypeError, "a cell's parameters must be a list");
  Py_SETREF(cell.parameters, found.release());
  cell.signatures->clear();
}

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
    if (cell.epoch != module_epoch) look_at_modules(cell);
    if (cell.as_it_is) return call_body(cell, args, flags, keywords);
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
    PyObject *body, *name, *parameters, *renew = Py_None;
    if (!PyArg_ParseTuple(args, "OUO!|O", &body, &name, &PyList_Type, &parameters, &renew))
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
    cell.renew = Py_NewRef(renew);
    cell.epoch = UINT64_MAX;
    cell.as_it_is = false;
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
  Py_VISIT(cell.renew);
  return 0;
}
int clear(PyObject* object) {
  auto& cell = *reinterpret_cast<PyCell*>(object);
  Py_CLEAR(cell.body);
  Py_CLEAR(cell.parameters);
  Py_CLEAR(cell.renew);
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

PyObject* bump_epoch(PyObject*, PyObject*) {
  ++module_epoch;
  Py_RETURN_NONE;
}
PyMethodDef module_methods[] = {
    {"bump_epoch", bump_epoch, METH_NOARGS, "Say that an attribute of a module was set."},
    {},
};

// A module makes its cell again; a function's cell is found by its name.
PyObject* reduce(PyObject* object, PyObject*) {
  auto& cell = *reinterpret_cast<PyCell*>(object);
  if (cell.renew != Py_None) return Py_BuildValue("(O())", Py_TYPE(Py_None));
  return PyObject_GetAttrString(cell.body, "__qualname__");
}
PyObject* deep_copy(PyObject* object, PyObject*) {
  return Py_NewRef(reinterpret_cast<PyCell*>(object)->renew == Py_None ? object : Py_None);
}
PyMethodDef methods[] = {
    {"__reduce__", reduce, METH_NOARGS, "For pickle."},
    {"__deepcopy__", deep_copy, METH_O, "For copy."},
    {},
};
PyObject* get_of_body(PyObject* object, void* name) {
  PyObject* body = reinterpret_cast<PyCell*>(object)->body;
  return PyObject_GetAttrString(body, static_cast<const char*>(name));
}
PyObject* get_body(PyObject* object, void*) {
  return Py_NewRef(reinterpret_cast<PyCell*>(object)->body);
}
char name_text[] = "__name__", qualname_text[] = "__qualname__", module_text[] = "__module__",
     doc_text[] = "__doc__";

PyGetSetDef properties[] = {
    {"__name__", get_of_body, nullptr, nullptr, name_text},
    {"__qualname__", get_of_body, nullptr, nullptr, qualname_text},
    {"__module__", get_of_body, nullptr, nullptr, module_text},
    {"__doc__", get_of_body, nullptr, nullptr, doc_text},
    {"__wrapped__", get_body, nullptr, "The body.", nullptr},
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
      {Py_tp_new, reinterpret_cast<void*>(make_cell)},
      {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
      {Py_tp_dealloc, reinterpret_cast<void*>(dealloc)},
      {Py_tp_traverse, reinterpret_cast<void*>(traverse)},
      {Py_tp_clear, reinterpret_cast<void*>(clear)},
      {Py_tp_getset, properties},
      {Py_tp_methods, methods},
      {Py_tp_members, members},
      {0, nullptr},
  };
  PyType_Spec spec{"weft._core.Cell", sizeof(PyCell), 0,
                   Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL, slots};
  cell_type = reinterpret_cast<PyTypeObject*>(Object::check(PyType_FromSpec(&spec)).release());
  if (PyModule_AddObjectRef(module, "Cell", reinterpret_cast<PyObject*>(cell_type)) < 0 ||
      PyModule_AddFunctions(module, module_methods) < 0) {
    throw PythonError{};
  }
}

}  // namespace weft::bind
