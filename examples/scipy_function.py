"""Differentiate through SciPy: a sparse solver inside of an `autograd.Function`.

    python examples/scipy_function.py            # some seconds
    python examples/scipy_function.py --quick    # fewer steps

A rod conducts heat, better in some places than in others. Its temperatures solve a sparse linear
system whose matrix holds the conductivities, and SciPy solves it. The gradient needs one more solve
with the transposed matrix. Then the conductivities of a rod are found from its temperatures.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
import scipy.sparse
from scipy.sparse.linalg import spsolve

import weft
from weft import Tensor

# The rod's pieces lie between 41 points; its ends are held at temperature zero.
PIECES = 40
_SHAPE = (PIECES, PIECES - 1)
_DIFFERENCES = scipy.sparse.csc_array(np.eye(*_SHAPE) - np.eye(*_SHAPE, k=-1))


def solve(matrix: Any, right: Tensor) -> np.ndarray:
    return np.asarray(spsolve(matrix, right.detach().numpy()))


class Temperatures(weft.autograd.Function):
    """The temperatures between the pieces of a rod: solves D' diag(conductivity) D t = heat."""

    @staticmethod
    def forward(ctx: Any, conductivity: Tensor, heat: Tensor) -> Tensor:
        weights = scipy.sparse.diags_array(conductivity.detach().numpy())
        ctx.matrix = (_DIFFERENCES.T @ weights @ _DIFFERENCES).tocsc()
        solution = weft.from_numpy(solve(ctx.matrix, heat))
        ctx.save_for_backward(solution)
        return solution

    @staticmethod
    @weft.autograd.function.once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor]:
        (solution,) = ctx.saved_tensors
        adjoint = solve(ctx.matrix.T.tocsc(), gradient)
        slopes = (_DIFFERENCES @ solution.numpy()) * (_DIFFERENCES @ adjoint)
        return weft.from_numpy(-slopes), weft.from_numpy(adjoint)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true", help="fewer steps")
    steps = 100 if parser.parse_args().quick else 1000
    weft.manual_seed(0)
    weft.set_default_dtype(weft.float64)

    place = weft.linspace(0, 1, PIECES)
    truth = 1 + 0.8 * (place * 9).sin()
    heats = [weft.rand(PIECES - 1) for _ in range(4)]
    measured = weft.stack([Temperatures.apply(truth, heat) for heat in heats])

    guess = weft.zeros(PIECES, requires_grad=True)  # of the logarithm: conductivity is positive
    print("gradient checks:", weft.autograd.gradcheck(Temperatures.apply, (guess.exp(), heats[0])))
    optimizer = weft.optim.Adam([guess], lr=0.05)
    for step in range(1, steps + 1):
        found = [Temperatures.apply(guess.exp(), heat) for heat in heats]
        loss = (weft.stack(found) - measured).pow(2).mean(1).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % (steps // 5) == 0:
            error = ((guess.exp() - truth).abs() / truth).max().item()
            print(f"step {step:4}  loss {loss.item():9.2e}  largest error {error:7.2%}")


if __name__ == "__main__":
    main()
