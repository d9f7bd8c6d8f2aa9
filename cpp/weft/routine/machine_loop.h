// What each instruction does. A template of the host, so that a host's short ways become part of
// the loop.
#pragma once

#include "weft/base/small_vector.h"
#include "weft/routine/machine.h"
#include "weft/routine/numbers.h"

namespace weft::routine {

using Registers = base::SmallVector<const Register*, 12>;

// How often this thread has gone back or called since it last asked for signals.
inline thread_local constinit uint32_t steps = 0;

template <class HostType>
void count_step(HostType& host) {
  constexpr uint32_t polled_every = 512;  // backward jumps and calls
  if (++steps >= polled_every) [[unlikely]] {
    steps = 0;
    host.poll();
  }
}

template <class Bind>
bool Task::start(const Callee& callee, int32_t target, const Bind& bind) {
  push(callee.routine, Register::borrowed(callee.function), target);
  const Routine& routine = *callee.routine;
  Register* registers = stack_ + frames_.back().begin;
  try {
    if (!bind(registers)) return pop(), false;
  } catch (...) {
    pop();
    throw;
  }
  if (routine.free_count)
    host->closure(callee.function, registers + routine.free_begin, routine.free_count);
  if (callee.is_module) {
    Frame& frame = frames_.back();
    frame.module_before = host->enter_module(callee.receiver);
    frame.module = Register::borrowed(callee.receiver);
  }
  return true;
}

// Calls with arguments that lie where is listed, behind their names; the receiver goes before them.
// The task is then behind the call, or in it. True: it must wait.
template <class HostType>
bool Task::call(HostType& host, int32_t function, int32_t receiver, const int32_t* listed,
                int32_t target) {
  const HostObject names =
      listed[0] < 0 ? nullptr : frames_.back().routine->constants[listed[0]].object();
  const Callee callee = host.find_callee(read(frames_.back(), function));
  if (callee.routine) reserve(callee.routine->registers);
  const Frame& frame = frames_.back();
  Registers given;
  if (receiver != none) given.push_back(&read(frame, receiver));
  for (int32_t i = 0; i < listed[1]; ++i) given.push_back(&read(frame, listed[2 + i]));
  const Arguments arguments{given, names};
  if (callee.routine) {
    count_step(host);
    if (start(callee, target, [&](Register* into) { return host.bind(callee, arguments, into); }))
      return false;
  }
  return call_host(host, read(frames_.back(), function), arguments, target);
}

template <class HostType>
bool Task::call_host(HostType& host, const Register& function, const Arguments& arguments,
                     int32_t target) {
  if (may_wait() && (has_parked_ = host.call_must_wait(function, arguments))) return true;
  Register result = host.call(function, arguments);
  Frame& frame = frames_.back();
  stack_[frame.begin + target] = std::move(result);
  frame.place = frame.after;
  return false;
}

template <bool one_step, class HostType>
Task::Outcome Task::go_on(HostType& host) {
  Frame* frame = &frames_.back();
  const int32_t* code = frame->routine->code.data();
  Register* registers = stack_ + frame->begin;
  const auto look_again = [&]() __attribute__((always_inline)) {
    frame = &frames_.back();
    code = frame->routine->code.data();
    registers = stack_ + frame->begin;
  };
  const int32_t* at = code + frame->place;
  const auto reg = [&](int operand) __attribute__((always_inline)) -> Register& {
    return registers[at[operand]];
  };
  const auto in_at = [&](int32_t number) __attribute__((always_inline)) -> const Register& {
    return number >= 0 ? registers[number] : frame->routine->constants[constant_of(number)];
  };
  const auto in = [&](int operand) __attribute__((always_inline)) -> const Register& {
    return in_at(at[operand]);
  };
  const auto optional = [&](int operand) __attribute__((always_inline)) -> const Register* {
    return at[operand] == none ? nullptr : &in(operand);
  };
  const auto name = [&](int operand) __attribute__((always_inline)) {
    return frame->routine->names[at[operand]];
  };
  const auto cache = [&]() __attribute__((always_inline)) -> Cache& {
    Routine& routine = *frame->routine;
    if (routine.caches.empty()) routine.caches.resize(routine.code.size());
    return routine.caches[frame->place];
  };
  // A count and registers, from that operand on.
  const auto several = [&](int operand, Registers& found) __attribute__((always_inline)) {
    for (int32_t i = 0; i < at[operand]; ++i) found.push_back(&in_at(at[operand + 1 + i]));
  };
  const auto go_to = [&](int32_t place) __attribute__((always_inline)) {
    if (place <= frame->place) count_step(host);
    frame->place = place;
  };
  const auto waits = [&](const Register& value) __attribute__((always_inline)) {
    if (!value.is_object() || !may_wait() || !host.must_wait(value)) return false;
    host.wait_for(value);
    return has_parked_ = true;
  };
  const auto truth = [&](const Register& value) __attribute__((always_inline)) {
    switch (value.tag()) {
      case Register::Tag::none:
        return false;
      case Register::Tag::boolean:
      case Register::Tag::integer:
        return value.integer() != 0;
      case Register::Tag::real:
        return value.real() != 0;
      default:
        return host.truth(value);
    }
  };
  // Whether the ops from here on have been recorded, and the task is behind them.
  const auto recorded = [&]() __attribute__((always_inline)) {
    if (one_step || !segments) return false;
    const auto& sites = frame->routine->sites;
    if (!sites.empty() && sites[frame->place] && sites[frame->place]->is_general) return false;
    if (!segments->are_wanted() || !segments->record(*this)) return false;
    look_again();
    return true;
  };

  struct Counting {
    int64_t done = 0;
    ~Counting() { counts.instructions += done; }
  } counting;
  for (;; ++counting.done) {
    if (one_step && counting.done > 0) return Outcome::finished;
    at = code + frame->place;
    switch (static_cast<Opcode>(*at)) {
      case Opcode::move_:
        reg(1) = in(2);
        frame->place += 3;
        break;
      case Opcode::take_:
        reg(1) = std::move(reg(2));
        frame->place += 3;
        break;
      case Opcode::constant_:
        reg(1) = frame->routine->constants[at[2]];
        frame->place += 3;
        break;
      case Opcode::unbind_:
        for (int32_t i = 0; i < at[1]; ++i) reg(2 + i).clear();
        frame->place += 2 + at[1];
        break;
      case Opcode::check_:
        if (!in(1).is_bound()) host.fail_unbound(name(2), false);
        frame->place += 3;
        break;
      case Opcode::delete_:
        if (!reg(1).is_bound()) host.fail_unbound(name(2), false);
        reg(1).clear();
        frame->place += 3;
        break;
      case Opcode::global_:
        reg(1) = host.global(frame->function.object(), name(2), cache());
        frame->place += 3;
        break;
      case Opcode::set_global_:
        host.set_global(frame->function.object(), name(1), &in(2));
        frame->place += 3;
        break;
      case Opcode::delete_global_:
        host.set_global(frame->function.object(), name(1), nullptr);
        frame->place += 2;
        break;

      case Opcode::cell_:
        reg(1) = host.make_cell(std::move(reg(1)));
        frame->place += 2;
        break;
      case Opcode::read_cell_: {
        Register content = host.read_cell(in(2));
        if (!content.is_bound()) host.fail_unbound(name(3), at[4] != 0);
        reg(1) = std::move(content);
        frame->place += 5;
        break;
      }
      case Opcode::write_cell_:
        host.write_cell(in(1), in(2));
        frame->place += 3;
        break;
      case Opcode::empty_cell_:
        if (!host.read_cell(in(1)).is_bound()) host.fail_unbound(name(2), at[3] != 0);
        host.write_cell(in(1), Register());
        frame->place += 4;
        break;

      case Opcode::unary_: {
        if (in(3).is_object() && recorded()) break;
        const auto which = static_cast<Unary>(at[2]);
        if (which == Unary::not_) {
          if (waits(in(3))) return Outcome::parked;
          reg(1) = Register::of(!truth(in(3)));
        } else {
          reg(1) = host.unary(which, in(3));
        }
        frame->place += 4;
        break;
      }
      case Opcode::binary_: {
        if ((in(3).is_object() || in(4).is_object()) && recorded()) break;
        const auto which = static_cast<Binary>(at[2]);
        Register result;
        if (!of_numbers(which, in(3), in(4), result)) result = host.binary(which, in(3), in(4));
        reg(1) = std::move(result);
        frame->place += 5;
        break;
      }
      case Opcode::inplace_: {
        const auto which = static_cast<Binary>(at[2]);
        Register result;
        if (!of_numbers(which, in(3), in(4), result)) result = host.inplace(which, in(3), in(4));
        reg(1) = std::move(result);
        frame->place += 5;
        break;
      }
      case Opcode::compare_: {
        if ((in(3).is_object() || in(4).is_object()) && recorded()) break;
        const auto which = static_cast<Comparison>(at[2]);
        Register result;
        if (!compare_numbers(which, in(3), in(4), result))
          result = host.compare(which, in(3), in(4));
        reg(1) = std::move(result);
        frame->place += 5;
        break;
      }
      case Opcode::is_:
        reg(1) = Register::of(host.is_same(in(2), in(3)));
        frame->place += 4;
        break;
      case Opcode::is_not_:
        reg(1) = Register::of(!host.is_same(in(2), in(3)));
        frame->place += 4;
        break;
      case Opcode::in_:
      case Opcode::not_in_: {
        if (waits(in(2)) || waits(in(3))) return Outcome::parked;
        const bool found = host.contains(in(3), in(2));
        reg(1) = Register::of(found == (static_cast<Opcode>(*at) == Opcode::in_));
        frame->place += 4;
        break;
      }

      case Opcode::jump_:
        go_to(at[1]);
        break;
      case Opcode::jump_if_:
        if (waits(in(1))) return Outcome::parked;
        go_to(truth(in(1)) ? at[2] : frame->place + 3);
        break;
      case Opcode::jump_unless_:
        if (waits(in(1))) return Outcome::parked;
        go_to(truth(in(1)) ? frame->place + 3 : at[2]);
        break;
      case Opcode::branch_if_:
      case Opcode::branch_unless_: {
        if (waits(reg(1))) return Outcome::parked;
        const bool is_true = truth(reg(1));
        reg(1).clear();
        go_to(is_true == (static_cast<Opcode>(*at) == Opcode::branch_if_) ? at[2]
                                                                          : frame->place + 3);
        break;
      }
      case Opcode::jump_if_none_:
        go_to(in(1).is_none() ? at[2] : frame->place + 3);
        break;
      case Opcode::jump_unless_builtin_:
        go_to(host.is_builtin(in(1), name(2)) ? frame->place + 4 : at[3]);
        break;
      case Opcode::iterate_:
        // Parts of a model, one after the other.
        if (in(2).is_object() && recorded()) break;
        reg(1) = host.iterate(in(2));
        frame->place += 3;
        break;
      case Opcode::next_:
        if (host.next(in(2), reg(1))) {
          frame->place += 4;
        } else {
          go_to(at[3]);
        }
        break;
      case Opcode::return_: {
        Register result = at[1] < 0 ? in(1) : std::move(reg(1));
        const int32_t target = frame->target;
        pop();
        if (frames_.empty()) {
          result_ = std::move(result);
          return Outcome::finished;
        }
        look_again();
        registers[target] = std::move(result);
        frame->place = frame->after;
        break;
      }

      case Opcode::tuple_:
      case Opcode::list_:
        // What is joined in the next op.
        if (at[2] > 0 && in(3).is_object() && recorded()) break;
        [[fallthrough]];
      case Opcode::set_:
      case Opcode::dict_: {
        Registers items;
        several(2, items);
        Register made;
        switch (static_cast<Opcode>(*at)) {
          case Opcode::tuple_:
            made = host.tuple(items);
            break;
          case Opcode::list_:
            made = host.list(items);
            break;
          case Opcode::set_:
            made = host.set(items);
            break;
          default:
            made = host.dict(items);
        }
        reg(1) = std::move(made);
        frame->place += 3 + at[2];
        break;
      }
      case Opcode::slice_:
        reg(1) = host.slice(in(2), in(3), in(4));
        frame->place += 5;
        break;
      case Opcode::append_:
        host.append(in(1), in(2));
        frame->place += 3;
        break;
      case Opcode::extend_:
        host.extend(in(1), in(2));
        frame->place += 3;
        break;
      case Opcode::add_:
        host.add(in(1), in(2));
        frame->place += 3;
        break;
      case Opcode::put_:
        host.put(in(1), in(2), in(3));
        frame->place += 4;
        break;
      case Opcode::update_:
        host.update(in(1), in(2));
        frame->place += 3;
        break;
      case Opcode::merge_:
        host.merge(in(1), in(2), in(3));
        frame->place += 4;
        break;
      case Opcode::freeze_:
        reg(1) = host.freeze(in(2));
        frame->place += 3;
        break;
      case Opcode::spread_:
        reg(1) = host.spread(in(2), in(3));
        frame->place += 4;
        break;
      case Opcode::unpack_:
      case Opcode::unpack_rest_: {
        const bool has_star = static_cast<Opcode>(*at) == Opcode::unpack_rest_;
        const int count_at = has_star ? 3 : 2;
        base::SmallVector<Register*, 8> targets;
        for (int32_t i = 0; i < at[count_at]; ++i)
          targets.push_back(registers + at[count_at + 1 + i]);
        host.unpack(in(1), std::span(targets.data(), targets.size()), has_star ? at[2] : -1);
        frame->place += count_at + 1 + at[count_at];
        break;
      }

      case Opcode::get_attribute_:
        reg(1) = host.get_attribute(in(2), name(3), cache());
        frame->place += 4;
        break;
      case Opcode::set_attribute_:
        host.set_attribute(in(1), name(2), in(3));
        frame->place += 4;
        break;
      case Opcode::delete_attribute_:
        host.delete_attribute(in(1), name(2));
        frame->place += 3;
        break;
      case Opcode::get_item_:
        if (in(2).is_object() && recorded()) break;
        if (may_wait() && (has_parked_ = host.item_must_wait(in(2), in(3)))) return Outcome::parked;
        reg(1) = host.get_item(in(2), in(3));
        frame->place += 4;
        break;
      case Opcode::set_item_:
        host.set_item(in(1), in(2), in(3));
        frame->place += 4;
        break;
      case Opcode::delete_item_:
        host.delete_item(in(1), in(2));
        frame->place += 3;
        break;

      case Opcode::call_:
        if (in(2).is_object() && recorded()) break;
        frame->after = frame->place + 5 + at[4];
        if (call(host, at[2], none, at + 3, at[1])) return Outcome::parked;
        look_again();
        break;
      case Opcode::method_: {
        Register function, receiver;
        host.get_method(in(3), name(4), cache(), function, receiver);
        reg(1) = std::move(function);
        reg(2) = std::move(receiver);
        frame->place += 5;
        break;
      }
      case Opcode::call_method_:
        if (in(2).is_object() && recorded()) break;
        frame->after = frame->place + 6 + at[5];
        if (call(host, at[2], in(3).is_bound() ? at[3] : none, at + 4, at[1]))
          return Outcome::parked;
        look_again();
        break;
      case Opcode::call_spread_: {
        frame->after = frame->place + 5;
        const Callee callee = host.find_callee(in(2));
        if (callee.routine) reserve(callee.routine->registers);
        registers = stack_ + frame->begin;
        const Register *positional = &in(3), *named = optional(4);
        const auto bind = [&](Register* into) __attribute__((always_inline)) {
          return host.bind_spread(callee, *positional, named, into);
        };
        count_step(host);
        const bool pushed = callee.routine && start(callee, at[1], bind);
        if (pushed) {
          look_again();
          break;
        }
        frame = &frames_.back();
        Register result = host.call_spread(in(2), *positional, named);
        reg(1) = std::move(result);
        frame->place = frame->after;
        break;
      }
      case Opcode::super_attribute_:
        reg(1) = host.super_attribute(in(2), in(3), name(4));
        frame->place += 5;
        break;
      case Opcode::function_: {
        Registers cells;
        several(5, cells);
        reg(1) = host.function(frame->function.object(), frame->routine->constants[at[2]],
                               optional(3), optional(4), cells);
        frame->place += 6 + at[5];
        break;
      }
      case Opcode::comprehend_: {
        const RoutineRef nested = frame->routine->nested[at[2]];
        reserve(nested->registers);
        registers = stack_ + frame->begin;
        frame->after = frame->place + 5 + at[4];
        Register* given = stack_ + used_;
        push(nested, frame->function, at[1]);
        given[0] = in(3);
        for (int32_t i = 0; i < at[4]; ++i) given[nested->free_begin + i] = in(5 + i);
        look_again();
        break;
      }

      case Opcode::format_:
        if (waits(in(2))) return Outcome::parked;
        reg(1) = host.format(in(2), at[3], optional(4));
        frame->place += 5;
        break;
      case Opcode::join_text_: {
        Registers texts;
        several(2, texts);
        reg(1) = host.join_text(texts);
        frame->place += 3 + at[2];
        break;
      }

      case Opcode::raise_:
        is_noted_ = at[1] < 0;
        host.raise(optional(1), optional(2));
        break;
      case Opcode::raise_assertion_:
        host.raise_assertion(optional(1));
        break;
      case Opcode::raise_again_:
        is_noted_ = true;
        host.raise_again(in(1));
        break;
      case Opcode::enter_: {
        Register leave, entered;
        host.enter(in(3), leave, entered);
        if (!host.is_switch(leave)) entered_.push_back({leave, frames_.size() - 1});
        reg(1) = std::move(leave);
        reg(2) = std::move(entered);
        frame->place += 4;
        break;
      }
      case Opcode::leave_:
        if (!host.is_switch(in(1))) entered_.pop_back();
        host.leave(in(1));
        frame->place += 2;
        break;
      case Opcode::leave_by_:
        if (!host.is_switch(in(2))) entered_.pop_back();
        reg(1) = Register::of(host.leave_by(in(2), in(3)));
        frame->place += 4;
        break;
      case Opcode::handle_:
        handled_.push_back(host.exchange_handled(in(1)));
        frame->place += 2;
        break;
      case Opcode::handled_:
        host.exchange_handled(std::move(handled_.back()));
        handled_.pop_back();
        frame->place += 1;
        break;
      case Opcode::matches_:
        reg(1) = Register::of(host.matches(in(2), in(3)));
        frame->place += 4;
        break;
    }
  }
}

}  // namespace weft::routine
