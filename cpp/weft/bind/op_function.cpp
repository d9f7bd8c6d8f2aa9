// Python functions of ops. One object is both `weft.tanh` and `Tensor.tanh`; arguments are checked
// against the signature, positional ones on a short path.

#include <algorithm>
#include <array>

#include "ops.h"
#include "weft/autograd/in_place.h"
#include "weft/bind/python.h"
#include "weft/graph/op.h"
#include "weft/graph/record.h"

namespace weft::bind {
namespace {

using graph::Attribute;
using graph::Parameter;
using graph::ParameterType;

constexpr size_t most_parameters = 16;

// Attributes, and what they were made from: a line of a program gives the same objects each time.
struct Memo {
  std::array<PyObject*, most_parameters> given{};  // owned; null for tensors and what is left out
  graph::Attributes attributes;
};
constexpr size_t memo_count = 8;

struct PyOp {
  PyObject_HEAD const Op* op;
  vectorcallfunc vectorcall;
  PyObject** names;             // interned, one per parameter
  graph::Attributes* defaults;  // when all but the first tensor may be left out
  Memo* memos;                  // by the objects' addresses; null before the first is kept
  bool in_place;
  bool only_tensors;  // it takes single tensors and nothing else
};
PyTypeObject* op_type = nullptr;
PyObject* composite_code = nullptr;

std::string type_text(const Parameter& parameter) {
  constexpr const char* names[] = {"Tensor",
                                   "Tensor or a number",
                                   "a list of Tensors",
                                   "a number",
                                   "int",
                                   "a list of ints",
                                   "float",
                                   "bool",
                                   "str",
                                   "a dtype",
                                   "a Generator"};
  return std::string(names[static_cast<int>(parameter.type)]) +
         (parameter.optional ? " or None" : "");
}

[[noreturn]] void refuse(const Op& op, const Parameter& parameter, PyObject* given) {
  const bool is_missing_step = parameter.is_tensor() && is_array(given);
  raise(PyExc_TypeError,
        base::text(op.name, "(): argument '", parameter.name, "' must be ", type_text(parameter),
                   ", not ", Py_TYPE(given)->tp_name,
                   is_missing_step ? ": make a tensor of it by from_numpy()" : ""));
}

int64_t to_integer(const Op& op, const Parameter& parameter, PyObject* object) {
  if (!PyIndex_Check(object) || (is_tensor(object) && meta_of(object).rank() > 0)) {
    refuse(op, parameter, object);
  }
  Object index = Object::check(PyNumber_Index(object));
  const int64_t value = PyLong_AsLongLong(index.get());
  if (value == -1 && PyErr_Occurred()) {
    PyErr_Clear();
    raise(PyExc_OverflowError,
          base::text(op.name, "(): argument '", parameter.name, "' does not fit in 64 bits"));
  }
  return value;
}

Dims to_integers(const Op& op, const Parameter& parameter, PyObject* object) {
  Dims result;
  if (PyLong_Check(object) || (!PySequence_Check(object) && PyIndex_Check(object))) {
    result.push_back(to_integer(op, parameter, object));
    return result;
  }
  if (!PyList_Check(object) && !PyTuple_Check(object) && !(is_tensor(object))) {
    refuse(op, parameter, object);
  }
  Object items = Object::check(PySequence_Fast(object, "expected a sequence"));
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.get()); ++i) {
    result.push_back(to_integer(op, parameter, PySequence_Fast_GET_ITEM(items.get(), i)));
  }
  return result;
}

Attribute to_number(const Op& op, const Parameter& parameter, PyObject* object) {
  Object kept;
  if (is_tensor(object)) {
    if (meta_of(object).count() != 1) refuse(op, parameter, object);
    kept = Object::check(to_python_number(value_of(object)));
    object = kept.get();
  }
  if (PyBool_Check(object)) return object == Py_True;
  if (PyFloat_Check(object)) return PyFloat_AS_DOUBLE(object);
  if (PyIndex_Check(object)) return to_integer(op, parameter, object);
  const Value number = number_from_python(object);
  if (!number) refuse(op, parameter, object);
  return read_double(number);
}

