// Segments of routines under Python: noted by running a copy of a task over tensors without values,
// and recorded as one op wherever their steps give the same again.
#pragma once

#include "weft/bind/look.h"
#include "weft/routine/machine.h"

namespace weft::bind {

// What a tensor has besides its values.
struct TensorForm {
  Dims sizes, strides;  // no strides: it lies in order
  DType dtype;
  bool is_number;
  explicit TensorForm(const Value& value)
      : sizes(value.sizes()), dtype(value.dtype()), is_number(value->is_number) {
    if (!value.array().is_contiguous()) strides = value.array().strides;
  }
  bool fits(const Value& value) const {
    const Array& array = value.array();
    return array.dtype == dtype && value->is_number == is_number && array.sizes == sizes &&
           (strides.empty() ? array.is_contiguous() : array.strides == strides);
  }
};

// One step of what is looked up again each time before a segment is recorded: it gives a value, or
// checks one.
struct SegmentStep {
  enum class Kind : uint8_t {
    entry,      // register `number` of the frame; -1: its function
    global,     // the global `name` of function a
    attribute,  // a.name, where a's own dictionary, or a module's, has it
    method,     // what a's class has as `name`, and a itself does not
    own_dict,   // a.__dict__
    key,        // a[name], of a dictionary
    item,       // a[number], of a tuple or list
    at,         // a[b], of a tuple or list
    content,    // of the cell a
    unary,      // of numbers; `number` is the operator
    binary,
    compare,
    length,     // of a container
    tensor,     // weft.tensor(a), of a number
    is_same,    // check: a is, or equals, `constant`
    has_keys,   // check: the dictionary a has the texts of the tuple `constant`, and no other keys
    is_true,    // check: the truth of a is `number`
    is_none,    // check: whether a is None is `number`
    is_type,    // check: a is of exactly that type, which has not changed
    is_class,   // check: a is that type, which has not changed
    runs,       // check: the function a is that routine's
    forwards,   // check: the module a has no hooks, and that forward
    is_tensor,  // check: a is a tensor of the form `number`
    is_object,  // check: a and b are one object
  };
  Kind kind;
  int32_t a = -1, b = -1;  // values by number; -1: `constant` in its place
  int32_t number = 0;
  routine::Register constant;
  Object name;
  PyTypeObject* type = nullptr;
  unsigned version = 0;
  PyObject* found = nullptr;  // borrowed from a type's dictionary
  routine::RoutineRef routine;
  // Finds the same again while the dictionaries and types on the way are as they were.
  bool is_settled = false;
  // What was found last time, while the dictionaries are as they were.
  mutable PyObject* dict = nullptr;
  mutable uint64_t dict_version = 0, other_version = 0;
  mutable PyObject* cached = nullptr;

  bool gives_value() const { return kind < Kind::is_same; }
};

// A register's content behind a segment.
struct SegmentContent {
  enum class Kind : uint8_t { unbound, value, constant, result, tuple };
  Kind kind = Kind::unbound;
  int32_t number = 0;  // of a value, of a tensor that is given, or of a tuple that is made
  routine::Register constant;
  std::vector<SegmentContent> items;
};

// A frame behind a segment.
struct SegmentFrame {
  bool is_new = false;
  routine::RoutineRef routine;
  int32_t function = -1, module = -1;  // values
  int32_t target = 0, place = 0, after = 0;
  std::vector<std::pair<int32_t, SegmentContent>> written;
};

// What the settled steps of a segment found last time, and what they looked at: while all that is
// unchanged, they are not taken. Nothing is kept alive: each object is checked before what it has.
struct SettledSteps {
  struct Root {
    int32_t number;  // of an entry
    PyObject* object;
  };
  struct Seen {
    PyObject* object;  // null: a dictionary by itself
    PyTypeObject* type;
    unsigned type_version;
    PyObject* dict;
    uint64_t version;
  };
  std::vector<Root> roots;
  std::vector<Seen> seen;
  // By value: an object, borrowed; null: a number, or a value of another step.
  std::vector<PyObject*> found;
  std::vector<routine::Register> numbers;
  bool is_valid = false;
  int32_t made = 0, used = 0;
};

struct Segment {
  routine::RoutineRef routine;  // in which it begins
  unsigned tensor_version = 0;  // of the type Tensor
  bool inference = false;
  DType default_dtype{};
  std::vector<SegmentStep> steps;
  std::vector<TensorForm> forms;
  std::shared_ptr<graph::ProgramOp> op;
  std::vector<int32_t> inputs;      // values
  std::vector<int32_t> objects;     // of each tensor that it gives: which of the op's results
  std::vector<SegmentFrame> after;  // the frame in which it began, then new ones
  mutable SettledSteps settled;
  Segment() = default;
  Segment(const Segment&) = delete;
  ~Segment();
};

// Finds out which of its steps are settled.
void settle_steps(Segment& segment);

// Notes what follows in a task. None: nothing that could be recorded as one.
std::unique_ptr<Segment> note_segment(routine::Task& task);

void connect_segments();

}  // namespace weft::bind
