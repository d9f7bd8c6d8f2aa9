// Segments: what one task records between two waits or effects, across calls and branches. Where a
// place begins the same segment again, its ops are recorded as one, and the task goes on behind it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace weft::routine {

class Task;
struct Routine;

// What is known of the segments that begin at one place of a routine.
struct Site {
  bool is_general = false;  // nothing: its ops are recorded one by one
  virtual ~Site() = default;
};

// What this thread's tasks have done until now.
struct Counts {
  int64_t instructions = 0, segments = 0, ops = 0;  // ops of segments
};
inline thread_local constinit Counts counts;

// Whether calls of a function are worth running as a routine. Against Python, each instruction
// loses a little and each op of a segment gains more; how much, in nanoseconds, has been fitted to
// the models of benchmarks/cliffs. Nothing is timed, so a program decides alike each time that it
// runs.
class Trial {
 public:
  // Whether the next call should be the host's.
  bool steps_aside() {
    if (left_ == 0) return false;
    --left_;
    return true;
  }
  // After a call: what has been counted in it.
  void note(const Counts& before) {
    if (++calls_ <= learning) return;  // segments
    gained_ += per_op * (counts.ops - before.ops) -
               per_segment * (counts.segments - before.segments) -
               per_instruction * (counts.instructions - before.instructions);
    if (calls_ < learning + looked_at) return;
    if (gained_ < 0) {
      left_ = spell_;
      spell_ = spell_ < longest ? 4 * spell_ : longest;
    } else {
      spell_ = shortest;
    }
    calls_ = learning;
    gained_ = 0;
  }

 private:
  static constexpr int32_t learning = 16, looked_at = 16;      // calls
  static constexpr int32_t shortest = 256, longest = 1 << 16;  // spells
  static constexpr int64_t per_op = 54, per_segment = 113, per_instruction = 9;
  int32_t calls_ = 0, left_ = 0, spell_ = shortest;
  int64_t gained_ = 0;
};

class Segments {
 public:
  virtual ~Segments() = default;
  // Whether ops that are recorded now may be recorded as segments.
  virtual bool are_wanted() const = 0;
  // Before the task's next instruction. True: a segment has been recorded, and the task is behind
  // it.
  virtual bool record(Task& task) = 0;
};
inline Segments* segments = nullptr;

// The registers that may be read from that place on before they are written, as bits.
class Liveness {
 public:
  explicit Liveness(const Routine& routine);
  bool is_live(int32_t place, int32_t reg) const {
    return bits_[static_cast<size_t>(place) * words_ + reg / 64] >> (reg % 64) & 1;
  }

 private:
  size_t words_;
  std::vector<uint64_t> bits_;
};

}  // namespace weft::routine
