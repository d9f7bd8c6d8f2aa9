// An ill-formed routine is refused, with a sentence that names the place.
#include "weft/routine/validate.h"

#include <doctest/doctest.h>

#include "weft/routine/host.h"

namespace weft::routine {
namespace {

using Code = std::vector<int32_t>;

constexpr int32_t code_of(Opcode opcode) { return static_cast<int32_t>(opcode); }

// A routine of one parameter and eight registers. Its constants: 5, which the host takes for a
// code of one cell, and 2, which it takes for a tuple of so many names.
struct Sample {
  Sample() : routine(base::make_ref<Routine>()) {
    routine->positional = 1;
    routine->free_begin = 1;
    routine->registers = 8;
    routine->constants = {Register::of(int64_t{5}), Register::of(int64_t{2})};
    routine->names.resize(1);
  }
  ~Sample() { routine->names.clear(); }

  // Instructions one after the other; what is said against them.
  std::string complaint(const std::vector<std::pair<Opcode, Code>>& instructions) {
    routine->code.clear();
    for (const auto& [opcode, operands] : instructions) {
      routine->code.push_back(code_of(opcode));
      routine->code.insert(routine->code.end(), operands.begin(), operands.end());
    }
    routine->offsets.assign(routine->code.size(), -1);
    return complaint();
  }
  std::string complaint() const {
    const ConstantKinds kinds{
        .names = [](const Register& value) { return value.integer() == 2 ? 2 : -1; },
        .cells = [](const Register& value) { return value.integer() == 5 ? 1 : -1; }};
    return find_problem(*routine, kinds).value_or("");
  }

