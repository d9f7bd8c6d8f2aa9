#include "weft/routine/machine.h"

#include <cstdlib>
#include <cstring>
#include <new>

#include "weft/routine/machine_loop.h"

namespace weft::routine {

Routine::~Routine() {
  for (HostObject name : names) routine::release(name);
}

namespace {

constexpr size_t most_bytes = size_t{1} << 30;  // of all frames of a task
}  // namespace

Task::~Task() {
  while (!frames_.empty()) pop();
  std::free(stack_);
}

void Task::reserve(size_t count) {
  if (used_ + count <= capacity_) return;
  size_t wanted = capacity_ ? capacity_ : 64;
  while (wanted < used_ + count) wanted *= 2;
  if (wanted * sizeof(Register) > most_bytes) host->fail_depth();
  // Registers may be moved as bytes: nothing refers to them.
  void* moved = std::realloc(static_cast<void*>(stack_), wanted * sizeof(Register));
  if (!moved) throw std::bad_alloc();
  stack_ = static_cast<Register*>(moved);
  capacity_ = wanted;
}

void Task::push(const RoutineRef& routine, Register function, int32_t target) {
  if (frames_.size() * sizeof(Frame) > most_bytes) host->fail_depth();
  const size_t count = routine->registers;
  reserve(count);
  Frame& frame = frames_.emplace_back();
  frame.routine = routine;
  frame.function = std::move(function);
  if (routine->source) frame.source = Register::borrowed(routine->source);
  frame.target = target;
  frame.begin = used_;
  frame.handled = handled_.size();
  for (size_t i = 0; i < count; ++i) new (stack_ + used_ + i) Register();
  used_ += count;
}

void Task::pop() {
  Frame& frame = frames_.back();
  while (handled_.size() > frame.handled) {
    host->exchange_handled(std::move(handled_.back()));
    handled_.pop_back();
  }
  if (frame.module.is_bound()) host->leave_module(frame.module_before);
  while (used_ > frame.begin) stack_[--used_].~Register();
  frames_.pop_back();
}

bool Task::begin(const Callee& callee, const Arguments& arguments) {
  return start(callee, 0,
               [&](Register* registers) { return host->bind(callee, arguments, registers); });
}

Task::Outcome Task::run() {
  for (;;) {
    try {
      if (std::exchange(has_parked_, false)) step_after_wait();
      return host->go_on(*this, false);
    } catch (const Raised&) {
    } catch (...) {
      host->note_current_exception();
    }
    if (!find_handler()) throw Raised{};
  }
}

// A value that is not there now cannot be computed: who reads it says why.
void Task::step_after_wait() {
  struct Guard {
    bool& may_park;
    ~Guard() { may_park = true; }
  } const guard{may_park_};
  may_park_ = false;
  step();
}

void Task::end() {
  may_park_ = false;
  if (!find_handler()) throw Raised{};
  run();
}

// Leaves frames until one of them handles the error that the host has noted.
bool Task::find_handler() {
  bool is_noted = std::exchange(is_noted_, false);
  // Of a very deep recursion, its two ends: each line of a traceback is an object.
  constexpr size_t most_lines = 1000;
  for (size_t left = 0; !frames_.empty(); pop(), is_noted = false, ++left) {
    Frame& frame = frames_.back();
    const Routine& routine = *frame.routine;
    if (left >= most_lines && frames_.size() > most_lines) is_noted = true;
    if (!is_noted) host->add_traceback(frame.function.object(), routine, frame.place);
    for (const Handler& handler : routine.handlers) {
      if (frame.place < handler.begin || frame.place >= handler.end) continue;
      stack_[frame.begin + handler.target] = host->take_error();
      frame.place = handler.place;
      return true;
    }
  }
  return false;
}

}  // namespace weft::routine
