"""Names of PyTorch are Weft's; what Weft lacks is named."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator

import pytest

import weft
from weft.compat import answering_torch
from weft.compat.table import MODULES


@pytest.fixture(autouse=True)
def torch_is_weft() -> Iterator[None]:
    with answering_torch():
        yield


def test_names_are_wefts() -> None:
    import torch
    import torch.nn.functional as F
    from torch.nn.modules.linear import Linear
    from torch.nn.parameter import Parameter
    from torch.optim.adam import Adam

    assert torch.Tensor is weft.Tensor
    assert torch.float32 is weft.float32
    assert torch.nn.Module is weft.nn.Module
    assert F.relu is weft.nn.functional.relu
    assert Parameter is weft.nn.Parameter
    assert Linear is weft.nn.Linear
    assert Adam is weft.optim.Adam
    assert torch.utils.checkpoint.checkpoint is weft.utils.checkpoint.checkpoint
    assert torch.linalg.norm is weft.linalg.norm


@pytest.mark.parametrize(
    "name",
    [
        "torch.nn.init",
        "torch.nn.utils.rnn",
        "torch.optim.lr_scheduler",
        "torch.autograd",
        "torch.linalg",
        "torch.backends.cudnn",
        "torch.cuda.amp",
    ],
)
def test_modules_can_be_imported(name: str) -> None:
    module = importlib.import_module(name)
    assert module.__name__ == name
    assert module is sys.modules[name]
    assert len(dir(module)) > 3


def test_modules_are_there_without_import() -> None:
    import torch

    assert torch.nn.utils.rnn.pad_sequence is weft.nn.utils.rnn.pad_sequence
    assert torch.optim.lr_scheduler.StepLR is weft.optim.lr_scheduler.StepLR


def test_a_function_hides_the_module_of_its_name() -> None:
    import torch

    assert torch.autograd.gradcheck is weft.autograd.gradcheck


def test_torch_is_gone_afterwards() -> None:
    import torch  # noqa: F401

    assert "torch" in sys.modules


def test_nothing_stays_behind() -> None:
    names = [name for name in sys.modules if name.startswith("torch.")]
    assert names == []  # the test before has imported some


def test_a_missing_attribute_names_what_is_near() -> None:
    import torch

    with pytest.raises(AttributeError, match=r"Weft has no torch\.zeroes; near are torch\.zeros"):
        torch.zeroes
    assert not hasattr(torch, "complex64")
    assert not hasattr(torch, "_C")


def test_a_missing_name_of_an_import_is_named() -> None:
    with pytest.raises(ImportError, match=r"Weft has no torch\.nn\.Linar; near are torch\.nn\.Lin"):
        from torch.nn import Linar  # noqa: F401
    with pytest.raises(ImportError, match=r"Weft has no torch\.fx: there is no symbolic tracer"):
        importlib.import_module("torch.fx")


@pytest.mark.parametrize("name", ["torchvision", "torchaudio", "torchtext"])
def test_packages_of_pytorchs_binaries_are_refused(name: str) -> None:
    with pytest.raises(ModuleNotFoundError, match=f"{name} is compiled against PyTorch itself"):
        importlib.import_module(name)


def test_flags_can_be_set() -> None:
    import torch
    from torch.backends import cudnn

    cudnn.benchmark = True
    assert torch.backends.cudnn.benchmark is True


def test_the_table_names_what_there_is_or_will_be() -> None:
    coming = {"weft.distributions", "weft.fft", "weft.func", "weft.special", "weft.utils.data"}
    for name, sources in MODULES.items():
        assert sources, name
        for source in sources:
            assert source.startswith(("weft", "multiprocessing")), (name, source)
            if source.startswith("weft.compat"):
                assert source not in coming
                importlib.import_module(source.partition(":")[0])
