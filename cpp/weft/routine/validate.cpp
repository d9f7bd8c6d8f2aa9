#include "weft/routine/validate.h"

#include <algorithm>

#include "weft/base/errors.h"
#include "weft/base/small_vector.h"
#include "weft/routine/operators.h"

namespace weft::routine {
namespace {

constexpr int32_t most_registers = 1 << 20;  // 16 MB a frame

// What a register may hold at a place: one bit each.
using Kinds = uint16_t;
namespace kind {
constexpr Kinds unbound = 1, value = 2, tuple = 4, list = 8, set = 16, dict = 32, cell = 64,
                iterator = 128, exit = 256, exception = 512;
}

std::string kinds_text(Kinds kinds) {
  constexpr const char* names[] = {"nothing", "a value", "a tuple",     "a list",  "a set",
                                   "a dict",  "a cell",  "an iterator", "an exit", "an exception"};
  std::string text;
  for (size_t i = 0; i < std::size(names); ++i) {
    if (!(kinds >> i & 1)) continue;
    if (!text.empty()) text += " or ";
    text += names[i];
  }
  return text;
}

struct Problem {
  std::string text;
};

struct Operand {
  char letter;
  int32_t number;
};
struct Instruction {
  Opcode opcode;
  int32_t place, size;
  base::SmallVector<Operand, 12> operands;
  std::string_view name() const { return instruction_kinds[static_cast<int>(opcode)].name; }
};

bool ends_flow(Opcode opcode) {
  switch (opcode) {
    case Opcode::jump_:
    case Opcode::return_:
    case Opcode::raise_:
    case Opcode::raise_assertion_:
    case Opcode::raise_again_:
      return true;
    default:
      return false;
  }
}

class Check {
 public:
  Check(const Routine& routine, const ConstantKinds& kinds) : routine_(routine), kinds_(kinds) {}

  void run() {
    check_frame();
    read_all();
    check_places();
    follow();
  }

 private:
  struct State {
    std::vector<Kinds> registers;
    int32_t handled = 0;  // how many exceptions are being handled
  };
  struct Label {
    bool is_known = false;
    State state;
  };

  template <class... Parts>
  [[noreturn]] static void fail(const Parts&... parts) {
    throw Problem{base::text(parts...)};
  }
  template <class... Parts>
  [[noreturn]] static void fail_at(const Instruction& at, const Parts&... parts) {
    throw Problem{base::text(at.name(), " at ", at.place, ": ", parts...)};
  }

  void check_frame() const {
    const Routine& r = routine_;
    if (r.positional < 0 || r.keyword_only < 0 || r.free_begin < 0 || r.free_count < 0)
      fail("a count is negative");
    if (r.registers < 0 || r.registers > most_registers)
      fail(r.registers, " registers are too many");
    const int64_t parameters = int64_t{r.positional} + r.keyword_only + r.has_rest + r.has_options;
    if (parameters > r.free_begin) fail("parameters and cells overlap");
    if (int64_t{r.free_begin} + r.free_count > r.registers) fail("cells do not fit the registers");
    if (r.is_comprehension && parameters != 1) fail("a comprehension is given one iterator");
    if (r.offsets.size() != r.code.size()) fail("each place has one offset");
    if (r.code.empty()) fail("there is no code");
    if (r.code.size() > INT32_MAX / 2) fail("the code is too long");
  }

  int32_t size() const { return static_cast<int32_t>(routine_.code.size()); }

  Instruction read(int32_t place) const {
    const int32_t number = routine_.code[place];
    if (number < 0 || number >= static_cast<int32_t>(std::size(instruction_kinds)))
      fail("there is no instruction ", number, " (at ", place, ")");
    Instruction found{static_cast<Opcode>(number), place, 0, {}};
    int32_t at = place + 1;
    const auto next = [&] {
      if (at >= size()) fail_at(found, "its operands go beyond the end");
      return routine_.code[at++];
    };
    const std::string_view letters = instruction_kinds[number].operands;
    for (size_t i = 0; i < letters.size(); ++i) {
      if (i + 1 < letters.size() && letters[i + 1] == '*') {
        const int32_t count = next();
        if (count < 0 || count > size() - at) fail_at(found, "it cannot have ", count, " operands");
        for (int32_t k = 0; k < count; ++k) found.operands.push_back({letters[i], next()});
        ++i;
      } else {
        found.operands.push_back({letters[i], next()});
      }
    }
    found.size = at - place;
    return found;
  }

