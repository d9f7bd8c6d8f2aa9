// The eager executor: a recorded application runs at once.
#pragma once

#include "weft/graph/modes.h"

namespace weft::exec {

const graph::Executor& eager();

}  // namespace weft::exec
