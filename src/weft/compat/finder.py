"""The import hook that answers `import torch` with Weft."""

from __future__ import annotations

import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

from weft import _core
from weft._core import Tensor
from weft.compat.forwarding import ForwardingModule, lacking
from weft.compat.table import FOREIGN, MODULES
from weft.nn.parameter import Parameter


class TorchIsLoadedError(Exception):
    """Says that PyTorch itself was imported before, so that Weft cannot take its place."""


class TorchFinder(MetaPathFinder, Loader):
    """Finds `torch` and the modules below it in Weft."""

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None = None,  # noqa: ARG002 - the protocol's signature
        target: ModuleType | None = None,  # noqa: ARG002
    ) -> ModuleSpec | None:
        """Return a spec for a module of PyTorch, and None for all others.

        Raises:
            ModuleNotFoundError: with a sentence, for a module that Weft lacks.
        """
        root, _, rest = fullname.partition(".")
        if root in FOREIGN:
            raise ModuleNotFoundError(FOREIGN[root], name=root)
        if root != "torch":
            return None
        if rest and fullname not in MODULES:
            parent, _, name = fullname.rpartition(".")
            # Without a name, so that `from torch import x` passes this message on.
            raise ModuleNotFoundError(lacking(parent, name, sys.modules.get(parent)))
        return ModuleSpec(fullname, self, origin="weft", is_package=True)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Make the module that forwards to Weft."""
        return ForwardingModule(spec.name, MODULES[spec.name])

    def exec_module(self, module: ModuleType) -> None:
        """Check that Weft has what the module forwards to."""
        if isinstance(module, ForwardingModule):
            module.check()


@contextmanager
def answering_torch() -> Generator[None, None, None]:
    """Answer `import torch` with Weft inside a block, where dtypes and sizes print as PyTorch's.

    Raises:
        TorchIsLoadedError: if PyTorch itself was imported before.

    Example:
        >>> import weft
        >>> from weft.compat import answering_torch
        >>> with answering_torch():
        ...     import torch
        >>> torch.Tensor is weft.Tensor
        True
    """
    loaded = sys.modules.get("torch")
    if loaded is not None and not isinstance(loaded, ForwardingModule):
        raise TorchIsLoadedError(
            "PyTorch itself is imported already, so `import torch` cannot mean Weft in this "
            "process."
        )
    finder = TorchFinder()
    sys.meta_path.insert(0, finder)
    # Packages tell by its name whether a class is PyTorch's.
    own = {kind: kind.__module__ for kind in (Tensor, Parameter)}
    Tensor.__module__, Parameter.__module__ = "torch", "torch.nn.parameter"
    shown = _core.set_shown_package("torch")
    try:
        yield
    finally:
        _core.set_shown_package(shown)
        for kind, module in own.items():
            kind.__module__ = module
        sys.meta_path.remove(finder)
        for name in [name for name in sys.modules if name.partition(".")[0] == "torch"]:
            if isinstance(sys.modules[name], ForwardingModule):
                del sys.modules[name]
