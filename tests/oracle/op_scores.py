"""The score card: how many names of PyTorch's own op database run on Weft with PyTorch's results.

    python -m tests.oracle.op_scores [--samples N] [--names a,b] [--all]

A name passes if each of its sample inputs gives PyTorch's values, shapes, dtypes and gradients. It
is missing if Weft has neither a function nor a method of that name.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import types
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
import torch

import weft

# What rounding may do to a value, by dtype: (relative, absolute).
TOLERANCES = {torch.float64: (1e-6, 1e-7), torch.float32: (1e-3, 2e-4)}
FLOATS = (torch.float32, torch.float64)
OTHERS = (torch.int64, torch.bool)
# Their values are whatever the memory held.
UNINITIALISED = {"empty", "empty_like", "empty_permuted", "empty_strided", "new_empty"}
UNINITIALISED |= {"new_empty_strided", "resize_", "resize_as_"}


def seeded(op: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call an op at the beginning of a stream: what PyTorch's tests call `wrapper_set_seed`."""
    weft.manual_seed(42)
    return op(*args, **kwargs)


class Different(Exception):
    """Says how a result differs from PyTorch's."""


class NotComparable(Exception):
    """Says that a sample cannot be given to Weft: sparse, complex, or an error in PyTorch too."""


@dataclass(frozen=True)
class Score:
    """What became of one name: "passed", "failed", "missing" or "skipped", and why."""

    name: str
    outcome: str
    reason: str = ""
    samples: int = 0
    left_out: int = 0  # samples that could not be compared: complex, sparse, or errors in PyTorch
    gradients: int = 0  # samples whose gradients were compared too


