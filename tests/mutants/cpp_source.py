"""What can be changed in C++: found in its tokens. What then does not compile is not counted."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tests.mutants.change import Change, Edit, make_change

TOKEN = re.compile(
    r"""
    (?P<skip> //[^\n]* | /\*.*?\*/ | ^\#(?:[^\n]|\\\n)*
            | R"(?P<tag>[^(]*)\(.*?\)(?P=tag)" | "(?:\\.|[^"\\])*" | '(?:\\.|[^'\\])'
            | \b(?:static_assert|template|operator|using|typedef)\b[^;{\n]* )
  | (?P<number> \b\d[\w.']* )
  | (?P<word>   \b[A-Za-z_]\w* )
  | (?P<sign>   <=>|<<=|>>=|->|\+\+|--|&&|\|\||[<>=!+*/%&|^-]=|<<|>>|[-+*/%<>&|^!~=?:;,.(){}\[\]] )
    """,
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)
# These have white space on both sides, which pointers, references and angle brackets have not.
SPACED = {
    "==": "!=",
    "!=": "==",
    "<": "<=",
    "<=": "<",
    ">": ">=",
    ">=": ">",
    "&&": "||",
    "||": "&&",
    "+": "-",
    "-": "+",
    "*": "/",
    "/": "*",
    "%": "/",
    "+=": "-=",
    "-=": "+=",
    "*=": "+=",
    "|=": "&=",
    "|": "&",
    "&": "|",
    "<<": ">>",
    ">>": "<<",
}
WORDS = {"true": "false", "false": "true", "continue": "break"}


def find_changes(file: str, source: bytes) -> list[Change]:
    """Return every change of a file, in the order of its text."""
    # One byte a letter: the sources are ASCII but for a comment here and there.
    text = source.decode("latin-1")
    tokens = [token for token in TOKEN.finditer(text) if token.lastgroup != "skip"]
    tokens = [token for token in tokens if token["skip"] is None]
    return [
        make_change(file, source, edits)
        for position in range(len(tokens))
        for edits in _change(text, tokens, position)
    ]


def _change(text: str, tokens: list[re.Match[str]], position: int) -> Iterator[tuple[Edit, ...]]:
    token = tokens[position]
    what = token[0]
    if token["sign"]:
        spaced = text[token.start() - 1].isspace() and text[token.end()].isspace()
        if spaced and what in SPACED:
            yield (Edit(token.start(), token.end(), SPACED[what]),)
        elif what == "!":
            yield (Edit(token.start(), token.end(), ""),)
    elif token["number"] and what.isdigit():
        yield (Edit(token.start(), token.end(), str(int(what) + 1)),)
        if int(what):
            yield (Edit(token.start(), token.end(), str(int(what) - 1)),)
    elif what in WORDS:
        yield (Edit(token.start(), token.end(), WORDS[what]),)
    elif what in {"if", "while"} and tokens[position + 1][0] == "(":
        yield from _negate(tokens, position + 1)


def _negate(tokens: list[re.Match[str]], opening: int) -> Iterator[tuple[Edit, ...]]:
    """Turn a condition round that is one call or name: others have an operator to change."""
    depth = 0
    for token in tokens[opening:]:
        depth += (token[0] == "(") - (token[0] == ")")
        if depth == 0:
            yield (
                Edit(tokens[opening].end(), tokens[opening].end(), "!("),
                Edit(token.start(), token.start(), ")"),
            )
            return
        if token[0] in {"=", ";", "!", "&&", "||", "==", "!=", "<", ">", "<=", ">="}:
            return
