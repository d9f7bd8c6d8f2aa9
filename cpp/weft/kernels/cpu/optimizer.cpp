// Chooses the instruction set of the optimizers' loops and splits large parameters over threads.
#include "weft/kernels/optimizer.h"

#include "weft/base/blocking.h"
#include "weft/base/thread_pool.h"
#include "weft/kernels/cpu/isa.h"
#include "weft/kernels/cpu/optimizer_table.h"

namespace weft::kernels {

namespace isa_default {
extern const OptimizerTable optimizer_table;
}
#ifdef __x86_64__
namespace isa_v3 {
extern const OptimizerTable optimizer_table;
}
namespace isa_v4 {
extern const OptimizerTable optimizer_table;
}
#endif

namespace {

const OptimizerTable& loops() {
#ifdef __x86_64__
  static const OptimizerTable& chosen =
      choose(isa_default::optimizer_table, isa_v3::optimizer_table, isa_v4::optimizer_table);
#else
  static const OptimizerTable& chosen = choose(isa_default::optimizer_table);
#endif
  return chosen;
}

// About 20 us of work: less is not worth a second thread.
constexpr int64_t grain = 1 << 15;

template <class Loop, class Settings, class Tensors>
void run(Loop loop, const Settings& settings, std::span<const Tensors> tensors) {
  int64_t total = 0;
  for (const Tensors& one : tensors) total += one.count;
  const base::BlockingRegion region(total > 2 * grain);
  for (const Tensors& one : tensors) {
    base::parallel_for(one.count, grain,
                       [&](int64_t begin, int64_t end) { loop(settings, one, begin, end); });
  }
}

}  // namespace

void adam(const AdamSettings& settings, std::span<const AdamTensors> tensors) {
  run(loops().adam, settings, tensors);
}

void sgd(const SgdSettings& settings, std::span<const SgdTensors> tensors) {
  run(loops().sgd, settings, tensors);
}

}  // namespace weft::kernels
