"""What is saved comes back, from paths and from file objects."""

from __future__ import annotations

import io
import math
import os
from collections import Counter, OrderedDict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import weft
from weft.serialization import LoadError, SaveError

DTYPES = (
    "float64 float32 float16 bfloat16 int64 int32 int16 int8 uint8 bool".split()  # all there are
)


def again(value: Any, **options: Any) -> Any:
    file = io.BytesIO()
    weft.save(value, file)
    file.seek(0)
    return weft.load(file, **options)


def assert_same(found: Any, wanted: Any) -> None:
    """Compare values and types, all the way down."""
    if isinstance(wanted, weft.Tensor):
        assert isinstance(found, weft.Tensor)
        assert (found.dtype, found.shape, found.requires_grad) == (
            wanted.dtype,
            wanted.shape,
            wanted.requires_grad,
        )
        assert found.stride() == wanted.stride() or not wanted.numel()
        assert found.tolist() == wanted.tolist()
        return
    assert type(found) is type(wanted)
    if isinstance(wanted, np.ndarray):
        assert found.dtype == wanted.dtype
        assert np.array_equal(found, wanted)
    elif isinstance(wanted, dict):
        assert list(found) == list(wanted)
        for key in wanted:
            assert_same(found[key], wanted[key])
    elif isinstance(wanted, list | tuple):
        assert len(found) == len(wanted)
        for one, other in zip(found, wanted, strict=True):
            assert_same(one, other)
    else:
        assert found == wanted or repr(found) == repr(wanted) == "nan"


@pytest.mark.parametrize("mapped", [False, True])
@pytest.mark.parametrize("name", DTYPES)
def test_tensors_of_every_dtype(name: str, mapped: bool, tmp_path: Path) -> None:
    dtype = getattr(weft, name)
    value = {
        "matrix": weft.tensor([[0, 1, 1], [1, 0, 1]], dtype=dtype),
        "number": weft.tensor(1, dtype=dtype),
        "nothing": weft.zeros(0, 3, dtype=dtype),
        "nothing flat": weft.zeros(0, dtype=dtype),
        "one": weft.ones(1, 1, dtype=dtype),
    }
    weft.save(value, tmp_path / "file")
    assert_same(weft.load(tmp_path / "file", mmap=mapped), value)


NESTED = [
    None, True, 0, -1, 2**63, -(2**200), 0.1, -0.0, math.inf, -math.inf, math.nan,
    "", "héllo \ud800", b"", b"\x00\xff", [], (), {}, [[]], ((1,), [2, (3,)]),
    {"a": {"b": [None]}}, {1: 2, "1": 3, None: 4}, {(1, "a"): 2, 0.5: 1, True: 2, b"k": 3},
    OrderedDict(b=1, a=2), OrderedDict([(1, 2)]), Counter("aab"), {1, "a"},
    frozenset((1, (2, 3))), weft.Size([2, 3]), weft.float16, weft.device("cpu"),
    np.float64(0.5), np.int32(3), np.arange(6).reshape(2, 3),
    {"tensor": 1}, {"dict": {"list": []}}, {"__metadata__": 1},
]  # fmt: skip


@pytest.mark.parametrize("value", NESTED, ids=lambda value: f"{type(value).__name__}")
def test_nested_state(value: Any) -> None:
    assert_same(again(value), value)
    assert_same(again({"deep": [value, (value,)]}), {"deep": [value, (value,)]})
    assert math.copysign(1, again(-0.0)) == -1


def test_a_parameter_comes_back_as_a_tensor_that_requires_grad() -> None:
    found = again([weft.nn.Parameter(weft.ones(2)), (weft.ones(2, requires_grad=True) * 2)])
    assert [type(one) for one in found] == [weft.Tensor] * 2
    assert [(one.requires_grad, one.is_leaf) for one in found] == [(True, True)] * 2
    (found[0] * found[1]).sum().backward()
    assert found[0].grad.tolist() == [2, 2]


def test_names_with_dots_and_other_odd_names() -> None:
    value = {
        "a.b": weft.ones(1),
        "a": {"b": weft.zeros(1)},
        "__metadata__": weft.ones(2),
        "": weft.ones(3),
        "\ud800": weft.ones(4),
        1: weft.ones(5),
    }
    assert_same(again(value), value)


def test_optimizer_scheduler_and_generator_resume() -> None:
    def run(steps: int, start: Any = None) -> tuple[Any, list[float]]:
        weft.manual_seed(1)
        model = weft.nn.Sequential(weft.nn.Linear(3, 4), weft.nn.Dropout(0.5), weft.nn.Linear(4, 1))
        optimizer = weft.optim.Adam(
            [{"params": model[0].parameters()}, {"params": model[2].parameters(), "lr": 0.1}]
        )
        scheduler = weft.optim.lr_scheduler.MultiStepLR(optimizer, [2, 3])
        if start is not None:
            model.load_state_dict(start["model"])
            optimizer.load_state_dict(start["optimizer"])
            scheduler.load_state_dict(start["scheduler"])
            weft.set_rng_state(start["random"])
        losses = []
        for _ in range(steps):
            optimizer.zero_grad()
            loss = model(weft.randn(5, 3)).square().mean()
            loss.backward()
            optimizer.step()
            scheduler.step()
            losses.append(loss.item())
        state = {
            "model": model.state_dict(),
            "optimizer": optimizer.state_dict(),
            "scheduler": scheduler.state_dict(),
            "random": weft.get_rng_state(),
            "losses": losses,
        }
        return state, losses

    _, whole = run(6)
    half, first = run(3)
    _, second = run(3, again(half))
    assert first + second == whole


