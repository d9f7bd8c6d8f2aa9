// Cells: a pure function recorded as one op, its body a Program made once for each kind of call.
#include "weft/bind/cell.h"

#include <algorithm>
#include <cstring>
#include <unordered_map>

#include "weft/exec/rows.h"
#include "weft/graph/modes.h"
#include "weft/graph/observer.h"
#include "weft/graph/program.h"
#include "weft/graph/record.h"

namespace weft::bind {

// One kind of call, and the Program that runs it.
struct Signature {
  std::string shape;
  std::vector<graph::Meta> metas;
  std::vector<bool> numbers;
  std::vector<graph::Meta> parameters;
  bool grad;
  std::shared_ptr<graph::ProgramOp> op;  // none: the body runs as it is
  ~Signature();
  Object result;  // nested as the body nests it, with metas in it
};

namespace {

using graph::modes;

// The arguments of one call: tensors and floats in a row, and how they were nested.
struct Arguments {
  base::SmallVector<Value, 8> leaves;
  // "T" a tensor, "N" a float, "O" None, brackets around containers, else its repr
  std::string shape;
};

// False: something that a cell cannot take apart.
bool flatten(PyObject* object, Arguments& arguments) {
  if (object == Py_None) {
    arguments.shape += 'O';
    return true;
  }
  if (PyTuple_Check(object) || PyList_CheckExact(object)) {
    arguments.shape += PyTuple_Check(object) ? '(' : '[';
    if (PyTuple_Check(object) && !PyTuple_CheckExact(object))
      arguments.shape += std::to_string(reinterpret_cast<uintptr_t>(Py_TYPE(object)));
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(object); ++i) {
      if (!flatten(PySequence_Fast_GET_ITEM(object, i), arguments)) return false;
    }
    arguments.shape += ')';
    return true;
  }
  if (is_tensor(object)) {
    arguments.shape += 'T';
    arguments.leaves.push_back(value_of(object));
    return true;
  }
  // Ints are counts and sizes more often than operands.
  if (PyLong_Check(object) || PyUnicode_Check(object)) {
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

// The same nesting with other leaves, which `next` gives one after the other.
template <class Next>
Object rebuild(PyObject* like, const Next& next) {
  if (is_tensor(like) || PyFloat_Check(like)) return next();
  if (PyTuple_Check(like) || PyList_CheckExact(like)) {
    const Py_ssize_t count = PySequence_Fast_GET_SIZE(like);
    Object result = Object::check(PyTuple_Check(like) ? PyTuple_New(count) : PyList_New(count));
    for (Py_ssize_t i = 0; i < count; ++i) {
      PyObject* item = rebuild(PySequence_Fast_GET_ITEM(like, i), next).release();
      if (PyTuple_Check(like)) {
        PyTuple_SET_ITEM(result.get(), i, item);
      } else {
        PyList_SET_ITEM(result.get(), i, item);
      }
    }
    if (PyTuple_CheckExact(like) || PyList_CheckExact(like)) return result;
    auto* type = reinterpret_cast<PyObject*>(Py_TYPE(like));
    const bool is_named = PyObject_HasAttrString(type, "_make");
    return Object::check(is_named ? PyObject_CallMethod(type, "_make", "(O)", result.get())
                                  : PyObject_CallOneArg(type, result.get()));
  }
  return Object::borrow(like);
}

// A Program that a pending op may still run is kept until nothing is pending any more.
void bury(std::shared_ptr<graph::ProgramOp> op) {
  static std::vector<std::shared_ptr<graph::ProgramOp>> graveyard;
  if (graph::Pending::live() == 0) graveyard.clear();
  if (op && graph::Pending::live() > 0) graveyard.push_back(std::move(op));
}

PyObject* length_function;  // as a guard's key: how long it is
constexpr size_t most_signatures = 64;
uint64_t module_epoch = 0;  // how often an attribute of any module was set

PyObject* inlined_cells;  // a dict: the name of each cell whose body runs as it is, and why

void set_note(PyCell& cell, const char* note) {
  if (*cell.note == note) return;
  *cell.note = note;
  if (cell.note->empty()) {
    if (PyDict_DelItem(inlined_cells, cell.name) < 0) PyErr_Clear();  // another of that name did
    return;
  }
  const Object text = Object::check(PyUnicode_FromString(note));
  if (PyDict_SetItem(inlined_cells, cell.name, text.get()) < 0) throw PythonError{};
}

// What is there now, as a new reference; null: nothing.
Object look_up(const Guard& guard) {
  if (PyDict_CheckExact(guard.container) && guard.key != length_function) [[likely]]
    return Object::borrow(PyDict_GetItemWithError(guard.container, guard.key));
  if (PyCell_Check(guard.container)) return Object::borrow(PyCell_GET(guard.container));
  if (guard.key == length_function)
    return Object(PyLong_FromSsize_t(PyObject_Size(guard.container)));
  return Object(PyLong_Check(guard.key) ? PyObject_GetItem(guard.container, guard.key)
                                        : PyObject_GetAttr(guard.container, guard.key));
}

// Of numbers and texts: made anew, but the same.
bool is_equal(PyObject* a, PyObject* b) {
  if (Py_TYPE(a) != Py_TYPE(b)) return false;
  if (PyFloat_CheckExact(a)) {
    const double x = PyFloat_AS_DOUBLE(a), y = PyFloat_AS_DOUBLE(b);
    return std::memcmp(&x, &y, sizeof x) == 0;
  }
  return (PyLong_CheckExact(a) || PyUnicode_CheckExact(a)) &&
         PyObject_RichCompareBool(a, b, Py_EQ) == 1;
}

// Whether the body would find outside what it found before, but for tensors in the place of others.
bool finds_the_same(PyCell& cell) {
  const Object kept = Object::borrow(cell.guard_list);
  for (size_t i = 0; i < cell.guards->size(); ++i) {
    const Guard guard = (*cell.guards)[i];
    const Object found = look_up(guard);
    if (!found) PyErr_Clear();
    // Looking may run code of the user's, which may have called this very cell.
    if (cell.guard_list != kept.get()) return false;
    if (found.get() == guard.found) continue;
    if (guard.parameter >= 0 && found && is_tensor(found.get())) {
      (*cell.guards)[i].found = found.get();
      PyList_SetItem(cell.parameters, guard.parameter, Py_NewRef(found.get()));
      continue;
    }
    if (!found || !is_equal(found.get(), guard.found)) return false;
  }
  return true;
}

// What a cell has seen outside of its body may be old: then it starts anew.
void look_outside(PyCell& cell, bool changed) {
  cell.epoch = module_epoch;
  const Object found = Object::check(PyObject_CallOneArg(cell.renew, changed ? Py_True : Py_False));
  if (found.get() == Py_None) return;
  cell.signatures->clear();
  cell.guards->clear();
  Py_CLEAR(cell.guard_list);
  cell.as_it_is = PyUnicode_Check(found.get());
  set_note(cell, cell.as_it_is ? PyUnicode_AsUTF8(found.get()) : "");
  if (cell.as_it_is) return;
  PyObject *parameters, *guards;
  if (!PyArg_ParseTuple(found.get(), "O!O!", &PyList_Type, &parameters, &PyList_Type, &guards))
    throw PythonError{};
  Py_SETREF(cell.parameters, Py_NewRef(parameters));
  cell.guard_list = Py_NewRef(guards);
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(guards); ++i) {
    Guard& guard = cell.guards->emplace_back();
    if (!PyArg_ParseTuple(PyList_GET_ITEM(guards, i), "OOOn", &guard.container, &guard.key,
                          &guard.found, &guard.parameter))
      throw PythonError{};
    if (guard.parameter >= 0) guard.found = PyList_GET_ITEM(parameters, guard.parameter);
  }
}

bool fits(const Signature& signature, const Arguments& arguments, PyObject* parameters) {
  if (signature.grad != modes.grad || signature.shape != arguments.shape) return false;
  for (size_t i = 0; i < signature.parameters.size(); ++i) {
    const Array& array = meta_of(PyList_GET_ITEM(parameters, i));
    if (array.dtype != signature.parameters[i].dtype ||
        array.sizes != signature.parameters[i].sizes)
      return false;
  }
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

bool collect_tensors(PyObject* object, std::vector<graph::TensorData*>& found) {
  if (is_tensor(object)) {
    found.push_back(&tensor_of(object));
    return true;
  }
  if (PyTuple_Check(object) || PyList_CheckExact(object)) {
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(object); ++i) {
      if (!collect_tensors(PySequence_Fast_GET_ITEM(object, i), found)) return false;
    }
    return true;
  }
  return object == Py_None;
}

// Whether a tensor, and what it is a view of, has values that are no matter of gradients.
bool is_known(const Value& value) {
  if (!value.array().storage) return false;
  const graph::ValueData* at = value.get();
  while (!at->requires_grad && at->view) at = at->view->parent.get();
  return !at->requires_grad;
}

// Runs only what does not depend on what was given: caches that nobody sees may keep that.
struct LookExecutor final : graph::Executor {
  void run(graph::Call& call) const override {
    if (call.op.run.kind == graph::Run::Kind::by_value)
      graph::refuse_in_program("gives shapes that depend on values");
    const bool known = !call.op.random &&
                       std::all_of(call.inputs.begin(), call.inputs.end(),
                                   [](const Value& input) { return !input || is_known(input); });
    (known ? *graph::host.eager : graph::meta_executor()).run(call);
  }
  void run_fused(const graph::Program&, std::span<const Array* const>,
                 std::span<const Array* const>) const override {}
};

// Whether somebody holds a tensor without values that is none of the results, or one of those
// besides the result that they are in.
bool keeps_tensors(std::span<const Value> seen, std::span<graph::TensorData* const> results) {
  std::unordered_map<graph::TensorData*, Py_ssize_t> returned;  // how often
  for (graph::TensorData* tensor : results) ++returned[tensor];
  for (graph::TensorData* tensor : results) {
    while ((tensor = tensor->base())) returned.emplace(tensor, 0);
  }
  std::unordered_map<const graph::ValueData*, uint32_t> holders;
  for (const auto& [tensor, times] : returned) {
    if (tensor->wrapper && Py_REFCNT(static_cast<PyObject*>(tensor->wrapper)) > times) return true;
    ++holders[tensor->last_value().get()];
  }
  return std::any_of(seen.begin(), seen.end(), [&](const Value& value) {
    return !value.array().storage && !value->pending && !value->mapped &&
           value->handles > holders[value.get()];
  });
}
// Young garbage may hold them: a function that calls itself is a circle.
void collect_young() {
  const Object collector = Object::check(PyImport_ImportModule("gc"));
  Object::check(PyObject_CallMethod(collector.get(), "collect", "i", 1));
}

// What was seen of a body that ran over metas.
struct Look {
  Values metas;
  graph::Program program;
  Object result;
  std::string refusal;  // why the body must run as it is
};

Look look_at_body(PyCell& cell, PyObject* const* args, size_t count, const Arguments& arguments) {
  Look look;
  const Object saved = Object::check(PyObject_CallMethod(cell.renew, "save", nullptr));
  graph::ProgramBuilder builder;
  for (const Value& leaf : arguments.leaves) {
    look.metas.push_back(meta_of(leaf));
    builder.add_input(look.metas.back());
  }
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(cell.parameters); ++i) {
    const Value value = value_of(PyList_GET_ITEM(cell.parameters, i));
    look.metas.push_back(Value(Array::meta(value.sizes(), value.dtype())));
    builder.add_input(value);
  }
  {
    std::vector<Object> given;
    std::vector<PyObject*> stack;
    size_t next = 0;
    for (size_t i = 0; i < count; ++i) {
      given.push_back(rebuild(args[i], [&] { return Object::check(wrap(look.metas[next++])); }));
      stack.push_back(given.back().get());
    }
    static const LookExecutor executor;
    graph::ModesGuard guard;
    modes = graph::Modes{.grad = false, .is_look = true, .executor = &executor, .tracer = &builder};
    look.result = Object(PyObject_Vectorcall(cell.body, stack.data(), stack.size(), nullptr));
  }
  if (!look.result) {
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    const Object held[] = {Object(type), Object(value), Object(trace)};
    const Object text(value ? PyObject_Str(value) : nullptr);
    PyErr_Clear();
    look.refusal = text ? PyUnicode_AsUTF8(text.get()) : "its body failed";
  }
  const Object changed =
      Object::check(PyObject_CallMethod(cell.renew, "put_back", "O", saved.get()));
  if (!look.result) return look;
  std::vector<graph::TensorData*> results;
  if (changed.get() == Py_True) {
    look.refusal = "its body changes what is outside of it";
  } else if (!builder.refusal.empty()) {
    look.refusal = "its body " + builder.refusal;
  } else if (!collect_tensors(look.result.get(), results)) {
    look.refusal = "it returns something that is not a tensor";
  } else if (keeps_tensors(builder.seen(), results) &&
             (collect_young(), keeps_tensors(builder.seen(), results))) {
    look.refusal = "its body keeps tensors for later";
  } else {
    Values outputs;
    for (graph::TensorData* tensor : results) outputs.push_back(tensor->value());
    look.program = builder.finish(outputs);
  }
  return look;
}

// A second look tells what a body makes from what it finds: what is the same tensor both times came
// from outside, unseen, and what differs would differ at each call. Empty: nothing is wrong.
std::string compare(const graph::Program& first, const graph::Program& second) {
  const char* differs = "its body does something else each time";
  if (first.instructions.size() != second.instructions.size() || first.outputs != second.outputs ||
      first.constants.size() != second.constants.size()) {
    return differs;
  }
  for (size_t i = 0; i < first.instructions.size(); ++i) {
    const graph::Instruction &a = first.instructions[i], &b = second.instructions[i];
    if (a.op->random) return "its body draws random numbers";
    if (a.op != b.op || !(a.attributes == b.attributes) ||
        !std::equal(a.inputs.begin(), a.inputs.end(), b.inputs.begin(), b.inputs.end())) {
      return differs;
    }
  }
  for (size_t i = 0; i < first.constants.size(); ++i) {
    const Value &a = first.constants[i], &b = second.constants[i];
    if (a == b && !a->is_number) return "it reads a tensor from outside, where it is not seen";
    if (!a.array().storage || !b.array().storage || a.dtype() != b.dtype() ||
        a.sizes() != b.sizes()) {
      return differs;
    }
    const Array x = graph::own_memory(a), y = graph::own_memory(b);
    if (std::memcmp(x.data(), y.data(), a.count() * tensor::item_size(a.dtype())) != 0)
      return differs;
  }
  const int results = first.input_count + static_cast<int>(first.constants.size());
  for (int slot : first.outputs) {
    if (slot >= first.input_count && slot < results) return "it returns what no op has made";
  }
  return {};
}

// Looks at the body, and makes the Program that runs this kind of call.
void make_program(PyCell& cell, PyObject* const* args, size_t count, const Arguments& arguments,
                  Signature& signature) {
  Look look = look_at_body(cell, args, count, arguments);
  if (look.refusal.empty()) {
    const Look again = look_at_body(cell, args, count, arguments);
    look.refusal = again.refusal.empty() ? compare(look.program, again.program) : again.refusal;
  }
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(cell.parameters); ++i) {
    const Value value = value_of(PyList_GET_ITEM(cell.parameters, i));
    signature.parameters.push_back({value.sizes(), value.dtype()});
  }
  if (!look.refusal.empty()) return set_note(cell, look.refusal.c_str());
  uint32_t weights = 0;
  for (size_t i = arguments.leaves.size(); i < look.metas.size() && i < 32; ++i) weights |= 1u << i;
  const char* name = PyUnicode_AsUTF8(cell.name);
  signature.op =
      std::make_shared<graph::ProgramOp>(name ? name : "cell", std::move(look.program), look.metas,
                                         weights, graph::BatchRule(exec::run_program_rows));
  signature.result = std::move(look.result);
}

}  // namespace

