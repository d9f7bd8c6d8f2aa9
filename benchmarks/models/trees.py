"""Sentiment trees as plain tuples: (label, word) or (label, left, right)."""

from __future__ import annotations

import re
import zlib
from functools import cache
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parents[3] / "shared" / "data" / "sst"
CLASSES = 5
# Words are hashed into this many, or the gradient of a large embedding is what we would measure.
VOCABULARY = 1000

Tree = tuple[Any, ...]


def parse(text: str) -> Tree:
    """Read one tree in brackets."""
    stack: list[list[Any]] = [[]]
    for word in re.findall(r"[()]|[^() ]+", text):  # a word may hold a space that does not break
        if word == "(":
            stack.append([])
        elif word == ")":
            done = tuple(stack.pop())
            stack[-1].append(done)
        elif not stack[-1]:
            stack[-1].append(int(word))
        else:
            stack[-1].append(zlib.crc32(word.encode()) % VOCABULARY)
    return stack[0][0]


@cache
def read_trees(count: int = 8192) -> list[Tree]:
    """Return the first trees of the training set."""
    path = FOLDER / "train.txt"
    lines = path.read_text().splitlines()
    return [parse(line) for line in lines[:count] if line]


def leaves(tree: Tree) -> list[Tree]:
    """Return the leaves from left to right."""
    found, stack = [], [tree]
    while stack:
        node = stack.pop()
        if len(node) == 2:
            found.append(node)
        else:
            stack += node[:0:-1]
    return found


def merge_equal_labels(tree: Tree) -> Tree:
    """Return a tree whose nodes have any number of children: those of equal labels become one.

    Leaves stay (label, word); other nodes are (label, [children]).
    """
    if len(tree) == 2:
        return tree
    children: list[Tree] = []
    for child in map(merge_equal_labels, tree[1:]):
        if child[0] == tree[0] and isinstance(child[1], list):
            children += child[1]
        else:
            children.append(child)
    return (tree[0], children)
