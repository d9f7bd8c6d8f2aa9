// What each instruction does to the sources of registers, where it may be a part of a segment.
#include "weft/bind/noting.h"

#include "weft/routine/numbers.h"

namespace weft::bind::noting {

void Noting::do_unary(const int32_t* at) {
  const Register operand = reg(at[3]);
  const Source from = source(at[3]);
  const auto which = static_cast<Unary>(at[2]);
  if (is_tensor_in(operand)) {
    if (which == Unary::not_) throw End{};
    run_plainly();
    return put_new(at[1]);
  }
  if (which == Unary::not_) {
    if (from == fresh) throw End{};
    run_plainly();
    pin_truth(from, operand, !reg(at[1]).boolean());
    source(at[1]) = constant;
    return;
  }
  if (from != constant && (from < 0 || (!operand.is_integer() && !operand.is_real()))) throw End{};
  run_plainly();
  if (from == constant) return put_new(at[1]);
  SegmentStep step = step_of(Kind::unary, from);
  step.number = at[2];
  source(at[1]) = add(std::move(step), reg(at[1]));
}

// Runs an operator of a tensor and perhaps a number. A number that may be another one next time is
// an input of the op.
void Noting::apply_to_numbers(int32_t first, int32_t second, bool may_vary) {
  for (int32_t number : {first, second}) {
    const Register value = reg(number);
    Source& from = source(number);
    if (is_tensor_in(value)) continue;
    if (!is_number(value)) throw End{};
    if (from < 0 || value.is_boolean() || !may_vary) {
      pin(from, value);
      continue;
    }
    SegmentStep step = step_of(Kind::is_type, from);
    step.constant = value;
    check(std::move(step));
    const Value meta(Array::meta({}, value.is_real() ? DType::f64 : DType::i64));
    meta->is_number = true;
    kept_values_.push_back(meta);
    inputs_[meta.get()] = from;
    const Register kept = value;
    reg(number) = Register::owned(wrap(meta));
    kept_.push_back(Object::borrow(object_in(reg(number))));
    numbers_replaced_.emplace_back(number, kept);
  }
  const int32_t result = frame().routine->code[frame().place + 1];
  const auto replaced = std::exchange(numbers_replaced_, {});
  run_plainly();
  for (const auto& [number, value] : replaced) {
    if (number != result) reg(number) = value;
  }
}

void Noting::do_binary(const int32_t* at, bool is_in_place) {
  const Register a = reg(at[3]), b = reg(at[4]);
  Source &from_a = source(at[3]), &from_b = source(at[4]);
  if (is_tensor_in(a) || is_tensor_in(b)) {
    if (is_in_place && is_tensor_in(a)) throw End{};
    // Others look at the number to know the shape or dtype of what they give.
    const auto which = static_cast<Binary>(at[2]);
    apply_to_numbers(at[3], at[4],
                     which == Binary::add || which == Binary::subtract ||
                         which == Binary::multiply || which == Binary::true_divide);
    return put_new(at[1]);
  }
  const bool are_numbers = (a.is_integer() || a.is_real()) && (b.is_integer() || b.is_real());
  if (from_a == constant && from_b == constant) {
    const auto is_plain = [](const Register& value) {
      return !value.is_object() || PyUnicode_CheckExact(object_in(value)) ||
             PyLong_CheckExact(object_in(value));
    };
    if (!is_plain(a) || !is_plain(b)) throw End{};
    run_plainly();
    return put_new(at[1]);
  }
  if (!are_numbers || from_a < constant || from_b < constant) throw End{};
  Register result;
  if (!routine::of_numbers(static_cast<Binary>(at[2]), a, b, result)) throw End{};
  SegmentStep step = step_of(Kind::binary, from_a);
  step.b = from_b;
  step.number = at[2];
  if (from_a == constant) step.constant = a;
  if (from_b == constant) step.constant = b;
  run_plainly();
  source(at[1]) = add(std::move(step), reg(at[1]));
}

void Noting::do_compare(const int32_t* at) {
  const Register a = reg(at[3]), b = reg(at[4]);
  Source &from_a = source(at[3]), &from_b = source(at[4]);
  if (is_tensor_in(a) || is_tensor_in(b)) {
    apply_to_numbers(at[3], at[4], true);
    return put_new(at[1]);
  }
  const auto is_text = [](const Register& value) {
    return value.is_object() && PyUnicode_CheckExact(object_in(value));
  };
  const bool are_numbers = (a.is_integer() || a.is_real()) && (b.is_integer() || b.is_real());
  if (are_numbers && from_a >= constant && from_b >= constant &&
      (from_a != constant || from_b != constant)) {
    Register result;
    if (!routine::compare_numbers(static_cast<routine::Comparison>(at[2]), a, b, result))
      throw End{};
    SegmentStep step = step_of(Kind::compare, from_a);
    step.b = from_b;
    step.number = at[2];
    if (from_a == constant) step.constant = a;
    if (from_b == constant) step.constant = b;
    run_plainly();
    source(at[1]) = add(std::move(step), reg(at[1]));
    return;
  }
  const bool is_plain = (are_numbers || is_text(a) || a.is_none() || a.is_boolean()) &&
                        (are_numbers || is_text(b) || b.is_none() || b.is_boolean());
  // The sizes of a tensor are as its form says.
  const auto are_sizes = [](const Register& value) {
    return value.is_object() && PyTuple_Check(object_in(value));
  };
  if (from_a == constant && from_b == constant && (is_plain || are_sizes(a) || are_sizes(b))) {
    run_plainly();
    return put_new(at[1]);
  }
  if (!is_plain) throw End{};
  pin(from_a, a);
  pin(from_b, b);
  run_plainly();
  source(at[1]) = constant;
}

void Noting::do_identity(const int32_t* at) {
  const Register a = reg(at[2]), b = reg(at[3]);
  Source &from_a = source(at[2]), &from_b = source(at[3]);
  const auto is_none = [&](const Register& value, Source from) {
    return value.is_none() && from == constant;
  };
  const auto ask = [&](const Register& value, Source from) {
    if (is_tensor_in(value) || from == fresh || from == constant || from == made) return;
    if (from < 0) throw End{};
    SegmentStep step = step_of(Kind::is_none, from);
    step.number = value.is_none() ? 1 : 0;
    check(std::move(step));
  };
  if (is_none(b, from_b)) {
    ask(a, from_a);
  } else if (is_none(a, from_a)) {
    ask(b, from_b);
  } else {
    // Only of what there is once does equal mean the same.
    const auto is_single = [](const Register& value) {
      return value.is_none() || value.is_boolean() ||
             (value.is_object() && (PyType_Check(object_in(value)) || is_dtype(object_in(value))));
    };
    if (!is_single(a) || !is_single(b)) throw End{};
    pin(from_a, a);
    pin(from_b, b);
  }
  run_plainly();
  source(at[1]) = constant;
}

void Noting::do_contains(const int32_t* at) {
  const Register item = reg(at[2]), container = reg(at[3]);
  if (source(at[3]) != constant || !container.is_object() ||
      !(PyTuple_CheckExact(object_in(container)) || PyFrozenSet_CheckExact(object_in(container)) ||
        PyUnicode_CheckExact(object_in(container))) ||
      is_tensor_in(item) || source(at[2]) < constant)
    throw End{};
  pin(source(at[2]), item);
  run_plainly();
  source(at[1]) = constant;
}

void Noting::do_global(const int32_t* at) {
  PyObject* name = static_cast<PyObject*>(frame().routine->names[at[2]]);
  routine::Cache none;
  const Register found = routine::host->global(frame().function.object(), name, none);
  SegmentStep step = step_of(Kind::global, sources_.back().function);
  step.name = Object::borrow(name);
  const Source from = add(std::move(step), found);
  const int32_t place = frame().place + 3;
  put_found(at[1], found, from);
  frame().place = place;
}

void Noting::do_cell_read(const int32_t* at) {
  const Register cell = reg(at[2]);
  const Source from = source(at[2]);
  if (from < 0) throw End{};
  const Register found = routine::host->read_cell(cell);
  if (!found.is_bound()) throw End{};
  const Source content = add(step_of(Kind::content, from), found);
  put_found(at[1], found, content);
  frame().place += 5;
}

void Noting::do_jump(const int32_t* at, bool wanted) {
  const Register value = reg(at[1]);
  if (is_tensor_in(value)) throw End{};
  const int32_t before = frame().place;
  const Source from = source(at[1]);
  run_plainly();
  const bool jumped = frame().place == at[2] && frame().place != before + 3;
  pin_truth(from, value, jumped == wanted);
}

void Noting::do_iterate(const int32_t* at) {
  const Register container = reg(at[2]);
  const Source from = source(at[2]);
  if (!container.is_object() || from == made || from == other) throw End{};
  PyObject* object = object_in(container);
  const bool is_range = PyRange_Check(object) && from == constant;
  if (PyDict_CheckExact(object)) return do_iterate_keys(at);
  if (!PyList_CheckExact(object) && !PyTuple_CheckExact(object) && !is_range) throw End{};
  run_plainly();
  Fresh iterator;
  iterator.object = Object::borrow(object_in(reg(at[1])));
  iterator.is_iterator = true;
  iterator.container = container;
  iterator.container_source = from;
  fresh_[object_in(reg(at[1]))] = std::move(iterator);
  source(at[1]) = fresh;
}

// A dictionary whose keys are texts: they decide.
void Noting::do_iterate_keys(const int32_t* at) {
  const Source from = source(at[2]);
  if (from < 0) throw End{};
  const Object keys = Object::check(PySequence_Tuple(object_in(reg(at[2]))));
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(keys.get()); ++i) {
    if (!PyUnicode_CheckExact(PyTuple_GET_ITEM(keys.get(), i))) throw End{};
  }
  SegmentStep step = step_of(Kind::has_keys, from);
  step.constant = Register::borrowed(keys.get());
  check(std::move(step));
  run_plainly();
  Fresh iterator;
  iterator.object = Object::borrow(object_in(reg(at[1])));
  iterator.is_iterator = true;
  iterator.container = Register::borrowed(keys.get());
  fresh_[object_in(reg(at[1]))] = std::move(iterator);
  source(at[1]) = fresh;
}

