// Looks at a cell's body: it runs over tensors without values, to see what it is made of. Where it
// reads a number to decide how to go on, it is looked at again for each number that comes up.
#pragma once

#include <map>

#include "weft/bind/cell.h"
#include "weft/bind/nesting.h"
#include "weft/graph/modes.h"
#include "weft/graph/program.h"

namespace weft::bind {

// What a body does up to the next number that it reads, or to its end. Known to it are the call's
// tensors and floats, the cell's parameters, and what parts before it have given, in this order.
struct Part {
  std::shared_ptr<graph::ProgramOp> op;  // none: nothing is computed here
  std::vector<int> inputs;               // of the op, among what is known
  std::vector<int> given;                // to later parts: which of the values that were made here
  int decision = -1;                     // what is read then, among what is known; none: the end
  bool as_truth = false;                 // read as True or False, and not as a number
  std::map<int64_t, std::shared_ptr<Part>> next;  // by the number; null: the body runs as it is
  Object result;  // at the end: nested as the body nests it, with tensors without values in it
  bool gives_new = true;  // each result is a tensor of its own, and none that the body was given
  // Of the first part:
  size_t count = 1;      // of all parts
  bool refused = false;  // one of them cannot be repeated: the body runs as it is
  Part() = default;
  Part(const Part&) = delete;
  ~Part();
};

// One part of a call, and the number that was read after it.
struct Step {
  std::shared_ptr<Part> part;
  int64_t number;
};

// What the body does after these steps. None: it cannot be repeated; `refusal` says why, unless
// that is a matter of these steps alone.
std::shared_ptr<Part> look_at_body(PyCell& cell, PyObject* const* args, size_t count,
                                   const Arguments& arguments, std::span<const Step> steps,
                                   std::string& refusal);

// Notes what runs over tensors without values.
class Looking : public graph::ProgramBuilder {
 public:
  virtual ~Looking() = default;
  // What is read of a value, to decide.
  virtual int64_t decide(const Value& value, bool as_truth) = 0;
  // Whether it is a part of what was given.
  virtual bool is_known(const Value& value) const = 0;
};
// Runs only what does not depend on what was given.
const graph::Executor& look_executor();
// Keeps a Program that a pending op may still run until nothing is pending any more.
void bury_program(std::shared_ptr<graph::ProgramOp> op);

// What a body that is looked at reads, as in the call that it is looked at for.
inline bool is_looked_at() { return graph::modes.is_look && graph::modes.tracer; }
int64_t decide(const Value& value, bool as_truth);
// Whether it is a part of what the body was given, and not of what it has made.
bool is_given(const Value& value);

}  // namespace weft::bind
