"""The shape of the user's program as far as source lines tell it: blocks, loops, branches.

Only indentation is looked at, because a trace has the lines around its places and not whole files.
"""

from __future__ import annotations

import linecache
import re
from bisect import bisect_left
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache

from weft.tracing.model import Place

COMPREHENSIONS = frozenset({"<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>"})
AROUND = 6
_HEADER = re.compile(
    r"(?:async\s+)?(for|while|if|elif|else|try|except|finally|with|match|case|def|class)\b.*"
)
# Its pattern records nothing, so what was recorded at this line belongs to the body.
_CASE_WITH_BODY = re.compile(r"case\s(?!.*\sif\s)[^=]*?:\s*[^#\s]")
_ARMS = frozenset({"if", "elif", "else", "case"})
_FOR_INSIDE = re.compile(r"[\[({].*\b(?:async\s+)?(for\s.+?\sin\s.+)")


@dataclass(frozen=True, slots=True)
class Block:
    """A header that a line stands under.

    `chain` is the line of the `if` or `match` that an arm belongs to.
    """

    keyword: str
    line: int
    chain: int = 0


def collect_sources(places: Iterable[Place], around: int = AROUND) -> dict[str, dict[int, str]]:
    """Read the lines that a trace of these places should carry.

    These are the lines around each place, and the headers (`def`, `for`, `if`, ...) above it, so
    that folding knows the loops and branches it stands in.

    Args:
        places: The places of a trace.
        around: How many lines before and after a place.

    Returns:
        The field `sources` of a trace.

    Example:
        >>> from weft.tracing import Place
        >>> collect_sources([Place("not there.py", 3, "f")])
        {}
    """
    found: dict[str, dict[int, str]] = {}
    for file, number in dict.fromkeys((place.file, place.line) for place in places):
        lines = linecache.getlines(file)
        if not 1 <= number <= len(lines):
            continue
        wanted = set(range(max(1, number - around), min(len(lines), number + around) + 1))
        wanted.update(_headers_above(lines, number))
        known = found.setdefault(file, {})
        for one in wanted:
            known[one] = lines[one - 1].rstrip("\n")
    return {file: dict(sorted(known.items())) for file, known in found.items()}


def _headers_above(lines: list[str], number: int) -> Iterable[int]:
    """Yield the lines above one that begin blocks at its depth or further out, up to its `def`."""
    depth = _indent(lines[number - 1])
    for line in range(number - 1, 0, -1):
        text = lines[line - 1].strip()
        indent = _indent(lines[line - 1])
        if not text or text[0] == "#" or indent > depth:
            continue
        keyword = _keyword(text)
        if keyword or indent < depth:
            yield line
        depth = indent
        if keyword == "def" and indent < _indent(lines[number - 1]):
            return


