"""Put parts into a model and take them out, so that the optimizers that train it follow."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

from weft import _core, _following
from weft._core import Tensor

if TYPE_CHECKING:
    from weft.nn.module import Module


def change(
    model: Module,
    path: str,
    act: Callable[[], None],
    *,
    old: Any = None,
    new: Any = None,
    like: Any = None,
) -> None:
    """Change a model and let optimizers follow; if that cannot be decided, change nothing.

    Args:
        model: the model.
        path: the dotted path at which it changes.
        act: changes it.
        old: the module or parameter that goes.
        new: the one that comes.
        like: whose groups the new parameters join; those of the old one if there is none.

    Raises:
        ValueError: if a module would be a part of itself, or groups cannot be chosen.
    """
    around = model.get_submodule(path.rpartition(".")[0])
    if not isinstance(new, Tensor | None) and any(part is around for part in new.modules()):
        raise ValueError(f"{type(around).__name__} cannot be a part of itself, at {path!r}.")
    before = _parameters(model)
    known = {id(param) for param in before.values()}
    alike = _parameters(old if like is None else like)
    coming = {
        _joined(path, name): param
        for name, param in _parameters(new).items()
        if id(param) not in known
    }
    joining = _following.homes(
        coming,
        {_joined(path, name): param for name, param in alike.items()},
        alike.values() or _around(model, path),
    )
    act()
    _core.bump_epoch()
    _following.exchange(before, _parameters(model), joining, _unused(old))


def _joined(path: str, name: str) -> str:
    return f"{path}.{name}" if name else path


def _parameters(part: Any) -> dict[str, Tensor]:
    """Return the parameters of a module, or a parameter itself under no name."""
    if part is None:
        return {}
    return {"": part} if isinstance(part, Tensor) else dict(part.named_parameters())


def _around(model: Module, path: str) -> list[Tensor]:
    """Return the parameters of the smallest part around a path that has any."""
    while path:
        path = path.rpartition(".")[0]
        found = list(model.get_submodule(path).parameters())
        if found:
            return cast("list[Tensor]", found)
    return []


def _unused(part: Any) -> list[Tensor]:
    """Return those parameters of a part that was taken out which no other module has."""
    params = _parameters(part)
    if not params:
        return []
    modules = [] if isinstance(part, Tensor) else list(part.modules())
    inside = set(map(id, modules))
    used: set[int] = set()
    for owner in gc.get_objects():
        if not issubclass(type(owner), _core.Forward) or id(owner) in inside:
            continue
        state = owner.__dict__
        for name in (*state.get("_parameter_names", ()), *state.get("_module_names", ())):
            member = state[name]
            if isinstance(member, Tensor):
                used.add(id(member))
            elif id(member) in inside:
                used.update(map(id, member.parameters()))
    return [param for param in params.values() if id(param) not in used]