  // Everything that can be said of each instruction by itself.
  void read_all() {
    starts_.assign(routine_.code.size() + 1, false);
    Opcode last = Opcode::move_;
    for (int32_t place = 0; place < size();) {
      const Instruction at = read(place);
      for (const Operand& operand : at.operands) check_operand(at, operand);
      check_numbers(at);
      check_constants(at);
      starts_[place] = true;
      place += at.size;
      last = at.opcode;
    }
    if (!ends_flow(last)) fail("the code goes on beyond its end");
  }

  void check_operand(const Instruction& at, const Operand& operand) const {
    const auto within = [&](size_t count, const char* what) {
      if (operand.number < 0 || static_cast<size_t>(operand.number) >= count)
        fail_at(at, "there is no ", what, " ", operand.number);
    };
    switch (operand.letter) {
      case 'R':
        if (operand.number == none && at.opcode != Opcode::call_method_) return;
        [[fallthrough]];
      case 'r':
        if (operand.number < none && at.opcode != Opcode::check_) {
          if (constant_of(operand.number) >= routine_.constants.size())
            fail_at(at, "there is no constant ", constant_of(operand.number));
          return;
        }
        [[fallthrough]];
      case 'w':
      case 't':
        return within(routine_.registers, "register");
      case 'K':
        if (operand.number == -1) return;
        [[fallthrough]];
      case 'k':
        return within(routine_.constants.size(), "constant");
      case 'n':
        return within(routine_.names.size(), "name");
      case 'f':
        return within(routine_.nested.size(), "nested routine");
      case 'L':
        return within(routine_.code.size(), "place");
      default:
        return;
    }
  }

  void check_numbers(const Instruction& at) const {
    const auto in = [&](size_t operand, int32_t least, int32_t most) {
      const int32_t number = at.operands[operand].number;
      if (number < least || number > most) fail_at(at, "it knows no ", number);
    };
    switch (at.opcode) {
      case Opcode::unary_:
        return in(1, 0, static_cast<int32_t>(Unary::not_));
      case Opcode::binary_:
      case Opcode::inplace_:
        return in(1, 0, static_cast<int32_t>(Binary::xor_));
      case Opcode::compare_:
        return in(1, 0, static_cast<int32_t>(Comparison::greater_equal));
      case Opcode::read_cell_:
        return in(3, 0, 1);
      case Opcode::empty_cell_:
        return in(2, 0, 1);
      case Opcode::unpack_rest_:
        return in(1, 0, static_cast<int32_t>(at.operands.size()) - 3);
      case Opcode::dict_:
        if (at.operands.size() % 2 == 0) fail_at(at, "a key has no value");
        return;
      case Opcode::format_: {
        const int32_t letter = at.operands[2].number;
        if (letter != 0 && letter != 's' && letter != 'r' && letter != 'a')
          fail_at(at, "it knows no ", letter);
        return;
      }
      default:
        return;
    }
  }

  void check_constants(const Instruction& at) const {
    const auto names_fit = [&](size_t operand, size_t before) {
      const int32_t number = at.operands[operand].number;
      if (number < 0) return;
      const int count = kinds_.names(routine_.constants[number]);
      if (count < 0) fail_at(at, "constant ", number, " is no tuple of names");
      if (static_cast<size_t>(count) > at.operands.size() - before)
        fail_at(at, "there are more names than arguments");
    };
    switch (at.opcode) {
      case Opcode::call_:
        return names_fit(2, 3);
      case Opcode::call_method_:
        return names_fit(3, 4);
      case Opcode::function_: {
        const int count = kinds_.cells(routine_.constants[at.operands[1].number]);
        if (count < 0) fail_at(at, "constant ", at.operands[1].number, " is no code");
        if (static_cast<size_t>(count) != at.operands.size() - 4)
          fail_at(at, "its code needs ", count, " cells");
        return;
      }
      case Opcode::comprehend_: {
        const Routine& nested = *routine_.nested[at.operands[1].number];
        if (!nested.is_comprehension) fail_at(at, "the nested routine is no comprehension");
        if (static_cast<size_t>(nested.free_count) != at.operands.size() - 3)
          fail_at(at, "the nested routine needs ", nested.free_count, " cells");
        return;
      }
      default:
        return;
    }
  }

  // Jumps and handlers come to where an instruction begins.
  void check_places() {
    labels_.assign(routine_.code.size(), -1);
    const auto add = [&](int32_t place) {
      if (labels_[place] < 0) labels_[place] = label_count_++;
    };
    for (int32_t place = 0; place < size();) {
      const Instruction at = read(place);
      for (const Operand& operand : at.operands) {
        if (operand.letter != 'L') continue;
        if (!starts_[operand.number]) fail_at(at, "no instruction begins at ", operand.number);
        add(operand.number);
      }
      place += at.size;
    }
    starts_[size()] = true;
    for (const Handler& handler : routine_.handlers) {
      const auto is_start = [&](int32_t place, int32_t most) {
        return place >= 0 && place <= most && starts_[place];
      };
      if (!is_start(handler.begin, size() - 1) || !is_start(handler.end, size()) ||
          !is_start(handler.place, size() - 1) || handler.begin >= handler.end)
        fail("a handler is not where instructions begin");
      if (handler.target < 0 || handler.target >= routine_.registers)
        fail("a handler has no register ", handler.target);
      add(handler.place);
    }
  }

