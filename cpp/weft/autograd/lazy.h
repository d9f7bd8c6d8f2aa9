// Gradients of values that are still pending: recorded, not run. They wait as the values do, so
// that those of many examples of a map run together.
#pragma once

#include "weft/autograd/engine.h"

namespace weft::autograd {

// Whether gradients asked for here can wait: inside an example of a map that nobody watches.
bool gradients_can_wait(const Request& request);

// As run_backward. What is computed already is left to it.
std::vector<Value> record_backward(const Request& request);

}  // namespace weft::autograd
