"""Settings of all tests: warnings are errors, hypothesis is repeatable, seeds are fixed."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

import weft

settings.register_profile(
    "repeatable",
    derandomize=True,
    deadline=None,
    database=None,
    print_blob=True,
    max_examples=60,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("repeatable")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--part", help="run every n-th test only: 1/2 and 2/2 are all", default="1/1")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    part, of = map(int, config.getoption("--part").split("/"))
    items[:] = items[part - 1 :: of]


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("filterwarnings", "error")


@pytest.fixture(autouse=True)
def fixed_seed() -> Iterator[None]:
    """Give every test the same random numbers, and leave gradients and the default dtype on."""
    weft.manual_seed(0)
    yield
    assert weft.is_grad_enabled(), "a test left gradients off"
    assert weft.get_default_dtype() == weft.float32, "a test left another default dtype"
