// The grammar of routines, as a check: what the machine relies on holds for every way through the
// code. A routine that passes can fail only as its host lets it, whatever it was made from.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "weft/routine/routine.h"

namespace weft::routine {

// What only the host can tell of a constant. Negative: it is something else.
struct ConstantKinds {
  std::function<int(const Register&)> names;  // how many texts a tuple of names has
  std::function<int(const Register&)> cells;  // how many cells the functions of a code need
};

// The first thing that is wrong, or nothing. Nested routines have passed before.
std::optional<std::string> find_problem(const Routine& routine, const ConstantKinds& kinds);

}  // namespace weft::routine
