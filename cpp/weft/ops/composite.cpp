// Ops made of others. They make no node of their own: their parts do.
#include "ops.h"

namespace weft::ops {

using namespace graph;
using base::ErrorKind;

OP(glu) {
  .signature = "glu(input: Tensor, dim: int = -1) -> Tensor",
  .doc = "Returns the first half of input along dim, gated by the sigmoid of the second half.",
  .shape = of_parts(),
  .run = composite([](const Call& call) -> Values {
    const Value& input = call[0];
    call.require(input.rank() > 0, ErrorKind::shape, "input must have at least one dimension");
    const int64_t size = input.size(call.dim("dim", input.rank()));
    call.require(size % 2 == 0, ErrorKind::shape, "input must have an even size along dim; it is ",
                 size, " of ", input.sizes());
    const int64_t dim = call.integer("dim");
    return {narrow(input, dim, 0, size / 2) * sigmoid(narrow(input, dim, size / 2, size / 2))};
  }),
  .gradient = of_parts(),
};

}  // namespace weft::ops