  RoutineRef routine;
};

constexpr auto move_ = Opcode::move_, constant_ = Opcode::constant_, return_ = Opcode::return_,
               jump_ = Opcode::jump_, jump_if_ = Opcode::jump_if_, list_ = Opcode::list_,
               next_ = Opcode::next_, iterate_ = Opcode::iterate_, handle_ = Opcode::handle_,
               handled_ = Opcode::handled_, raise_again_ = Opcode::raise_again_;

TEST_CASE_FIXTURE(Sample, "a routine that is well formed") {
  CHECK(complaint({{return_, {0}}}) == "");
  CHECK(complaint({{iterate_, {1, 0}},
                   {next_, {2, 1, 9}},
                   {jump_, {3}},
                   {Opcode::unbind_, {2, 1, 2}},
                   {return_, {0}}}) == "");
  CHECK(complaint({{Opcode::take_, {1, 0}}, {Opcode::branch_if_, {1, 6}}, {return_, {-2}}}) == "");
}

TEST_CASE_FIXTURE(Sample, "operands that are constants") {
  CHECK(complaint({{move_, {1, -3}}, {return_, {-2}}}) == "");
  CHECK(complaint({{return_, {-4}}}) == "return at 0: there is no constant 2");
  CHECK(complaint({{return_, {-1}}}) == "return at 0: there is no register -1");
  CHECK(complaint({{constant_, {-2, 0}}, {return_, {0}}}) ==
        "constant at 0: there is no register -2");
  CHECK(complaint({{Opcode::take_, {1, -2}}, {return_, {1}}}) ==
        "take at 0: there is no register -2");
  CHECK(complaint({{Opcode::check_, {-2, 0}}, {return_, {0}}}) ==
        "check at 0: there is no register -2");
  CHECK(complaint({{next_, {1, -2, 0}}, {return_, {0}}}) ==
        "next at 0: register -2 may hold a value, not an iterator");
}

TEST_CASE_FIXTURE(Sample, "registers that are let go of") {
  CHECK(complaint({{Opcode::unbind_, {1, 0}}, {return_, {0}}}) ==
        "return at 3: register 0 may hold nothing, not a value");
  CHECK(complaint({{Opcode::take_, {1, 0}}, {return_, {0}}}) ==
        "return at 3: register 0 may hold nothing, not a value");
  CHECK(complaint({{Opcode::branch_unless_, {0, 3}}, {return_, {0}}}) ==
        "return at 3: register 0 may hold nothing, not a value");
  CHECK(complaint({{Opcode::take_, {2, 1}}, {return_, {0}}}) ==
        "take at 0: register 1 may hold nothing, not a value");
}

TEST_CASE_FIXTURE(Sample, "a routine's frame") {
  const std::vector<std::pair<Opcode, Code>> code{{return_, {0}}};
  const auto after = [&](auto change) {
    Sample other;
    change(*other.routine);
    return other.complaint(code);
  };
  CHECK(after([](Routine& r) { r.positional = -1; }) == "a count is negative");
  CHECK(after([](Routine& r) { r.has_rest = true; }) == "parameters and cells overlap");
  CHECK(after([](Routine& r) { r.free_count = 8; }) == "cells do not fit the registers");
  CHECK(after([](Routine& r) { r.registers = 1 << 30; }) == "1073741824 registers are too many");
  routine->code = {code_of(return_), 0};
  CHECK(complaint() == "each place has one offset");
}

TEST_CASE_FIXTURE(Sample, "instructions and their operands") {
  routine->code = {1000};
  routine->offsets = {-1};
  CHECK(complaint() == "there is no instruction 1000 (at 0)");
  CHECK(complaint({{return_, {}}}) == "return at 0: its operands go beyond the end");
  CHECK(complaint({{return_, {8}}}) == "return at 0: there is no register 8");
  CHECK(complaint({{return_, {-1}}}) == "return at 0: there is no register -1");
  CHECK(complaint({{constant_, {1, 2}}, {return_, {1}}}) ==
        "constant at 0: there is no constant 2");
  CHECK(complaint({{Opcode::global_, {1, 1}}, {return_, {1}}}) ==
        "global at 0: there is no name 1");
  CHECK(complaint({{list_, {1, 99}}, {return_, {1}}}) == "list at 0: it cannot have 99 operands");
  CHECK(complaint({{Opcode::unary_, {1, 4, 0}}, {return_, {1}}}) == "unary at 0: it knows no 4");
  CHECK(complaint({{Opcode::dict_, {1, 1, 0}}, {return_, {1}}}) == "dict at 0: a key has no value");
  CHECK(complaint({{Opcode::call_, {1, 0, 0, 0}}, {return_, {1}}}) ==
        "call at 0: constant 0 is no tuple of names");
  CHECK(complaint({{Opcode::call_, {1, 0, 1, 1, 0}}, {return_, {1}}}) ==
        "call at 0: there are more names than arguments");
  CHECK(complaint({{Opcode::call_, {1, 0, 1, 2, 0, 0}}, {return_, {1}}}) == "");
  CHECK(complaint({{Opcode::function_, {1, 0, -1, -1, 0}}, {return_, {1}}}) ==
        "function at 0: its code needs 1 cells");
  CHECK(complaint({{Opcode::call_method_, {1, 0, -1, -1, 0}}, {return_, {1}}}) ==
        "call_method at 0: there is no register -1");
}

TEST_CASE_FIXTURE(Sample, "where control goes") {
  CHECK(complaint({{move_, {1, 0}}}) == "the code goes on beyond its end");
  CHECK(complaint({{jump_, {99}}}) == "jump at 0: there is no place 99");
  CHECK(complaint({{jump_, {3}}, {return_, {0}}}) == "jump at 0: no instruction begins at 3");
  routine->handlers = {{0, 3, 1, 1}};
  CHECK(complaint({{return_, {0}}}) == "a handler is not where instructions begin");
  routine->handlers = {{0, 2, 0, 8}};
  CHECK(complaint({{return_, {0}}}) == "a handler has no register 8");
}

TEST_CASE_FIXTURE(Sample, "what registers hold") {
  CHECK(complaint({{return_, {1}}}) == "return at 0: register 1 may hold nothing, not a value");
  // On one way only.
  CHECK(complaint({{jump_if_, {0, 6}}, {constant_, {1, 0}}, {return_, {1}}}) ==
        "return at 6: register 1 may hold nothing, not a value");
  CHECK(complaint(
            {{jump_if_, {0, 6}}, {constant_, {1, 0}}, {Opcode::check_, {1, 0}}, {return_, {1}}}) ==
        "");
  CHECK(complaint({{next_, {1, 0, 4}}, {return_, {0}}}) ==
        "next at 0: register 0 may hold a value, not an iterator");
  // After the last item nothing has been written.
  CHECK(complaint({{iterate_, {1, 0}}, {next_, {2, 1, 7}}, {return_, {2}}}) ==
        "return at 7: register 2 may hold nothing, not a value");
  CHECK(complaint({{Opcode::append_, {0, 0}}, {return_, {0}}}) ==
        "append at 0: register 0 may hold a value, not a list");
  CHECK(complaint({{list_, {1, 0}}, {move_, {2, 1}}, {Opcode::append_, {2, 0}}, {return_, {2}}}) ==
        "");
  CHECK(complaint({{Opcode::read_cell_, {1, 0, 0, 0}}, {return_, {1}}}) ==
        "read_cell at 0: register 0 may hold a value, not a cell");
  CHECK(complaint({{Opcode::leave_, {0}}, {return_, {0}}}) ==
        "leave at 0: register 0 may hold a value, not an exit");
}

TEST_CASE_FIXTURE(Sample, "exceptions") {
  CHECK(complaint({{handle_, {0}}, {return_, {0}}}) ==
        "handle at 0: register 0 may hold a value, not an exception");
  CHECK(complaint({{handled_, {}}, {return_, {0}}}) ==
        "handled at 0: no exception is being handled");
  // A call, and what goes on when it raises.
  const std::vector<std::pair<Opcode, Code>> call{{Opcode::call_, {1, 0, -1, 0}},
                                                  {return_, {1}},
                                                  {handle_, {2}},
                                                  {handled_, {}},
                                                  {raise_again_, {2}}};
  routine->handlers = {{0, 5, 7, 2}};
  CHECK(complaint(call) == "");
  routine->handlers = {{0, 5, 7, 3}};
  CHECK(complaint(call) == "handle at 7: register 2 may hold nothing, not a value");
  // Once around the loop, one more is being handled.
  routine->handlers = {{0, 5, 7, 2}};
  CHECK(complaint({{Opcode::call_, {1, 0, -1, 0}}, {return_, {0}}, {handle_, {2}}, {jump_, {0}}}) ==
        "control comes to 0 with different numbers of handled exceptions");
}

TEST_CASE_FIXTURE(Sample, "comprehensions") {
  Sample inner;
  inner.routine->free_count = 1;
  inner.routine->is_comprehension = true;
  CHECK(inner.complaint({{next_, {2, 0, 4}}, {return_, {0}}}) == "");
  routine->nested = {inner.routine};
  CHECK(complaint({{Opcode::comprehend_, {1, 0, 0, 0}}, {return_, {1}}}) ==
        "comprehend at 0: the nested routine needs 1 cells");
  CHECK(complaint({{Opcode::cell_, {2}},
                   {iterate_, {3, 0}},
                   {Opcode::comprehend_, {1, 0, 3, 1, 2}},
                   {return_, {1}}}) == "");
  CHECK(complaint({{Opcode::cell_, {2}}, {Opcode::comprehend_, {1, 0, 0, 1, 2}}, {return_, {1}}}) ==
        "comprehend at 2: register 0 may hold a value, not an iterator");
  inner.routine->is_comprehension = false;
  CHECK(complaint({{Opcode::comprehend_, {1, 0, 0, 1, 0}}, {return_, {1}}}) ==
        "comprehend at 0: the nested routine is no comprehension");
}

}  // namespace
}  // namespace weft::routine
