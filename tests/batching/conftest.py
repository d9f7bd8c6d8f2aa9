"""What is pending is recorded op by op, or in strands and cells: nearly all tests hold for both."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from weft import _core
from weft.batching.replaying import Mapped
from weft.batching.worth import Worth

NEVER = 2**62


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "single_ops: looks at plans of ops that are no strands")
    config.addinivalue_line("markers", "strands: looks at plans of strands")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    ways = [pytest.param(NEVER, id="ops"), pytest.param(0, id="strands")]
    if metafunc.definition.get_closest_marker("single_ops"):
        ways = ways[:1]
    elif metafunc.definition.get_closest_marker("strands"):
        ways = ways[1:]
    metafunc.parametrize("strand_threshold", ways, indirect=True)


@pytest.fixture(autouse=True)
def strand_threshold(request: pytest.FixtureRequest) -> Iterator[None]:
    """Let strands, and cells that nobody declared, begin at once, or never; maps make batches."""
    before = _core.set_strand_threshold(request.param)
    warm, Mapped.warm = Mapped.warm, request.param
    learning, Worth.learning = Worth.learning, NEVER
    yield
    Worth.learning = learning
    _core.set_strand_threshold(before)
    Mapped.warm = warm