double to_real(const Op& op, const Parameter& parameter, PyObject* object) {
  const Attribute number = to_number(op, parameter, object);
  if (const auto* real = std::get_if<double>(&number)) return *real;
  if (const auto* integer = std::get_if<int64_t>(&number)) return static_cast<double>(*integer);
  return std::get<bool>(number);
}

bool to_bool(const Op& op, const Parameter& parameter, PyObject* object) {
  if (PyBool_Check(object)) return object == Py_True;
  if (std::string_view(Py_TYPE(object)->tp_name).starts_with("numpy.bool")) {
    return PyObject_IsTrue(object) == 1;
  }
  refuse(op, parameter, object);
}

Attribute to_attribute(const Op& op, const Parameter& parameter, PyObject* object) {
  if (object == Py_None && parameter.type != ParameterType::generator) {
    if (!parameter.optional) refuse(op, parameter, object);
    return std::monostate{};
  }
  switch (parameter.type) {
    case ParameterType::number:
      return to_number(op, parameter, object);
    case ParameterType::integer:
      return to_integer(op, parameter, object);
    case ParameterType::integer_list:
      return to_integers(op, parameter, object);
    case ParameterType::real:
      return to_real(op, parameter, object);
    case ParameterType::boolean:
      return to_bool(op, parameter, object);
    case ParameterType::string: {
      const char* text = PyUnicode_Check(object) ? PyUnicode_AsUTF8(object) : nullptr;
      if (!text) {
        PyErr_Clear();
        refuse(op, parameter, object);
      }
      return std::string(text);
    }
    case ParameterType::dtype:
      if (!is_dtype(object)) refuse(op, parameter, object);
      return dtype_from(object);
    case ParameterType::generator:
      return draw_random(object);
    default:
      break;
  }
  base::bug("parameter ", parameter.name, " of ", op.name, " is no attribute");
}

void add_inputs(const Op& op, const Parameter& parameter, PyObject* object, Values& inputs) {
  if (is_tensor(object)) {
    if (parameter.type == ParameterType::tensor_list) refuse(op, parameter, object);
    inputs.push_back(value_of(object));
    return;
  }
  if (object == Py_None && parameter.optional) {
    inputs.emplace_back();
    return;
  }
  if (parameter.type == ParameterType::tensor_or_number) {
    if (Value number = number_from_python(object)) {
      inputs.push_back(std::move(number));
      return;
    }
    if (is_array(object) && PySequence_Size(object) < 0) {
      PyErr_Clear();  // an array without dimensions is a number
      Object item = Object::check(PyObject_CallMethod(object, "item", nullptr));
      return add_inputs(op, parameter, item.get(), inputs);
    }
  } else if (parameter.type == ParameterType::tensor_list &&
             (PyList_Check(object) || PyTuple_Check(object))) {
    Object items = Object::check(PySequence_Fast(object, "expected a sequence"));
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.get()); ++i) {
      PyObject* item = PySequence_Fast_GET_ITEM(items.get(), i);
      if (!is_tensor(item)) {
        raise(PyExc_TypeError,
              base::text(op.name, "(): expected Tensor as element ", i, " in argument '",
                         parameter.name, "', but got ", Py_TYPE(item)->tp_name));
      }
      inputs.push_back(value_of(item));
    }
    return;
  }
  refuse(op, parameter, object);
}

// Brings positional and keyword arguments into the order of the signature.
struct Bound {
  explicit Bound(size_t parameters) { std::fill_n(items, parameters, nullptr); }
  PyObject* items[most_parameters];
  Object variadic;  // keeps the tuple of separate ints alive
};

