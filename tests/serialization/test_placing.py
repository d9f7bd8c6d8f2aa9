"""Memory that is shared stays shared, and is written once."""

from __future__ import annotations

import io
from typing import Any

import numpy as np

import weft
from weft.serialization.placing import place


def saved(value: Any) -> bytes:
    file = io.BytesIO()
    weft.save(value, file)
    return file.getvalue()


def again(value: Any) -> Any:
    return weft.load(io.BytesIO(saved(value)))


def test_the_same_tensor_is_the_same_again() -> None:
    x = weft.ones(2)
    found = again({"a": x, "b": [x]})
    assert found["a"] is found["b"][0]


def test_views_share_memory() -> None:
    x = weft.arange(12.0).reshape(3, 4)
    found = again({"part": x[1:, 1:], "turned": x.t(), "all": x, "alias": x.detach()})
    assert found["turned"].stride() == (1, 4)
    assert found["part"].tolist() == x[1:, 1:].tolist()
    found["part"].fill_(-1)
    assert found["all"].tolist() == [[0, 1, 2, 3], [4, -1, -1, -1], [8, -1, -1, -1]]
    assert found["turned"].tolist() == found["all"].t().tolist()
    assert found["alias"].data_ptr() == found["all"].data_ptr()
    assert found["alias"] is not found["all"]


def test_shared_memory_is_written_once() -> None:
    x = weft.zeros(1000)
    assert len(saved([x, x.detach(), x[10:], x.reshape(10, 100)])) < 2 * 4000
    placement = place([("a", x[5:]), ("b", x)])
    assert list(placement.written) == ["b"]


def test_views_without_their_base() -> None:
    x = weft.arange(10.0)
    found = again([x[1:4], x[3:7], x[::3]])
    assert [part.tolist() for part in found] == [[1, 2, 3], [3, 4, 5, 6], [0, 3, 6, 9]]
    found[1][0] = 50
    assert found[0].tolist() == [1, 2, 50]
    assert found[2].tolist() == [0, 50, 6, 9]


def test_what_no_tensor_reaches_is_not_written() -> None:
    x = weft.full((3, 100), 7.0)
    data = saved([x[:, 0], x[:, 1]])
    assert data.count(np.float32(7).tobytes()) == 6
    assert len(saved(x[0])) < 1000


def test_apart_is_apart() -> None:
    x = weft.arange(10.0)
    found = again([x[:5], x[5:]])
    found[0].fill_(0)
    assert found[1].tolist() == [5, 6, 7, 8, 9]
    placement = place([("a", x[:5]), ("b", x[5:]), ("c", weft.zeros(0)), ("d", x[2:2])])
    assert sorted(placement.written) == ["a", "b", "c", "d"]


def test_nothing_in_the_midst_of_shared_memory() -> None:
    x = weft.arange(10.0)
    found = again([x[2:2], x[2:], x, x[:4]])
    assert found[0].shape == (0,)
    found[1][0] = 70
    assert found[2].tolist()[2] == found[3].tolist()[2] == 70


def test_gaps_go_and_orders_stay() -> None:
    x = weft.arange(24.0).reshape(2, 3, 4)
    for view in (x.permute(2, 0, 1), x.permute(0, 2, 1), x.transpose(0, 1)):
        found = again(view)
        assert found.stride() == view.stride()
        assert found.tolist() == view.tolist()
    found = again(x[:, :, 1])
    assert found.stride() == (3, 1)
    assert found.tolist() == x[:, :, 1].tolist()


def test_expanded_tensors_stay_small() -> None:
    x = weft.arange(3.0)[:, None].expand(3, 100_000)
    data = saved(x)
    assert len(data) < 1000
    found = weft.load(io.BytesIO(data))
    assert found.stride() == (1, 0)
    assert found[:, 7].tolist() == [0, 1, 2]
    windows = weft.arange(10.0).as_strided((8, 3), (1, 1))
    assert again(windows).tolist() == windows.tolist()


def test_one_memory_with_two_types() -> None:
    array = np.zeros(16, dtype=np.uint8)
    value = [weft.from_numpy(array), weft.from_numpy(array[4:12].view(np.float32))]
    value[1][0] = 1.5
    found = again(value)
    assert found[0].tolist() == array.tolist()
    assert found[1].tolist() == [1.5, 0]
    found[1][1] = 2.5
    assert found[0].numpy()[8:12].view(np.float32)[0] == 2.5


def test_writing_one_tensor_says_nothing_of_others() -> None:
    found = again([weft.ones(2, requires_grad=True), weft.ones(2)])
    loss = (found[0] * found[1].detach().clone()).sum()
    found[1].add_(1)
    loss.backward()
    assert found[0].grad.tolist() == [1, 1]
