"""PyTorch's type promotion as plain data; tests/oracle checks it against PyTorch itself."""

from __future__ import annotations

LETTERS = {
    "?": "bool",
    "u": "uint8",
    "a": "int8",
    "s": "int16",
    "i": "int32",
    "l": "int64",
    "h": "float16",
    "g": "bfloat16",
    "f": "float32",
    "d": "float64",
}
NAMES = tuple(LETTERS.values())
NUMBERS = (True, 1, 1.5)

# Row: the left dtype, in the order of LETTERS; column: the right one. Two tensors of the same kind
# (both with dimensions, or both 0-d) promote by SAME; one with dimensions and a 0-d one by MIXED.
SAME = {
    "?": "?uasilhgfd",
    "u": "uussilhgfd",
    "a": "asasilhgfd",
    "s": "ssssilhgfd",
    "i": "iiiiilhgfd",
    "l": "llllllhgfd",
    "h": "hhhhhhhffd",
    "g": "ggggggfgfd",
    "f": "fffffffffd",
    "d": "dddddddddd",
}
MIXED = {
    "?": "?uasilhgfd",
    "u": "uuuuuuhgfd",
    "a": "aaaaaahgfd",
    "s": "sssssshgfd",
    "i": "iiiiiihgfd",
    "l": "llllllhgfd",
    "h": "hhhhhhhhhh",
    "g": "gggggggggg",
    "f": "ffffffffff",
    "d": "dddddddddd",
}
# A tensor, 0-d or not, with each of NUMBERS.
WITH_NUMBER = {
    "?": "?lf",
    "u": "uuf",
    "a": "aaf",
    "s": "ssf",
    "i": "iif",
    "l": "llf",
    "h": "hhh",
    "g": "ggg",
    "f": "fff",
    "d": "ddd",
}
# The result of one op for an argument of each dtype; "-" where it raises.
UNARY = {
    "div": "ffffffhgfd",
    "floor_divide": "-uasilhgfd",
    "sum": "llllllhgfd",
    "prod": "llllllhgfd",
    "mean": "------hgfd",
    "cumsum": "llllllhgfd",
    "tanh": "ffffffhgfd",
    "neg": "-uasilhgfd",
    "abs": "-uasilhgfd",
    "square": "luasilhgfd",
}


def table(rows: dict[str, str], columns: tuple[object, ...]) -> list[tuple[str, object, str]]:
    """Return (left name, right column, result name) for every cell."""
    return [
        (LETTERS[left], column, LETTERS[result])
        for left, results in rows.items()
        for column, result in zip(columns, results, strict=True)
    ]


def can_cast(source: str, target: str) -> bool:
    """Say whether a result of dtype `source` may be written into a tensor of dtype `target`."""
    rank = [0 if name == "bool" else 2 if "float" in name else 1 for name in (source, target)]
    return rank[0] <= rank[1]