void Noting::do_next(const int32_t* at) {
  const auto found = source(at[2]) == fresh ? fresh_.find(object_in(reg(at[2]))) : fresh_.end();
  if (found == fresh_.end() || !found->second.is_iterator) throw End{};
  Fresh& iterator = found->second;
  PyObject* container = object_in(iterator.container);
  const Source from = iterator.container_source;
  const bool goes_on = iterator.next < PySequence_Size(container);
  if (from >= 0) {  // as long as it was, here
    const Register length = Register::of(static_cast<int64_t>(PySequence_Size(container)));
    Source known = add(step_of(Kind::length, from), length);
    pin(known, length);
  }
  run_plainly();
  if (!goes_on) return;
  const int64_t number = iterator.next++;
  if (from == constant) return put_new(at[1]);
  if (from == fresh) {
    source(at[1]) = fresh_.at(container).items.at(number);
    return;
  }
  SegmentStep step = step_of(Kind::item, from);
  step.number = static_cast<int32_t>(number);
  const Register item = reg(at[1]);
  const Source known = add(std::move(step), item);
  const int32_t place = frame().place;
  put_found(at[1], item, known);
  frame().place = place;
}

void Noting::do_container(const int32_t* at) {
  Fresh container;
  for (int32_t i = 0; i < at[2]; ++i) {
    const int32_t number = at[3 + i];
    // A number in a container is an object that nobody follows.
    if (!reg(number).is_object() && source(number) >= 0) pin(source(number), reg(number));
    container.items.push_back(source(number));
  }
  run_plainly();
  const Register& value = reg(at[1]);
  container.object = Object::borrow(object_in(value));
  fresh_[object_in(value)] = std::move(container);
  source(at[1]) = fresh;
}

