"""Large work, forward and backward: GEMM, element-wise ops, reductions, convolution, accuracy."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.measure import Row, Settings, Spread, Step, alternate_steps, now, set_threads

MILLION = 1 << 20
ROW_SIZE = 1024

# Makes a function and the tensors that it takes; those that require a gradient get one.
Make = Callable[[Any], tuple[Callable[..., Any], list[Any]]]


@dataclass(frozen=True)
class Work:
    """One piece of large work, with its bar."""

    name: str
    make: Make
    required: float | None
    aim: float | None = None
    backward: bool = True


def numbers(library: Any, *shape: int, scale: float = 1.0, gradient: bool = True) -> Any:
    """Return the same normal numbers for both libraries."""
    array = np.random.default_rng(0).standard_normal(shape, dtype=np.float32) * np.float32(scale)
    return library.tensor(array).requires_grad_(gradient)


def two_arguments(function: str, size: int) -> Make:
    """An op of two equal shapes."""
    return lambda library: (
        getattr(library, function),
        [numbers(library, size), numbers(library, size)],
    )


def one_argument(function: str, size: int) -> Make:
    """An op of one argument."""
    return lambda library: (getattr(library, function), [numbers(library, size)])


def softmax(size: int) -> Make:
    """Softmax over rows."""

    def make(library: Any) -> tuple[Callable[..., Any], list[Any]]:
        return (
            lambda x: library.softmax(x, dim=-1),
            [numbers(library, size // ROW_SIZE, ROW_SIZE)],
        )

    return make


def layer_norm(size: int) -> Make:
    """layer_norm over rows, with weight and bias."""

    def make(library: Any) -> tuple[Callable[..., Any], list[Any]]:
        function = library.nn.functional.layer_norm
        tensors = [numbers(library, size // ROW_SIZE, ROW_SIZE)]
        tensors += [numbers(library, ROW_SIZE), numbers(library, ROW_SIZE)]
        return lambda x, weight, bias: function(x, (ROW_SIZE,), weight, bias), tensors

    return make


def gelu(size: int) -> Make:
    """Exact gelu, which lives in nn.functional."""
    return lambda library: (library.nn.functional.gelu, [numbers(library, size)])


def gemm(library: Any) -> tuple[Callable[..., Any], list[Any]]:
    """A product of square matrices."""
    return library.matmul, [numbers(library, 1024, 1024), numbers(library, 1024, 1024)]


def convolution(library: Any) -> tuple[Callable[..., Any], list[Any]]:
    """A 3 x 3 convolution, 64 channels in and out, 8 images of 56 x 56."""
    function = library.nn.functional.conv2d
    tensors = [numbers(library, 8, 64, 56, 56), numbers(library, 64, 64, 3, 3, scale=0.05)]
    tensors.append(numbers(library, 64))
    return lambda x, weight, bias: function(x, weight, bias, padding=1), tensors


def five_ops(library: Any) -> tuple[Callable[..., Any], list[Any]]:
    """Five element-wise ops, each a pass over memory unless somebody fuses them."""
    tensors = [numbers(library, 4 * MILLION, gradient=False) for _ in range(2)]
    return lambda x, y: ((x * y + x) * 0.5 - y) * x, tensors


def work_table() -> dict[str, list[Work]]:
    """List the large cases by the name they have on the command line."""
    table = {
        "gemm": [Work("GEMM 1024", gemm, 0.95)],
        "conv2d": [Work("conv2d 64 channels, 3x3, 56x56, batch 8", convolution, 0.7, 1.0)],
        "five": [Work("five element-wise ops, 4M", five_ops, None, 3.0, backward=False)],
    }
    sized: dict[str, Callable[[int], Make]] = {
        "add": lambda size: two_arguments("add", size),
        "mul": lambda size: two_arguments("mul", size),
        "sum": lambda size: one_argument("sum", size),
        "softmax": softmax,
        "layer_norm": layer_norm,
    }
    for name, make in sized.items():
        table[name] = [Work(f"{name} {count}M", make(count * MILLION), 1.0) for count in (1, 16)]
    for name, aim in (("tanh", 2.5), ("exp", None), ("sigmoid", None)):
        table[name] = [Work(f"{name} 4M", one_argument(name, 4 * MILLION), 1.0, aim)]
    table["gelu"] = [Work("gelu 4M", gelu(4 * MILLION), 1.0)]
    return table


def make_step(library: Any, work: Work) -> Step:
    """Return a step that runs forward, then backward, and times the two."""
    function, tensors = work.make(library)
    learned = [tensor for tensor in tensors if tensor.requires_grad]
    example = function(*tensors)
    # A gradient of ones would be an easy one: sum's is stretched from one number.
    gradient = numbers(library, *example.shape, gradient=False)
    del example

    def step() -> Mapping[str, float]:
        for tensor in learned:
            tensor.grad = None
        begin = now()
        output = function(*tensors)
        middle = now()
        if not work.backward:
            return {"forward": middle - begin}
        output.backward(gradient)
        return {"forward": middle - begin, "backward": now() - middle}

    return step


def measure_work(
    weft: Any, torch: Any, work: Work, settings: Settings, *, threads: int
) -> list[Row]:
    """Measure one piece of work with one number of threads."""
    set_threads(threads, weft, torch)
    steps = {"weft": make_step(weft, work), "torch": make_step(torch, work)}
    times = alternate_steps(steps, settings)
    return [
        Row(
            f"{work.name}, {part}",
            spread,
            times["torch"][part],
            required=work.required,
            aim=work.aim if part == "forward" else None,
            threads=threads,
        )
        for part, spread in times["weft"].items()
    ]


# ---- Accuracy ------------------------------------------------------------------------------------


def worst_ulp(results: np.ndarray, exact: np.ndarray) -> float:
    """Return the largest error in units of the last place of the exact result's float32."""
    smallest_normal = np.finfo(np.float32).tiny
    magnitude = np.maximum(np.abs(exact), smallest_normal).astype(np.float32)
    return float(np.max(np.abs(results.astype(np.float64) - exact) / np.spacing(magnitude)))


def sample_points(low: float, high: float) -> np.ndarray:
    """Return floats spread evenly over a range, and evenly over the exponents inside it."""
    generator = np.random.default_rng(1)
    even = generator.uniform(low, high, MILLION)
    exponents = generator.uniform(-30, np.log2(max(-low, high)), MILLION)
    small = np.exp2(exponents) * generator.choice([-1.0, 1.0], MILLION)
    points = np.concatenate([even, small]).astype(np.float32)
    return points[(points >= low) & (points <= high)]


def measure_ulp(weft: Any, torch: Any, name: str) -> list[Row]:
    """Compare a function with float64 over its range of normal results."""
    points = sample_points(-87.0 if name == "exp" else -12.0, 88.0 if name == "exp" else 12.0)
    x = torch.from_numpy(points).double()
    if name == "gelu":
        # 1 + erf loses its digits on the negative side; erfc keeps them.
        exact = (0.5 * x * torch.special.erfc(-x / 2**0.5)).numpy()
    else:
        exact = getattr(torch, name)(x).numpy()
    errors = []
    for library in (weft, torch):
        function = getattr(library.nn.functional if name == "gelu" else library, name)
        errors.append(worst_ulp(function(library.from_numpy(points)).numpy(), exact))
    weft_error, torch_error = (Spread.of([error]) for error in errors)
    title = f"{name}, worst error"
    return [Row(title, weft_error, torch_error, "ulp", "at most", required=2.0)]
