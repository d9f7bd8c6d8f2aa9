// The grammar of Programs and of the tape, to be executed: what is true of each of them between two
// steps. Builds for debugging and with sanitizers check it after every step that makes or changes
// one (`expect_valid`); others never do.
#pragma once

#include "weft/graph/program.h"
#include "weft/graph/tape.h"

namespace weft::graph {

// They raise an internal error that names the place.
void validate(const Program& program);
void validate(const ProgramOp& op);  // and what is known of its slots
void validate(const Tape& tape);
void validate(const Tape& tape, size_t entry);  // that one alone

#ifdef WEFT_VALIDATE
inline constexpr bool is_validated = true;
#else
inline constexpr bool is_validated = false;
#endif

template <class... Parts>
void expect_valid(const Parts&... parts) {
  if constexpr (is_validated) validate(parts...);
}

}  // namespace weft::graph
