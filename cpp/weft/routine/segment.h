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
