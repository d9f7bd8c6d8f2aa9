"""Programs written as for PyTorch print with Weft what PyTorch 2.13 printed.

`tests/seeds_expected` has what PyTorch printed when `examples/seeds` ran with `import torch`;
`tests/oracle/test_seeds.py` runs them with both.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import weft

TESTS = Path(__file__).parent
PROGRAMS = sorted((TESTS.parent / "examples" / "seeds").glob("*.py"))


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.stem)
def test_prints_what_pytorch_printed(program: Path) -> None:
    result = subprocess.run(
        [sys.executable, "-W", "error", program],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    expected = (TESTS / "seeds_expected" / f"{program.stem}.txt").read_text()
    assert result.stdout == expected.replace("torch.Size", "weft.Size")  # its own name


def test_every_program_has_an_expected_text() -> None:
    expected = {path.stem for path in (TESTS / "seeds_expected").glob("*.txt")}
    assert expected == {program.stem for program in PROGRAMS}


def doubled_or_lowered(x: weft.Tensor) -> weft.Tensor:
    return x * 2 if x.sum() > 0 else x - 2


def tripled_or_halved(x: weft.Tensor) -> weft.Tensor:
    return x * 3 if x.sum() > 10 else x / 2


# What PyTorch prints of the smallest branches on a value: of the result, and of the gradient.
BRANCHES = [
    (
        doubled_or_lowered,
        [1.0, -1.0, 2.0],
        "tensor([ 2., -2.,  4.], grad_fn=<MulBackward0>)",
        "tensor([2., 2., 2.])",
    ),
    (
        doubled_or_lowered,
        [-3.0, -2.0, -1.0],
        "tensor([-5., -4., -3.], grad_fn=<SubBackward0>)",
        "tensor([1., 1., 1.])",
    ),
    (
        tripled_or_halved,
        [2.0, 3.0, 4.0],
        "tensor([1.0000, 1.5000, 2.0000], grad_fn=<DivBackward0>)",
        "tensor([0.5000, 0.5000, 0.5000])",
    ),
    (
        tripled_or_halved,
        [4.0, 5.0, 6.0],
        "tensor([12., 15., 18.], grad_fn=<MulBackward0>)",
        "tensor([3., 3., 3.])",
    ),
]


@pytest.mark.parametrize(("function", "values", "printed", "gradient"), BRANCHES)
def test_branch_on_a_value(
    function: Callable[[weft.Tensor], weft.Tensor],
    values: list[float],
    printed: str,
    gradient: str,
) -> None:
    x = weft.tensor(values, requires_grad=True)
    y = function(x)
    y.backward(weft.ones_like(y))
    assert (str(y), str(x.grad)) == (printed, gradient)