def op_infos() -> dict[str, list[Any]]:
    """Return PyTorch's op database by name."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from torch.testing._internal.common_methods_invocations import op_db
    found: dict[str, list[Any]] = {}
    for info in op_db:
        found.setdefault(info.name, []).append(info)
    return found


# ---- from PyTorch's values to Weft's ------------------------------------------------------------


class Conversion:
    """Makes Weft's arguments of PyTorch's and remembers which tensors ask for gradients."""

    def __init__(self) -> None:
        self.leaves: list[tuple[Any, Any]] = []

    def __call__(self, value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            return self._tensor(value)
        if isinstance(value, torch.dtype):
            return weft_dtype(value)
        if isinstance(value, torch.device):
            return weft.device("cpu")
        if isinstance(value, torch.Size):
            return weft.Size(value)
        if isinstance(value, torch.layout | torch.memory_format):
            return str(value)
        if isinstance(value, torch.nn.Module):
            return getattr(weft.nn, type(value).__name__)()
        if isinstance(value, torch.Generator | complex):
            raise NotComparable(f"an argument is a {type(value).__name__}")
        if isinstance(value, list):
            return [self(item) for item in value]
        if isinstance(value, tuple):
            return tuple(self(item) for item in value)
        if isinstance(value, dict):
            return {name: self(item) for name, item in value.items()}
        return value

    def _tensor(self, value: torch.Tensor) -> Any:
        if value.layout != torch.strided or value.is_complex() or value.is_quantized:
            raise NotComparable(f"an argument is {value.layout}, {value.dtype}")
        weft_dtype(value.dtype)
        plain = value.detach().resolve_conj().resolve_neg()
        if value.dtype is torch.bfloat16:
            made = weft.tensor(plain.float().numpy().copy()).to(weft.bfloat16)
        else:
            made = weft.tensor(plain.numpy().copy())
        if value.requires_grad:
            made.requires_grad_()
            self.leaves.append((value, made))
        return made


def plain(sample: Any) -> Any:
    """Lay out a sample's tensors as Weft's will be: one after the other, from the beginning."""

    def lay_out(value: torch.Tensor) -> torch.Tensor:
        if value.layout != torch.strided or not value.is_leaf:
            return value
        made = value.detach().clone(memory_format=torch.contiguous_format)
        return made.requires_grad_(value.requires_grad)

    return sample.transform(lambda value: lay_out(value) if is_tensor(value) else value)


def weft_dtype(value: torch.dtype) -> Any:
    name = str(value).removeprefix("torch.")
    try:
        return getattr(weft, name)
    except (AttributeError, RuntimeError):
        raise NotComparable(f"an argument is {value}") from None


def weft_function(info: Any) -> Callable[..., Any] | None:
    """Return Weft's function or method of an op's name, or None."""
    named = info.name.removeprefix("torch.")
    function = info.op
    if isinstance(function, types.FunctionType) and "torch.testing" in function.__module__:
        # A wrapper of PyTorch's tests around the op: it finds Weft under the name `torch`.
        return types.FunctionType(
            function.__code__,
            {**function.__globals__, "torch": weft, "wrapper_set_seed": seeded},
            function.__name__,
            function.__defaults__,
            function.__closure__,
        )
    for place in (weft, weft.Tensor):
        try:
            found = reduce(getattr, named.split("."), place)
        except (AttributeError, RuntimeError):
            continue
        return found if callable(found) else lambda tensor: getattr(tensor, named)
    return None


def is_there(name: str) -> bool:
    """Tell whether Weft has a function or a method of this name, or a method that writes."""
    for place, each in ((weft, name), (weft.Tensor, name), (weft.Tensor, f"{name}_")):
        try:
            reduce(getattr, each.split("."), place)
        except (AttributeError, RuntimeError):
            continue
        return True
    return False


# ---- comparing -----------------------------------------------------------------------------------


def leaves_of(result: Any) -> Iterator[Any]:
    if isinstance(result, list | tuple):
        for item in result:
            yield from leaves_of(item)
    elif result is not None:
        yield result


def is_tensor(value: Any) -> bool:
    return isinstance(value, torch.Tensor | weft.Tensor)


def array_of(value: Any) -> np.ndarray:
    if not is_tensor(value):
        return np.asarray(value)
    value = value.detach()
    if isinstance(value, torch.Tensor):
        if value.layout != torch.strided or value.is_complex():
            raise NotComparable(f"a result is {value.layout}, {value.dtype}")
        if value._is_zerotensor():
            value = torch.zeros(value.shape, dtype=value.dtype)
        value = value.resolve_neg()
    return np.array((value.float() if "float16" in str(value.dtype) else value).numpy())


def compare(got: Any, expected: Any, dtype: torch.dtype, what: str, values: bool = True) -> None:
    """Raise `Different` unless two results are equal within rounding."""
    ours, theirs = list(leaves_of(got)), list(leaves_of(expected))
    if len(ours) != len(theirs):
        raise Different(f"{what}: {len(ours)} results instead of {len(theirs)}")
    for left, right in zip(ours, theirs, strict=True):
        one, other = array_of(left), array_of(right)
        if one.shape != other.shape:
            raise Different(f"{what}: shape {one.shape} instead of {other.shape}")
        if is_tensor(left) and is_tensor(right):
            kinds = [str(each.dtype).rpartition(".")[2] for each in (left, right)]
            if kinds[0] != kinds[1]:
                raise Different(f"{what}: dtype {kinds[0]} instead of {kinds[1]}")
        if not values:
            continue
        if one.dtype.kind != "f":
            if not np.array_equal(one, other):
                raise Different(f"{what}: other values")
            continue
        relative, absolute = TOLERANCES.get(dtype, TOLERANCES[torch.float32])
        if not np.allclose(one, other, relative, absolute, equal_nan=True):
            with np.errstate(invalid="ignore"):
                error = np.nanmax(np.abs(one.astype("f8") - other.astype("f8")))
            raise Different(f"{what}: off by {error:.1e}")


def run_sample(info: Any, function: Callable[..., Any], sample: Any, dtype: torch.dtype) -> bool:
    """Compare one call and tell whether gradients were compared too.

    Raises `Different`, `NotComparable`, or what Weft raised.
    """
    sample = plain(sample)
    convert = Conversion()
    ours = convert((sample.input, tuple(sample.args), dict(sample.kwargs)))
    torch.manual_seed(7)
    try:
        expected = info.op(sample.input, *sample.args, **sample.kwargs)
    except Exception as error:  # noqa: BLE001 - whatever PyTorch says
        raise NotComparable(f"PyTorch raises {type(error).__name__}") from None
    weft.manual_seed(7)
    got = function(ours[0], *ours[1], **ours[2])
    process = sample.output_process_fn_grad or (lambda result: result)
    got, expected = process(got), process(expected)
    compare(got, expected, dtype, "values", values=info.name not in UNINITIALISED)
    if not convert.leaves or info.name in UNINITIALISED:
        return False
    return compare_gradients(convert.leaves, got, expected, dtype)


def compare_gradients(
    leaves: list[tuple[Any, Any]], got: Any, expected: Any, dtype: torch.dtype
) -> bool:
    """Compare gradients, where PyTorch has some."""
    pairs = [
        (left, right)
        for left, right in zip(leaves_of(got), leaves_of(expected), strict=True)
        if is_tensor(right) and right.requires_grad
    ]
    if not pairs:
        return False
    random = np.random.default_rng(0)
    seeds = [random.uniform(0.5, 1.5, tuple(right.shape)) for _, right in pairs]
    try:
        theirs = torch.autograd.grad(
            [right for _, right in pairs],
            [leaf for leaf, _ in leaves],
            [torch.tensor(s, dtype=r.dtype) for s, (_, r) in zip(seeds, pairs, strict=True)],
            allow_unused=True,
        )
    except RuntimeError:
        return False  # PyTorch has no gradient here
    for left, _ in pairs:
        if not left.requires_grad:
            raise Different("gradients: the result does not require grad")
    ours = weft.autograd.grad(
        [left for left, _ in pairs],
        [leaf for _, leaf in leaves],
        [weft.tensor(s).to(left.dtype) for s, (left, _) in zip(seeds, pairs, strict=True)],
        allow_unused=True,
    )
    for one, other in zip(ours, theirs, strict=True):
        if one is None and (other is None or not other.any()):
            continue
        if other is None:
            other = torch.zeros(tuple(one.shape), dtype=dtype)
        if one is None:
            raise Different("gradients: one is missing")
        compare(one, other, dtype, "gradients")
    return True


# ---- scores --------------------------------------------------------------------------------------


def samples_of(info: Any, dtypes: Iterable[torch.dtype], limit: int | None) -> Iterator[Any]:
    for dtype in dtypes:
        wants = info.supports_autograd and dtype in info.dtypes and dtype.is_floating_point
        torch.manual_seed(0)
        for sample in itertools.islice(
            info.sample_inputs("cpu", dtype, requires_grad=wants), limit
        ):
            yield dtype, sample


def score(name: str, infos: list[Any], limit: int | None = None) -> Score:
    """Run the samples of one name."""
    if not is_there(name) and not name.startswith("_"):
        return Score(name, "missing")
    count, left_out, gradients, skipped = 0, 0, 0, ""
    for info in infos:
        function = weft_function(info)
        if function is None:
            return Score(name, "missing")
        dtypes = [each for each in FLOATS if each in info.dtypes] or [
            each for each in OTHERS if each in info.dtypes
        ][:1]
        try:
            for dtype, sample in samples_of(info, dtypes, limit):
                try:
                    gradients += run_sample(info, function, sample, dtype)
                    count += 1
                except NotComparable as error:
                    left_out += 1
                    skipped = str(error)
                except Different as error:
                    return Score(name, "failed", f"{error} [{_said(sample)}]", count)
                except Exception as error:  # noqa: BLE001 - any error of Weft is a failure
                    kind = type(error).__name__
                    return Score(name, "failed", f"{kind}: {error} [{_said(sample)}]", count)
        except Exception as error:  # noqa: BLE001 - PyTorch's own samples
            left_out += 1
            skipped = f"no samples: {type(error).__name__}"
    if count == 0:
        return Score(name, "skipped", skipped or "no samples of a dtype that Weft has")
    return Score(name, "passed", "", count, left_out, gradients)


def _said(sample: Any) -> str:
    def say(value: Any) -> str:
        if isinstance(value, torch.Tensor):
            return f"{str(value.dtype)[6:]}{list(value.shape)}"
        if isinstance(value, list | tuple):
            return f"[{', '.join(map(say, value))}]"
        return repr(value)

    words = [say(sample.input), *map(say, sample.args)]
    words += [f"{key}={say(value)}" for key, value in sample.kwargs.items()]
    return ", ".join(words)[:160]


def scores(limit: int | None = None, names: Iterable[str] | None = None) -> list[Score]:
    """Score each name of the database, or those that are given."""
    infos = op_infos()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [score(name, infos[name], limit) for name in names or sorted(infos)]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--samples", type=int, help="at most this many samples an op and dtype")
    parser.add_argument("--names", help="only these, separated by commas")
    parser.add_argument("--all", action="store_true", help="name what passed too")
    given = parser.parse_args()
    found = scores(given.samples, given.names.split(",") if given.names else None)
    for outcome in ("passed", "failed", "missing", "skipped"):
        part = [each for each in found if each.outcome == outcome]
        print(f"\n{outcome}: {len(part)} of {len(found)}")
        if outcome == "passed":
            print(f"  gradients compared too: {sum(each.gradients > 0 for each in part)}")
            partly = [each for each in part if each.left_out]
            print(f"  some samples left out:  {len(partly)}")
            print("  " + " ".join(f"{each.name}({each.left_out})" for each in partly))
        if outcome in {"failed", "skipped"}:
            for each in part:
                print(f"  {each.name:44} {' '.join(each.reason.split())[:230]}")
        elif outcome == "missing" or given.all:
            print("  " + " ".join(each.name for each in part))


if __name__ == "__main__":
    sys.exit(main())
