// The gates of recurrent cells, everything between two matrix products as one op.
#include "weft/kernels/normalize.h"
#include "weft/ops/batching.h"
#include "weft/ops/lanes.h"

namespace weft::ops {
using namespace graph;
using base::ErrorKind;
using kernels::Gates;

namespace {

// The gates are `parts` times as wide as the state, and all are of one float dtype.
void require_gates(const Call& call, size_t gates, size_t state, int64_t parts) {
  const Array &g = call.in(gates), &s = call.in(state);
  bool fits = g.rank() >= 1 && g.rank() == s.rank() && g.sizes.back() == parts * s.sizes.back();
  for (int64_t i = 0; fits && i + 1 < g.rank(); ++i) fits = g.sizes[i] == s.sizes[i];
  call.require(fits, ErrorKind::shape, "gates must have ", parts,
               " times the state's last size and its other sizes; the gates are ", g.sizes,
               ", the state is ", s.sizes);
  call.require(tensor::is_floating(g.dtype) && g.dtype == s.dtype, ErrorKind::dtype,
               "gates and state must be of one floating-point dtype, got ",
               tensor::name_of(g.dtype), " and ", tensor::name_of(s.dtype));
}

// Of the gates of an LSTM with one cell or two, (..., (3 + cells) * size): the sizes of a state.
Dims require_lstm_gates(const Call& call) {
  const Array &gates = call.in(0), &cells = call.in(1);
  const bool fit = gates.rank() >= 1 && gates.rank() == cells.rank();
  const int64_t size = fit ? (gates.sizes.back() - cells.sizes.back()) / 3 : 0;
  const int64_t parts = size > 0 && cells.sizes.back() == 2 * size ? 2 : 1;
  Dims sizes = cells.sizes;
  if (fit) sizes.back() /= parts;
  Dims wide = sizes;
  if (fit) wide.back() *= 3 + parts;
  call.require(fit && gates.sizes == wide, ErrorKind::shape,
               "gates must have 3 times the state's last size and that of the cells, whose other "
               "sizes they have; the gates are ",
               gates.sizes, ", the cells are ", cells.sizes);
  call.require(tensor::is_floating(gates.dtype) && gates.dtype == cells.dtype, ErrorKind::dtype,
               "gates and cells must be of one floating-point dtype, got ",
               tensor::name_of(gates.dtype), " and ", tensor::name_of(cells.dtype));
  return sizes;
}

bool has_two_cells(const Call& call) {
  return 5 * call.in(1).sizes.back() == 2 * call.in(0).sizes.back();
}

// Part k of the last dimension, which is cut into pieces of `size`.
Value part(const Value& gates, int64_t k, int64_t size) {
  return slice(gates, -1, k * size, (k + 1) * size);
}

Value slope_of_sigmoid(const Value& gate) { return gate * (1 - gate); }
Value slope_of_tanh(const Value& value) { return 1 - value * value; }

}  // namespace

OP(lstm_gates, "(gates: Tensor, cell: Tensor) -> (hidden: Tensor, next_cell: Tensor)") {
  .doc = "Applies the gates of an LSTM: `gates` (..., 4 * size) holds input, forget, cell and output "
         "gates before their activation. In a tree a node follows two others: `cell` holds both "
         "cells, (..., 2 * size), and `gates` a forget gate for each.",
  .shape = [](Call& call) {
    const Dims sizes = require_lstm_gates(call);
    call.add_output(sizes, call.in(1).dtype);
    call.add_output(sizes, call.in(1).dtype);
  },
  .run = kernel([](Call& call) {
    into_all(call, [&](const auto& out) {
      kernels::run_gates(has_two_cells(call) ? Gates::tree_lstm : Gates::lstm,
                         {lane_input(call, 0), lane_input(call, 1), out[0], out[1]});
    });
  }),
  .gradient = [](Gradient& g) -> Values {
    const Value &gates = g.input(0), &cell = g.input(1), &next = g.output(1);
    const Value of_hidden = g.has_grad(0) ? g.grad(0) : Value();
    const Value of_next = g.has_grad(1) ? g.grad(1) : Value();
    if (!modes.grad) return lstm_gates_backward(gates, cell, next, of_hidden, of_next);
    const int64_t size = next.size(-1), cells = cell.size(-1) / size;
    const Value i = sigmoid(part(gates, 0, size)), fresh = tanh(part(gates, 1 + cells, size)),
                o = sigmoid(part(gates, 2 + cells, size));
    Value sum = i * fresh;
    for (int64_t k = 0; k < cells; ++k)
      sum = sum + sigmoid(part(gates, 1 + k, size)) * part(cell, k, size);
    const Value squashed = tanh(sum);
    const Value through = of_hidden ? of_hidden * o * slope_of_tanh(squashed) : Value();
    const Value of_cell = !through ? of_next : of_next ? of_next + through : through;
    Values of_gates{of_cell * fresh * slope_of_sigmoid(i)}, of_cells;
    for (int64_t k = 0; k < cells; ++k) {
      const Value f = sigmoid(part(gates, 1 + k, size));
      of_gates.push_back(of_cell * part(cell, k, size) * slope_of_sigmoid(f));
      of_cells.push_back(of_cell * f);
    }
    of_gates.push_back(of_cell * i * slope_of_tanh(fresh));
    of_gates.push_back(of_hidden ? of_hidden * squashed * slope_of_sigmoid(o)
                                 : zeros(next.sizes(), next.dtype()));
    return {cat(of_gates, -1), cat(of_cells, -1)};
  },
  .batch = rows_alike,
  .missing_is_zero = true,
};

OP(lstm_gates_backward,
   "(gates: Tensor, cell: Tensor, next_cell: Tensor, grad_hidden: Tensor? = None, grad_cell: "
   "Tensor? = None) -> (grad_gates: Tensor, grad_cell: Tensor)") {
  .doc = "Returns the gradients of lstm_gates.",
  .shape = [](Call& call) {
    const Dims sizes = require_lstm_gates(call);
    for (size_t i = 2; i < 5; ++i) {
      call.require(!call[i] || call.in(i).sizes == sizes, ErrorKind::shape,
                   "gradients must be like the state, ", sizes);
    }
    call.require(call[3] || call[4], ErrorKind::value, "a gradient must be given");
    call.add_output(call.in(0).sizes, call.in(0).dtype);
    call.add_output(call.in(1).sizes, call.in(1).dtype);
  },
  .run = kernel([](Call& call) {
    const DType lane = lane_dtype(call.in(0).dtype);
    const auto in = [&](size_t i) { return lane_input(call, i, lane); };
    // A missing gradient is zero.
    const auto gradient = [&](size_t i) {
      if (call[i]) return in(i);
      const Array zero = Array::allocate(call.in(2).sizes, lane);
      kernels::fill(zero, 0.0);
      return zero;
    };
    into_all(call, [&](const auto& out) {
      kernels::run_gates(has_two_cells(call) ? Gates::tree_lstm_backward : Gates::lstm_backward,
                         {gradient(3), gradient(4), in(0), in(1), out[0], out[1], in(2)});
    });
  }),
  .gradient = no_gradient("lstm_gates's rule uses plain ops where gradients of gradients are wanted"),
  .batch = rows_alike,
};

OP(gru_gates, "(from_input: Tensor, from_hidden: Tensor, hidden: Tensor) -> Tensor") {
  .doc = "Applies the gates of a GRU: reset, update and new, each before its activation, from the "
         "input and from the hidden state (..., 3 * size).",
  .shape = [](Call& call) {
    require_gates(call, 0, 2, 3);
    require_gates(call, 1, 2, 3);
    call.add_output(call.in(2).sizes, call.in(2).dtype);
  },
  .run = kernel([](Call& call) {
    into(call.out(), [&](const Array& out) {
      kernels::run_gates(Gates::gru, {lane_input(call, 0), lane_input(call, 1), lane_input(call, 2), out});
    });
  }),
  .gradient = [](Gradient& g) -> Values {
    const Value &grad = g.grad(), &x = g.input(0), &h = g.input(1), &hidden = g.input(2);
    if (!modes.grad) return gru_gates_backward(grad, x, h, hidden);
    const int64_t size = hidden.size(-1);
    const Value reset = sigmoid(part(x, 0, size) + part(h, 0, size)),
                update = sigmoid(part(x, 1, size) + part(h, 1, size)), inner = part(h, 2, size);
    const Value fresh = tanh(part(x, 2, size) + reset * inner);
    const Value of_fresh = grad * (1 - update) * slope_of_tanh(fresh);
    const Value of_reset = of_fresh * inner * slope_of_sigmoid(reset);
    const Value of_update = grad * (hidden - fresh) * slope_of_sigmoid(update);
    return {cat({of_reset, of_update, of_fresh}, -1),
            cat({of_reset, of_update, of_fresh * reset}, -1), grad * update};
  },
  .batch = rows_alike,
};

OP(gru_gates_backward,
   "(grad: Tensor, from_input: Tensor, from_hidden: Tensor, hidden: Tensor) -> "
   "(grad_from_input: Tensor, grad_from_hidden: Tensor, grad_hidden: Tensor)") {
  .doc = "Returns the gradients of gru_gates.",
  .shape = [](Call& call) {
    require_gates(call, 1, 3, 3);
    require_gates(call, 2, 3, 3);
    call.require(call.in(0).sizes == call.in(3).sizes, ErrorKind::shape,
                 "grad must be like hidden; grad is ", call.in(0).sizes, ", hidden is ",
                 call.in(3).sizes);
    for (size_t i = 1; i < 4; ++i) call.add_output(call.in(i).sizes, call.in(i).dtype);
  },
  .run = kernel([](Call& call) {
    const Array grad = call.contiguous(0, lane_dtype(call.in(3).dtype));
    into_all(call, [&](const auto& out) {
      kernels::run_gates(Gates::gru_backward, {grad, lane_input(call, 1), lane_input(call, 2),
                                               lane_input(call, 3), out[0], out[1], out[2]});
    });
  }),
  .gradient = no_gradient("gru_gates's rule uses plain ops where gradients of gradients are wanted"),
  .batch = rows_alike,
};

}  // namespace weft::ops
