// Why what looks alike was not run together. A pure function over what is to run.
#pragma once

#include <string>
#include <vector>

#include "weft/schedule/key.h"

namespace weft::schedule {

// For each batch, why it is not part of an earlier one of the same op and line. Empty: there is
// none, or it needs the other's results.
std::vector<std::string> explain(const Work& work, const std::vector<Batch>& batches);

}  // namespace weft::schedule
