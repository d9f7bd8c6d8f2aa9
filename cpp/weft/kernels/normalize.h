// Softmax, layer normalisation, cross-entropy and the gates of recurrent cells, each as one kernel
// forward and one backward. All arrays are contiguous, of one dtype, float32 or float64.
#pragma once

#include <cstdint>
#include <initializer_list>

#include "weft/tensor/array.h"

namespace weft::kernels {

using tensor::Array;

// Softmax (or its logarithm) along a dimension.
void softmax(const Array& in, int64_t dim, bool logarithm, const Array& out);
// From the gradient and the result of softmax.
void softmax_backward(const Array& grad, const Array& out, int64_t dim, bool logarithm,
                      const Array& grad_in);

// (x - mean) / sqrt(variance + epsilon) * weight + bias over rows of `size`; weight and bias may be
// empty arrays.
void layer_norm(const Array& in, const Array& weight, const Array& bias, double epsilon,
                int64_t size, const Array& out);
// The mean and the variance are computed again: cheaper than to keep them. Any result may be empty.
void layer_norm_backward(const Array& grad, const Array& in, const Array& weight, double epsilon,
                         int64_t size, const Array& grad_in, const Array& grad_weight,
                         const Array& grad_bias);

// Cross-entropy of rows of scores with classes, a loss for each row. A row whose class is `ignored`
// counts for nothing; all others are in [0, classes).
void cross_entropy(const Array& scores, const Array& classes, int64_t ignored, const Array& losses);
// grad_scores = factors[row] times the slope of the row's loss.
void cross_entropy_backward(const Array& scores, const Array& classes, const Array& factors,
                            int64_t ignored, const Array& grad_scores);

// Gates of recurrent cells, before their activation: input, forget, cell and output for an LSTM
// (rows x 4 size); the same with two forget gates for that of a tree, whose cell is (rows x 2
// size); reset, update and new for a GRU (rows x 3 size), from the input and from the hidden state.
// The arrays of each kind, in this order; the last one is of the size of a state:
enum class Gates : uint8_t {
  lstm,           // gates, cell; hidden_out, cell_out
  lstm_backward,  // grad_hidden, grad_cell, gates, cell; grad_gates, grad_cell_in; cell_out
  tree_lstm,
  tree_lstm_backward,
  gru,           // from_input, from_hidden, hidden; out
  gru_backward,  // grad, from_input, from_hidden, hidden; and the gradients of these three
};
void run_gates(Gates kind, std::initializer_list<Array> arrays);

}  // namespace weft::kernels
