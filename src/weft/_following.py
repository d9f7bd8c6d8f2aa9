"""How optimizers follow a model whose parameters grow, come and go.

A model does not know who trains it. So optimizers sign up here, and modules report here what became
of their parameters.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias
from weakref import WeakSet

from weft._core import Tensor

Group: TypeAlias = dict[str, Any]


@dataclass(frozen=True)
class Growth:
    """Where the elements of a tensor stand after it has grown: at the front of every axis.

    Attributes:
        before: the shape so far.
        after: the shape from now on.
        blocks: of how many blocks each axis is made, all of which grow. The rows of an LSTM's
            weight are four: one a gate.
    """

    before: tuple[int, ...]
    after: tuple[int, ...]
    blocks: tuple[int, ...]

    def write(self, old: Tensor, grown: Tensor) -> Tensor:
        """Write the old elements into a contiguous tensor of the new shape, and return that."""
        blocks = self.in_blocks(self.before)
        corner = tuple(slice(size) for size in blocks)
        grown.view(self.in_blocks(self.after))[corner] = old.reshape(blocks)
        return grown

    def in_blocks(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """Write every axis of a shape as two: its blocks, and what is in each."""
        pairs = zip(shape, self.blocks, strict=True)
        return tuple(size for length, count in pairs for size in (count, length // count))


class Follower(Protocol):
    """What an optimizer is to a model that changes."""

    param_groups: list[Group]
    state: dict[Tensor, dict[str, Any]]

    def grown_state(self, param: Tensor, growth: Growth) -> dict[str, Any]:
        """Return the state of a parameter as it is after growth."""
        ...

    def parameters_changed(self) -> None:
        """Hear that parameters have grown, come or gone."""
        ...


_followers: WeakSet[Any] = WeakSet()


def sign_up(follower: Follower) -> None:
    """Let an optimizer hear of changes for as long as it lives."""
    _followers.add(follower)


def followers() -> list[Follower]:
    """Return the living optimizers."""
    return list(_followers)


def grow(growths: Iterable[tuple[Tensor, Tensor, Growth]]) -> None:
    """Give parameters larger values, with their gradients and all that optimizers know of them.

    Args:
        growths: of each parameter: itself, its new values and where the old ones are in them.
    """
    growths = list(growths)
    states = [
        (follower, param, follower.grown_state(param, growth))
        for follower in followers()
        for param, _, growth in growths
        if param in follower.state
    ]
    for param, values, growth in growths:
        gradient, param.grad = param.grad, None
        param.data = values
        if gradient is not None:
            param.grad = growth.write(gradient.detach(), values.new_zeros(values.shape))
    for follower, param, state in states:
        follower.state[param] = state
    ids = {id(param) for param, _, _ in growths}
    for follower in followers():
        if any(id(param) in ids for group in follower.param_groups for param in group["params"]):
            follower.parameters_changed()


def homes(
    new: Mapping[str, Tensor], like: Mapping[str, Tensor], around: Iterable[Tensor]
) -> list[tuple[Group, Tensor]]:
    """Decide which groups new parameters join.

    Args:
        new: the parameters by name.
        like: others, whose groups those of the same name join.
        around: where the rest goes: into the one group that these are in.

    Raises:
        ValueError: if those around are in several groups.
    """
    groups: dict[int, list[Group]] = {}
    for follower in followers():
        for group in follower.param_groups:
            for param in group["params"]:
                groups.setdefault(id(param), []).append(group)
    near = {id(group): group for param in around for group in groups.get(id(param), [])}
    found: list[tuple[Group, Tensor]] = []
    for name, param in new.items():
        if id(param) in groups:
            continue
        chosen = groups.get(id(like[name]), []) if name in like else list(near.values())
        if name not in like and len(chosen) > 1:
            raise ValueError(
                f"The new parameter {name} could join any of {len(chosen)} groups of optimizers. "
                "Say with like= next to which module's parameters it belongs; or put the module "
                "in its place with set_submodule() and call add_param_group()."
            )
        found += [(group, param) for group in chosen]
    return found


def exchange(
    before: Mapping[str, Tensor],
    after: Mapping[str, Tensor],
    joining: Iterable[tuple[Group, Tensor]],
    leaving: Iterable[Tensor],
) -> None:
    """Let new parameters join groups, in the model's order, and old ones leave.

    Args:
        before: the parameters that the model had, by name.
        after: those that it has.
        joining: new parameters and their groups.
        leaving: parameters that nobody needs any more.
    """
    gone = {id(param) for param in leaving}
    old = {id(param) for param in before.values()}
    ranks = {id(param): float(rank) for rank, param in enumerate(after.values())}
    first = min((rank for key, rank in ranks.items() if key not in old), default=0.0)
    ranks |= {key: first - 0.5 for key in old if key not in ranks}
    touched: set[int] = set()
    for group, param in joining:
        places = [ranks.get(id(other)) for other in group["params"]]
        _insert(group, _place(places, ranks[id(param)]), param)
        touched.add(id(group))
    for follower in followers():
        for group in follower.param_groups:
            _rename(group, before, after)
            if any(id(param) in gone for param in group["params"]):
                _leave(group, gone)
                touched.add(id(group))
        for param in [param for param in follower.state if id(param) in gone]:
            del follower.state[param]
        if any(id(group) in touched for group in follower.param_groups):
            follower.parameters_changed()


def _place(ranks: list[float | None], rank: float) -> int:
    """Return where something of a rank belongs among others, some of which have none."""
    known = [(place, other) for place, other in enumerate(ranks) if other is not None]
    lower = [place + 1 for place, other in known if other < rank]
    return max(lower) if lower else min((place for place, _ in known), default=len(ranks))


def _insert(group: Group, place: int, param: Tensor) -> None:
    group["params"].insert(place, param)
    if "param_names" in group:
        group["param_names"].insert(place, "")


def _leave(group: Group, gone: set[int]) -> None:
    kept = [place for place, param in enumerate(group["params"]) if id(param) not in gone]
    for key in ("params", "param_names"):
        if key in group:
            group[key][:] = [group[key][place] for place in kept]


def _rename(group: Group, before: Mapping[str, Tensor], after: Mapping[str, Tensor]) -> None:
    """Write the names of a group that has names, as the model has them now."""
    names = group.get("param_names", [])
    was = {id(param): name for name, param in before.items()}
    now = {id(param): name for name, param in after.items()}
    pairs = list(zip(group["params"], names, strict=False))
    # The model may be a part of the one that gave the names.
    prefixes = [
        name.removesuffix(was[id(param)]) for param, name in pairs if name and id(param) in was
    ]
    for place, (param, _) in enumerate(pairs):
        if id(param) in now and prefixes:
            names[place] = prefixes[0] + now[id(param)]
