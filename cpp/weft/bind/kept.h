// What a fiber or a task has of its own while others run.
#pragma once

#include "weft/bind/python.h"
#include "weft/graph/modes.h"
#include "weft/graph/tape.h"

namespace weft::bind {

// All that one example may switch without others seeing it.
struct Kept {
  graph::Modes of_thread = graph::modes;
  tensor::DType dtype = tensor::default_dtype;
  void give() const {
    graph::modes = of_thread;
    graph::set_default_dtype(dtype);
  }
};

// From here on ops are recorded for that example, and what needs a value calls `park`, which the
// map keeps alive.
void start_example(int32_t example, PyObject* park);

}  // namespace weft::bind
