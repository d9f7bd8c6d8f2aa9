#include "weft/routine/segment.h"

#include <algorithm>

#include "weft/routine/routine.h"

namespace weft::routine {
namespace {

bool never_goes_on(Opcode opcode) {
  return opcode == Opcode::return_ || opcode == Opcode::jump_ || opcode == Opcode::raise_ ||
         opcode == Opcode::raise_again_ || opcode == Opcode::raise_assertion_;
}

// Its first register keeps what it had where there is no further item.
bool may_not_write(Opcode opcode) { return opcode == Opcode::next_; }

// What is written is read before, too.
bool reads_what_it_writes(Opcode opcode) {
  return opcode == Opcode::cell_ || opcode == Opcode::delete_;
}

}  // namespace

Liveness::Liveness(const Routine& routine)
    : words_(static_cast<size_t>(routine.registers) / 64 + 1),
      bits_((routine.code.size() + 1) * words_) {
  std::vector<int32_t> places;
  for (size_t place = 0; place < routine.code.size();) {
    places.push_back(static_cast<int32_t>(place));
    place += visit_operands(&routine.code[place], [](char, int32_t) {});
  }
  const auto row = [&](int32_t place) { return &bits_[static_cast<size_t>(place) * words_]; };
  std::vector<uint64_t> live(words_);
  const auto add = [&](const uint64_t* other) {
    for (size_t i = 0; i < words_; ++i) live[i] |= other[i];
  };
  const auto set = [&](int32_t reg) { live[reg / 64] |= uint64_t{1} << (reg % 64); };
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t i = places.size(); i-- > 0;) {
      const int32_t place = places[i];
      const int32_t* at = &routine.code[place];
      const auto opcode = static_cast<Opcode>(*at);
      std::fill(live.begin(), live.end(), 0);
      const int32_t length = visit_operands(at, [&](char letter, int32_t number) {
        if (letter == 'L') add(row(number));
      });
      if (!never_goes_on(opcode)) add(row(place + length));
      if (!may_not_write(opcode)) {
        visit_operands(at, [&](char letter, int32_t number) {
          if (letter == 'w') live[number / 64] &= ~(uint64_t{1} << (number % 64));
        });
      }
      visit_operands(at, [&](char letter, int32_t number) {
        const bool is_read = letter == 'r' || letter == 'R' || letter == 't';
        if (number >= 0 && (is_read || (letter == 'w' && reads_what_it_writes(opcode))))
          set(number);
      });
      for (const Handler& handler : routine.handlers) {
        if (place >= handler.begin && place < handler.end) add(row(handler.place));
      }
      if (!std::equal(live.begin(), live.end(), row(place))) {
        std::copy(live.begin(), live.end(), row(place));
        changed = true;
      }
    }
  }
}

}  // namespace weft::routine
