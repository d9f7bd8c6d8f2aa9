// What a machine needs of its host: the objects that routines work on, and what is done with them
// wherever the machine has no short way of its own. Under Python the host is CPython.
#pragma once

#include <span>

#include "weft/routine/operators.h"
#include "weft/routine/routine.h"

namespace weft::routine {

// An error that the host has noted; the machine looks for its handler.
struct Raised {};

// What is called: a routine with the function that it belongs to, or something of the host's.
struct Callee {
  RoutineRef routine;             // none: the host calls it
  HostObject function = nullptr;  // borrowed: globals, defaults, closure
  HostObject receiver = nullptr;  // borrowed: goes before the arguments
  bool is_module = false;         // a module whose forward this is
};

struct Arguments {
  std::span<const Register* const> given;  // the last ones by name
  HostObject names = nullptr;              // a tuple of those names
};

class Task;
enum class Outcome { finished, parked };

class Host {
 public:
  virtual ~Host() = default;
  virtual void destroy(HostObject object) noexcept = 0;  // nobody refers to it any more

  // Runs a task's instructions (machine_loop.h), or one of them.
  virtual Outcome go_on(Task& task, bool one_step) = 0;

  // Whether its value is needed and not there yet: the task waits, after `wait_for`.
  virtual bool must_wait(const Register& value) = 0;
  virtual void wait_for(const Register& value) = 0;

  virtual bool truth(const Register& value) = 0;
  virtual Register unary(Unary which, const Register& a) = 0;
  virtual Register binary(Binary which, const Register& a, const Register& b) = 0;
  virtual Register inplace(Binary which, const Register& a, const Register& b) = 0;
  virtual Register compare(Comparison which, const Register& a, const Register& b) = 0;
  virtual bool is_same(const Register& a, const Register& b) = 0;
  virtual bool contains(const Register& container, const Register& item) = 0;

  virtual Register global(HostObject function, HostObject name, Cache& cache) = 0;
  virtual void set_global(HostObject function, HostObject name, const Register* value) = 0;
  virtual bool is_builtin(const Register& value, HostObject name) = 0;
  virtual Register make_cell(Register content) = 0;
  virtual Register read_cell(const Register& cell) = 0;  // unbound if empty
  virtual void write_cell(const Register& cell, Register content) = 0;
  [[noreturn]] virtual void fail_unbound(HostObject name, bool is_free) = 0;

  virtual Register iterate(const Register& iterable) = 0;
  virtual bool next(const Register& iterator, Register& item) = 0;
  virtual Register tuple(std::span<const Register* const> items) = 0;
  virtual Register list(std::span<const Register* const> items) = 0;
  virtual Register set(std::span<const Register* const> items) = 0;
  virtual Register dict(std::span<const Register* const> pairs) = 0;
  virtual Register slice(const Register& a, const Register& b, const Register& c) = 0;
  virtual void append(const Register& list, const Register& item) = 0;
  virtual void extend(const Register& list, const Register& items) = 0;
  virtual void add(const Register& set, const Register& item) = 0;
  virtual void put(const Register& dict, const Register& key, const Register& value) = 0;
  virtual void update(const Register& dict, const Register& mapping) = 0;
  virtual void merge(const Register& dict, const Register& mapping, const Register& callee) = 0;
  virtual Register freeze(const Register& list) = 0;
  virtual Register spread(const Register& items, const Register& callee) = 0;
  // Into as many targets as there are; `star`: the one that takes the rest, or -1.
  virtual void unpack(const Register& value, std::span<Register* const> targets, int star) = 0;

  virtual Register get_attribute(const Register& object, HostObject name, Cache& cache) = 0;
  virtual void set_attribute(const Register& object, HostObject name, const Register& value) = 0;
  virtual void delete_attribute(const Register& object, HostObject name) = 0;
  // For a call: the function with its receiver, or the attribute and nothing.
  virtual void get_method(const Register& object, HostObject name, Cache& cache, Register& function,
                          Register& receiver) = 0;
  virtual Register get_item(const Register& object, const Register& index) = 0;
  virtual void set_item(const Register& object, const Register& index, const Register& value) = 0;
  virtual void delete_item(const Register& object, const Register& index) = 0;
  virtual Register super_attribute(const Register& type, const Register& self, HostObject name) = 0;

  virtual Callee find_callee(const Register& callee) = 0;
  // Whether these read a value that is not there yet; then the task waits.
  virtual bool item_must_wait(const Register& object, const Register& index) = 0;
  virtual bool call_must_wait(const Register& callee, const Arguments& arguments) = 0;
  virtual Register call(const Register& callee, const Arguments& arguments) = 0;
  virtual Register call_spread(const Register& callee, const Register& positional,
                               const Register* named) = 0;
  // Puts arguments where the routine expects them, as the function's parameters say. False: they
  // do not fit.
  virtual bool bind(const Callee& callee, const Arguments& arguments, Register* registers) = 0;
  virtual bool bind_spread(const Callee& callee, const Register& positional, const Register* named,
                           Register* registers) = 0;
  virtual void closure(HostObject function, Register* registers, int32_t count) = 0;
  virtual Register function(HostObject parent, const Register& code, const Register* defaults,
                            const Register* named_defaults,
                            std::span<const Register* const> cells) = 0;

  virtual Register format(const Register& value, int32_t conversion, const Register* spec) = 0;
  virtual Register join_text(std::span<const Register* const> texts) = 0;

  [[noreturn]] virtual void raise(const Register* exception, const Register* cause) = 0;
  [[noreturn]] virtual void raise_assertion(const Register* text) = 0;
  [[noreturn]] virtual void raise_again(const Register& exception) = 0;
  virtual void enter(const Register& manager, Register& leave, Register& entered) = 0;
  // Whether the block switches nothing but modes, which a task that waits takes along.
  virtual bool is_switch(const Register& leave) = 0;
  virtual void leave(const Register& leave) = 0;
  virtual bool leave_by(const Register& leave, const Register& exception) = 0;
  // The exception that is handled now; returns what was handled before.
  virtual Register exchange_handled(Register exception) = 0;
  virtual bool matches(const Register& exception, const Register& type) = 0;
  virtual Register take_error() = 0;
  // The error passed through this frame.
  virtual void add_traceback(HostObject function, const Routine& routine, int32_t place) = 0;
  virtual void note_current_exception() = 0;  // inside a catch block: makes it the host's error
  [[noreturn]] virtual void fail_depth() = 0;

  // Of a module whose forward is a routine: what is to be put back when it ends.
  virtual int64_t enter_module(HostObject module) = 0;
  virtual void leave_module(int64_t before) = 0;

  virtual void poll() = 0;  // signals, and other threads' turns
};

inline Host* host = nullptr;

inline void destroy(HostObject object) noexcept { host->destroy(object); }

}  // namespace weft::routine
