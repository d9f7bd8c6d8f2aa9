"""Make a failing program smaller, as long as it fails for the same cause."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from tests.fuzz.watch import Answer, Child

TRIES = 100


def fails(program: list[str], timeout: float) -> Answer | None:
    """Run a program alone in a new process; return its answer if it is a failure."""
    with Child(timeout) as child:
        # An empty program first, because the first one may take as long as importing does; more
        # after it, because the canary looks at every 25th only.
        answers = list(child.run([["pass"], program, *[["pass"]] * 25]))
    return next((answer for answer in answers if answer.is_failure), None)


def simpler_lines(line: str) -> Iterator[str]:
    """Return versions of a line with one argument less, or with a part of it alone."""
    try:
        tree = ast.parse(line)
    except SyntaxError:
        return
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    for call in calls:
        for position in reversed(range(len(call.keywords))):
            removed = call.keywords.pop(position)
            yield ast.unparse(tree)
            call.keywords.insert(position, removed)
        if len(call.args) > 1:
            removed_argument = call.args.pop()
            yield ast.unparse(tree)
            call.args.append(removed_argument)
        # x.method() -> x
        if isinstance(call.func, ast.Attribute) and isinstance(call.func.value, ast.Call):
            yield line.replace(ast.unparse(call), ast.unparse(call.func.value))


def shorter_blocks(line: str) -> Iterator[str]:
    """Return versions of a block with one statement less, or with what is in it instead of it."""
    try:
        tree = ast.parse(line)
    except SyntaxError:
        return
    for node in list(ast.walk(tree)):
        body = getattr(node, "body", None)
        if not isinstance(body, list):
            continue
        for position, statement in reversed(list(enumerate(body))):
            inner = getattr(statement, "body", [])
            is_block = isinstance(statement, ast.With | ast.Try | ast.For | ast.If)
            for instead in ([], inner) if is_block else ([],):
                node.body = [*body[:position], *instead, *body[position + 1 :]]  # type: ignore[attr-defined]
                if node.body:  # type: ignore[attr-defined]
                    yield ast.unparse(tree)
            node.body = body  # type: ignore[attr-defined]


def candidates(program: list[str]) -> Iterator[list[str]]:
    """Return programs that are one step smaller."""
    for position in reversed(range(len(program))):
        if len(program) > 1:
            yield program[:position] + program[position + 1 :]
    for position, line in enumerate(program):
        for simpler in (*shorter_blocks(line), *simpler_lines(line)):
            if simpler != line:
                yield [*program[:position], simpler, *program[position + 1 :]]


def shrink(
    program: list[str], answer: Answer, timeout: float, say: Callable[[str], None]
) -> list[str] | None:
    """Return the smallest failing program that was found, or None if it does not fail alone."""
    found = fails(program, timeout)
    if found is None or found.status != answer.status:
        return None
    cause = found.cause
    if answer.status == "hung":  # each try would take the whole timeout
        return program[: found.line + 1]
    tries = 0
    while tries < TRIES:
        for candidate in candidates(program):
            tries += 1
            say(f"making it smaller, try {tries}")
            outcome = fails(candidate, timeout)
            if outcome is not None and outcome.cause == cause:
                program = candidate
                break
            if tries >= TRIES:
                break
        else:
            break
    return program
