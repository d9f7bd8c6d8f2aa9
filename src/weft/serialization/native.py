"""Weft's own files: safetensors whose metadata says how the tensors hang together."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, cast

from weft.autograd import no_grad
from weft.serialization.elements import BY_NAME
from weft.serialization.errors import LoadError
from weft.serialization.header import checked_sizes, head_bytes, laid_out, parse_json, read_head
from weft.serialization.kinds import is_exactly
from weft.serialization.memory import read_tensor, rearranged, view_of
from weft.serialization.placing import place
from weft.serialization.tree import Decoder, Encoder

if TYPE_CHECKING:
    from typing import Protocol

    from weft._core import Tensor
    from weft.serialization.header import Entry, Header
    from weft.serialization.sources import Source

    class Writable(Protocol):
        """What a file has to offer to be written to."""

        def write(self, data: Any, /) -> Any:
            """Take some bytes."""
            ...


VERSION = 1
_KEY = "weft"
# Other programs ask for this: weights are laid out as PyTorch lays them out.
_FORMAT = {"format": "pt"}


class Prepared:
    """An object ready to be written; making one finds everything that cannot be saved."""

    def __init__(self, obj: Any) -> None:
        encoder = Encoder()
        tree = encoder.encode(obj)
        placement = place(encoder.tensors)
        said = {"version": VERSION, "tree": tree, "tensors": placement.views}
        self._written = placement.written
        self._entries = laid_out(
            {name: (kind, _sizes(kind, array)) for name, (kind, array) in self._written.items()}
        )
        text = json.dumps(said, separators=(",", ":"))
        self._head = head_bytes(self._entries, {**_FORMAT, _KEY: text})

    def write(self, file: Writable) -> None:
        """Write head and tensors, one after the other."""
        import numpy as np  # noqa: PLC0415 - as in the rest of the package: only where it is needed

        file.write(self._head)
        for name in self._entries:
            array: Any = np.ascontiguousarray(self._written[name][1])
            if array.size:
                file.write(memoryview(array.reshape(-1).view(np.uint8)))


def _sizes(kind: Any, array: Any) -> tuple[int, ...]:
    """Return the shape of what is written; shared memory comes as bytes."""
    if array.itemsize == kind.itemsize:
        return tuple(array.shape)
    return (array.nbytes // kind.itemsize,)


def read_safetensors(source: Source, exact: bool) -> Any:
    """Read a safetensors file: Weft's own as the object that was saved, others as a dict.

    Args:
        source: the file.
        exact: whether the file must end where its tensors end.

    Raises:
        LoadError: if the file is damaged.
    """
    header = read_head(source)
    if exact and header.end != source.size:
        raise LoadError(
            f"{source.name}: {source.size - header.end} bytes follow after the last tensor"
        )
    tensors = _Tensors(source, header)
    text = header.metadata.get(_KEY)
    if text is None:
        return {name: tensors.entry(name) for name in header.entries}
    said = parse_json(text, source.name)
    if not isinstance(said, dict) or "tree" not in said or "tensors" not in said:
        raise LoadError(f"{source.name}: the description of the tree is damaged")
    said = cast("dict[str, Any]", said)
    if said.get("version") != VERSION:
        raise LoadError(
            f"{source.name}: written by another version of Weft (format {said.get('version')!r}, "
            f"this one reads {VERSION})"
        )
    tensors.describe(said["tensors"])
    with no_grad():
        return Decoder(tensors.view, source.name).decode(said["tree"])


class _Tensors:
    """The tensors of a file, each read when it is first asked for."""

    def __init__(self, source: Source, header: Header) -> None:
        self._source = source
        self._header = header
        self._bases: dict[str, Tensor] = {}
        self._views: dict[int, Tensor] = {}
        self._said: list[Any] = []

    def describe(self, said: Any) -> None:
        """Take the descriptions of the tree's tensors."""
        if not isinstance(said, list):
            raise LoadError(f"{self._source.name}: the list of tensors is damaged")
        self._said = cast("list[Any]", said)

    def _named(self, name: Any) -> Entry:
        entry = self._header.entries.get(name) if isinstance(name, str) else None
        if entry is None:
            raise LoadError(f"{self._source.name}: there is no tensor {name!r:.80} in the file")
        return entry

    def entry(self, name: Any) -> Tensor:
        """Return a tensor as the file has it."""
        entry = self._named(name)
        made = self._bases.get(name)
        if made is None:
            made = self._bases[name] = read_tensor(
                self._source,
                self._header.begin + entry.start,
                entry.dtype,
                entry.shape,
                f"{self._source.name}: the tensor {name!r}",
            )
        return made

    def view(self, number: int) -> Tensor:
        """Return a tensor of the tree."""
        made = self._views.get(number)
        if made is not None:
            return made
        if number >= len(self._said) or not isinstance(self._said[number], dict):
            raise LoadError(f"{self._source.name}: the tree has no tensor {number}")
        said = cast("dict[str, Any]", self._said[number])
        what = f"{self._source.name}: the tensor {said.get('of')!r:.80}"
        base = self.entry(said.get("of"))
        if "stride" in said:
            made = self._strided(base, said, what)
        elif "order" in said:
            order = said["order"]
            if not isinstance(order, list) or sorted(cast("list[Any]", order)) != list(
                range(base.ndim)
            ):
                raise LoadError(f"{what} has an order of dimensions that is none")
            made = rearranged(base, cast("list[int]", order))
        else:
            made = base.detach()  # another one may share its memory
        if said.get("grad") is True:
            if not made.dtype.is_floating_point:
                raise LoadError(f"{what} cannot have a gradient: it is not of floating point")
            made.requires_grad = True
        self._views[number] = made
        return made

    def _strided(self, base: Tensor, said: dict[str, Any], what: str) -> Tensor:
        shape, stride, offset = said.get("shape"), said.get("stride"), said.get("offset")
        kind = BY_NAME.get(str(said["dtype"])) if "dtype" in said else base.dtype
        if not isinstance(shape, list) or not isinstance(stride, list) or kind is None:
            raise LoadError(f"{what} has a damaged description")
        sizes = checked_sizes(cast("list[Any]", shape), what)
        steps = checked_steps(cast("list[Any]", stride), len(sizes), offset, what)
        if kind is not base.dtype and base.itemsize != 1:
            raise LoadError(f"{what} has a damaged description")
        return view_of(base, kind, sizes, steps, cast("int", offset), what)


def checked_steps(
    steps: list[Any] | tuple[Any, ...], rank: int, offset: Any, what: str
) -> tuple[int, ...]:
    """Return strides that a tensor can have.

    Raises:
        LoadError: if they or the offset are no numbers from zero on, or their number is wrong.
    """
    most = 1 << 62
    if len(steps) != rank or not all(
        is_exactly(step, int) and 0 <= step < most for step in (*steps, offset)
    ):
        raise LoadError(
            f"{what} has strides or an offset that no tensor has: {list(steps)!r:.200}, "
            f"{offset!r:.80}"
        )
    return tuple(steps)