void bind_arguments(const PyOp& self, PyObject* const* args, size_t count, PyObject* keywords,
                    Bound& bound) {
  const Op& op = *self.op;
  const auto& parameters = op.sig.parameters;
  for (size_t i = 0; i < count; ++i) {
    if (i < parameters.size() && parameters[i].variadic && PyIndex_Check(args[i]) &&
        !(is_tensor(args[i]) && meta_of(args[i]).rank() > 0)) {
      bound.variadic = Object::check(PyTuple_New(count - i));
      for (size_t k = i; k < count; ++k) {
        PyTuple_SET_ITEM(bound.variadic.get(), k - i, Py_NewRef(args[k]));
      }
      bound.items[i] = bound.variadic.get();
      break;
    }
    if (i >= parameters.size() || parameters[i].keyword_only) {
      size_t most = 0;
      while (most < parameters.size() && !parameters[most].keyword_only) ++most;
      raise(PyExc_TypeError, base::text(op.name, "() takes at most ", most,
                                        " positional arguments but ", count, " were given"));
    }
    bound.items[i] = args[i];
  }
  if (!keywords) return;
  for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(keywords); ++k) {
    PyObject* keyword = PyTuple_GET_ITEM(keywords, k);
    size_t i = 0;
    while (i < parameters.size() && self.names[i] != keyword &&
           PyUnicode_Compare(self.names[i], keyword) != 0) {
      ++i;
    }
    if (i == parameters.size()) {
      // NumPy's names for PyTorch's.
      const char* text = PyUnicode_AsUTF8(keyword);
      const std::string_view name = text ? text : "?";
      const std::string_view known = name == "axis" ? "dim" : name == "keepdims" ? "keepdim" : "";
      for (i = 0; i < parameters.size() && parameters[i].name != known; ++i) {
      }
      if (i == parameters.size()) {
        raise(PyExc_TypeError,
              base::text(op.name, "() got an unexpected keyword argument '", name, "'"));
      }
    }
    if (bound.items[i]) {
      raise(PyExc_TypeError,
            base::text(op.name, "() got multiple values for argument '", parameters[i].name, "'"));
    }
    bound.items[i] = args[count + k];
  }
}

struct Parsed {
  Values inputs;
  graph::Attributes attributes;
};

graph::Attributes read_attributes(const Op& op, const Bound& bound) {
  std::vector<Attribute> attributes;
  attributes.reserve(op.sig.attribute_count);
  for (size_t i = 0; i < op.sig.parameters.size(); ++i) {
    const Parameter& parameter = op.sig.parameters[i];
    PyObject* object = bound.items[i];
    if (parameter.is_tensor()) continue;
    if (object) {
      attributes.push_back(to_attribute(op, parameter, object));
    } else if (parameter.type == ParameterType::generator) {
      attributes.emplace_back(draw_random(nullptr));
    } else {
      attributes.push_back(*parameter.fallback);
    }
  }
  return graph::Attributes(std::move(attributes));
}

// An object that always reads as the same attribute.
bool is_constant(PyObject* object) {
  return !object || PyLong_CheckExact(object) || object == Py_None || PyBool_Check(object) ||
         PyUnicode_CheckExact(object) || PyFloat_CheckExact(object) || is_dtype(object);
}

// The same, kept for when the same objects come again.
graph::Attributes remembered_attributes(PyOp& self, const Bound& bound) {
  const auto& parameters = self.op->sig.parameters;
  PyObject* given[most_parameters];
  size_t hash = 0;
  for (size_t i = 0; i < parameters.size(); ++i) {
    given[i] = parameters[i].is_tensor() ? nullptr : bound.items[i];
    if (parameters[i].is_tensor()) continue;
    if (parameters[i].type == ParameterType::generator || !is_constant(given[i]))
      return read_attributes(*self.op, bound);
    hash = hash * 31 + (reinterpret_cast<size_t>(given[i]) >> 4);
  }
  if (!self.memos) self.memos = new Memo[memo_count];
  Memo& memo = self.memos[hash % memo_count];
  if (!std::equal(given, given + parameters.size(), memo.given.begin()) ||
      memo.attributes.size() == 0) {
    memo.attributes = read_attributes(*self.op, bound);
    for (size_t i = 0; i < parameters.size(); ++i) {
      Py_XINCREF(given[i]);
      Py_XSETREF(memo.given[i], given[i]);
    }
  }
  return memo.attributes;
}

