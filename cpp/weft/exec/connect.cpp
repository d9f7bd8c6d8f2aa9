#include "weft/exec/connect.h"

#include "weft/exec/eager.h"
#include "weft/exec/rows.h"
#include "weft/graph/modes.h"
#include "weft/graph/op.h"
#include "weft/kernels/map.h"

namespace weft::exec {

void connect() {
  graph::host.copy = kernels::copy;
  graph::host.find_formula = kernels::find_formula;
  graph::host.block_function = kernels::block_function;
  graph::host.eager = &eager();
  graph::host.batch_program = run_program_rows;
  graph::link_ops();
}

}  // namespace weft::exec
