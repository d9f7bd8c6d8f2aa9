"""Files of real PyTorch and of the safetensors package, read here; ours, read there."""

from __future__ import annotations

import io
import warnings
from collections import Counter, OrderedDict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import weft
from weft.serialization import RefusedError

DTYPES = "float64 float32 float16 bfloat16 int64 int32 int16 int8 uint8 bool".split()
FORMATS = {
    "zip": {},
    "legacy": {"_use_new_zipfile_serialization": False},
    "protocol 4": {"pickle_protocol": 4},
    "protocol 5": {"pickle_protocol": 5},
}


def assert_equal(found: Any, wanted: Any) -> None:
    """Compare a tree of Weft's with one of PyTorch's."""
    if isinstance(wanted, torch.Tensor):
        assert isinstance(found, weft.Tensor)
        assert str(found.dtype) == str(wanted.dtype)
        assert tuple(found.shape) == tuple(wanted.shape)
        assert found.requires_grad == wanted.requires_grad
        if wanted.numel():
            assert found.stride() == wanted.stride()
        assert found.tolist() == wanted.tolist()
    elif isinstance(wanted, dict):
        assert type(found) is type(wanted)
        assert list(found) == list(wanted)
        for key in wanted:
            assert_equal(found[key], wanted[key])
    elif isinstance(wanted, list | tuple) and not isinstance(wanted, torch.Size):
        assert type(found) is type(wanted)
        assert len(found) == len(wanted)
        for one, other in zip(found, wanted, strict=True):
            assert_equal(one, other)
    elif isinstance(wanted, torch.dtype | torch.Size):
        assert repr(found) == repr(wanted)
    else:
        assert type(found) is type(wanted)
        assert found == wanted