void parse(PyOp& self, PyObject* const* args, size_t count, PyObject* keywords, Parsed& parsed) {
  const Op& op = *self.op;
  const auto& parameters = op.sig.parameters;
  if (self.only_tensors && count == parameters.size() && !keywords &&
      std::all_of(args, args + count, is_tensor)) {
    for (size_t i = 0; i < count; ++i) parsed.inputs.push_back(value_of(args[i]));
    return;
  }
  Bound bound(parameters.size());
  bind_arguments(self, args, count, keywords, bound);
  for (size_t i = 0; i < parameters.size(); ++i) {
    const Parameter& parameter = parameters[i];
    PyObject* object = bound.items[i];
    if (!object && !parameter.fallback) {
      raise(PyExc_TypeError, base::text(op.name, "() missing required argument '", parameter.name,
                                        "' (position ", i + 1, ")"));
    }
    if (!parameter.is_tensor()) continue;
    if (object) {
      add_inputs(op, parameter, object, parsed.inputs);
    } else if (const auto* number = std::get_if<double>(&*parameter.fallback)) {
      parsed.inputs.push_back(graph::number_value(*number));
    } else if (const auto* integer = std::get_if<int64_t>(&*parameter.fallback)) {
      parsed.inputs.push_back(graph::number_value(*integer));
    } else if (const auto* flag = std::get_if<bool>(&*parameter.fallback)) {
      parsed.inputs.push_back(graph::number_value_bool(*flag));
    } else {
      parsed.inputs.emplace_back();
    }
  }
  if (op.sig.attribute_count > 0) parsed.attributes = remembered_attributes(self, bound);
}

// The attributes of a plain call; null when more than one tensor is needed.
graph::Attributes* plain_defaults(const Op& op) {
  const auto& parameters = op.sig.parameters;
  if (parameters.empty() || parameters[0].type > ParameterType::tensor_or_number) return nullptr;
  std::vector<Attribute> attributes;
  for (size_t i = 1; i < parameters.size(); ++i) {
    const Parameter& parameter = parameters[i];
    if (parameter.is_tensor() || !parameter.fallback ||
        parameter.type == ParameterType::generator) {
      return nullptr;
    }
    attributes.push_back(*parameter.fallback);
  }
  return new graph::Attributes(std::move(attributes));
}

PyObject* call(PyObject* object, PyObject* const* args, size_t flags, PyObject* keywords);

// `out=`: what the op returns is written there, by a function of Python's.
PyObject* out_writer = nullptr;

PyObject* call_into(PyObject* object, PyObject* const* args, size_t count, PyObject* keywords,
                    Py_ssize_t place) {
  std::vector<PyObject*> others(args, args + count + PyTuple_GET_SIZE(keywords));
  PyObject* out = others[count + place];
  others.erase(others.begin() + count + place);
  Object before = Object::check(PyTuple_GetSlice(keywords, 0, place));
  Object after = Object::check(PyTuple_GetSlice(keywords, place + 1, PY_SSIZE_T_MAX));
  Object names = Object::check(PySequence_Concat(before.get(), after.get()));
  // Nobody waits for the result: other examples of a map could write what it was computed from.
  const auto waits = [](PyObject* item) { return is_tensor(item) && value_of(item)->pending; };
  while (std::any_of(others.begin(), others.end(), waits) || waits(out)) {
    Values given;
    for (PyObject* item : others) {
      if (is_tensor(item)) given.push_back(value_of(item));
    }
    if (is_tensor(out)) given.push_back(value_of(out));
    graph::settle(given);
  }
  graph::ModesGuard guard;
  graph::modes.lazy = false;
  Object result = Object::check(call(object, others.data(), count, names.get()));
  return PyObject_CallFunctionObjArgs(out_writer, object, result.get(), out, nullptr);
}

