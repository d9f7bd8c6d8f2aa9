"""Dtypes, sizes and named results print as Weft's, and as PyTorch's where scripts are run."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import weft
from weft.compat import answering_torch


def shown() -> dict[str, str]:
    """Print what bears the package's name, in all the ways there are."""
    x = weft.zeros(2, 3, dtype=weft.float64)
    return {
        "repr": repr(x.dtype),
        "str": str(x.dtype),
        "format": f"{x.dtype} {x.shape} {x.device!r} {x.device}",
        "aligned": f"{x.dtype!s:>15}",
        "size": repr(x.shape),
        "size in a list": str([x.shape[1:]]),
        "empty size": str(weft.tensor(1).shape),
        "tensor": repr(x[0]),
        "wide": repr(weft.arange(25, dtype=weft.int32)),
        "result": repr(weft.tensor([1.0]).max(0)).splitlines()[0],
        "module": repr(weft.nn.ParameterList([weft.nn.Parameter(x)])),
    }


def test_as_wefts() -> None:
    found = shown()
    assert found["repr"] == found["str"] == "weft.float64"
    assert found["format"] == "weft.float64 weft.Size([2, 3]) device(type='cpu') cpu"
    assert found["aligned"] == "   weft.float64"
    assert found["size"] == "weft.Size([2, 3])"
    assert found["size in a list"] == "[weft.Size([3])]"
    assert found["empty size"] == "weft.Size([])"
    assert found["tensor"] == "tensor([0., 0., 0.], dtype=weft.float64)"
    assert found["result"] == "weft.return_types.max("
    assert not [key for key, text in found.items() if "torch." in text]


def test_as_pytorchs_under_weft_run() -> None:
    ours = shown()
    with answering_torch():
        found = shown()
    assert found["format"] == "torch.float64 torch.Size([2, 3]) device(type='cpu') cpu"
    assert found["result"] == "torch.return_types.max("
    assert not [key for key, text in found.items() if "weft." in text]
    assert shown() == ours


def test_all_dtypes() -> None:
    names = "float16 float32 float64 bfloat16 int8 int16 int32 int64 uint8 bool".split()
    assert [str(getattr(weft, name)) for name in names] == [f"weft.{name}" for name in names]


def test_scripts_print_what_they_printed(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(
        "import torch\nx = torch.zeros(2, dtype=torch.float64)\n"
        "print(x.dtype, x.shape, x.device, x)\n"
    )
    command = [sys.executable, "-m", "weft", "run", "script.py"]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    expected = "torch.float64 torch.Size([2]) cpu tensor([0., 0.], dtype=torch.float64)\n"
    assert ran.stdout == expected


def test_an_error_inside_leaves_the_name_as_it_was() -> None:
    with pytest.raises(ZeroDivisionError), answering_torch():
        1 / 0
    assert str(weft.float32) == "weft.float32"