void Noting::do_append(const int32_t* at) {
  if (source(at[1]) != fresh) throw End{};
  Fresh& list = fresh_.at(object_in(reg(at[1])));
  if (list.is_iterator) throw End{};
  if (!reg(at[2]).is_object() && source(at[2]) >= 0) pin(source(at[2]), reg(at[2]));
  list.items.push_back(source(at[2]));
  run_plainly();
}

void Noting::do_unpack(const int32_t* at) {
  const Register value = reg(at[1]);
  const Source from = source(at[1]);
  if (!value.is_object()) throw End{};
  PyObject* object = object_in(value);
  if (!PyTuple_CheckExact(object) && !PyList_CheckExact(object)) throw End{};
  if (Py_SIZE(object) != at[2]) throw End{};
  if (from < fresh) throw End{};
  std::vector<Source> items;
  if (from == fresh) items = fresh_.at(object).items;
  if (from >= 0) {
    pin_type(from, value);
    const Register length = Register::of(static_cast<int64_t>(at[2]));
    Source known = add(step_of(Kind::length, from), length);
    pin(known, length);
  }
  for (int32_t i = 0; i < at[2]; ++i) {
    const Register item = unboxed(Py_NewRef(PySequence_Fast_GET_ITEM(object, i)));
    const int32_t target = at[3 + i];
    if (from == fresh) {
      put(target, item, items.at(i));
    } else if (from == constant) {
      put(target, item, constant);
    } else {
      SegmentStep step = step_of(Kind::item, from);
      step.number = i;
      put_found(target, item, add(std::move(step), item));
    }
  }
  frame().place += 3 + at[2];
}

