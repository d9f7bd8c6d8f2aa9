"""Seeds and states of random streams."""

from __future__ import annotations

import copyreg
from contextlib import contextmanager
from typing import TYPE_CHECKING

from weft._core import Generator, Tensor, default_generator
from weft._missing import explain_missing

if TYPE_CHECKING:
    import collections.abc

__all__ = [
    "Generator",
    "default_generator",
    "fork_rng",
    "get_rng_state",
    "initial_seed",
    "manual_seed",
    "seed",
    "set_rng_state",
]


def manual_seed(seed: int) -> Generator:
    """Seed the default generator and start its stream over.

    Args:
        seed: Any integer.

    Returns:
        The default generator.

    Example:
        >>> import weft
        >>> _ = weft.manual_seed(0)
        >>> a = weft.rand(2)
        >>> _ = weft.manual_seed(0)
        >>> bool((a == weft.rand(2)).all())
        True
    """
    return default_generator.manual_seed(seed)


def seed() -> int:
    """Seed the default generator from the operating system; return the seed.

    Example:
        >>> import weft
        >>> weft.seed() == weft.initial_seed()
        True
    """
    return default_generator.seed()


def initial_seed() -> int:
    """Return the seed of the default generator.

    Example:
        >>> import weft
        >>> _ = weft.manual_seed(7)
        >>> weft.initial_seed()
        7
    """
    return default_generator.initial_seed()


def get_rng_state() -> Tensor:
    """Return the state of the default generator, as a tensor of bytes.

    Example:
        >>> import weft
        >>> state = weft.get_rng_state()
        >>> x = weft.rand(2)
        >>> weft.set_rng_state(state)
        >>> weft.equal(weft.rand(2), x)
        True
    """
    return default_generator.get_state()


def set_rng_state(new_state: Tensor) -> None:
    """Bring the default generator back to a state.

    Args:
        new_state: What `get_rng_state` returned.

    Example:
        >>> import weft
        >>> state = weft.get_rng_state()
        >>> x = weft.rand(2)
        >>> weft.set_rng_state(state)
        >>> weft.equal(weft.rand(2), x)
        True
    """
    default_generator.set_state(new_state)


@contextmanager
def fork_rng(enabled: bool = True) -> collections.abc.Generator[None, None, None]:
    """Give the default generator its old state back after a block.

    Args:
        enabled: False makes it do nothing.

    Example:
        >>> import weft
        >>> _ = weft.manual_seed(0)
        >>> with weft.random.fork_rng():
        ...     x = weft.rand(2)
        >>> weft.equal(weft.rand(2), x)
        True
    """
    state = default_generator.get_state()
    try:
        yield
    finally:
        if enabled:
            default_generator.set_state(state)


def _continued(state: Tensor) -> Generator:
    return Generator().set_state(state)


def _reduce(generator: Generator) -> tuple[object, tuple[Tensor]]:
    return _continued, (generator.get_state(),)


# A copy goes on where the generator is: datasets take theirs along to worker processes.
copyreg.pickle(Generator, _reduce)  # type: ignore[arg-type] # pyright: ignore[reportArgumentType]


explain_missing(__name__)