PyObject* call(PyObject* object, PyObject* const* args, size_t flags, PyObject* keywords) {
  return guarded([&]() -> PyObject* {
    for (Py_ssize_t k = keywords ? PyTuple_GET_SIZE(keywords) : 0; k-- > 0;) {
      if (PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(keywords, k), "out") == 0)
        return call_into(object, args, PyVectorcall_NARGS(flags), keywords, k);
    }
    auto& self = *reinterpret_cast<PyOp*>(object);
    const size_t count = PyVectorcall_NARGS(flags);
    const size_t given = count + (keywords ? PyTuple_GET_SIZE(keywords) : 0);
    const Op& op = *self.op;
    // One tensor and nothing else, which is enough for the op: most calls by far.
    const bool plain = count == 1 && !keywords && self.defaults && is_tensor(args[0]);
    if (plain && op.pointwise() && op.sig.attribute_count == 0 && !self.in_place) {
      const Value input = value_of(args[0]);
      return wrap(graph::record_pointwise(op, std::span(&input, 1)));
    }
    // The other meaning of `view`: of the bytes, with a gradient only if nothing changes.
    if (&op == &ops::op_view && given == 2 && is_tensor(args[0]) && is_dtype(args[1])) {
      const Value input = value_of(args[0]);
      const DType dtype = dtype_from(args[1]);
      return wrap_result(dtype == input.dtype() ? ops::alias(input) : ops::view_dtype(input, dtype),
                         args[0]);
    }
    Parsed parsed;
    if (plain) {
      parsed.inputs.push_back(value_of(args[0]));
      parsed.attributes = *self.defaults;
    } else {
      parse(self, args, count, keywords, parsed);
    }
    PyObject* first = count > 0 && is_tensor(args[0]) ? args[0] : nullptr;
    if (self.in_place) {
      if (!first)
        raise(PyExc_TypeError, base::text(op.name, "_(): the first argument must be a Tensor"));
      autograd::apply_in_place(tensor_of(first), op, std::move(parsed.inputs),
                               std::move(parsed.attributes));
      return Py_NewRef(first);
    }
    if (op.pointwise() && op.sig.attribute_count == 0) {
      return wrap(graph::record_pointwise(op, parsed.inputs));
    }
    // Composites and views may return a view of their input, or the input itself.
    PyObject* parent = op.is_view() || op.is_composite() ? first : nullptr;
    Values outputs = graph::record(op, parsed.inputs, std::move(parsed.attributes));
    if (outputs.size() == 1 && !op.sig.returns_list)
      return wrap_result(std::move(outputs[0]), parent);
    return wrap_all(std::move(outputs), parent, false);
  });
}

std::string full_name(const PyOp& self) { return self.op->name + (self.in_place ? "_" : ""); }

PyObject* get_name(PyObject* self, void*) {
  return PyUnicode_FromString(full_name(*reinterpret_cast<PyOp*>(self)).c_str());
}
PyObject* get_module(PyObject*, void*) { return PyUnicode_FromString("weft"); }
PyObject* get_doc(PyObject* object, void*) {
  const auto& self = *reinterpret_cast<PyOp*>(object);
  std::string text = self.op->sig.text + "\n\n";
  if (self.in_place) {
    text = base::text(full_name(self), ": the in-place form of ", self.op->name,
                      "; writes the result over the tensor and returns it.\n\n", text);
  }
  return PyUnicode_FromString((text + std::string(self.op->doc)).c_str());
}
PyObject* get_signature_text(PyObject* self, void*) {
  return PyUnicode_FromString(reinterpret_cast<PyOp*>(self)->op->sig.text.c_str());
}
PyObject* represent(PyObject* self) {
  return PyUnicode_FromFormat("<weft op %s>", full_name(*reinterpret_cast<PyOp*>(self)).c_str());
}
PyObject* reduce(PyObject* self, PyObject*) { return get_name(self, nullptr); }
void dealloc(PyObject* self) {
  delete[] reinterpret_cast<PyOp*>(self)->names;
  delete reinterpret_cast<PyOp*>(self)->defaults;
  delete[] reinterpret_cast<PyOp*>(self)->memos;
  PyTypeObject* type = Py_TYPE(self);
  type->tp_free(self);
  Py_DECREF(type);
}

