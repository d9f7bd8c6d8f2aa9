"""Texts are compared with PyTorch's, so dtypes and sizes print as under `weft run`."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from weft import _core


@pytest.fixture(autouse=True)
def printing_as_pytorch() -> Iterator[None]:
    before = _core.set_shown_package("torch")
    yield
    _core.set_shown_package(before)
