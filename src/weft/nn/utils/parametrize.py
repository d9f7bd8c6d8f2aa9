"""Parameters that are computed from others each time they are read.

The module's class is replaced by one of its own, in which the parameter's name is a property; the
tensors that it is computed from move into `module.parametrizations`.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Any, cast

from weft._core import Tensor
from weft._missing import explain_missing
from weft.autograd import no_grad
from weft.batching.mapping import held
from weft.nn.containers import ModuleDict, ModuleList
from weft.nn.module import Module
from weft.nn.parameter import Parameter

__all__ = [
    "ParametrizationList",
    "cached",
    "is_parametrized",
    "register_parametrization",
    "remove_parametrizations",
    "type_before_parametrizations",
]

# One dictionary for each open block of `cached`; the outermost has values by module and name.
_caches: list[dict[tuple[int, str], Tensor]] = []


@contextmanager
def cached() -> Generator[None, None, None]:
    """Compute each parametrized tensor once inside a block."""
    own: dict[tuple[int, str], Tensor] = {}
    _caches.append(own)
    try:
        with held(_caches.pop, lambda: _caches.append(own)):
            yield
    finally:
        _caches.pop()


class ParametrizationList(ModuleList):
    """The steps from the original tensors to one parameter.

    Args:
        modules: the steps; the first may take several tensors.
        original: the parameter or buffer as it is now.
        unsafe: accepted for PyTorch programs.
    """

    def __init__(self, modules: Sequence[Module], original: Tensor, unsafe: bool = False) -> None:
        super().__init__(modules)
        self.unsafe = unsafe
        given = self._inverted(original)
        self.is_tensor = isinstance(given, Tensor)
        if isinstance(given, Tensor):
            self._keep("original", given, original)
            self.ntensors = 1
        else:
            for i, each in enumerate(given):
                self._keep(f"original{i}", each, original)
            self.ntensors = len(given)

    def _keep(self, name: str, value: Tensor, original: Tensor) -> None:
        """Register a tensor as what the original was: a parameter or a buffer."""
        if not isinstance(original, Parameter):
            self.register_buffer(name, value)
        elif value is original:
            self.register_parameter(name, original)
        else:
            self.register_parameter(name, Parameter(value.detach(), original.requires_grad))

    def _inverted(self, value: Any) -> Any:
        """Go from a value back to what it is computed from, as far as steps know how."""
        with no_grad():
            for step in reversed(list(self)):
                inverse = getattr(step, "right_inverse", None)
                if inverse is not None:
                    value = inverse(value)
        return value

    def _originals(self) -> list[Tensor]:
        if self.is_tensor:
            return [getattr(self, "original")]  # noqa: B009 - there is no such attribute otherwise
        return [getattr(self, f"original{i}") for i in range(self.ntensors)]

    def right_inverse(self, value: Tensor) -> None:
        """Set the originals so that the parameter becomes `value`."""
        given = self._inverted(value)
        with no_grad():
            for own, each in zip(
                self._originals(), [given] if self.is_tensor else given, strict=True
            ):
                own.copy_(each)

    def forward(self) -> Tensor:
        """Compute the parameter."""
        first, *others = list(self)
        value = first(*self._originals())
        for step in others:
            value = step(value)
        return value


def _property(name: str) -> property:
    def read(self: Any) -> Tensor:
        if not _caches:
            return self.parametrizations[name]()
        values, key = _caches[0], (id(self), name)
        if key not in values:
            values[key] = self.parametrizations[name]()
        return values[key]

    def write(self: Any, value: Tensor) -> None:
        self.parametrizations[name].right_inverse(value)

    return property(read, write)


def register_parametrization(
    module: Module, tensor_name: str, parametrization: Module, *, unsafe: bool = False
) -> Module:
    """Compute a parameter or buffer from the one that is there, each time it is read.

    Args:
        module: whose parameter.
        tensor_name: its name.
        parametrization: a module from the original tensor to the one that is read. With a method
            `right_inverse`, the parameter can also be assigned.
        unsafe: whether shape or dtype may change.

    Returns:
        The module.

    Example:
        >>> import weft
        >>> from weft.nn.utils import parametrize
        >>> class Symmetric(weft.nn.Module):
        ...     def forward(self, x):
        ...         return x.triu() + x.triu(1).mT
        >>> layer = weft.nn.Linear(2, 2)
        >>> layer = parametrize.register_parametrization(layer, "weight", Symmetric())
        >>> bool((layer.weight == layer.weight.T).all())
        True
    """
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        steps = cast("Any", module).parametrizations[tensor_name]
        steps.append(parametrization)
        return module
    original = module.__dict__.get(tensor_name)
    if not isinstance(original, Tensor):
        raise ValueError(  # noqa: TRY004 - PyTorch's
            f"register_parametrization(): {type(module).__name__} has no parameter or buffer "
            f"{tensor_name!r}."
        )
    steps = ParametrizationList([parametrization], original, unsafe)
    with no_grad():
        made = steps()
    if not unsafe and (made.shape != original.shape or made.dtype is not original.dtype):
        raise ValueError(
            f"register_parametrization(): {tensor_name} would change from {original.dtype} of "
            f"shape {tuple(original.shape)} to {made.dtype} of shape {tuple(made.shape)}; "
            "unsafe=True allows it."
        )
    delattr(module, tensor_name)
    kind = type(module)
    if not is_parametrized(module):
        kind = type(f"Parametrized{kind.__name__}", (kind,), {"__module__": kind.__module__})
        module.__class__ = kind
        module.parametrizations = ModuleDict()
    setattr(kind, tensor_name, _property(tensor_name))
    cast("Any", module).parametrizations[tensor_name] = steps
    return module


def is_parametrized(module: Module, tensor_name: str | None = None) -> bool:
    """Tell whether a module has parametrized tensors, or whether this one is."""
    found = module.__dict__.get("parametrizations")
    if not isinstance(found, ModuleDict):
        return False
    return len(found) > 0 if tensor_name is None else tensor_name in found


def remove_parametrizations(
    module: Module, tensor_name: str, leave_parametrized: bool = True
) -> Module:
    """Make a parametrized tensor an ordinary one again.

    Args:
        module: whose tensor.
        tensor_name: its name.
        leave_parametrized: whether it keeps the computed values, or gets the original ones.
    """
    if not is_parametrized(module, tensor_name):
        raise ValueError(f"remove_parametrizations(): {tensor_name} is not parametrized.")
    own = cast("Any", module)
    steps = own.parametrizations[tensor_name]
    if not leave_parametrized and not steps.is_tensor:
        raise ValueError(
            "remove_parametrizations(): leave_parametrized=False needs a single original tensor."
        )
    original = steps._originals()[0]
    values = (steps() if leave_parametrized else original).detach()
    delattr(type(module), tensor_name)
    del own.parametrizations[tensor_name]
    if isinstance(original, Parameter):
        module.register_parameter(tensor_name, Parameter(values, original.requires_grad))
    else:
        module.register_buffer(tensor_name, values)
    if not own.parametrizations:
        del own.parametrizations
        module.__class__ = type_before_parametrizations(module)
    return module


def type_before_parametrizations(module: Module) -> type:
    """Return the class that a module had before its tensors were parametrized."""
    kind = type(module)
    return kind.__bases__[0] if kind.__name__.startswith("Parametrized") else kind


explain_missing(__name__)