PyGetSetDef properties[] = {
    {"__name__", get_name, nullptr, nullptr, nullptr},
    {"__qualname__", get_name, nullptr, nullptr, nullptr},
    {"__module__", get_module, nullptr, nullptr, nullptr},
    {"__doc__", get_doc, nullptr, nullptr, nullptr},
    {"signature", get_signature_text, nullptr, "The op's signature as declared.", nullptr},
    {},
};
PyMethodDef methods[] = {
    {"__reduce__", reduce, METH_NOARGS, "Pickle by name."},
    {},
};
PyMemberDef members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(PyOp, vectorcall), READONLY, nullptr},
    {},
};

Object make_function(const Op& op, bool in_place) {
  Object object = Object::check(op_type->tp_alloc(op_type, 0));
  auto* self = reinterpret_cast<PyOp*>(object.get());
  self->op = &op;
  self->vectorcall = call;
  self->in_place = in_place;
  self->defaults = plain_defaults(op);
  self->only_tensors = std::all_of(
      op.sig.parameters.begin(), op.sig.parameters.end(),
      [](const Parameter& given) { return given.type <= ParameterType::tensor_or_number; });
  self->names = new PyObject*[op.sig.parameters.size()];
  for (size_t i = 0; i < op.sig.parameters.size(); ++i) {
    self->names[i] = PyUnicode_InternFromString(op.sig.parameters[i].name.c_str());
  }
  return object;
}

// A result of the same shape as the first tensor can be written over it.
bool has_in_place_form(const Op& op) {
  return !op.sig.parameters.empty() &&
         op.sig.parameters[0].type <= ParameterType::tensor_or_number &&
         op.sig.parameters[0].name == "input" && !op.is_view() && op.sig.outputs.size() == 1 &&
         op.run.kind != graph::Run::Kind::by_value;
}

// One row of the op table as plain data, for docs, stubs and tests.
PyObject* describe_ops(PyObject*, PyObject*) {
  return guarded([&]() -> PyObject* {
    Object rows = Object::check(PyList_New(0));
    for (const Op* op : graph::all_ops()) {
      constexpr const char* kinds[] = {"formula", "kernel", "view", "composite", "by_value"};
      Object parameters = Object::check(PyList_New(0));
      for (const Parameter& parameter : op->sig.parameters) {
        constexpr const char* types[] = {"Tensor", "Tensor|Number", "Tensor[]", "Number",
                                         "int",    "int[]",         "float",    "bool",
                                         "str",    "dtype",         "Generator"};
        Object entry = Object::check(Py_BuildValue(
            "{s:s,s:s,s:O,s:O,s:O,s:s}", "name", parameter.name.c_str(), "type",
            types[static_cast<int>(parameter.type)], "optional",
            parameter.optional ? Py_True : Py_False, "variadic",
            parameter.variadic ? Py_True : Py_False, "keyword_only",
            parameter.keyword_only ? Py_True : Py_False, "default",
            parameter.fallback ? attribute_text(*parameter.fallback).c_str() : nullptr));
        if (PyList_Append(parameters.get(), entry.get()) < 0) throw PythonError{};
      }
      Object outputs = Object::check(PyList_New(0));
      for (const std::string& output : op->sig.outputs) {
        Object name = Object::check(PyUnicode_FromString(output.c_str()));
        if (PyList_Append(outputs.get(), name.get()) < 0) throw PythonError{};
      }
      Object row = Object::check(Py_BuildValue(
          "{s:s,s:s,s:s,s:s,s:s,s:s,s:O,s:O,s:O,s:O,s:O}", "name", op->name.c_str(), "signature",
          op->sig.text.c_str(), "doc", std::string(op->doc).c_str(), "kind",
          kinds[static_cast<int>(op->run.kind)], "no_gradient",
          std::string(op->gradient.reason).c_str(), "no_batch",
          std::string(op->batch.reason).c_str(), "differentiable",
          op->differentiable() ? Py_True : Py_False, "parameters", parameters.get(), "outputs",
          outputs.get(), "returns_list", op->sig.returns_list ? Py_True : Py_False, "in_place",
          has_in_place_form(*op) ? Py_True : Py_False));
      if (PyList_Append(rows.get(), row.get()) < 0) throw PythonError{};
    }
    return rows.release();
  });
}