Signature::~Signature() { bury(std::move(op)); }

PyObject* call_cell(PyObject* object, PyObject* const* args, size_t flags, PyObject* keywords) {
  auto& cell = *reinterpret_cast<PyCell*>(object);
  const size_t count = PyVectorcall_NARGS(flags);
  const bool parts = modes.observer && modes.observer->parts;
  if ((keywords && PyTuple_GET_SIZE(keywords)) || modes.tracer || modes.executor || parts) {
    return call_body(cell, args, flags, keywords);
  }
  return guarded([&]() -> PyObject* {
    const bool changed = !cell.as_it_is && !finds_the_same(cell);
    if (changed || cell.epoch != module_epoch) look_outside(cell, changed);
    if (cell.as_it_is) return call_body(cell, args, flags, keywords);
    Arguments arguments;
    for (size_t i = 0; i < count; ++i) {
      if (!flatten(args[i], arguments)) return call_body(cell, args, flags, keywords);
    }
    auto found =
        std::find_if(cell.signatures->begin(), cell.signatures->end(),
                     [&](const Signature& one) { return fits(one, arguments, cell.parameters); });
    if (found == cell.signatures->end()) {
      std::list<Signature> made(1);  // not among the others yet: they may go while the body runs
      found = made.begin();
      found->shape = arguments.shape;
      found->grad = modes.grad;
      for (const Value& leaf : arguments.leaves) {
        found->metas.push_back({leaf.sizes(), leaf.dtype()});
        found->numbers.push_back(leaf->is_number);
      }
      make_program(cell, args, count, arguments, *found);
      if (cell.signatures->size() >= most_signatures) cell.signatures->pop_front();
      cell.signatures->splice(cell.signatures->end(), made);
    }
    if (!found->op) return call_body(cell, args, flags, keywords);
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(cell.parameters); ++i)
      arguments.leaves.push_back(value_of(PyList_GET_ITEM(cell.parameters, i)));
    // Other threads may let go of the signature while it runs.
    const std::shared_ptr<graph::ProgramOp> op = found->op;
    const Object result = Object::borrow(found->result.get());
    const Values outputs = graph::record(*op, arguments.leaves);
    size_t next = 0;
    return rebuild(result.get(), [&] { return Object(wrap(outputs[next++])); }).release();
  });
}

