"""Modules that hold other modules or parameters."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from operator import index as as_index
from typing import Any, Self, cast, overload

from weft._core import Tensor
from weft.nn.module import Module, block, indented
from weft.nn.parameter import Parameter


def _position(length: int, position: Any, kind: str) -> int:
    """Check an index into a container and make it count from the front."""
    wanted = as_index(position)
    if not -length <= wanted < length:
        raise IndexError(f"index {wanted} is out of range for a {kind} of {length}.")
    return wanted % length


class _Numbered(Module):
    """Children that are named 0, 1, 2 ..."""

    def _items(self) -> list[Module]:
        return list(map(self.__dict__.__getitem__, self._module_names))

    def _replace(self, items: Iterable[Any]) -> None:
        new = list(items)
        for name in list(self._module_names):
            del self._modules[name]
        for i, item in enumerate(new):
            self.add_module(str(i), item)

    def __len__(self) -> int:
        return len(self._module_names)

    def __iter__(self) -> Iterator[Module]:
        return map(self.__dict__.__getitem__, self._module_names)

    def _name_at(self, position: Any) -> str:
        place = _position(len(self), position, type(self).__name__)
        return list(self._module_names)[place]

    def __setitem__(self, position: int, module: Module) -> None:
        setattr(self, self._name_at(position), module)

    def __delitem__(self, position: int | slice) -> None:
        items = self._items()
        if not isinstance(position, slice):
            position = _position(len(items), position, type(self).__name__)
        del items[position]
        self._replace(items)

    def append(self, module: Module) -> Any:
        """Add a module at the end."""
        self.add_module(str(len(self)), module)
        return self

    def extend(self, modules: Iterable[Module]) -> Any:
        """Add several modules at the end."""
        if not isinstance(cast("Any", modules), Iterable):
            raise TypeError(f"extend(): modules must be iterable, not a {type(modules).__name__}.")
        for module in list(modules):
            self.append(module)
        return self

    def insert(self, index: int, module: Module) -> Any:
        """Add a module before the given position."""
        items = self._items()
        if not -len(items) <= index <= len(items):
            raise IndexError(
                f"index {index} is out of range for a {type(self).__name__} of {len(items)}."
            )
        items.insert(index, module)
        self._replace(items)
        return self

    def _insert_child(self, name: str, module: Module) -> None:
        if name.isdigit():
            self.insert(int(name), module)
        else:
            super()._insert_child(name, module)

    def _remove_child(self, name: str) -> None:
        del self[list(self._module_names).index(name)]

    def pop(self, key: int | slice) -> Any:
        """Take a module out and return it."""
        taken = self[key]
        del self[key]
        return taken

    def __getitem__(self, position: Any) -> Any:
        if isinstance(position, slice):
            return type(self)(self._items()[position])  # type: ignore[call-arg]
        return self.__dict__[self._name_at(position)]


class Sequential(_Numbered):
    """Run modules one after the other, each on the result of the one before.

    Args:
        args: the modules, or one dictionary of modules by name.

    Example:
        >>> import weft
        >>> model = weft.nn.Sequential(weft.nn.Linear(4, 3), weft.nn.ReLU())
        >>> model(weft.zeros(2, 4)).shape
        weft.Size([2, 3])
    """

    def __init__(self, *args: Any) -> None:
        super().__init__()
        if len(args) == 1 and isinstance(args[0], Mapping):
            for name, module in cast("Mapping[str, Module]", args[0]).items():
                self.add_module(name, module)
        else:
            for i, module in enumerate(args):
                self.add_module(str(i), module)

    def forward(self, input: Any) -> Any:
        """Pass `input` through all modules."""
        state = self.__dict__
        for name in self._module_names:
            input = state[name](input)
        return input

    def __getitem__(self, position: Any) -> Any:
        if isinstance(position, slice):
            names = list(self._module_names)[position]
            return type(self)({name: self.__dict__[name] for name in names})
        return super().__getitem__(position)

    def __add__(self, other: Sequential) -> Sequential:
        return Sequential(*self, *other)

    def __iadd__(self, other: Sequential) -> Self:
        return self.extend(other)

    def __mul__(self, times: int) -> Sequential:
        return Sequential(*(self._items() * times))

    __rmul__ = __mul__


class ModuleList(_Numbered):
    """Hold modules in a list, so that their parameters are found.

    Args:
        modules: what to begin with.

    Example:
        >>> from weft import nn
        >>> layers = nn.ModuleList(nn.Linear(4, 4) for _ in range(3))
        >>> len(layers), len(list(layers.parameters()))
        (3, 6)
    """

    def __init__(self, modules: Iterable[Module] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self.extend(modules)

    def __iadd__(self, modules: Iterable[Module]) -> Self:
        return self.extend(modules)

    def __add__(self, other: Iterable[Module]) -> ModuleList:
        return ModuleList(chain(self, other))

    def __repr__(self) -> str:
        # Runs of equal modules are written once, with their count.
        texts = [repr(item) for item in self]
        lines: list[str] = []
        start = 0
        for end in range(1, len(texts) + 1):
            if end < len(texts) and texts[end] == texts[start]:
                continue
            text = indented(texts[start])
            if end - start > 1:
                lines.append(f"({start}-{end - 1}): {end - start} x {text}")
            else:
                lines.append(f"({start}): {text}")
            start = end
        return block(self._get_name(), lines)


class ModuleDict(Module):
    """Hold modules by name, so that their parameters are found.

    Args:
        modules: what to begin with: a mapping, or pairs of a name and a module.

    Example:
        >>> from weft import nn
        >>> parts = nn.ModuleDict({"encoder": nn.Linear(4, 2), "act": nn.ReLU()})
        >>> parts["encoder"]
        Linear(in_features=4, out_features=2, bias=True)
    """

    def __init__(self, modules: Any = None) -> None:
        super().__init__()
        if modules is not None:
            self.update(modules)

    def __getitem__(self, key: str) -> Module:
        return cast("Module", self._modules[key])

    def __setitem__(self, key: str, module: Module) -> None:
        self.add_module(key, module)

    def __delitem__(self, key: str) -> None:
        del self._modules[key]

    def __len__(self) -> int:
        return len(self._module_names)

    def __iter__(self) -> Iterator[str]:
        return iter(self._module_names)

    def __contains__(self, key: object) -> bool:
        return key in self._module_names

    def clear(self) -> None:
        """Take all modules out.

        Example:
            >>> from weft import nn
            >>> parts = nn.ModuleDict({"act": nn.ReLU()})
            >>> parts.clear()
            >>> len(parts)
            0
        """
        self._modules.clear()

    def pop(self, key: str) -> Module:
        """Take a module out and return it.

        Example:
            >>> from weft import nn
            >>> nn.ModuleDict({"act": nn.ReLU()}).pop("act")
            ReLU()
        """
        return cast("Module", self._modules.pop(key))

    def keys(self) -> Any:
        """Return the names.

        Example:
            >>> from weft import nn
            >>> list(nn.ModuleDict({"act": nn.ReLU()}).keys())
            ['act']
        """
        return self._modules.keys()

    def items(self) -> Any:
        """Return pairs of a name and a module.

        Example:
            >>> from weft import nn
            >>> list(nn.ModuleDict({"act": nn.ReLU()}).items())
            [('act', ReLU())]
        """
        return self._modules.items()

    def values(self) -> Any:
        """Return the modules.

        Example:
            >>> from weft import nn
            >>> list(nn.ModuleDict({"act": nn.ReLU()}).values())
            [ReLU()]
        """
        return self._modules.values()

    def update(self, modules: Any) -> None:
        """Add modules from a mapping or from pairs of a name and a module.

        Example:
            >>> from weft import nn
            >>> parts = nn.ModuleDict({"act": nn.ReLU()})
            >>> parts.update({"act": nn.Tanh()})
            >>> parts["act"]
            Tanh()
        """
        pairs = modules.items() if hasattr(modules, "items") else modules
        for name, module in pairs:
            self[name] = module


def _describe(value: Any, type_name: str = "") -> str:
    if not isinstance(value, Tensor):
        return f"Object of type: {type(value).__name__}"
    kind = "Parameter" if isinstance(value, Parameter) else "Tensor"
    size = "x".join(str(length) for length in value.shape)
    return f"{kind} containing: [{type_name or value.dtype} of size {size}]"


def _as_parameter(value: Any) -> Any:
    """Wrap plain tensors, as an assignment to a list or dictionary of parameters does."""
    return Parameter(value) if isinstance(value, Tensor) and type(value) is Tensor else value


class ParameterList(Module):
    """Hold parameters in a list, so that they are found.

    Args:
        values: what to begin with; tensors become parameters.

    Example:
        >>> import weft
        >>> from weft import nn
        >>> weights = nn.ParameterList([weft.zeros(2), weft.zeros(3)])
        >>> [name for name, _ in weights.named_parameters()]
        ['0', '1']
    """

    def __init__(self, values: Iterable[Any] | None = None) -> None:
        super().__init__()
        self._size = 0
        if values is not None:
            self.extend(values)

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[Any]:
        return (getattr(self, str(i)) for i in range(self._size))

    @overload
    def __getitem__(self, index: int) -> Any: ...
    @overload
    def __getitem__(self, index: slice) -> ParameterList: ...
    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            chosen = range(self._size)[index]
            return ParameterList(getattr(self, str(i)) for i in chosen)
        return getattr(self, str(_position(self._size, index, "ParameterList")))

    def __setitem__(self, index: int, value: Any) -> None:
        setattr(self, str(_position(self._size, index, "ParameterList")), _as_parameter(value))

    def append(self, value: Any) -> Self:
        """Add a parameter at the end.

        Example:
            >>> import weft
            >>> from weft import nn
            >>> len(nn.ParameterList().append(weft.zeros(2)))
            1
        """
        setattr(self, str(self._size), _as_parameter(value))
        self._size += 1
        return self

    def extend(self, values: Iterable[Any]) -> Self:
        """Add several parameters at the end.

        Example:
            >>> import weft
            >>> from weft import nn
            >>> len(nn.ParameterList().extend([weft.zeros(2), weft.zeros(3)]))
            2
        """
        if not isinstance(cast("Any", values), Iterable) or isinstance(values, Tensor):
            raise TypeError(
                f"extend(): values must be a list of tensors, not a {type(values).__name__}."
            )
        for value in list(values):
            self.append(value)
        return self

    def __iadd__(self, values: Iterable[Any]) -> Self:
        return self.extend(values)

    def extra_repr(self) -> str:
        """List what is held."""
        return "\n".join(f"  ({i}): {_describe(getattr(self, str(i)))}" for i in range(self._size))


class ParameterDict(Module):
    """Hold parameters by name, so that they are found.

    Args:
        parameters: what to begin with: a mapping, or pairs of a name and a tensor.

    Example:
        >>> import weft
        >>> from weft import nn
        >>> weights = nn.ParameterDict({"scale": weft.ones(1)})
        >>> weights["scale"].requires_grad
        True
    """

    def __init__(self, parameters: Any = None) -> None:
        super().__init__()
        self._keys: dict[str, None] = {}
        if parameters is not None:
            self.update(parameters)

    def __getitem__(self, key: str) -> Any:
        if key not in self._keys:
            raise KeyError(key)
        return getattr(self, key)

    def __setitem__(self, key: str, value: Any) -> None:
        if key not in self._keys:
            self._check_new_name(key, "parameter", self._parameter_names)
        self._keys[key] = None
        setattr(self, key, _as_parameter(value))

    def __delitem__(self, key: str) -> None:
        del self._keys[key]
        delattr(self, key)

    def __len__(self) -> int:
        return len(self._keys)

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __contains__(self, key: object) -> bool:
        return key in self._keys

    def keys(self) -> Iterable[str]:
        """Return the names.

        Example:
            >>> import weft
            >>> from weft import nn
            >>> list(nn.ParameterDict({"scale": weft.ones(1)}).keys())
            ['scale']
        """
        return self._keys.keys()

    def values(self) -> Iterable[Any]:
        """Return the parameters.

        Example:
            >>> import weft
            >>> from weft import nn
            >>> [value.shape for value in nn.ParameterDict({"scale": weft.ones(1)}).values()]
            [weft.Size([1])]
        """
        return [getattr(self, key) for key in self._keys]

    def items(self) -> Iterable[tuple[str, Any]]:
        """Return pairs of a name and a parameter.

        Example:
            >>> import weft
            >>> from weft import nn
            >>> [name for name, value in nn.ParameterDict({"scale": weft.ones(1)}).items()]
            ['scale']
        """
        return [(key, getattr(self, key)) for key in self._keys]

    def get(self, key: str, default: Any = None) -> Any:
        """Return the parameter of that name, or `default`.

        Example:
            >>> import weft
            >>> from weft import nn
            >>> nn.ParameterDict({"scale": weft.ones(1)}).get("shift", 0)
            0
        """
        return self[key] if key in self._keys else default

    def pop(self, key: str) -> Any:
        """Take a parameter out and return it.

        Example:
            >>> import weft
            >>> from weft import nn
            >>> nn.ParameterDict({"scale": weft.ones(1)}).pop("scale").shape
            weft.Size([1])
        """
        value = self[key]
        del self[key]
        return value

    def update(self, parameters: Any) -> None:
        """Add parameters from a mapping or from pairs of a name and a tensor.

        Those of a plain mapping are added in the order of their names.

        Example:
            >>> import weft
            >>> from weft import nn
            >>> weights = nn.ParameterDict()
            >>> weights.update({"scale": weft.ones(1)})
            >>> len(weights)
            1
        """
        pairs = parameters.items() if hasattr(parameters, "items") else parameters
        if isinstance(parameters, Mapping) and not isinstance(parameters, OrderedDict):
            pairs = sorted(cast("Mapping[str, Any]", parameters).items())
        for key, value in pairs:
            self[key] = value

    def extra_repr(self) -> str:
        """List what is held."""
        # PyTorch writes the type here and the dtype in a ParameterList.
        return "\n".join(
            f"  ({key}): {_describe(value, value.type() if isinstance(value, Tensor) else '')}"
            for key, value in self.items()
        )
