"""Hand tensors to NumPy and PyTorch and back, without a copy.

    python examples/dlpack.py    # the part with PyTorch runs where that is installed

DLPack is the array libraries' common ground: one asks the other for a pointer with shape and
strides. What one side writes, the other sees; a graph does not cross, so gradients are handed over
by hand, as at any border.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
from typing import Any

import numpy as np

import weft


def share_with_numpy() -> None:
    """See one memory as an array and as a tensor."""
    array = np.arange(6, dtype=np.float32).reshape(2, 3).T
    tensor = weft.from_dlpack(array)
    assert tensor.stride() == (1, 3)
    array[0, 0] = 10
    tensor[2, 1] = 20
    assert tensor[0, 0] == 10
    assert array[2, 1] == 20
    again = np.from_dlpack(tensor)  # NumPy makes this one read-only; tensor.numpy() is not
    assert np.shares_memory(again, array)
    print(f"NumPy: one memory, there and back; now {again.tolist()}")


def share_with_pytorch(torch: Any) -> None:
    """Take a tensor there and back, and write on both sides."""
    ours = weft.arange(6, dtype=weft.float32).reshape(2, 3).t()
    theirs = torch.from_dlpack(ours)
    back = weft.from_dlpack(theirs)
    assert back.data_ptr() == theirs.data_ptr() == ours.data_ptr()
    assert back.stride() == theirs.stride() == ours.stride()
    ours[0, 0] = 10
    theirs[2, 1] = 20
    assert theirs[0, 0] == 10
    assert back[2, 1] == 20
    print(f"PyTorch: one memory, there and back; now {back.tolist()}")


def mean_square_of(torch: Any, hidden: weft.Tensor) -> tuple[float, weft.Tensor]:
    """Let PyTorch compute a loss of a tensor of Weft's; return it and the gradient."""
    there = torch.from_dlpack(hidden.detach()).requires_grad_()
    loss = there.pow(2).mean()
    loss.backward()
    return loss.item(), weft.from_dlpack(there.grad)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true", help="accepted; it is quick")
    parser.parse_args()
    share_with_numpy()
    if not importlib.util.find_spec("torch"):
        print("PyTorch is not installed: that is all.")
        return
    torch = importlib.import_module("torch")
    share_with_pytorch(torch)
    weft.manual_seed(0)
    layer, input = weft.nn.Linear(3, 4), weft.randn(5, 3)
    hidden = layer(input)
    loss, gradient = mean_square_of(torch, hidden)
    (through,) = weft.autograd.grad(hidden, layer.weight, gradient)
    ours = layer(input).pow(2).mean()
    (whole,) = weft.autograd.grad(ours, layer.weight)
    print(f"half of a graph in each: loss {loss:.6f}, all in Weft {ours.item():.6f}")
    print("the gradients agree:", weft.allclose(through, whole))


if __name__ == "__main__":
    main()
