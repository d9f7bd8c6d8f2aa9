"""Weight files as PyTorch writes them, put together by hand: opcode by opcode, record by record."""

from __future__ import annotations

import io
import struct
import zipfile


def text(value: str) -> bytes:
    data = value.encode()
    return b"X" + struct.pack("<I", len(data)) + data


def integer(value: int) -> bytes:
    if -(2**31) <= value < 2**31:
        return b"J" + struct.pack("<i", value)
    data = value.to_bytes(16, "little", signed=True)
    return b"\x8a" + bytes((len(data),)) + data


def boolean(value: bool) -> bytes:
    return b"\x88" if value else b"\x89"


def name(module: str, attribute: str) -> bytes:
    return f"c{module}\n{attribute}\n".encode()


def sequence(*items: bytes) -> bytes:
    return b"](" + b"".join(items) + b"e"


def group(*items: bytes) -> bytes:
    return b"(" + b"".join(items) + b"t"


def numbers(*values: int) -> bytes:
    return group(*map(integer, values))


def mapping(**items: bytes) -> bytes:
    return b"}(" + b"".join(text(key) + value for key, value in items.items()) + b"u"


def call(function: bytes, *arguments: bytes) -> bytes:
    return function + group(*arguments) + b"R"


def storage(key: str = "0", kind: str = "FloatStorage", count: int = 6) -> bytes:
    parts = (text("storage"), name("torch", kind), text(key), text("cpu"), integer(count))
    return group(*parts) + b"Q"


def tensor(
    stored: bytes | None = None,
    offset: int = 0,
    shape: tuple[int, ...] = (2, 3),
    stride: tuple[int, ...] = (3, 1),
    requires_grad: bool = False,
) -> bytes:
    hooks = call(name("collections", "OrderedDict"))
    return call(
        name("torch._utils", "_rebuild_tensor_v2"),
        storage() if stored is None else stored,
        integer(offset),
        numbers(*shape),
        numbers(*stride),
        boolean(requires_grad),
        hooks,
    )


def pickled(value: bytes) -> bytes:
    return b"\x80\x02" + value + b"."


SIX = struct.pack("<6f", *range(6))


def archive(
    data: bytes,
    storages: dict[str, bytes] | None = None,
    compression: int = zipfile.ZIP_STORED,
    extra: dict[str, bytes] | None = None,
) -> bytes:
    """Return a zip with a pickle and storages; `data` is a whole pickle."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", compression) as made:
        made.writestr("archive/data.pkl", data)
        made.writestr("archive/byteorder", b"little")
        for key, content in ({"0": SIX} if storages is None else storages).items():
            made.writestr(f"archive/data/{key}", content)
        made.writestr("archive/version", b"3\n")
        for key, content in (extra or {}).items():
            made.writestr(key, content)
    return file.getvalue()


def legacy(value: bytes, keys: list[str], contents: list[tuple[int, bytes]]) -> bytes:
    """Return the plain file of PyTorch before 1.6; contents are numbers of elements and bytes."""
    magic = b"\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19"
    machine = mapping(protocol_version=integer(1001), little_endian=boolean(True))
    parts = (magic, integer(1001), machine, value, sequence(*map(text, keys)))
    stored = b"".join(struct.pack("<q", count) + data for count, data in contents)
    return b"".join(map(pickled, parts)) + stored
