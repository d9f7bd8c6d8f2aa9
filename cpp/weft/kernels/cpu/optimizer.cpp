// Chooses the instruction set of the optimizers' loops and splits large parameters over threads.
#include "weft/kernels/optimizer.h"

#include "weft/base/blocking.h"
#include "weft/base/thread_pool.h"
#include "weft/kernels/cpu/isa.h"
#include "weft/kernels/cpu/optimizer_table.h"

namespace weft::kernels {

WEFT_CHOOSE(OptimizerTable, optimizer_table)

namespace {

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
  run(optimizer_table().adam, settings, tensors);
}

void sgd(const SgdSettings& settings, std::span<const SgdTensors> tensors) {
  run(optimizer_table().sgd, settings, tensors);
}

}  // namespace weft::kernels