  // Follows every way from the beginning, with what registers may hold, until nothing is new.
  void follow() {
    known_.resize(label_count_);
    State state;
    state.registers.assign(routine_.registers, kind::unbound);
    int32_t next = 0;
    const auto parameter = [&](Kinds kinds) { state.registers[next++] = kinds; };
    for (int32_t i = 0; i < routine_.positional + routine_.keyword_only; ++i)
      parameter(routine_.is_comprehension ? kind::iterator : kind::value);
    if (routine_.has_rest) parameter(kind::tuple);
    if (routine_.has_options) parameter(kind::dict);
    for (int32_t i = 0; i < routine_.free_count; ++i)
      state.registers[routine_.free_begin + i] = kind::cell;
    walk(0, std::move(state));
    while (!waiting_.empty()) {
      const int32_t place = waiting_.back();
      waiting_.pop_back();
      State found = known_[labels_[place]].state;
      step_from(place, std::move(found));
    }
  }

  void walk(int32_t place, State state) {
    if (labels_[place] >= 0) return arrive(place, state);
    step_from(place, std::move(state));
  }

  // Control comes to a label with that state.
  void arrive(int32_t place, const State& state, const Handler* by = nullptr) {
    Label& label = known_[labels_[place]];
    bool is_new = !label.is_known;
    if (is_new) {
      label.is_known = true;
      label.state = state;
      if (by) label.state.registers[by->target] = kind::exception;
    } else {
      if (label.state.handled != state.handled)
        fail("control comes to ", place, " with different numbers of handled exceptions");
      for (size_t i = 0; i < state.registers.size(); ++i) {
        Kinds& kinds = label.state.registers[i];
        const bool is_target = by && static_cast<size_t>(by->target) == i;
        const Kinds added = is_target ? kind::exception : state.registers[i];
        is_new = is_new || (added & ~kinds);
        kinds |= added;
      }
    }
    if (is_new) waiting_.push_back(place);
  }

  void step_from(int32_t place, State state) {
    for (bool is_first = true;; is_first = false) {
      if (!is_first && labels_[place] >= 0) return arrive(place, state);
      const Instruction at = read(place);
      if (may_raise(at, state)) {
        for (const Handler& handler : routine_.handlers) {
          if (place < handler.begin || place >= handler.end) continue;
          arrive(handler.place, state, &handler);
          break;
        }
      }
      if (!apply(at, state)) return;
      place += at.size;
    }
  }

  // An instruction that raises has written nothing.
  static bool may_raise(const Instruction& at, const State& state) {
    switch (at.opcode) {
      case Opcode::move_:
      case Opcode::take_:
      case Opcode::constant_:
      case Opcode::unbind_:
      case Opcode::handle_:
      case Opcode::handled_:
      case Opcode::return_:
        return false;
      case Opcode::check_:
      case Opcode::delete_:
        return state.registers[at.operands[0].number] & kind::unbound;
      case Opcode::jump_:  // backward, signals are looked for
        return at.operands[0].number <= at.place;
      default:
        return true;
    }
  }

  static Kinds kinds_of(const State& state, int32_t operand) {
    return operand < 0 ? kind::value : state.registers[operand];
  }
  void require(const Instruction& at, const State& state, size_t operand, Kinds wanted) const {
    const int32_t number = at.operands[operand].number;
    if (number == none) return;
    const Kinds found = kinds_of(state, number);
    if (found & ~wanted) {
      fail_at(at, "register ", number, " may hold ", kinds_text(found & ~wanted), ", not ",
              wanted == bound ? "a value" : kinds_text(wanted));
    }
  }
  void require_rest(const Instruction& at, const State& state, size_t first, Kinds wanted) const {
    for (size_t i = first; i < at.operands.size(); ++i) require(at, state, i, wanted);
  }