def test_a_module_s_state_comes_back() -> None:
    model = weft.nn.Sequential(weft.nn.Linear(2, 3), weft.nn.BatchNorm1d(3), weft.nn.LSTM(3, 2))
    other = weft.nn.Sequential(weft.nn.Linear(2, 3), weft.nn.BatchNorm1d(3), weft.nn.LSTM(3, 2))
    found = again(model.state_dict())
    assert type(found) is OrderedDict
    other.load_state_dict(found)
    assert_same(dict(other.state_dict()), dict(model.state_dict()))


def test_paths_and_files(tmp_path: Path) -> None:
    path = tmp_path / "file.pt"
    for place in (path, str(path), os.fsencode(path)):
        weft.save([1], place)
        assert weft.load(place) == [1]
    with path.open("wb") as file:
        weft.save({"a": weft.ones(2)}, file)
        weft.save("second", file)
    with path.open("rb") as file:
        assert weft.load(file)["a"].tolist() == [1, 1]
        assert weft.load(file) == "second"
    with pytest.raises(LoadError, match="bytes follow"):
        weft.load(path)


def test_a_file_that_cannot_seek() -> None:
    whole = io.BytesIO()
    weft.save([weft.ones(2)], whole)
    reading, writing = os.pipe()
    with os.fdopen(writing, "wb") as file:
        file.write(whole.getvalue())
    with os.fdopen(reading, "rb") as file:
        assert weft.load(file)[0].tolist() == [1, 1]


def test_a_file_object_with_read_and_write_alone() -> None:
    class Plain:
        def __init__(self, data: bytes = b"") -> None:
            self.data = data

        def write(self, data: Any) -> None:
            self.data += bytes(data)

        def read(self) -> bytes:
            return self.data

    file = Plain()
    weft.save([weft.ones(2)], file)
    assert weft.load(file)[0].tolist() == [1, 1]


def test_a_pipe_or_device_is_written_as_it_is() -> None:
    weft.save([weft.ones(2)], os.devnull)
    assert Path(os.devnull).is_char_device()


def test_options_of_pytorch(tmp_path: Path) -> None:
    path = tmp_path / "file"
    weft.save([1], path, pickle_protocol=4, _use_new_zipfile_serialization=False)
    for place in (None, "cpu", "cpu:0", weft.device("cpu"), {"cuda:0": "cpu"}, lambda s, _: s):
        assert weft.load(path, map_location=place) == [1]
    for only in (None, True, False):
        assert weft.load(path, weights_only=only, encoding="latin1") == [1]
    with pytest.raises(weft.UnsupportedError, match="only the CPU"):
        weft.load(path, map_location="cuda")
    with pytest.raises(weft.UnsupportedError, match="only the CPU"):
        weft.load(path, map_location={"cpu": "cuda"})
    with pytest.raises(ValueError, match="pickle_module"):
        weft.load(path, pickle_module=os)
    with pytest.raises(ValueError, match="pickle_module"):
        weft.save([1], path, pickle_module=os)
    with pytest.raises(TypeError, match="unknown arguments color"):
        weft.load(path, color=1)
    with pytest.raises(ValueError, match="needs the path"):
        weft.load(io.BytesIO(), mmap=True)


def test_wrong_places() -> None:
    with pytest.raises(TypeError, match="not a int"):
        weft.load(3)
    with pytest.raises(TypeError, match="not a int"):
        weft.save([1], 3)
    with pytest.raises(TypeError, match="binary"):
        weft.load(io.StringIO("abc"))
    with pytest.raises(FileNotFoundError):
        weft.load("/not/there")
    with pytest.raises(FileNotFoundError):
        weft.save([1], "/not/there")
    with pytest.raises(LoadError, match="rewound"):
        weft.load(io.BytesIO())
    with pytest.raises(LoadError, match="neither a safetensors file nor"):
        weft.load(io.BytesIO(b"hello, here is nothing"))


def test_a_mapped_file_can_be_written_over_and_does_not_change(tmp_path: Path) -> None:
    path = tmp_path / "file"
    weft.save({"a": weft.arange(4.0)}, path)
    before = path.read_bytes()
    found = weft.load(path, mmap=True)["a"]
    found.add_(1)
    assert found.tolist() == [1, 2, 3, 4]
    assert path.read_bytes() == before
    weft.save({"a": weft.zeros(4)}, path)
    assert found.tolist() == [1, 2, 3, 4]


def test_what_cannot_be_saved_leaves_the_file_alone(tmp_path: Path) -> None:
    path = tmp_path / "file"
    weft.save([1], path)
    with pytest.raises(SaveError):
        weft.save([object()], path)
    assert weft.load(path) == [1]
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]


def test_in_lazy_evaluation() -> None:
    with weft.lazy():
        value = weft.ones(2) * 3
        found = again([value, value + 1])
        assert (found[0] + found[1]).tolist() == [7, 7]
    assert found[1].tolist() == [4, 4]


def test_without_gradients_in_the_way() -> None:
    with weft.no_grad():
        assert again(weft.ones(2, requires_grad=True)).requires_grad
    x = weft.ones(2, requires_grad=True)
    assert not again((x * 2).detach()).requires_grad


def test_in_inference_mode() -> None:
    with weft.inference_mode():
        found = again({"a": weft.ones(2), "b": weft.nn.Parameter(weft.ones(2))})
    assert found["a"].tolist() == found["b"].tolist() == [1, 1]


def test_inside_of_a_map() -> None:
    def example(x: weft.Tensor) -> weft.Tensor:
        return again({"a": x * 2})["a"] + x

    found = weft.map(example, [weft.ones(2), weft.zeros(2)])
    assert [one.tolist() for one in found] == [[3, 3], [0, 0]]