class Outline:
    """What blocks the lines of a trace's sources stand in."""

    def __init__(self, sources: Mapping[str, Mapping[int, str]]) -> None:
        self._sources = sources
        self._numbers = {file: sorted(lines) for file, lines in sources.items()}
        self.blocks = cache(self._blocks)

    def text(self, file: str, line: int) -> str:
        """Return a line of source without its indentation and comment; "" if it is not known."""
        text = self._sources.get(file, {}).get(line, "").strip()
        if "#" in text and not re.search(r"['\"]", text):
            text = text.partition("#")[0].rstrip()
        return text

    def condition(self, file: str, line: int) -> str:
        """Return the text of the statement at a line: `if x.sum() > 0`, without its colon."""
        return self.text(file, line).removesuffix(":").rstrip()

    def keyword(self, file: str, line: int) -> str:
        """Return the keyword that begins a block at this line, "" if none does."""
        return _keyword(self.text(file, line))

    def for_inside(self, file: str, line: int) -> str:
        """Return the `for ... in ...` of a comprehension on this line, "" if there is none."""
        found = _FOR_INSIDE.search(self.text(file, line))
        return _closed(found[1]) if found else ""

    def has_body(self, file: str, line: int) -> bool:
        """Tell whether a header's block stands on the same line: `for x in xs: y = y * x`."""
        text = self.text(file, line)
        return bool(_keyword(text)) and not text.endswith((":", ",", "(", "[", "{", "\\"))

    def are_apart(self, file: str, function: str, first: int, second: int) -> bool:
        """Tell whether no round of a loop, and no call, can pass one line and then another below.

        That is so if they stand in different arms of one `if` or `match`, or if the first stands in
        an arm that ends with `return` or `continue`.

        Args:
            file: The file of both lines.
            function: The function of both.
            first: The line that was passed.
            second: A line below it.
        """
        inner = self.blocks(file, first, function)
        outer = self.blocks(file, second, function)
        if inner is None or outer is None:
            return False
        if are_exclusive(inner, outer):
            return True
        if any(block.keyword == "finally" for block in outer):
            return False
        for position, block in enumerate(inner):
            if block in outer or block.keyword not in _ARMS:
                continue
            end = self._end_of_arm(file, block.line, first)
            if end == "return":
                return True
            loops = [one for one in inner[:position] if one.keyword in ("for", "while")]
            if end == "continue" and loops and loops[-1] in outer:
                return True
        return False

    def _end_of_arm(self, file: str, header: int, line: int) -> str:
        """Return how an arm ends after one of its lines: "return", "continue", or ""."""
        lines = self._sources[file]
        depth = _indent(lines[header])
        last = ""
        inside = _indent(lines[line])
        number = line
        while number in lines:
            text = lines[number].strip()
            if text and text[0] != "#":
                indent = _indent(lines[number])
                if indent <= depth and text[0] not in ")]}":
                    return last if last in ("return", "continue") else ""
                words = re.findall(r"\w+", text)
                if "break" in words:  # goes on behind the loop
                    return ""
                if indent <= inside:
                    inside = indent
                    last = words[0] if words else ""
            number += 1
        return ""

    def _blocks(self, file: str, line: int, function: str) -> tuple[Block, ...] | None:
        """Return the blocks around a line within its function, outermost first; None: not known."""
        lines = self._sources.get(file)
        if lines is None or line not in lines:
            return None
        if function == "<lambda>" or function in COMPREHENSIONS:
            return ()
        numbers = self._numbers[file]
        found: list[Block] = []
        depth = _indent(lines[line])
        own = bisect_left(numbers, line)
        if _CASE_WITH_BODY.match(lines[line].strip()):
            found.append(Block("case", line, self._chain(file, own, depth, "case")))
        for position in range(own - 1, -1, -1):
            number = numbers[position]
            text = lines[number].strip()
            indent = _indent(lines[number])
            if not text or text[0] == "#" or indent >= depth:
                continue
            if text[0] in ")]}" and text.endswith(":"):
                # The end of a header of several lines; its beginning stands above, as far out.
                depth = indent + 1
                continue
            keyword = _keyword(text)
            if keyword in ("def", "class"):
                return tuple(reversed(found))
            if keyword:
                chain = self._chain(file, position, indent, keyword)
                found.append(Block(keyword, number, chain))
            depth = indent
        return tuple(reversed(found)) if depth == 0 else None

    def _chain(self, file: str, position: int, indent: int, keyword: str) -> int:
        """Return the line of the `if` or `match` that an arm belongs to, 0 if it has none."""
        numbers, lines = self._numbers[file], self._sources[file]
        if keyword == "case":
            while position and (not keyword or _indent(lines[numbers[position]]) >= indent):
                position -= 1
                keyword = _keyword(lines[numbers[position]].strip())
            return numbers[position] if keyword == "match" else 0
        while keyword in ("elif", "else") and position:
            position -= 1
            text = lines[numbers[position]].strip()
            if text and text[0] != "#" and _indent(lines[numbers[position]]) <= indent:
                keyword = _keyword(text)
        return numbers[position] if keyword == "if" else 0


def are_exclusive(first: tuple[Block, ...], second: tuple[Block, ...]) -> bool:
    """Tell whether two lines stand in different arms of one `if` or `match`."""
    for one, other in zip(first, second, strict=False):
        if one != other:
            return one.chain != 0 and one.chain == other.chain
    return False


def _indent(line: str) -> int:
    line = line.expandtabs()
    return len(line) - len(line.lstrip())


def _keyword(text: str) -> str:
    found = _HEADER.match(text)
    if found is None:
        return ""
    # A header has a colon or goes on; `match = 3` and `case(x)` are no headers.
    if found[1] in ("match", "case") and not text.split("#", maxsplit=1)[0].rstrip().endswith(":"):
        return ""
    return found[1]


def _closed(text: str) -> str:
    """Cut a text before the first bracket that closes one opened before it."""
    depth = 0
    for position, letter in enumerate(text):
        depth += (letter in "([{") - (letter in ")]}")
        if depth < 0:
            return text[:position].rstrip()
    return text.rstrip()
