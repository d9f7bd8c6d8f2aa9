"""Module: the base class of everything that owns parameters.

Parameters, buffers and child modules live in the instance's own dictionary, like every other
attribute, so reading one costs no more than reading any attribute. Beside them the module keeps
only their names, one table a kind. `_parameters`, `_buffers` and `_modules` are views over both.
"""

from __future__ import annotations

import inspect
import itertools
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping
from typing import TYPE_CHECKING, Any, NamedTuple, ParamSpec, Protocol, Self, TypeVar, cast

from weft import _core
from weft._core import Tensor
from weft.autograd import no_grad
from weft.nn.changing import change
from weft.nn.hooks import ForwardHook, HookFunctions, Hooks, RemovableHandle, call_with_hooks
from weft.nn.locating import name_module
from weft.nn.parameter import Buffer, Parameter

_core.set_error_namer(name_module)
_EXTRA_STATE = "_extra_state"
_Forward = TypeVar("_Forward", bound=Callable[..., Any])
_Given = ParamSpec("_Given")
_Result_co = TypeVar("_Result_co", covariant=True)


class _HasForward(Protocol[_Given, _Result_co]):
    """What type checkers look at where a module is called."""

    def forward(self, *args: _Given.args, **kwargs: _Given.kwargs) -> _Result_co: ...


def one_op(
    op: Callable[..., Any], *arguments: str | None, unless: tuple[str, ...] = ()
) -> Callable[[_Forward], _Forward]:
    """Let a `forward` that calls one op be called without entering Python.

    Args:
        op: the op.
        arguments: the attributes that it is called with; None stands for the input.
        unless: attributes that must be None or False for that.
    """

    def decorate(forward: _Forward) -> _Forward:
        short: Any = _core.OpForward(forward, "forward", (op, unless, arguments))
        return short

    return decorate


class IncompatibleKeys(NamedTuple):
    """What `load_state_dict` found on one side only."""

    missing_keys: list[str]
    unexpected_keys: list[str]

    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return (
            f"_IncompatibleKeys(missing_keys={self.missing_keys}, "
            f"unexpected_keys={self.unexpected_keys})"
        )


_versions = itertools.count(1)  # none comes twice, also where attributes are put back


def note_change(state: dict[str, Any]) -> None:
    """Say that a module's dictionary was changed: cells look at the module again."""
    state["_version"] = next(_versions)
    _core.bump_epoch()


class _Registered(MutableMapping[str, Any]):
    """One kind of a module's registered attributes, as a live dictionary."""

    __slots__ = ("_names", "_values")

    def __init__(self, values: dict[str, Any], names: dict[str, None]) -> None:
        self._values = values
        self._names = names

    def __getitem__(self, name: str) -> Any:
        if name not in self._names:
            raise KeyError(name)
        return self._values[name]

    def __setitem__(self, name: str, value: Any) -> None:
        note_change(self._values)
        self._names[name] = None
        self._values[name] = value

    def __delitem__(self, name: str) -> None:
        note_change(self._values)
        del self._names[name]
        del self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __repr__(self) -> str:
        return repr(dict(self))


class _ForwardSignature:
    """What `inspect.signature` finds of a module; of the class, it looks at `__init__`."""

    def __get__(self, module: Module | None, kind: type[Module]) -> inspect.Signature:
        if module is None:
            raise AttributeError("__signature__")
        return inspect.signature(module.forward)


