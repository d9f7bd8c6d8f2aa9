// Cells: a pure function recorded as one op, or as one for each value that its body reads.
#include "weft/bind/cell.h"

#include <algorithm>
#include <cstring>

#include "weft/bind/look.h"
#include "weft/graph/observer.h"
#include "weft/graph/record.h"
#include "weft/tensor/promotion.h"

namespace weft::bind {

// What a body may ask a tensor for that is no value of it.
struct Form {
  Dims sizes, strides;  // none: it lies in order
  DType dtype;
  explicit Form(const Array& array) : sizes(array.sizes), dtype(array.dtype) {
    if (!array.is_contiguous()) strides = array.strides;
  }
  bool fits(const Array& array) const {
    return array.dtype == dtype && array.sizes == sizes &&
           (strides.empty() ? array.is_contiguous() : array.strides == strides);
  }
};

// One kind of call, and what the body does in it.
struct Signature {
  Nesting shape;
  std::vector<Form> tensors;
  std::vector<bool> numbers;
  std::vector<Form> parameters;
  bool grad;
  DType default_dtype;
  std::shared_ptr<Part> first;  // none: the body runs as it is
};

namespace {

using graph::modes;

PyObject* length_function;  // as a guard's key: how long it is
constexpr size_t most_signatures = 64;
constexpr size_t most_undeclared = 8;  // of a cell that nobody declared
constexpr size_t most_parts = 256;     // of a signature
constexpr size_t most_steps = 64;      // of one that nobody declared: each is a look from the start
uint64_t module_epoch = 0;             // how often an attribute of any module was set

PyObject* inlined_cells;  // a dict: the name of each cell whose body runs as it is, and why

void set_note(PyCell& cell, const char* note) {
  if (*cell.note == note) return;
  *cell.note = note;
  if (cell.undeclared) return;
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
    const bool is_alike =
        found && (!cell.undeclared || Py_TYPE(found.get()) == Py_TYPE(guard.found));
    if (guard.parameter >= 0 && is_alike && is_tensor(found.get())) {
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

bool fits(const Signature& signature, PyObject* parameters) {
  for (size_t i = 0; i < signature.parameters.size(); ++i) {
    if (!signature.parameters[i].fits(meta_of(PyList_GET_ITEM(parameters, i)))) return false;
  }
  return true;
}
bool fits(const Signature& signature, const Arguments& arguments) {
  if (signature.grad != modes.grad || signature.default_dtype != tensor::default_dtype ||
      !(signature.shape == arguments.shape)) {
    return false;
  }
  for (size_t i = 0; i < signature.tensors.size(); ++i) {
    const Value& leaf = arguments.leaves[i];
    if (leaf->is_number != signature.numbers[i] || !signature.tensors[i].fits(leaf.array()))
      return false;
  }
  return true;
}

// The kind of call that this is; made if it is new.
const Signature& signature_of(PyCell& cell, PyObject* const* args, size_t count,
                              const Arguments& arguments) {
  for (const Signature& one : *cell.signatures) {
    if (fits(one, arguments) && fits(one, cell.parameters)) return one;
  }
  std::list<Signature> made(1);  // not among the others yet: they may go while the body runs
  made.front().shape = arguments.shape;
  made.front().grad = modes.grad;
  made.front().default_dtype = tensor::default_dtype;
  for (const Value& leaf : arguments.leaves) {
    made.front().tensors.emplace_back(leaf.array());
    made.front().numbers.push_back(leaf->is_number);
  }
  std::string refusal = "it is called in too many ways";
  if (!cell.undeclared || cell.signatures->size() < most_undeclared)
    made.front().first = look_at_body(cell, args, count, arguments, {}, refusal);
  if (!refusal.empty()) set_note(cell, refusal.c_str());
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(cell.parameters); ++i) {
    made.front().parameters.emplace_back(value_of(PyList_GET_ITEM(cell.parameters, i)).array());
  }
  if (cell.signatures->size() >= most_signatures) cell.signatures->pop_front();
  cell.signatures->splice(cell.signatures->end(), made);
  return cell.signatures->back();
}

// False: the body must run as it is.
bool look_around(PyCell& cell) {
  const bool changed = !cell.as_it_is && !finds_the_same(cell);
  if (changed || cell.epoch != module_epoch) look_outside(cell, changed);
  return !cell.as_it_is;
}

// A call of a cell that is under way: parts of the body, with a number read after each but the
// last.
class CellCall {
 public:
  CellCall(PyCell& cell, PyObject* const* args, size_t count)
      : cell_(cell), args_(args), count_(count) {}

  // After a look around; `likely` is a signature that fits the parameters, the last call's if there
  // is one, and then this one's. False: the body must run as it is.
  bool begin(const Signature*& likely);
  // Records a part. True: it was the last one.
  bool record_part();
  // Of the first op of the part; 0: it has none.
  graph::Position position() const {
    return part_->op && !part_->op->program.instructions.empty()
               ? part_->op->program.instructions[0].position
               : 0;
  }
  // What must be read to go on.
  Value to_read() const { return known(part_->decision); }
  // Reads it. False: the body must run as it is.
  bool read();
  PyObject* result() const {
    if (part_->gives_new) {
      size_t next = 0;
      return rebuild(part_->result.get(), [&](PyObject*) { return Object(wrap(made_[next++])); })
          .release();
    }
    std::vector<PyObject*> given;
    return rebuild(part_->result.get(),
                   [&](PyObject*) {
                     Object item = result_at(given.size(), given);
                     given.push_back(item.get());
                     return item;
                   })
        .release();
  }

 private:
  // What it was given, or gives twice, is that tensor: writing to it is seen by whoever has it.
  Object result_at(size_t i, std::span<PyObject* const> given) const {
    const std::vector<int>& slots = part_->op->program.outputs;
    const auto same = std::find(slots.begin(), slots.begin() + i, slots[i]) - slots.begin();
    if (static_cast<size_t>(same) < i) return Object::borrow(given[same]);
    const bool is_input = slots[i] >= 0 && slots[i] < part_->op->program.input_count;
    if (PyObject* known = is_input ? known_at(part_->inputs[slots[i]]) : nullptr)
      return Object::borrow(known);
    return Object(wrap(made_[i]));
  }
  // An argument, or what is read from outside; null: it was made by a part before.
  PyObject* known_at(int place) const {
    auto left = static_cast<size_t>(place);
    for (size_t i = 0; i < count_; ++i) {
      if (PyObject* found = leaf_at(args_[i], left, arguments_)) return found;
    }
    return left < static_cast<size_t>(PyList_GET_SIZE(parameters_.get()))
               ? PyList_GET_ITEM(parameters_.get(), left)
               : nullptr;
  }
  Value known(int place) const;
  bool look_further();

  PyCell& cell_;
  PyObject* const* args_;
  size_t count_;
  Arguments arguments_;
  Object parameters_;
  std::vector<Step> steps_;
  std::shared_ptr<Part> part_;  // others may let go of the signature while it runs
  Values made_;                 // by the parts before; after the last one, by that
};

bool CellCall::begin(const Signature*& likely) {
  arguments_.plain = cell_.undeclared;
  arguments_.integers = cell_.undeclared && !cell_.reads_integers;
  for (size_t i = 0; i < count_; ++i) {
    if (!flatten(args_[i], arguments_)) return false;
  }
  if (!likely || !fits(*likely, arguments_))
    likely = &signature_of(cell_, args_, count_, arguments_);
  if (arguments_.has_integers && cell_.reads_integers && arguments_.integers) {
    arguments_ = {};
    return begin(likely);  // as was seen just now
  }
  part_ = likely->first;
  parameters_ = Object::borrow(cell_.parameters);
  const auto is_mapped = [](const Value& leaf) { return leaf && leaf->mapped; };
  return part_ && !part_->refused && std::ranges::none_of(arguments_.leaves, is_mapped);
}

Value CellCall::known(int place) const {
  const size_t leaves = arguments_.leaves.size(), parameters = PyList_GET_SIZE(parameters_.get());
  const size_t number = place;
  if (number < leaves) return arguments_.leaves[number];
  if (number < leaves + parameters)
    return value_of(PyList_GET_ITEM(parameters_.get(), number - leaves));
  return made_[number - leaves - parameters];
}

bool CellCall::record_part() {
  const bool last = part_->decision < 0;
  Values outputs;
  if (part_->op) {
    base::SmallVector<Value, 8> inputs;
    for (int place : part_->inputs) {
      const bool moves = last && static_cast<size_t>(place) < arguments_.leaves.size();
      inputs.push_back(moves ? std::move(arguments_.leaves[place]) : known(place));
    }
    outputs = graph::record(*part_->op, inputs);
    const graph::Program& program = part_->op->program;
    for (size_t i = 0; i < outputs.size(); ++i) {
      // What it was given keeps its place in the graph.
      const int slot = program.outputs[i];
      if (slot >= 0 && slot < program.input_count && inputs[slot].requires_grad())
        outputs[i] = inputs[slot];
    }
  }
  if (last) made_.clear();
  for (Value& output : outputs) {
    if (!last) output->promised = true;
    made_.push_back(std::move(output));
  }
  return last;
}

bool CellCall::read() {
  const Value value = to_read();
  const int64_t number = part_->as_truth ? read_bool(value) : read_integer(value);
  note_read(value, part_->as_truth ? "bool" : "int", static_cast<double>(number));
  steps_.push_back({part_, number});
  const auto found = part_->next.find(number);
  if (found == part_->next.end()) return look_further();
  part_ = found->second;
  return part_ != nullptr;
}

// The body has not been seen after this number.
bool CellCall::look_further() {
  // While the call waited, what the body reads may have become something else.
  if (parameters_.get() != cell_.parameters || cell_.epoch != module_epoch ||
      !finds_the_same(cell_)) {
    return false;
  }
  Part &first = *steps_.front().part, &last = *steps_.back().part;
  std::string refusal = "it decides in more than 256 ways";
  if (first.count < most_parts && !(cell_.undeclared && steps_.size() > most_steps)) {
    part_ = look_at_body(cell_, args_, count_, arguments_, steps_, refusal);
    last.next[steps_.back().number] = part_;
    ++first.count;
  }
  if (!refusal.empty()) {
    first.refused = true;
    set_note(cell_, refusal.c_str());
    return false;
  }
  return part_ != nullptr;
}

}  // namespace

PyObject* call_cell(PyObject* object, PyObject* const* args, size_t flags, PyObject* keywords) {
  auto& cell = *reinterpret_cast<PyCell*>(object);
  const bool parts = modes.observer && modes.observer->parts;
  if ((keywords && PyTuple_GET_SIZE(keywords)) || modes.tracer || modes.executor || parts) {
    return call_body(cell, args, flags, keywords);
  }
  return guarded([&]() -> PyObject* {
    CellCall call(cell, args, PyVectorcall_NARGS(flags));
    const Signature* found = nullptr;
    if (!look_around(cell) || !call.begin(found)) return call_body(cell, args, flags, keywords);
    while (!call.record_part()) {
      if (!call.read()) return call_body(cell, args, flags, keywords);
    }
    return call.result();
  });
}

namespace {

// As they do when a body is looked at.
bool lie_in_order(PyObject* tensors) {
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(tensors); ++i) {
    if (!meta_of(PyList_GET_ITEM(tensors, i)).is_contiguous()) return false;
  }
  return true;
}

// Calls a cell for some examples: what they read is computed for all together. False: the body must
// run as it is for one of them.
bool call_together(PyCell& cell, PyObject* results, Py_ssize_t first, Py_ssize_t end) {
  if (PyErr_CheckSignals() < 0) throw PythonError{};
  if (!look_around(cell) || (cell.undeclared && !lie_in_order(cell.parameters))) return false;
  const graph::Position asked_at = modes.position;
  std::vector<CellCall> calls;
  calls.reserve(end - first);
  const Signature* likely = nullptr;
  std::vector<Py_ssize_t> waiting;
  auto record_part = [&](Py_ssize_t i) {
    CellCall& call = calls[i - first];
    if (const graph::Position position = call.position()) modes.position = position;
    if (!call.record_part()) return waiting.push_back(i);
    PyList_SetItem(results, i, Object::check(call.result()).release());
  };
  for (Py_ssize_t i = first; i < end; ++i) {
    modes.example = static_cast<int32_t>(i);
    if (!calls.emplace_back(cell, &PyList_GET_ITEM(results, i), 1).begin(likely)) return false;
    record_part(i);
  }
  while (!waiting.empty()) {
    std::vector<Value> values;
    for (Py_ssize_t i : waiting) values.push_back(calls[i - first].to_read());
    modes.position = asked_at;
    graph::demand(values);
    for (Py_ssize_t i : std::exchange(waiting, {})) {
      modes.example = static_cast<int32_t>(i);
      if (!calls[i - first].read()) return false;
      record_part(i);
    }
  }
  modes.position = asked_at;
  return true;
}

// map_cell(function, examples, width): what weft.map gives, without fibers, where the function is a
// cell: nothing else runs between the values that it reads. None: it is not, or not for all of
// them.
PyObject* map_cell(PyObject*, PyObject* args) {
  PyObject *function, *examples;
  Py_ssize_t width;
  if (!PyArg_ParseTuple(args, "OOn", &function, &examples, &width)) return nullptr;
  const Object cell = Object::borrow(cell_of(function));
  if (!cell || modes.observer || modes.tracer || modes.executor || modes.vmap ||
      modes.keep_values || modes.save_hooks) {
    Py_RETURN_NONE;
  }
  Object results(PySequence_List(examples));  // an example, until its result is there
  if (!results) return nullptr;
  const Object kept(PySequence_Tuple(results.get()));
  if (!kept) return nullptr;
  graph::ModesGuard guard;
  modes.lazy = true;
  PyObject* done = guarded([&]() -> PyObject* {
    const Py_ssize_t count = PyList_GET_SIZE(results.get());
    for (Py_ssize_t first = 0; first < count; first += width) {
      const Py_ssize_t end = first + std::min(width, count - first);
      if (!call_together(*reinterpret_cast<PyCell*>(cell.get()), results.get(), first, end))
        return Py_None;
    }
    return results.get();
  });
  if (!done && !PyErr_ExceptionMatches(PyExc_Exception)) return nullptr;
  PyErr_Clear();  // run again, one by one, each example can say what is wrong
  return Py_NewRef(done ? done : Py_None);
}

PyObject* make_cell(PyTypeObject* type, PyObject* args, PyObject*) {
  return guarded([&]() -> PyObject* {
    PyObject *body, *name, *renew;
    int undeclared = 0;
    if (!PyArg_ParseTuple(args, "OUO|p", &body, &name, &renew, &undeclared)) throw PythonError{};
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
    cell.undeclared = undeclared != 0;
    cell.reads_integers = false;
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
// A part's Program, and those of the parts after it.
void add_programs(const Part* part, PyObject* list) {
  if (!part) return;
  if (part->op) {
    Object text = Object::check(PyUnicode_FromString(part->op->program.to_string().c_str()));
    if (PyList_Append(list, text.get()) < 0) throw PythonError{};
  }
  for (const auto& [number, next] : part->next) add_programs(next.get(), list);
}
// The Programs made so far, as text.
PyObject* get_programs(PyObject* object, void*) {
  return guarded([&]() -> PyObject* {
    Object result = Object::check(PyList_New(0));
    for (const Signature& signature : *reinterpret_cast<PyCell*>(object)->signatures)
      add_programs(signature.first.get(), result.get());
    return result.release();
  });
}

PyObject* find_forward(PyObject*, PyObject* module) {
  PyObject* forward = plain_forward(module);
  return Py_NewRef(forward ? forward : Py_None);
}
PyObject* bump_epoch(PyObject*, PyObject*) {
  ++module_epoch;
  Py_RETURN_NONE;
}
PyMethodDef module_methods[] = {
    {"find_forward", find_forward, METH_O, "Return what runs when a module is called, or None."},
    {"map_cell", map_cell, METH_VARARGS, "Call a cell for many examples; None: it is not one."},
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