  void check_kinds(const Instruction& at, const State& state) const {
    switch (at.opcode) {
      case Opcode::read_cell_:
        return require(at, state, 1, kind::cell);
      case Opcode::write_cell_:
      case Opcode::empty_cell_:
        return require(at, state, 0, kind::cell);
      case Opcode::next_:
        return require(at, state, 1, kind::iterator);
      case Opcode::append_:
      case Opcode::extend_:
        return require(at, state, 0, kind::list);
      case Opcode::add_:
        return require(at, state, 0, kind::set);
      case Opcode::put_:
      case Opcode::update_:
      case Opcode::merge_:
        return require(at, state, 0, kind::dict);
      case Opcode::freeze_:
        return require(at, state, 1, kind::list);
      case Opcode::call_spread_:
        require(at, state, 2, kind::list | kind::tuple);
        return require(at, state, 3, kind::dict);
      case Opcode::function_:
        require(at, state, 2, kind::tuple);
        require(at, state, 3, kind::dict);
        return require_rest(at, state, 4, kind::cell);
      case Opcode::comprehend_:
        require(at, state, 2, kind::iterator);
        return require_rest(at, state, 3, kind::cell);
      case Opcode::leave_:
        return require(at, state, 0, kind::exit);
      case Opcode::leave_by_:
        require(at, state, 1, kind::exit);
        return require(at, state, 2, kind::exception);
      case Opcode::handle_:
      case Opcode::raise_again_:
        return require(at, state, 0, kind::exception);
      case Opcode::matches_:
        return require(at, state, 1, kind::exception);
      case Opcode::handled_:
        if (state.handled == 0) fail_at(at, "no exception is being handled");
        return;
      default:
        return;
    }
  }

  // What it leaves in its first register.
  static Kinds result_of(const Instruction& at, const State& state) {
    switch (at.opcode) {
      case Opcode::move_:
      case Opcode::take_:
        return kinds_of(state, at.operands[1].number);
      case Opcode::unbind_:
      case Opcode::delete_:
        return kind::unbound;
      case Opcode::cell_:
        return kind::cell;
      case Opcode::iterate_:
        return kind::iterator;
      case Opcode::tuple_:
      case Opcode::freeze_:
      case Opcode::spread_:
        return kind::tuple;
      case Opcode::list_:
        return kind::list;
      case Opcode::set_:
        return kind::set;
      case Opcode::dict_:
        return kind::dict;
      case Opcode::enter_:
        return kind::exit;
      default:
        return kind::value;
    }
  }

  // False: control does not go on behind it.
  bool apply(const Instruction& at, State& state) {
    const bool may_read_unbound = at.opcode == Opcode::move_ || at.opcode == Opcode::check_;
    for (size_t i = 0; i < at.operands.size(); ++i) {
      const char letter = at.operands[i].letter;
      const bool is_receiver = at.opcode == Opcode::call_method_ && letter == 'R';
      if (letter == 't' || (letter == 'r' && !may_read_unbound) || (letter == 'R' && !is_receiver))
        require(at, state, i, bound);
    }
    check_kinds(at, state);
    const Kinds result = result_of(at, state);
    if (at.opcode == Opcode::next_) arrive(at.operands[2].number, state);
    for (const Operand& operand : at.operands) {
      if (operand.letter == 't') state.registers[operand.number] = kind::unbound;
    }
    bool is_first = true;
    for (const Operand& operand : at.operands) {
      if (operand.letter != 'w') continue;
      const bool has_result = is_first || at.opcode == Opcode::unbind_;
      state.registers[operand.number] = has_result ? result : kind::value;
      is_first = false;
    }
    if (at.opcode == Opcode::method_) state.registers[at.operands[1].number] |= kind::unbound;
    if (at.opcode == Opcode::check_) {
      Kinds& kinds = state.registers[at.operands[0].number];
      kinds &= ~kind::unbound;
      if (!kinds) return false;
    }
    if (at.opcode == Opcode::handle_) ++state.handled;
    if (at.opcode == Opcode::handled_) --state.handled;
    if (at.opcode != Opcode::next_) {
      for (const Operand& operand : at.operands) {
        if (operand.letter == 'L') arrive(operand.number, state);
      }
    }
    return !ends_flow(at.opcode);
  }

  static constexpr Kinds bound = static_cast<Kinds>(~kind::unbound);

  const Routine& routine_;
  const ConstantKinds& kinds_;
  std::vector<char> starts_;     // whether an instruction begins there
  std::vector<int32_t> labels_;  // by place: its number among the labels, or -1
  int32_t label_count_ = 0;
  std::vector<Label> known_;
  std::vector<int32_t> waiting_;
};

}  // namespace

std::optional<std::string> find_problem(const Routine& routine, const ConstantKinds& kinds) {
  try {
    Check(routine, kinds).run();
  } catch (const Problem& problem) {
    return problem.text;
  }
  return std::nullopt;
}

}  // namespace weft::routine