def through(value: Any, path: Path, **options: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.save(value, path, **options)
    return weft.load(path)


@pytest.mark.parametrize("options", FORMATS.values(), ids=FORMATS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_dtypes(dtype: str, options: dict[str, Any], tmp_path: Path) -> None:
    kind = getattr(torch, dtype)
    value = {
        "matrix": torch.randint(0, 2, (3, 4)).to(kind),
        "number": torch.tensor(1).to(kind),
        "nothing": torch.zeros(0, 2, dtype=kind),
        "turned": torch.randint(0, 2, (3, 4)).to(kind).t(),
        "part": torch.randint(0, 2, (6, 4)).to(kind)[1::2, 1:3],
        "expanded": torch.ones(1, dtype=kind).expand(4, 5),
    }
    assert_equal(through(value, tmp_path / "file.pt", **options), value)


@pytest.mark.parametrize("options", FORMATS.values(), ids=FORMATS)
def test_shared_storages(options: dict[str, Any], tmp_path: Path) -> None:
    x = torch.arange(12.0)
    value = {"all": x, "part": x[3:7], "square": x.reshape(3, 4), "same": x}
    found = through(value, tmp_path / "file.pt", **options)
    assert_equal(found, value)
    assert found["all"] is found["same"]
    found["part"].zero_()
    x[3:7] = 0
    assert_equal(found, value)


class Model(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding = torch.nn.Embedding(7, 4)
        self.block = torch.nn.Sequential(
            torch.nn.Linear(4, 4), torch.nn.BatchNorm1d(4), torch.nn.LSTM(4, 3)
        )
        self.out = torch.nn.Linear(4, 7, bias=False)
        self.out.weight = self.embedding.weight
        self.register_buffer("mask", torch.tril(torch.ones(3, 3, dtype=torch.bool)))


@pytest.mark.parametrize("options", FORMATS.values(), ids=FORMATS)
@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW", "RMSprop"])
def test_checkpoints(name: str, options: dict[str, Any], tmp_path: Path) -> None:
    torch.manual_seed(0)
    model = Model()
    settings = {"momentum": 0.9} if name == "SGD" else {}
    optimizer = getattr(torch.optim, name)(model.parameters(), lr=0.1, **settings)
    scheduler = torch.optim.lr_scheduler.MultiStepLR(optimizer, [1, 1, 5])
    for _ in range(2):
        hidden = model.block[0](model.embedding(torch.arange(5)))
        model.out(model.block[1](hidden)).square().mean().backward()
        optimizer.step()
        scheduler.step()
    value = {
        "epoch": 3,
        "best": 0.5,
        "note": "naïve",
        "model": model.state_dict(),
        "optimizer": optimizer.state_dict(),
        "scheduler": scheduler.state_dict(),
        "random": torch.get_rng_state(),
        "parameter": model.out.weight,
        "frozen": torch.nn.Parameter(torch.ones(2), requires_grad=False),
        "shape": torch.Size([2, 3]),
        "dtype": torch.bfloat16,
        "bytes": b"\x00\xff",
        "nested": [(1, None), {"a": {1, 2}}, OrderedDict(z=1, a=2), Counter("aab")],
    }
    found = through(value, tmp_path / "file.pth", **options)
    assert_equal(found, value)
    assert found["model"]["out.weight"].data_ptr() == found["parameter"].data_ptr()


def test_a_parameter_with_attributes(tmp_path: Path) -> None:
    parameter = torch.nn.Parameter(torch.ones(2))
    parameter.note = "x"
    plain = torch.ones(2)
    plain.note = "y"
    found = through([parameter, plain], tmp_path / "file.pt")
    assert [one.requires_grad for one in found] == [True, False]
    assert [one.tolist() for one in found] == [[1, 1]] * 2


def test_weights_give_the_same_results(tmp_path: Path) -> None:
    def model(t: Any) -> Any:
        return t.nn.Sequential(t.nn.Linear(3, 5), t.nn.Tanh(), t.nn.Linear(5, 2))

    theirs, ours = model(torch), model(weft)
    torch.save(theirs.state_dict(), tmp_path / "weights.pt")
    ours.load_state_dict(weft.load(tmp_path / "weights.pt"))
    x = np.random.default_rng(0).standard_normal((4, 3)).astype("float32")
    wanted = theirs(torch.from_numpy(x)).detach().numpy()
    found = ours(weft.from_numpy(x)).detach().numpy()
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)


def test_mapped(tmp_path: Path) -> None:
    value = {"a": torch.arange(1000.0), "b": [torch.arange(5)]}
    torch.save(value, tmp_path / "file.pt")
    found = weft.load(tmp_path / "file.pt", mmap=True)
    assert_equal(found, value)
    found["a"].zero_()
    assert_equal(weft.load(tmp_path / "file.pt"), value)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: torch.nn.Linear(2, 2), r"torch\.nn\.modules\.linear\.Linear.*state_dict"),
        (lambda: {"a": torch.ones(2, dtype=torch.complex64)}, r"Complex\w+, which Weft lacks"),
        (lambda: {"a": torch.ones(2).to_sparse()}, "a sparse tensor, which Weft lacks"),
        (lambda: {"a": torch.ones(2, dtype=torch.uint16)}, "unsigned"),
        (lambda: {"a": np.float64(1)}, r"numpy\S*scalar"),
        (lambda: {"a": torch.ones(2, device="meta")}, "meta device"),
        (lambda: {"a": print}, r"(__builtin__|builtins)\.print"),
        (lambda: torch.ones(2).untyped_storage(), "no data|lacks"),
    ],
    ids=range(8),
)
@pytest.mark.parametrize("options", FORMATS.values(), ids=FORMATS)
def test_refused(make: Any, message: str, options: dict[str, Any], tmp_path: Path) -> None:
    if message == "no data|lacks" and "_use_new_zipfile_serialization" in options:
        pytest.skip("PyTorch cannot write this")
    with pytest.raises(RefusedError, match=message):
        through(make(), tmp_path / "file.pt", **options)