// An attribute of an object that has plain ones: where to find it again.
Source Noting::look_up(Source owner, const Register& value, PyObject* name, PyObject*& found,
                       bool as_method) {
  if (owner < 0 || !value.is_object()) throw End{};
  PyObject* object = object_in(value);
  PyTypeObject* type = Py_TYPE(object);
  PyObject* dict = nullptr;
  PyObject* of_class = nullptr;
  if (PyModule_CheckExact(object)) {
    dict = PyModule_GetDict(object);
  } else {
    of_class = _PyType_Lookup(type, name);
    if (!has_plain_getter(type)) throw End{};
    if (of_class && Py_TYPE(of_class)->tp_descr_set) throw End{};
    PyObject** own = _PyObject_GetDictPtr(object);
    dict = own ? *own : nullptr;
  }
  if (!has_version(type)) throw End{};
  SegmentStep step = step_of(Kind::attribute, owner);
  step.name = Object::borrow(name);
  step.type = type;
  step.version = type->tp_version_tag;
  found = dict ? PyDict_GetItemWithError(dict, name) : nullptr;
  if (!found && of_class) {
    const bool is_method = PyType_HasFeature(Py_TYPE(of_class), Py_TPFLAGS_METHOD_DESCRIPTOR);
    if (as_method ? !is_method : Py_TYPE(of_class)->tp_descr_get != nullptr) throw End{};
    step.kind = Kind::method;
    step.found = found = of_class;
  }
  if (!found) throw End{};
  return add(std::move(step), Register::borrowed(found));
}

void Noting::do_attribute(const int32_t* at) {
  const Register owner = reg(at[2]);
  const Source from = source(at[2]);
  PyObject* name = static_cast<PyObject*>(frame().routine->names[at[3]]);
  if (is_tensor_in(owner)) {
    static const std::string_view allowed[] = {"shape", "ndim", "dtype", "T", "mT", "device"};
    const char* text = PyUnicode_AsUTF8(name);
    if (std::find(std::begin(allowed), std::end(allowed), text) == std::end(allowed)) throw End{};
    run_plainly();
    const Register& found = reg(at[1]);
    if (found.is_object() && !is_tensor(object_in(found))) {
      source(at[1]) = constant;
      return;
    }
    return put_new(at[1]);
  }
  if (PyUnicode_CompareWithASCIIString(name, "__dict__") == 0) return do_own_dict(at);
  PyObject* found = nullptr;
  const Source known = look_up(from, owner, name, found, false);
  put_found(at[1], unboxed(Py_NewRef(found)), known);
  frame().place += 4;
}

