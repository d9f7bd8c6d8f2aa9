"""Sums of products by Einstein's notation."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from weft import _core
from weft._core import Tensor
from weft.functional.composite import composite
from weft.functional.shaping import diagonal

ops = _core.ops

_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
# One label a dimension: its letter, or "0", "1", ... for those of an ellipsis, from its end.
_Labels = list[str]


@composite()
def einsum(equation: Any, *operands: Any) -> Tensor:
    """Multiply tensors and sum the products over the indices that the result does not have.

    Args:
        equation: letters for each tensor's dimensions, such as "bij,bjk->bik"; "..." stands for
            dimensions that are broadcast. Without "->" the result has the letters that appear once,
            in alphabetical order.
        operands: the tensors, one by one or as a list. Numbers instead of letters are given as
            `einsum(a, [0, 1], b, [1, 2], [0, 2])`.

    Example:
        >>> import weft
        >>> weft.einsum("ij,j->i", weft.ones(2, 3), weft.ones(3))
        tensor([3., 3.])
    """
    if not isinstance(equation, str):
        arguments = (equation, *operands)
        count = len(arguments) // 2
        equation = ",".join(_letters(arguments[2 * i + 1]) for i in range(count))
        if len(arguments) % 2:
            equation += f"->{_letters(arguments[-1])}"
        operands = arguments[0 : 2 * count : 2]
    elif len(operands) == 1 and not isinstance(operands[0], Tensor):
        operands = tuple(operands[0])
    if not operands:
        raise _core.ArgumentError("einsum(): at least one operand must be given")
    inputs, output = _read(equation.replace(" ", ""), operands)
    terms = [_with_diagonals(*pair) for pair in zip(operands, inputs, strict=True)]
    sizes = _sizes(terms, operands)
    value, labels = terms[0]
    for i, (other, other_labels) in enumerate(terms[1:], 1):
        # What neither the output nor a later operand has can be added up now.
        wanted = {*output, *(label for _, later in terms[i + 1 :] for label in later)}
        value, labels = _summed(value, labels, wanted | set(other_labels))
        other, other_labels = _summed(other, other_labels, wanted | set(labels))
        value, labels = _product((value, labels), (other, other_labels), sizes, wanted)
    value, labels = _summed(value, labels, set(output))
    for label in output:
        if label not in labels:  # an ellipsis of the output that no operand has
            value, labels = value.unsqueeze(-1), [*labels, label]
    return ops.permute(value, [labels.index(label) for label in output])


def _letters(numbers: Any) -> str:
    return "".join("..." if number is Ellipsis else _LETTERS[number] for number in numbers)


def _labels(text: str, ellipsis: int) -> _Labels:
    """Return the labels of one term, whose ellipsis stands for so many dimensions."""
    before, dots, after = text.partition("...")
    for letter in before + after:
        if letter == ".":
            raise _core.ArgumentError(f"einsum(): '.' may only stand in one '...', in '{text}'")
        if letter not in _LETTERS:
            raise _core.ArgumentError(
                f"einsum(): a subscript must be a letter, got '{letter}' in '{text}'"
            )
    middle = [str(i) for i in reversed(range(ellipsis))] if dots else []
    return [*before, *middle, *after]


def _read(equation: str, operands: Sequence[Tensor]) -> tuple[list[_Labels], _Labels]:
    """Return the labels of each operand and of the output."""
    left, arrow, right = equation.partition("->")
    terms = left.split(",")
    if len(terms) != len(operands):
        raise _core.ArgumentError(
            f"einsum(): the equation '{equation}' has {len(terms)} operands, but {len(operands)} "
            "were given"
        )
    widest = 0
    inputs: list[_Labels] = []
    for number, (term, operand) in enumerate(zip(terms, operands, strict=True)):
        rest = operand.ndim - len(term.replace(".", ""))
        if rest < 0 or (rest > 0 and "." not in term):
            raise _core.ShapeError(
                f"einsum(): the subscripts '{term}' do not match the dimensions of operand "
                f"{number}, which is {tuple(operand.shape)}"
            )
        widest = max(widest, rest)
        inputs.append(_labels(term, rest))
    seen = [label for labels in inputs for label in labels]
    if not arrow:
        once = sorted(label for label in set(seen) if label.isalpha() and seen.count(label) == 1)
        return inputs, [str(i) for i in reversed(range(widest))] + once
    output = _labels(right, widest)
    for label in output:
        if label.isalpha() and label not in seen:
            raise _core.ArgumentError(
                f"einsum(): output subscript '{label}' does not appear in the equation's operands"
            )
        if output.count(label) > 1:
            raise _core.ArgumentError(
                f"einsum(): output subscript '{label}' appears more than once"
            )
    return inputs, output


def _with_diagonals(value: Tensor, labels: _Labels) -> tuple[Tensor, _Labels]:
    """Return an operand in which each label stands once: twice means its diagonal."""
    for label in dict.fromkeys(labels):
        while labels.count(label) > 1:
            first = labels.index(label)
            second = labels.index(label, first + 1)
            if value.shape[first] != value.shape[second]:
                raise _core.ShapeError(
                    f"einsum(): subscript '{label}' is repeated in an operand of shape "
                    f"{tuple(value.shape)}, but its sizes differ"
                )
            value = diagonal(value, 0, first, second)
            labels = [
                *(kept for i, kept in enumerate(labels) if i not in (first, second)),
                label,
            ]
    return value, labels


def _sizes(terms: list[tuple[Tensor, _Labels]], operands: Sequence[Tensor]) -> dict[str, int]:
    """Return the size of each label; one broadcasts."""
    sizes: dict[str, int] = {}
    for number, (value, labels) in enumerate(terms):
        for label, size in zip(labels, value.shape, strict=True):
            known = sizes.setdefault(label, size)
            if known != size and 1 not in (known, size):
                shapes = ", ".join(str(tuple(operand.shape)) for operand in operands)
                raise _core.ShapeError(
                    f"einsum(): subscript '{label}' has size {size} in operand {number} but "
                    f"{known} before; the operands are {shapes}"
                )
            if size != 1:
                sizes[label] = size
    return sizes


def _summed(value: Tensor, labels: _Labels, wanted: set[str]) -> tuple[Tensor, _Labels]:
    """Return an operand without the labels that nobody wants."""
    dims = [i for i, label in enumerate(labels) if label not in wanted]
    if not dims:
        return value, labels
    kept = [label for label in labels if label in wanted]
    return ops.sum(value, dims, dtype=value.dtype), kept


def _product(
    left: tuple[Tensor, _Labels],
    right: tuple[Tensor, _Labels],
    sizes: dict[str, int],
    wanted: set[str],
) -> tuple[Tensor, _Labels]:
    """Multiply two operands as matrices; labels that both have and nobody wants are summed."""
    shared = [label for label in left[1] if label in right[1]]
    batch = [label for label in shared if label in wanted]
    inner = [label for label in shared if label not in wanted]
    rows = [label for label in left[1] if label not in shared]
    columns = [label for label in right[1] if label not in shared]

    def matrices(term: tuple[Tensor, _Labels], *groups: _Labels) -> Tensor:
        value, labels = term
        order = [label for group in groups for label in group]
        turned, shape = _turned(value, labels, order), [sizes[label] for label in order]
        if list(turned.shape) != shape:
            turned = ops.expand(turned, shape)
        if all(len(group) == 1 for group in groups):
            return turned
        return turned.reshape([math.prod(sizes[label] for label in group) for group in groups])

    if batch:
        product = ops.bmm(
            matrices(left, batch, rows, inner), matrices(right, batch, inner, columns)
        )
    else:
        product = ops.mm(matrices(left, rows, inner), matrices(right, inner, columns))
    result = batch + rows + columns
    shape = [sizes[label] for label in result]
    return product if list(product.shape) == shape else product.reshape(shape), result


def _turned(value: Tensor, labels: _Labels, order: _Labels) -> Tensor:
    """Bring the dimensions into another order."""
    if labels == order:
        return value
    return ops.permute(value, [labels.index(label) for label in order])
