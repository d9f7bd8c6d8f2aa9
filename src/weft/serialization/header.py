"""The head of a safetensors file: which tensors lie where, and a few texts.

The format is eight bytes with the length of a JSON object, the object, and the tensors' bytes
without gaps: <https://github.com/huggingface/safetensors>.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from weft.serialization.elements import BY_CODE, CODE_OF
from weft.serialization.errors import LoadError, SaveError
from weft.serialization.kinds import is_exactly

if TYPE_CHECKING:
    from weft._core import dtype
    from weft.serialization.sources import Source

LONGEST = 100_000_000  # what other readers take
METADATA = "__metadata__"
_ALIGNMENT = 64  # of the first tensor in the file
_MOST_ELEMENTS = 1 << 62


@dataclass(frozen=True, slots=True)
class Entry:
    """One tensor of a file: contiguous, `start` bytes after the head."""

    dtype: dtype
    shape: tuple[int, ...]
    start: int

    @property
    def bytes(self) -> int:
        """The number of bytes of the tensor."""
        return math.prod(self.shape) * self.dtype.itemsize


@dataclass(frozen=True, slots=True)
class Header:
    """What the head of a file says, and where its tensors' bytes begin and end."""

    entries: dict[str, Entry]
    metadata: dict[str, str]
    begin: int
    end: int


def laid_out(tensors: dict[str, tuple[dtype, tuple[int, ...]]]) -> dict[str, Entry]:
    """Give tensors their places; wide element types come first, so that all lie aligned."""
    entries: dict[str, Entry] = {}
    start = 0
    for name in sorted(tensors, key=lambda name: -tensors[name][0].itemsize):
        entries[name] = entry = Entry(*tensors[name], start)
        start += entry.bytes
    return entries


def head_bytes(entries: dict[str, Entry], metadata: dict[str, str]) -> bytes:
    """Return the bytes that come before the tensors' bytes."""
    content: dict[str, Any] = {METADATA: metadata}
    for name, entry in entries.items():
        content[name] = {
            "dtype": CODE_OF[entry.dtype],
            "shape": entry.shape,
            "data_offsets": (entry.start, entry.start + entry.bytes),
        }
    text = json.dumps(content, separators=(",", ":")).encode()
    text += b" " * (-(8 + len(text)) % _ALIGNMENT)
    if len(text) > LONGEST:
        raise SaveError(
            f"save(): all but the tensors takes {len(text):,} bytes, and the format allows "
            f"{LONGEST:,}; keep long texts, bytes and lists of numbers as tensors"
        )
    return len(text).to_bytes(8, "little") + text


def looks_like_head(first: bytes) -> bool:
    """Tell from its first nine bytes whether a file can be a safetensors file."""
    return first[8:9] == b"{" and 2 <= int.from_bytes(first[:8], "little") <= LONGEST


def read_head(source: Source) -> Header:
    """Read and check the head of a file.

    Raises:
        LoadError: if it is damaged, or its tensors overlap, leave gaps or do not fit.
    """
    length = int.from_bytes(source.read(0, 8), "little")
    content = parse_json(source.read(8, length), source.name)
    if not isinstance(content, dict):
        raise LoadError(f"{source.name}: the head is no JSON object")
    content = cast("dict[str, Any]", content)
    metadata = content.pop(METADATA, {})
    if not isinstance(metadata, dict) or not all(
        isinstance(text, str) for text in cast("dict[str, Any]", metadata).values()
    ):
        raise LoadError(f"{source.name}: the head's {METADATA} must be texts by name")
    entries = {name: _entry(source.name, name, said) for name, said in content.items()}
    end = 0
    for name, entry in sorted(entries.items(), key=lambda pair: (pair[1].start, pair[1].bytes)):
        if entry.start != end:
            what = "overlaps the tensor before it" if entry.start < end else "leaves a gap"
            raise LoadError(f"{source.name}: the tensor {name!r} {what}")
        end += entry.bytes
    begin = 8 + length
    if begin + end > source.size:
        raise LoadError(
            f"{source.name}: the file is cut short: it should have {begin + end} bytes and has "
            f"{source.size}"
        )
    return Header(entries, cast("dict[str, str]", metadata), begin, begin + end)


def _entry(where: str, name: str, said: Any) -> Entry:
    fields: dict[str, Any] = said if is_exactly(said, dict) else {}
    code: Any = fields.get("dtype")
    sizes: Any = fields.get("shape")
    ends: Any = fields.get("data_offsets")
    if not is_exactly(sizes, list) or not is_exactly(ends, list) or len(ends) != 2:
        raise LoadError(f"{where}: the head's entry {name!r} is not one of a tensor")
    start, end = ends
    if len(fields) != 3 or not all(is_exactly(n, int) and n >= 0 for n in (*sizes, start, end)):
        raise LoadError(f"{where}: the head's entry {name!r} is not one of a tensor")
    kind = BY_CODE.get(code) if isinstance(code, str) else None
    if kind is None:
        raise LoadError(
            f"{where}: the tensor {name!r} has the element type {code!r}; Weft has "
            f"{', '.join(BY_CODE)}"
        )
    entry = Entry(kind, checked_sizes(sizes, f"{where}: the tensor {name!r}"), start)
    if end - start != entry.bytes:
        raise LoadError(
            f"{where}: the tensor {name!r} has {end - start} bytes, and its shape and element "
            f"type need {entry.bytes}"
        )
    return entry


def checked_sizes(sizes: list[Any] | tuple[Any, ...], what: str) -> tuple[int, ...]:
    """Return sizes that a tensor can have.

    Raises:
        LoadError: if they are no sizes, or too many, or too large.
    """
    if not all(is_exactly(size, int) and size >= 0 for size in sizes):
        raise LoadError(f"{what} has a shape that is no shape: {list(sizes)!r:.200}")
    if len(sizes) > 64 or math.prod(max(size, 1) for size in sizes) >= _MOST_ELEMENTS:
        raise LoadError(f"{what} has a shape that no tensor can have: {list(sizes)!r:.200}")
    return tuple(sizes)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name occurs twice in one object")
    return found


def _no_constant(text: str) -> Any:
    raise ValueError(f"{text} is no JSON")


def parse_json(text: str | bytes, where: str) -> Any:
    """Parse JSON from a file.

    Raises:
        LoadError: if it is damaged, has a name twice in one object, or is nested too deep.
    """
    try:
        if isinstance(text, bytes):
            text = text.decode("utf-8")
        return json.loads(text, object_pairs_hook=_unique, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise LoadError(f"{where}: the head cannot be read: {error}") from None