PyObject* set_out_writer(PyObject*, PyObject* function) {
  Py_XSETREF(out_writer, Py_NewRef(function));
  Py_RETURN_NONE;
}

// Python finds methods fast whose class cannot change.
PyObject* seal_op_functions(PyObject*, PyObject*) {
  op_type->tp_flags |= Py_TPFLAGS_IMMUTABLETYPE;
  PyType_Modified(op_type);
  Py_RETURN_NONE;
}

PyObject* set_composite(PyObject*, PyObject* function) {
  Py_XSETREF(composite_code, Py_NewRef(PyFunction_GET_CODE(function)));
  Py_RETURN_NONE;
}

PyObject* tell_composite(PyObject*, PyObject* object) {
  return PyBool_FromLong(is_composite(object));
}

PyMethodDef module_methods[] = {
    {"is_composite", tell_composite, METH_O, "Tell whether it is a function that is made of ops."},
    {"set_composite", set_composite, METH_O, "Say which code all functions made of ops have."},
    {"seal_op_functions", seal_op_functions, METH_NOARGS, "Let OpFunction stay as it is."},
    {"set_out_writer", set_out_writer, METH_O, "Set what writes a result into `out=`."},
    {"describe_ops", describe_ops, METH_NOARGS, "Return the op table as a list of dicts."},
    {},
};

}  // namespace

bool is_op_function(PyObject* object) { return Py_TYPE(object) == op_type; }
bool is_plain_op_function(PyObject* object) {
  const auto& self = *reinterpret_cast<PyOp*>(object);
  return !self.in_place && !self.op->random && self.op->run.kind != graph::Run::Kind::by_value;
}
bool is_composite(PyObject* object) {
  return composite_code && PyFunction_Check(object) &&
         PyFunction_GET_CODE(object) == composite_code;
}

PyObject* bind_method(PyObject* self, PyObject* instance, PyObject*) {
  if (!instance || instance == Py_None) return Py_NewRef(self);
  return PyMethod_New(self, instance);
}

void define_op_functions(PyObject* module) {
  PyType_Slot slots[] = {
      {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
      {Py_tp_descr_get, reinterpret_cast<void*>(bind_method)},
      {Py_tp_repr, reinterpret_cast<void*>(represent)},
      {Py_tp_dealloc, reinterpret_cast<void*>(dealloc)},
      {Py_tp_getset, properties},
      {Py_tp_methods, methods},
      {Py_tp_members, members},
      {0, nullptr},
  };
  PyType_Spec spec{"weft.OpFunction", sizeof(PyOp), 0,
                   Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR |
                       Py_TPFLAGS_DISALLOW_INSTANTIATION,
                   slots};
  op_type = reinterpret_cast<PyTypeObject*>(Object::check(PyType_FromSpec(&spec)).release());
  if (PyModule_AddObjectRef(module, "OpFunction", reinterpret_cast<PyObject*>(op_type)) < 0 ||
      PyModule_AddFunctions(module, module_methods) < 0) {
    throw PythonError{};
  }
  Object table = Object::check(PyModule_New("weft._core.ops"));
  auto publish = [&](const Op& op, bool in_place) {
    Object function = make_function(op, in_place);
    const std::string name = op.name + (in_place ? "_" : "");
    if (PyModule_AddObjectRef(table.get(), name.c_str(), function.get()) < 0) throw PythonError{};
    const auto& parameters = op.sig.parameters;
    if (!parameters.empty() && parameters[0].name == "input" && parameters[0].is_tensor() &&
        !PyDict_GetItemString(tensor_type->tp_dict, name.c_str()) &&
        PyObject_SetAttrString(reinterpret_cast<PyObject*>(tensor_type), name.c_str(),
                               function.get()) < 0) {
      throw PythonError{};
    }
  };
  for (const Op* op : graph::all_ops()) {
    if (op->sig.parameters.size() > most_parameters)
      base::bug(op->name, " has too many parameters");
    publish(*op, false);
    if (has_in_place_form(*op)) publish(*op, true);
  }
  if (PyModule_AddObjectRef(module, "ops", table.get()) < 0) throw PythonError{};
}

}  // namespace weft::bind