class Module(_core.Forward):
    """Base class of models and their parts.

    A subclass makes its parts in `__init__` (after `super().__init__()`) and defines `forward`.
    Tensors wrapped as Parameter and other modules register themselves when they are assigned.

    Example:
        >>> import weft
        >>> class Double(weft.nn.Module):
        ...     def forward(self, input):
        ...         return input * 2
        >>> Double()(weft.tensor([1.0, 2.0]))
        tensor([2., 4.])
    """

    training: bool
    _hooks: Hooks | None = None
    __signature__ = _ForwardSignature()
    # Overwritten by subclasses; a Callable, so that any signature is a valid override.
    forward: Callable[..., Any]

    if TYPE_CHECKING:
        # A call takes what `forward` takes, and gives what it gives.
        def __call__(  # noqa: D102
            self: _HasForward[_Given, _Result_co], *args: _Given.args, **kwargs: _Given.kwargs
        ) -> _Result_co: ...

    def __init__(self) -> None:
        self._take_attributes(
            {
                **self.__dict__,
                "training": True,
                "_parameter_names": {},
                "_buffer_names": {},
                "_transient_names": set(),
                "_module_names": {},
            }
        )

    def __setstate__(self, state: Any) -> None:
        """Take over the attributes of a module that was copied or pickled."""
        has_slots = isinstance(state, tuple)
        attributes, slots = cast("list[dict[str, Any]]", state if has_slots else (state, {}))
        self._take_attributes(dict(attributes))
        for name, value in slots.items():
            object.__setattr__(self, name, value)
        note_change(self.__dict__)

    def _take_attributes(self, attributes: dict[str, Any]) -> None:
        # CPython reads attributes three times as fast from a dictionary of the instance's own as
        # from one whose keys it shares with other instances, which `__dict__` is at first.
        object.__setattr__(self, "__dict__", attributes)

    def _call_with_hooks(self, args: tuple[Any, ...], kwargs: dict[str, Any] | None) -> Any:
        return call_with_hooks(self, cast("Hooks", self._hooks), args, kwargs or {})

    # ---- attributes ----------------------------------------------------------------------------

    def __setattr__(self, name: str, value: Any) -> None:
        state = self.__dict__
        note_change(state)
        if isinstance(value, Parameter):
            self._claim(name, "_parameter_names", "parameters")
            state[name] = value
        elif isinstance(value, Module):
            self._claim(name, "_module_names", "modules")
            state[name] = value
        elif isinstance(value, Buffer):
            state.pop(name, None)
            self.register_buffer(name, value.data, value.persistent)
        else:
            names = state.get("_parameter_names")
            if names is not None and value is not None:
                if name in names:
                    raise TypeError(
                        f"{name} is a parameter of {type(self).__name__} and can only be set to a "
                        f"weft.nn.Parameter or None, not to a {type(value).__name__}."
                    )
                if name in state["_module_names"]:
                    raise TypeError(
                        f"{name} is a child module of {type(self).__name__} and can only be set to "
                        f"a weft.nn.Module or None, not to a {type(value).__name__}."
                    )
                if name in state["_buffer_names"] and not isinstance(value, Tensor):
                    raise TypeError(
                        f"{name} is a buffer of {type(self).__name__} and can only be set to a "
                        f"tensor or None, not to a {type(value).__name__}."
                    )
            object.__setattr__(self, name, value)

    def _claim(self, name: str, table: str, what: str) -> None:
        """Make `name` belong to one kind of registered attributes only."""
        state = self.__dict__
        names = state.get(table)
        if names is None:
            raise AttributeError(
                f"{type(self).__name__} must call super().__init__() before {what} are assigned."
            )
        if name not in names:
            for other in ("_parameter_names", "_buffer_names", "_module_names"):
                state[other].pop(name, None)
            state["_transient_names"].discard(name)
            names[name] = None

    def __delattr__(self, name: str) -> None:
        object.__delattr__(self, name)
        note_change(self.__dict__)
        for table in ("_parameter_names", "_buffer_names", "_module_names"):
            self.__dict__[table].pop(name, None)
        self._transient_names.discard(name)

    def __dir__(self) -> list[str]:
        return [name for name in super().__dir__() if name and not name[0].isdigit()]

    _parameter_names: dict[str, None]
    _buffer_names: dict[str, None]
    _transient_names: set[str]  # buffers that stay out of the state_dict
    _module_names: dict[str, None]

    @property
    def _parameters(self) -> MutableMapping[str, Parameter | None]:
        return _Registered(self.__dict__, self._parameter_names)

    @property
    def _buffers(self) -> MutableMapping[str, Tensor | None]:
        return _Registered(self.__dict__, self._buffer_names)

    @property
    def _modules(self) -> MutableMapping[str, Module | None]:
        return _Registered(self.__dict__, self._module_names)

    def _check_new_name(self, name: Any, what: str, names: dict[str, None]) -> None:
        if not isinstance(name, str):
            raise TypeError(f"The name of a {what} must be a string, not a {type(name).__name__}.")
        if "." in name or not name:
            raise KeyError(f"The name of a {what} may not be empty or hold a dot: {name!r}.")
        if hasattr(self, name) and name not in names:
            raise KeyError(f"{type(self).__name__} already has an attribute {name!r}.")

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Add a parameter under a name; None holds the place of one that is not there.

        Example:
            >>> import weft
            >>> from weft import nn
            >>> model = nn.Module()
            >>> model.register_parameter("scale", nn.Parameter(weft.ones(1)))
            >>> [name for name, _ in model.named_parameters()]
            ['scale']
        """
        if "_parameter_names" not in self.__dict__:
            raise AttributeError(
                f"{type(self).__name__} must call super().__init__() before parameters are "
                "assigned."
            )
        self._check_new_name(name, "parameter", self._parameter_names)
        if param is not None and not isinstance(cast("Any", param), Parameter):
            raise TypeError(
                f"register_parameter(): {name} must be a weft.nn.Parameter or None, not a "
                f"{type(param).__name__}."
            )
        if param is not None and param.grad_fn is not None:
            raise ValueError(
                f"register_parameter(): {name} is the result of an operation; a parameter must be "
                "a leaf. Compute the value in forward instead."
            )
        note_change(self.__dict__)
        self._parameter_names[name] = None
        self.__dict__[name] = param

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Add a tensor that belongs to the state but is no parameter.

        Args:
            name: the attribute's name.
            tensor: the values, or None to hold the place.
            persistent: whether `state_dict` has it.

        Example:
            >>> import weft
            >>> from weft import nn
            >>> model = nn.Module()
            >>> model.register_buffer("mean", weft.zeros(2))
            >>> model.mean, list(model.state_dict())
            (tensor([0., 0.]), ['mean'])
        """
        if "_buffer_names" not in self.__dict__:
            raise AttributeError(
                f"{type(self).__name__} must call super().__init__() before buffers are assigned."
            )
        self._check_new_name(name, "buffer", self._buffer_names)
        if tensor is not None and not isinstance(cast("Any", tensor), Tensor):
            raise TypeError(
                f"register_buffer(): {name} must be a tensor or None, not a "
                f"{type(tensor).__name__}."
            )
        note_change(self.__dict__)
        self._buffer_names[name] = None
        self.__dict__[name] = tensor
        if persistent:
            self._transient_names.discard(name)
        else:
            self._transient_names.add(name)

    def add_module(self, name: str, module: Module | None) -> None:
        """Add a child module under a name; None holds the place of one that is not there.

        Example:
            >>> from weft import nn
            >>> model = nn.Module()
            >>> model.add_module("layer", nn.Linear(2, 3))
            >>> model.layer
            Linear(in_features=2, out_features=3, bias=True)
        """
        if module is not None and not isinstance(cast("Any", module), Module):
            raise TypeError(
                f"add_module(): {name} must be a weft.nn.Module or None, not a "
                f"{type(module).__name__}."
            )
        self._check_new_name(name, "module", self._module_names)
        note_change(self.__dict__)
        self._module_names[name] = None
        self.__dict__[name] = module

    def register_module(self, name: str, module: Module | None) -> None:
        """Do what `add_module` does.

        Example:
            >>> from weft import nn
            >>> model = nn.Module()
            >>> model.register_module("layer", nn.Linear(2, 3))
            >>> model.layer
            Linear(in_features=2, out_features=3, bias=True)
        """
        self.add_module(name, module)

    def get_submodule(self, target: str) -> Module:
        """Find a module below this one by its dotted path.

        Example:
            >>> from weft import nn
            >>> model = nn.Sequential(nn.Sequential(nn.Linear(2, 3)))
            >>> model.get_submodule("0.0")
            Linear(in_features=2, out_features=3, bias=True)
        """
        module: Any = self
        for name in target.split(".") if target else ():
            module = getattr(module, name, None)
            if not isinstance(module, Module):
                raise AttributeError(  # noqa: TRY004 (it is the path that is wrong)
                    f"{type(self).__name__} has no module at {target!r}."
                )
        return module

    def get_parameter(self, target: str) -> Parameter:
        """Find a parameter by its dotted path.

        Example:
            >>> from weft import nn
            >>> model = nn.Sequential(nn.Linear(2, 3), nn.ReLU())
            >>> model.get_parameter("0.bias").shape
            weft.Size([3])
        """
        path, _, name = target.rpartition(".")
        found = getattr(self.get_submodule(path), name, None)
        if not isinstance(found, Parameter):
            raise AttributeError(  # noqa: TRY004 (it is the path that is wrong)
                f"{type(self).__name__} has no parameter at {target!r}."
            )
        return found

    def get_buffer(self, target: str) -> Tensor:
        """Find a buffer by its dotted path.

        Example:
            >>> from weft import nn
            >>> nn.Sequential(nn.BatchNorm1d(2)).get_buffer("0.running_mean")
            tensor([0., 0.])
        """
        path, _, name = target.rpartition(".")
        module = self.get_submodule(path)
        if name not in module._buffer_names:
            raise AttributeError(f"{type(self).__name__} has no buffer at {target!r}.")
        return module.__dict__[name]

    def set_submodule(self, target: str, module: Module) -> None:
        """Replace the module at a dotted path.

        Example:
            >>> from weft import nn
            >>> model = nn.Sequential(nn.Linear(2, 3), nn.ReLU())
            >>> model.set_submodule("1", nn.Tanh())
            >>> model[1]
            Tanh()
        """
        path, _, name = target.rpartition(".")
        parent = self.get_submodule(path)
        if name not in parent._module_names:
            raise AttributeError(f"{type(self).__name__} has no module at {target!r}.")
        setattr(parent, name, module)

    # ---- changes that optimizers follow ----------------------------------------------------------

    def replace_(self, name: str, new: Any, *, like: str | None = None) -> Any:
        """Put a module or parameter in the place of another; optimizers follow.

        Parameters that no module has any more leave their optimizers, which forget their state.
        A new parameter joins the groups of the one whose name it takes over. One that takes over
        no name joins the group that the others of the old module are in, or, if that had no
        parameters, those of the module around it.

        Args:
            name: the dotted path of what is replaced.
            new: what comes there.
            like: the path of a module, of which new parameters join the groups instead, name by
                name.

        Returns:
            What was there.

        Raises:
            ValueError: if a new parameter could join several groups; nothing is changed then.

        Example:
            >>> import weft
            >>> from weft import nn
            >>> model = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
            >>> optimizer = weft.optim.SGD(model.parameters(), lr=0.1)
            >>> model.replace_("1", nn.Linear(2, 5))
            Linear(in_features=2, out_features=2, bias=True)
            >>> optimizer.param_groups[0]["params"][2] is model[1].weight
            True
        """
        parent, leaf = self._parent_of(name)
        kind = Module if leaf in parent._module_names else Parameter
        old = parent.__dict__.get(leaf)
        if leaf not in (*parent._module_names, *parent._parameter_names) or old is None:
            raise AttributeError(f"{type(self).__name__} has no module or parameter at {name!r}.")
        if not isinstance(new, kind):
            raise TypeError(
                f"replace_(): new must be a {kind.__name__}, as {name} is, not a "
                f"{type(new).__name__}."
            )
        near = None if like is None else self.get_submodule(like)
        change(self, name, lambda: setattr(parent, leaf, new), old=old, new=new, like=near)
        return old

    def insert_(self, name: str, new: Module, *, like: str | None = None) -> Self:
        """Add a module; optimizers follow.

        Its parameters join the group that those of the module around it are in.

        Args:
            name: the dotted path that it gets. In a Sequential or ModuleList, those from that
                position on move up by one.
            new: the module.
            like: the path of a module, of which new parameters join the groups instead, name by
                name.

        Raises:
            ValueError: if a new parameter could join several groups; nothing is changed then.

        Example:
            >>> import weft
            >>> from weft import nn
            >>> model = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
            >>> optimizer = weft.optim.SGD(model.parameters(), lr=0.1)
            >>> len(model.insert_("1", nn.Linear(2, 2)))
            3
            >>> len(optimizer.param_groups[0]["params"])
            6
        """
        parent, leaf = self._parent_of(name)
        if not isinstance(cast("Any", new), Module):
            raise TypeError(f"insert_(): new must be a Module, not a {type(new).__name__}.")
        near = None if like is None else self.get_submodule(like)
        change(self, name, lambda: parent._insert_child(leaf, new), new=new, like=near)
        return self

    def remove_(self, name: str) -> Module:
        """Take a module out; optimizers follow.

        Parameters that no module has any more leave their optimizers, which forget their state.

        Args:
            name: its dotted path. In a Sequential or ModuleList, those behind it move down by one.

        Returns:
            The module.

        Example:
            >>> from weft import nn
            >>> model = nn.Sequential(nn.Linear(2, 2), nn.Tanh(), nn.Linear(2, 1))
            >>> model.remove_("1")
            Tanh()
            >>> len(model)
            2
        """
        parent, leaf = self._parent_of(name)
        old = self.get_submodule(name)
        change(self, name, lambda: parent._remove_child(leaf), old=old)
        return old

    def _parent_of(self, name: str) -> tuple[Module, str]:
        if not isinstance(cast("Any", name), str):
            kind = type(name).__name__
            raise TypeError(f"the path of a part must be a str such as '0.weight', not {kind}.")
        path, _, leaf = name.rpartition(".")
        if not leaf:
            raise AttributeError(f"{type(self).__name__} has no part at {name!r}.")
        return self.get_submodule(path), leaf

    def _insert_child(self, name: str, module: Module) -> None:
        if name in self._module_names:
            raise KeyError(f"{type(self).__name__} already has a module {name!r}; see replace_().")
        self.add_module(name, module)

    def _remove_child(self, name: str) -> None:
        delattr(self, name)

    # ---- walks ---------------------------------------------------------------------------------

    def named_modules(
        self, memo: set[Module] | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Module]]:
        """Walk this module and all below it, parents first, with their dotted paths.

        Example:
            >>> from weft import nn
            >>> model = nn.Sequential(nn.Linear(2, 3), nn.ReLU())
            >>> [name for name, module in model.named_modules()]
            ['', '0', '1']
        """
        if memo is None:
            memo = set()
        if remove_duplicate:
            if self in memo:
                return
            memo.add(self)
        yield prefix, self
        dot = prefix + "." if prefix else ""
        for name in self._module_names:
            child = self.__dict__[name]
            if child is not None:
                yield from child.named_modules(memo, dot + name, remove_duplicate)

    def modules(self) -> Iterator[Module]:
        """Walk this module and all below it, parents first, each once.

        Example:
            >>> from weft import nn
            >>> model = nn.Sequential(nn.Linear(2, 3), nn.ReLU())
            >>> [type(module).__name__ for module in model.modules()]
            ['Sequential', 'Linear', 'ReLU']
        """
        for _, module in self.named_modules():
            yield module

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """Walk the modules directly below this one with their names, each once.

        Example:
            >>> from weft import nn
            >>> dict(nn.Sequential(nn.ReLU(), nn.Tanh()).named_children())
            {'0': ReLU(), '1': Tanh()}
        """
        seen: set[Module] = set()
        for name in self._module_names:
            child = self.__dict__[name]
            if child is not None and child not in seen:
                seen.add(child)
                yield name, child

    def children(self) -> Iterator[Module]:
        """Walk the modules directly below this one, each once.

        Example:
            >>> from weft import nn
            >>> list(nn.Sequential(nn.ReLU(), nn.Tanh()).children())
            [ReLU(), Tanh()]
        """
        for _, child in self.named_children():
            yield child

    def _named_members(
        self, table: str, prefix: str, recurse: bool, remove_duplicate: bool
    ) -> Iterator[tuple[str, Any]]:
        seen: set[int] = set()
        walk: Iterable[tuple[str, Module]] = (
            self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate)
            if recurse
            else ((prefix, self),)
        )
        for path, module in walk:
            state = module.__dict__
            for name in state[table]:
                member = state[name]
                if member is None or id(member) in seen:
                    continue
                if remove_duplicate:
                    seen.add(id(member))
                yield (path + "." + name if path else name), member

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        """Walk the parameters with their dotted paths.

        Example:
            >>> from weft import nn
            >>> model = nn.Sequential(nn.Linear(2, 3), nn.ReLU())
            >>> {name: tuple(parameter.shape) for name, parameter in model.named_parameters()}
            {'0.weight': (3, 2), '0.bias': (3,)}
        """
        return self._named_members("_parameter_names", prefix, recurse, remove_duplicate)

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """Walk the parameters, each once.

        Example:
            >>> from weft import nn
            >>> sum(parameter.numel() for parameter in nn.Linear(2, 3).parameters())
            9
        """
        for _, parameter in self.named_parameters(recurse=recurse):
            yield parameter

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        """Walk the buffers with their dotted paths.

        Example:
            >>> from weft import nn
            >>> [name for name, buffer in nn.BatchNorm1d(2).named_buffers()]
            ['running_mean', 'running_var', 'num_batches_tracked']
        """
        return self._named_members("_buffer_names", prefix, recurse, remove_duplicate)

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """Walk the buffers, each once.

        Example:
            >>> from weft import nn
            >>> len(list(nn.BatchNorm1d(2).buffers()))
            3
        """
        for _, buffer in self.named_buffers(recurse=recurse):
            yield buffer

    def apply(self, fn: Callable[[Module], None]) -> Self:
        """Call `fn` with every module below this one, then with this one.

        Example:
            >>> from weft import nn
            >>> model = nn.Sequential(nn.Linear(2, 3), nn.ReLU())
            >>> _ = model.apply(lambda module: print(type(module).__name__))
            Linear
            ReLU
            Sequential
        """
        for child in self.children():
            child.apply(fn)
        fn(self)
        return self

    # ---- conversion and modes ------------------------------------------------------------------

    def _apply(self, convert: Callable[[Tensor], Tensor]) -> Self:
        """Replace the values of all parameters, their gradients and all buffers, in place."""
        for module in self.modules():
            state = module.__dict__
            for name in module._parameter_names:
                parameter = state[name]
                if parameter is not None:
                    gradient = parameter.grad
                    parameter.data = convert(parameter.data)
                    if gradient is not None:
                        parameter.grad = convert(gradient.detach())
            for name in module._buffer_names:
                if state[name] is not None:
                    state[name] = convert(state[name])
            note_change(state)
        return self

    def to(self, *args: Any, **kwargs: Any) -> Self:
        """Convert the floating parameters and buffers to a dtype, and all of them to a device.

        Takes what `Tensor.to` takes: a dtype, a device, both, or a tensor to be like.

        Example:
            >>> import weft
            >>> from weft import nn
            >>> nn.Linear(2, 3).to(weft.float64).weight.dtype
            weft.float64
        """
        dtype, device = kwargs.get("dtype"), kwargs.get("device")
        for arg in args:
            if isinstance(arg, Tensor):
                dtype, device = arg.dtype, arg.device
            elif isinstance(arg, (_core.dtype, type)):
                dtype = arg
            elif not isinstance(arg, bool) and arg is not None:
                device = arg
        if dtype is not None and not _core.as_dtype(dtype).is_floating_point:
            raise TypeError(
                f"Module.to(): parameters can only become a floating dtype, not {dtype}."
            )

        def convert(tensor: Tensor) -> Tensor:
            if device is not None:
                tensor = tensor.to(device=device)
            return tensor.to(dtype) if dtype is not None and tensor.is_floating_point() else tensor

        return self._apply(convert)

    def type(self, dst_type: Any) -> Self:
        """Convert all parameters and buffers to a dtype.

        Example:
            >>> import weft
            >>> from weft import nn
            >>> nn.Linear(2, 3).type(weft.float16).weight.dtype
            weft.float16
        """
        return self._apply(lambda tensor: tensor.to(dst_type))

    def float(self) -> Self:
        """Convert the floating parameters and buffers to float32.

        Example:
            >>> from weft import nn
            >>> nn.Linear(2, 3).float().weight.dtype
            weft.float32
        """
        return self.to(_core.float32)

    def double(self) -> Self:
        """Convert the floating parameters and buffers to float64.

        Example:
            >>> from weft import nn
            >>> nn.Linear(2, 3).double().weight.dtype
            weft.float64
        """
        return self.to(_core.float64)

    def half(self) -> Self:
        """Convert the floating parameters and buffers to float16.

        Example:
            >>> from weft import nn
            >>> nn.Linear(2, 3).half().weight.dtype
            weft.float16
        """
        return self.to(_core.float16)

    def bfloat16(self) -> Self:
        """Convert the floating parameters and buffers to bfloat16.

        Example:
            >>> from weft import nn
            >>> nn.Linear(2, 3).bfloat16().weight.dtype
            weft.bfloat16
        """
        return self.to(_core.bfloat16)

    def cpu(self) -> Self:
        """Move to the processor's memory, where everything is already.

        Example:
            >>> from weft import nn
            >>> nn.Linear(2, 3).cpu()
            Linear(in_features=2, out_features=3, bias=True)
        """
        return self.to(device="cpu")

    def cuda(self, device: Any = None) -> Self:
        """Raise: only the CPU is supported so far.

        Example:
            >>> from weft import nn
            >>> nn.Linear(2, 3).cuda()
            Traceback (most recent call last):
                ...
            weft.UnsupportedError: device('cuda'): only the CPU is supported so far
        """
        return self.to(device="cuda" if device is None else f"cuda:{device}")

    def compile(self, *_args: Any, **_kwargs: Any) -> None:
        """Do nothing: Weft runs the Python as it stands.

        Example:
            >>> from weft import nn
            >>> nn.Linear(2, 3).compile()
        """

    def share_memory(self) -> Self:
        """Return the module itself: processes that are forked share what is not written.

        Example:
            >>> from weft import nn
            >>> nn.Linear(2, 3).share_memory()
            Linear(in_features=2, out_features=3, bias=True)
        """
        return self

    def train(self, mode: bool = True) -> Self:
        """Switch this module and all below it to training, which dropout and batch norm heed.

        Example:
            >>> from weft import nn
            >>> model = nn.Sequential(nn.Dropout())
            >>> model.train(False)[0].training
            False
        """
        if not isinstance(cast("Any", mode), bool):
            # PyTorch's type of error.
            raise ValueError(f"Module.train(): mode must be a bool, not {mode!r}.")  # noqa: TRY004
        self.training = mode
        for child in self.children():
            child.train(mode)
        return self

    def eval(self) -> Self:
        """Switch this module and all below it out of training.

        Example:
            >>> import weft
            >>> from weft import nn
            >>> model = nn.Sequential(nn.Dropout()).eval()
            >>> model(weft.ones(3))
            tensor([1., 1., 1.])
        """
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Set whether gradients flow into the parameters.

        Example:
            >>> import weft
            >>> from weft import nn
            >>> frozen = nn.Linear(2, 3).requires_grad_(False)
            >>> frozen(weft.ones(2)).requires_grad
            False
        """
        for parameter in self.parameters():
            parameter.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the gradients of all parameters, or set them to zero.

        Example:
            >>> import weft
            >>> from weft import nn
            >>> model = nn.Linear(2, 1)
            >>> model(weft.ones(2)).backward()
            >>> model.zero_grad()
            >>> model.weight.grad is None
            True
        """
        for parameter in self.parameters():
            if set_to_none:
                parameter.grad = None
            elif parameter.grad is not None:
                parameter.grad = _core.ops.zeros_like(parameter.grad)

    # ---- state ---------------------------------------------------------------------------------

    def get_extra_state(self) -> Any:
        """Return more state than parameters and buffers; for subclasses to define.

        Example:
            >>> from weft import nn
            >>> class Counter(nn.Module):
            ...     def get_extra_state(self):
            ...         return {"count": 3}
            >>> dict(Counter().state_dict())
            {'_extra_state': {'count': 3}}
        """
        raise RuntimeError(
            f"{type(self).__name__} has no extra state: its class does not define "
            "get_extra_state()."
        )

    def set_extra_state(self, state: Any) -> None:
        """Take back what `get_extra_state` returned; for subclasses to define.

        Example:
            >>> from weft import nn
            >>> class Counter(nn.Module):
            ...     def get_extra_state(self):
            ...         return {"count": 3}
            ...
            ...     def set_extra_state(self, state):
            ...         self.count = state["count"]
            >>> counter = Counter()
            >>> _ = counter.load_state_dict(counter.state_dict())
            >>> counter.count
            3
        """
        del state
        raise RuntimeError(
            f"The state_dict has extra state for {type(self).__name__}, whose class does not "
            "define set_extra_state()."
        )

    def _save_to_state_dict(
        self, destination: dict[str, Any], prefix: str, keep_vars: bool
    ) -> None:
        """Write this module's own entries; subclasses may add to them."""
        state = self.__dict__
        for name in self._parameter_names:
            if state[name] is not None:
                destination[prefix + name] = state[name] if keep_vars else state[name].detach()
        for name in self._buffer_names:
            if state[name] is not None and name not in self._transient_names:
                destination[prefix + name] = state[name] if keep_vars else state[name].detach()
        if type(self).get_extra_state is not Module.get_extra_state:
            destination[prefix + _EXTRA_STATE] = self.get_extra_state()

    def state_dict(
        self,
        *,
        destination: dict[str, Any] | None = None,
        prefix: str = "",
        keep_vars: bool = False,
    ) -> dict[str, Any]:
        """Return all parameters and persistent buffers by their dotted paths.

        Args:
            destination: a dictionary to write into.
            prefix: what every path begins with.
            keep_vars: keep the parameters themselves instead of tensors cut from the graph.

        Example:
            >>> from weft import nn
            >>> list(nn.Sequential(nn.Linear(2, 3)).state_dict())
            ['0.weight', '0.bias']
        """
        if destination is None:
            destination = OrderedDict()
        self._save_to_state_dict(destination, prefix, keep_vars)
        for name in self._module_names:
            child = self.__dict__[name]
            if child is not None:
                child.state_dict(
                    destination=destination, prefix=prefix + name + ".", keep_vars=keep_vars
                )
        return destination

    def _load_from_state_dict(
        self, state_dict: Mapping[str, Any], prefix: str, assign: bool, problems: _Problems
    ) -> None:
        """Read this module's own entries; subclasses may add to them."""
        state = self.__dict__
        own = [*self._parameter_names]
        own += [name for name in self._buffer_names if name not in self._transient_names]
        for name in own:
            current = state[name]
            if current is None:
                continue
            key = prefix + name
            if key not in state_dict:
                problems.missing.append(key)
                continue
            given = state_dict[key]
            if not isinstance(given, Tensor):
                problems.other.append(f"{key} must be a tensor, not a {type(given).__name__}.")
            elif tuple(given.shape) != tuple(current.shape):
                problems.other.append(
                    f"{key} has the shape {tuple(given.shape)} in the state_dict and "
                    f"{tuple(current.shape)} in the module."
                )
            elif assign:
                if isinstance(current, Parameter):
                    data = given.detach() if given.requires_grad else given
                    given = Parameter(data, current.requires_grad)
                state[name] = given
                note_change(state)
            else:
                with no_grad():
                    current.copy_(given)
        key = prefix + _EXTRA_STATE
        if type(self).set_extra_state is not Module.set_extra_state:
            if key in state_dict:
                self.set_extra_state(state_dict[key])
            else:
                problems.missing.append(key)

    def _load(
        self, state_dict: Mapping[str, Any], prefix: str, assign: bool, problems: _Problems
    ) -> set[str]:
        """Read the entries of this module and all below it; return the keys that have a place."""
        self._load_from_state_dict(state_dict, prefix, assign, problems)
        known = {prefix + name for name in (*self._parameter_names, *self._buffer_names)}
        known -= {prefix + name for name in self._transient_names}
        known -= {prefix + name for name in self._parameter_names if self.__dict__[name] is None}
        known -= {prefix + name for name in self._buffer_names if self.__dict__[name] is None}
        if type(self).set_extra_state is not Module.set_extra_state:
            known.add(prefix + _EXTRA_STATE)
        for name in self._module_names:
            child = self.__dict__[name]
            if child is not None:
                known |= child._load(state_dict, prefix + name + ".", assign, problems)
        return known

    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False
    ) -> IncompatibleKeys:
        """Copy parameters and buffers from what `state_dict` returned.

        Args:
            state_dict: tensors by dotted path.
            strict: whether every path must be on both sides.
            assign: take the given tensors themselves instead of copying their values.

        Returns:
            The keys that were missing and those that were not expected.

        Raises:
            RuntimeError: if keys (when strict) or shapes do not fit; it names all of them.

        Example:
            >>> import weft
            >>> from weft import nn
            >>> one, other = nn.Linear(2, 3), nn.Linear(2, 3)
            >>> other.load_state_dict(one.state_dict())
            <All keys matched successfully>
            >>> weft.equal(one.weight, other.weight)
            True
        """
        if not isinstance(cast("Any", state_dict), Mapping):
            raise TypeError(
                "load_state_dict(): state_dict must be a mapping, not a "
                f"{type(state_dict).__name__}."
            )
        problems = _Problems([], [])
        known = self._load(state_dict, "", assign, problems)
        unexpected = [key for key in state_dict if key not in known]
        sentences = list(problems.other)
        if strict and unexpected:
            sentences.append("Unexpected key(s) in state_dict: " + _quoted(unexpected) + ".")
        if strict and problems.missing:
            sentences.append("Missing key(s) in state_dict: " + _quoted(problems.missing) + ".")
        if sentences:
            heading = f"Error(s) in loading state_dict for {type(self).__name__}:"
            raise RuntimeError("\n    ".join([heading, *sentences]))
        return IncompatibleKeys(problems.missing, unexpected)

    # ---- hooks ---------------------------------------------------------------------------------

    def _own_hooks(self) -> Hooks:
        if self._hooks is None:
            self.__dict__["_hooks"] = Hooks()
            note_change(self.__dict__)
        return cast("Hooks", self._hooks)

    def register_forward_pre_hook(
        self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False
    ) -> RemovableHandle:
        """Call `hook(module, args)` before forward; what it returns replaces the arguments.

        Example:
            >>> import weft
            >>> from weft import nn
            >>> model = nn.ReLU()
            >>> add_ten = lambda module, args: (args[0] + 10,)
            >>> handle = model.register_forward_pre_hook(add_ten)
            >>> model(weft.tensor([-1.0]))
            tensor([9.])
            >>> handle.remove()
        """
        table = self._own_hooks().forward_pre
        return RemovableHandle(table, ForwardHook(hook, with_kwargs), prepend)

    def register_forward_hook(
        self,
        hook: Callable[..., Any],
        *,
        prepend: bool = False,
        with_kwargs: bool = False,
        always_call: bool = False,
    ) -> RemovableHandle:
        """Call `hook(module, args, output)` after forward; what it returns replaces the output.

        Example:
            >>> import weft
            >>> from weft import nn
            >>> model = nn.ReLU()
            >>> twice = lambda module, args, output: output * 2
            >>> handle = model.register_forward_hook(twice)
            >>> model(weft.tensor([3.0]))
            tensor([6.])
        """
        table = self._own_hooks().forward
        return RemovableHandle(table, ForwardHook(hook, with_kwargs, always_call), prepend)

    def register_full_backward_pre_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> RemovableHandle:
        """Call `hook(module, grad_output)` when the gradients of the outputs are known.

        Example:
            >>> import weft
            >>> from weft import nn
            >>> model = nn.Linear(2, 1)
            >>> show = lambda module, grads: print(grads)
            >>> handle = model.register_full_backward_pre_hook(show)
            >>> model(weft.ones(1, 2)).sum().backward()
            (tensor([[1.]]),)
        """
        return RemovableHandle(self._own_hooks().backward_pre, hook, prepend)

    def register_full_backward_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> RemovableHandle:
        """Call `hook(module, grad_input, grad_output)` when the gradients of the inputs are known.

        What it returns replaces the gradients of the inputs.

        Example:
            >>> import weft
            >>> from weft import nn
            >>> model = nn.Tanh()
            >>> show = lambda module, inputs, outputs: print(inputs)
            >>> handle = model.register_full_backward_hook(show)
            >>> model(weft.zeros(2, requires_grad=True)).sum().backward()
            (tensor([1., 1.]),)
        """
        return RemovableHandle(self._own_hooks().backward, hook, prepend)

    register_backward_hook = register_full_backward_hook

    @property
    def _forward_pre_hooks(self) -> HookFunctions:
        return HookFunctions(self._own_hooks().forward_pre)

    @property
    def _forward_hooks(self) -> HookFunctions:
        return HookFunctions(self._own_hooks().forward)

    @property
    def _backward_hooks(self) -> HookFunctions:
        return HookFunctions(self._own_hooks().backward)

    # ---- text ----------------------------------------------------------------------------------

    def _get_name(self) -> str:
        return type(self).__name__

    def extra_repr(self) -> str:
        """Return what stands between the parentheses of the module's text, for subclasses.

        Example:
            >>> from weft import nn
            >>> class Scale(nn.Module):
            ...     def extra_repr(self):
            ...         return "by=2"
            >>> Scale()
            Scale(by=2)
        """
        return ""

    def __repr__(self) -> str:
        extra = self.extra_repr()
        lines = extra.split("\n") if extra else []
        children = [
            f"({name}): {indented(repr(self.__dict__[name]))}" for name in self._module_names
        ]
        if len(lines) == 1 and not children:
            return f"{self._get_name()}({lines[0]})"
        return block(self._get_name(), lines + children)


class _Problems(NamedTuple):
    """What `load_state_dict` has to complain about."""

    missing: list[str]
    other: list[str]


def _quoted(keys: list[str]) -> str:
    return ", ".join(f'"{key}"' for key in keys)


def indented(text: str) -> str:
    """Indent all lines but the first."""
    return text.replace("\n", "\n  ")


def block(name: str, lines: list[str]) -> str:
    """Write a name with lines in parentheses below it."""
    return f"{name}(\n  " + "\n  ".join(lines) + "\n)" if lines else f"{name}()"


def _unimplemented(self: Module, *args: Any, **kwargs: Any) -> Any:
    raise NotImplementedError(f"{type(self).__name__} must define forward() to be called.")


Module.forward = _unimplemented
