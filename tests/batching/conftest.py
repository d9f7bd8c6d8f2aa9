"""What is pending is recorded op by op, in strands and cells, or by routines.

Nearly all tests hold for all three.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator

import pytest

from weft import _core
from weft.batching.replaying import Mapped
from weft.batching.worth import Engine, Worth

NEVER = 2**62
AT_ONCE = 0


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "single_ops: looks at plans of ops that are no strands")
    config.addinivalue_line("markers", "strands: looks at plans of strands")
    config.addinivalue_line("markers", "python: looks at how Python's own calls are recorded")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    ways = [
        pytest.param((NEVER, NEVER), id="ops"),
        pytest.param((AT_ONCE, NEVER), id="strands"),
        pytest.param((NEVER, AT_ONCE), id="tasks"),
    ]
    marked = metafunc.definition.get_closest_marker
    if marked("single_ops"):
        ways = ways[:1]
    elif marked("strands"):
        ways = ways[1:2]
    elif marked("python") or "map(" not in inspect.getsource(metafunc.module):
        ways = ways[:2]
    metafunc.parametrize("strand_threshold", ways, indirect=True)


@pytest.fixture(autouse=True)
def strand_threshold(request: pytest.FixtureRequest) -> Iterator[None]:
    """Let strands, cells that nobody declared and routines begin at once, or never.

    Maps make batches.
    """
    strands, fibers = request.param
    before = _core.set_strand_threshold(strands)
    warm, Mapped.warm = Mapped.warm, strands
    learning, Worth.learning = Worth.learning, NEVER
    engine, (Engine.fibers, Engine.tasks) = (Engine.fibers, Engine.tasks), (fibers, NEVER)
    yield
    Engine.fibers, Engine.tasks = engine
    Worth.learning = learning
    _core.set_strand_threshold(before)
    Mapped.warm = warm