def test_a_script_is_refused(tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.jit.save(torch.jit.script(torch.nn.Linear(2, 2)), tmp_path / "file.pt")
    with pytest.raises(ValueError, match="TorchScript"):
        weft.load(tmp_path / "file.pt")


def test_a_file_object() -> None:
    file = io.BytesIO()
    torch.save({"a": torch.ones(2)}, file)
    file.seek(0)
    assert weft.load(file, map_location="cpu", weights_only=True)["a"].tolist() == [1, 1]


# ---- the safetensors package -------------------------------------------------------------------


@pytest.mark.parametrize("mapped", [False, True])
def test_their_safetensors(mapped: bool, tmp_path: Path) -> None:
    theirs = pytest.importorskip("safetensors.torch")
    value = {name: torch.randint(0, 2, (2, 3)).to(getattr(torch, name)) for name in DTYPES}
    value |= {"number": torch.tensor(2.5), "nothing": torch.zeros(0, 3)}
    theirs.save_file(value, tmp_path / "file", metadata={"format": "pt", "note": "x"})
    found = weft.load(tmp_path / "file", mmap=mapped)
    assert sorted(found) == sorted(value)
    for name in value:
        assert_equal(found[name], value[name])


def test_our_safetensors(tmp_path: Path) -> None:
    theirs = pytest.importorskip("safetensors.torch")
    model = weft.nn.Sequential(weft.nn.Linear(2, 3), weft.nn.BatchNorm1d(3))
    value = model.state_dict()
    value |= {name: weft.tensor([[0, 1], [1, 1]], dtype=getattr(weft, name)) for name in DTYPES}
    value |= {"turned": weft.arange(6.0).reshape(2, 3).t(), "nothing": weft.zeros(0, 3)}
    weft.save(value, tmp_path / "file")
    for found in (
        theirs.load_file(tmp_path / "file"),
        theirs.load((tmp_path / "file").read_bytes()),
    ):
        assert sorted(found) == sorted(value)
        for name, tensor in value.items():
            assert str(found[name].dtype) == str(tensor.dtype)
            assert found[name].tolist() == tensor.tolist()
    state = {name: found[name] for name in model.state_dict()}
    other = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.BatchNorm1d(3))
    other.load_state_dict(state)


def test_our_nested_state_there(tmp_path: Path) -> None:
    safetensors = pytest.importorskip("safetensors")
    x = weft.arange(4.0)
    weft.save({"model": {"w": x, "part": x[1:]}, "epoch": 3}, tmp_path / "file")
    with safetensors.safe_open(tmp_path / "file", "pt") as file:
        assert list(file.keys()) == ["model.w"]
        assert file.get_tensor("model.w").tolist() == [0, 1, 2, 3]
        assert file.metadata()["format"] == "pt"


@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW"])
def test_a_run_begun_in_pytorch_goes_on_here(name: str, tmp_path: Path) -> None:
    settings = {"momentum": 0.9} if name == "SGD" else {}

    def start(t: Any) -> tuple[Any, Any, Any]:
        model = t.nn.Linear(3, 1)
        optimizer = getattr(t.optim, name)(model.parameters(), lr=0.05, **settings)
        return model, optimizer, t.optim.lr_scheduler.StepLR(optimizer, 2)

    def steps(t: Any, model: Any, optimizer: Any, scheduler: Any) -> list[float]:
        x = t.arange(12.0).reshape(4, 3) / 10
        losses = []
        for _ in range(4):
            optimizer.zero_grad()
            loss = (model(x) - 1).square().mean()
            loss.backward()
            optimizer.step()
            scheduler.step()
            losses.append(loss.item())
        return losses

    torch.manual_seed(0)
    theirs = start(torch)
    steps(torch, *theirs)
    torch.save([part.state_dict() for part in theirs], tmp_path / "file.pt")
    ours = start(weft)
    for part, state in zip(ours, weft.load(tmp_path / "file.pt"), strict=True):
        part.load_state_dict(state)
    np.testing.assert_allclose(steps(weft, *ours), steps(torch, *theirs), rtol=1e-5)