namespace {

PyObject* make_cell(PyTypeObject* type, PyObject* args, PyObject*) {
  return guarded([&]() -> PyObject* {
    PyObject *body, *name, *renew;
    if (!PyArg_ParseTuple(args, "OUO", &body, &name, &renew)) throw PythonError{};
    Object parameters = Object::check(PyList_New(0));
    Object self = Object::check(type->tp_alloc(type, 0));
    auto& cell = *reinterpret_cast<PyCell*>(self.get());
    cell.vectorcall = type == forward_type  ? call_forward
                      : type == op_type     ? call_op
                      : type == number_type ? call_on_number
                                            : call_cell;
    cell.body = Py_NewRef(body);
    cell.name = Py_NewRef(name);
    cell.parameters = parameters.release();
    cell.renew = Py_NewRef(renew);
    cell.guard_list = nullptr;
    cell.guards = new std::vector<Guard>();
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
  Py_VISIT(cell.guard_list);
  return 0;
}
int clear(PyObject* object) {
  auto& cell = *reinterpret_cast<PyCell*>(object);
  Py_CLEAR(cell.body);
  Py_CLEAR(cell.parameters);
  Py_CLEAR(cell.renew);
  cell.guards->clear();
  Py_CLEAR(cell.guard_list);
  return 0;
}
void dealloc(PyObject* object) {
  PyObject_GC_UnTrack(object);
  auto& cell = *reinterpret_cast<PyCell*>(object);
  PyTypeObject* type = Py_TYPE(object);
  clear(object);
  Py_CLEAR(cell.name);
  delete cell.signatures;
  delete cell.guards;
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
  if (PyMethod_Check(cell.body)) return Py_BuildValue("(O())", Py_TYPE(Py_None));
  return PyObject_GetAttrString(cell.body, "__qualname__");
}
PyObject* deep_copy(PyObject* object, PyObject*) {
  return Py_NewRef(PyMethod_Check(reinterpret_cast<PyCell*>(object)->body) ? Py_None : object);
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
  inlined_cells = Object::check(PyDict_New()).release();
  length_function = Object::check(PyMapping_GetItemString(PyEval_GetBuiltins(), "len")).release();
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
      {0, nullptr},
  };
  constexpr unsigned flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL;
  PyType_Spec spec{"weft._core.Cell", sizeof(PyCell), 0, flags, slots};
  auto make_type = [&] {
    return reinterpret_cast<PyTypeObject*>(Object::check(PyType_FromSpec(&spec)).release());
  };
  slots[std::size(slots) - 2] = {Py_tp_descr_get, reinterpret_cast<void*>(bind_method)};
  cell_type = make_type();
  spec.name = "weft._core.CellForward";
  spec.flags |= Py_TPFLAGS_METHOD_DESCRIPTOR;
  forward_type = make_type();
  spec.name = "weft._core.OpForward";
  op_type = make_type();
  spec.name = "weft._core.NumberFunction";
  number_type = make_type();
  if (PyModule_AddObjectRef(module, "inlined_cells", inlined_cells) < 0 ||
      PyModule_AddType(module, cell_type) < 0 || PyModule_AddType(module, forward_type) < 0 ||
      PyModule_AddType(module, op_type) < 0 || PyModule_AddType(module, number_type) < 0 ||
      PyModule_AddFunctions(module, module_methods) < 0) {
    throw PythonError{};
  }
}

}  // namespace weft::bind
