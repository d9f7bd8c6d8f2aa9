"""Names that are missing: always an AttributeError, which says why or what is near."""

from __future__ import annotations

import importlib
import pickle
import subprocess
import sys

import pytest

import weft

MODULES = (
    "weft",
    "weft.autograd",
    "weft.autograd.functional",
    "weft.autograd.graph",
    "weft.batching",
    "weft.debug",
    "weft.distributions",
    "weft.func",
    "weft.functional",
    "weft.functional.linalg",
    "weft.functional.special",
    "weft.nn",
    "weft.nn.functional",
    "weft.nn.init",
    "weft.nn.utils",
    "weft.nn.utils.rnn",
    "weft.optim",
    "weft.optim.lr_scheduler",
    "weft.optim.swa_utils",
    "weft.pytree",
    "weft.random",
    "weft.serialization",
    "weft.tracing",
    "weft.utils",
    "weft.utils.checkpoint",
    "weft.utils.data",
    "weft.viewer",
)


def message(place: str, name: str) -> str:
    with pytest.raises(AttributeError) as caught:
        getattr(importlib.import_module(place), name)
    assert caught.value.name == name
    return str(caught.value)


@pytest.mark.parametrize(
    ("place", "name", "said"),
    [
        ("weft", "sofmax", "; near are weft.softmax, weft.fmax"),
        ("weft.nn", "Linaer", "; near is weft.nn.Linear"),
        ("weft.nn.functional", "rellu", "; near are weft.nn.functional.relu"),
        ("weft.optim", "Adma", "; near are weft.optim.Adamax, weft.optim.Adam"),
        ("weft.optim.lr_scheduler", "StepRL", "; near is weft.optim.lr_scheduler.StepLR"),
        ("weft.functional.linalg", "sdv", "; near is weft.linalg.svd"),
        ("weft.nn.init", "kaiming", "; near are weft.nn.init.kaiming_normal_"),
        ("weft.autograd", "gradd", "; near is weft.autograd.grad"),
        ("weft.utils.data", "Dataloader", "; near is weft.utils.data.DataLoader"),
        ("weft", "Linear", "; there is weft.nn.Linear"),
        ("weft.nn", "softmax", "; there is weft.softmax"),
        ("weft", "cdouble", ": complex numbers are not supported yet"),
        ("weft", "complex64", ": complex numbers are not supported yet"),
        ("weft", "uint16", ": there is no such dtype"),
        ("weft", "sparse_coo_tensor", ": there are no sparse tensors"),
        ("weft", "quantize_per_tensor", ": there are no quantized tensors"),
        ("weft", "quantle", "; near are weft.quantile, weft.nanquantile"),
        ("weft.utils", "tensorboard", ": `weft view` shows a run; the package tensorboardX"),
        ("weft", "xyzzy", ""),
    ],
)
def test_says_why_or_what_is_near(place: str, name: str, said: str) -> None:
    shown = place.replace("functional.linalg", "linalg")
    text = message(place, name)
    assert text.startswith(f"module {shown!r} has no attribute {name!r}{said}")


@pytest.mark.parametrize("place", MODULES)
@pytest.mark.parametrize("name", ["cdouble_", "nothing_like_it", "_private", "__dunder__"])
def test_is_an_attribute_error_everywhere(place: str, name: str) -> None:
    module = importlib.import_module(place)
    assert getattr(module, name, None) is None
    assert not hasattr(module, name)
    assert name in message(place, name)


def test_names_of_complex_numbers_can_be_asked_for() -> None:
    for name in ("cdouble", "cfloat", "complex64", "complex128"):
        assert getattr(weft, name, None) is None


def test_prints_as_pythons_own() -> None:
    code = "import weft\nweft.sofmax"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    last = run.stderr.splitlines()[-1]
    assert last.startswith("AttributeError: module 'weft' has no attribute 'sofmax'; near are weft")
    assert "Did you mean" not in last  # it says so itself


def test_can_be_sent_to_another_process() -> None:
    with pytest.raises(AttributeError) as caught:
        weft.sofmax  # type: ignore[attr-defined]
    copy = pickle.loads(pickle.dumps(caught.value))
    assert type(copy) is AttributeError
    assert str(copy) == str(caught.value)


def test_nothing_is_looked_up_until_it_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    monkeypatch.setattr("weft._missing.why_missing", lambda *given: asked.append(given[1]) or "")
    assert not hasattr(weft, "sofmax")
    assert asked == []
    assert message("weft", "sofmax") == "module 'weft' has no attribute 'sofmax'"
    assert asked == ["sofmax"]
