// Runs routines. A task is one run of a function with all that it calls; its frames are on the
// heap, so that it can step aside where it needs a value, while others go on.
#pragma once

#include <span>
#include <vector>

#include "weft/graph/modes.h"
#include "weft/routine/host.h"

namespace weft::routine {

// One call that goes on.
struct Frame {
  RoutineRef routine;
  Register function;   // the host's: it has the globals
  Register source;     // the code, which positions refer to
  int32_t place = 0;   // of the instruction that runs, in the code
  int32_t after = 0;   // where it goes on once the call that it makes has returned
  int32_t target = 0;  // the caller's register for what this one returns
  size_t begin = 0;    // of its registers, on the task's stack
  size_t handled = 0;  // how many exceptions were being handled when it began
  Register module;     // whose forward this is
  int64_t module_before = 0;
};

// A `with` block of what others must not see.
struct Entered {
  Register leave;
  size_t frame;  // which of the task's it is in
};

class Task {
 public:
  using Outcome = routine::Outcome;

  // A call that is a routine's; its arguments must fit.
  explicit Task(bool may_park) : may_park_(may_park) {}
  Task(const Task&) = delete;
  ~Task();

  // False: the arguments do not fit the parameters.
  bool begin(const Callee& callee, const Arguments& arguments);

  // Until it has ended, or needs a value that others may be needed with. Throws Raised.
  Outcome run();
  // Leaves it by the error that the host has noted; what handles that runs, and parks no more.
  void end();
  Register take_result() { return std::move(result_); }

  std::span<const Frame> frames() const { return frames_; }
  std::span<const Entered> entered() const { return entered_; }  // the blocks that it is in

  // The one from which it was called by way of the host, and the host's innermost call then.
  const Task* outer() const { return outer_; }
  const void* host_frame() const { return host_frame_; }

  // For segments, which are noted from a copy of a task and let a task go on elsewhere.
  std::span<Frame> open_frames() { return frames_; }
  Register* registers_of(const Frame& frame) { return stack_ + frame.begin; }
  bool handles_exceptions() const { return !handled_.empty(); }
  void push(const RoutineRef& routine, Register function, int32_t target);
  void pop();
  // Runs one instruction. Throws what it raises; nothing handles that.
  void step() { host->go_on(*this, true); }
  // For hosts: runs instructions until the task waits or ends, or one of them.
  template <bool one_step, class HostType>
  Outcome go_on(HostType& host);

 private:
  friend class RunGuard;
  void reserve(size_t count);
  // Pushes a frame whose registers `bind` fills; false: it could not.
  template <class Bind>
  bool start(const Callee& callee, int32_t target, const Bind& bind);
  template <class HostType>
  bool call(HostType& host, int32_t function, int32_t receiver, const int32_t* listed,
            int32_t target);
  const Register& read(const Frame& frame, int32_t number) const {
    return number >= 0 ? stack_[frame.begin + number]
                       : frame.routine->constants[constant_of(number)];
  }
  template <class HostType>
  bool call_host(HostType& host, const Register& function, const Arguments& arguments,
                 int32_t target);
  // Inside `with` and `except` the host waits, who keeps what they have changed.
  bool may_wait() const { return may_park_ && entered_.empty() && handled_.empty(); }
  void step_after_wait();
  bool find_handler();

  std::vector<Frame> frames_;
  Register* stack_ = nullptr;
  size_t used_ = 0, capacity_ = 0;
  std::vector<Register> handled_;  // what was handled before each exception that is handled now
  Register result_;
  bool may_park_;
  bool has_parked_ = false;
  std::vector<Entered> entered_;
  const Task* outer_ = nullptr;
  const void* host_frame_ = nullptr;
  bool is_noted_ = false;  // the error has been in this frame before
};

// For as long as a task runs: the innermost one is one of the thread's modes. Nothing of it is on
// the stack, which may be another fiber's for a while.
class RunGuard {
 public:
  RunGuard(Task& task, const void* host_frame) : task_(task) {
    task.outer_ = static_cast<const Task*>(graph::modes.run);
    task.host_frame_ = host_frame;
    graph::modes.run = &task;
  }
  RunGuard(const RunGuard&) = delete;
  ~RunGuard() { graph::modes.run = task_.outer_; }

 private:
  Task& task_;
};

}  // namespace weft::routine
