"""The line budget: what grows past it has to be thought over, not squeezed in."""

from pathlib import Path

ROOT = Path(__file__).parents[2]


def lines(path: Path) -> int:
    return len(path.read_text().splitlines())


def test_autograd_engine_stays_small() -> None:
    assert lines(ROOT / "cpp/weft/autograd/engine.cpp") < 300