// `self.__dict__`, in which modules look their parts up.
void Noting::do_own_dict(const int32_t* at) {
  const Register owner = reg(at[2]);
  const Source from = source(at[2]);
  if (from < 0 || !owner.is_object()) throw End{};
  PyTypeObject* type = Py_TYPE(object_in(owner));
  PyObject** own = _PyObject_GetDictPtr(object_in(owner));
  if (!has_plain_getter(type) || !has_version(type) || !own) throw End{};
  run_plainly();
  const Register found = reg(at[1]);
  if (!found.is_object() || object_in(found) != *own) throw End{};
  SegmentStep step = step_of(Kind::own_dict, from);
  step.type = type;
  step.version = type->tp_version_tag;
  source(at[1]) = add(std::move(step), found);
}

void Noting::do_method(const int32_t* at) {
  const Register owner = reg(at[3]);
  const Source from = source(at[3]);
  PyObject* name = static_cast<PyObject*>(frame().routine->names[at[4]]);
  if (is_tensor_in(owner)) {
    run_plainly();
    if (!reg(at[2]).is_bound()) throw End{};
    source(at[1]) = constant;  // as long as the type Tensor is as it is
    source(at[2]) = from;
    return;
  }
  PyObject* found = nullptr;
  const Source known = look_up(from, owner, name, found, true);
  const bool is_method = segment_->steps.back().kind == Kind::method;
  const Register function = unboxed(Py_NewRef(found));
  put_found(at[1], function, known);
  put(at[2], is_method ? owner : Register(), is_method ? from : constant);
  frame().place += 5;
}

void Noting::do_item(const int32_t* at) {
  const Register object = reg(at[2]), index = reg(at[3]);
  Source &from = source(at[2]), &from_index = source(at[3]);
  if (!object.is_object()) throw End{};
  if (is_tensor_in(object)) {
    if (!is_tensor_in(index) && from_index != fresh) {
      if (index.is_object() && from_index != constant) throw End{};
      pin(from_index, index);
    } else if (from_index == fresh) {
      // A slice or a tuple of indices: what it holds was pinned when it was made.
      for (Source item : fresh_.at(object_in(index)).items) {
        if (item >= 0) throw End{};
      }
    }
    run_plainly();
    return put_new(at[1]);
  }
  PyObject* container = object_in(object);
  if (PyDict_CheckExact(container) && from >= 0) {
    if (!index.is_object() || !PyUnicode_CheckExact(object_in(index))) throw End{};
    pin(from_index, index);
    SegmentStep step = step_of(Kind::key, from);
    step.name = Object::borrow(object_in(index));
    run_plainly();
    const Register found = reg(at[1]);
    return put_found(at[1], found, add(std::move(step), found));
  }
  if (from == constant || from == fresh) {
    if (!index.is_integer()) throw End{};
    pin(from_index, index);
    if (from == constant) {
      if (!PyTuple_Check(container)) throw End{};
      run_plainly();
      return put_new(at[1]);
    }
    const auto& items = fresh_.at(container).items;
    const int64_t number = index.integer() < 0
                               ? index.integer() + static_cast<int64_t>(items.size())
                               : index.integer();
    if (number < 0 || number >= static_cast<int64_t>(items.size())) throw End{};
    const Source item = items[number];
    run_plainly();
    source(at[1]) = item;
    return;
  }
  const bool is_sequence = PyTuple_CheckExact(container) || PyList_CheckExact(container);
  if (from < 0 || !is_sequence || !index.is_integer() || from_index < constant) throw End{};
  SegmentStep step = step_of(from_index == constant ? Kind::item : Kind::at, from);
  step.b = from_index;
  step.number = static_cast<int32_t>(index.integer());
  run_plainly();
  const Register found = reg(at[1]);
  put_found(at[1], found, add(std::move(step), found));
}

}  // namespace weft::bind::noting
