"""How Weft differs from PyTorch, and why names are missing.

Each difference comes with a program that shows it. tests/architecture/test_coming_from_pytorch.py
runs it with Weft and tests/oracle/test_differences.py with PyTorch.
"""

from __future__ import annotations

import textwrap
import warnings
from dataclasses import dataclass
from types import ModuleType

from weft._missing import kind_of


@dataclass(frozen=True)
class Difference:
    """One difference, and the program that shows it.

    Attributes:
        names: The names it is about; none if it is about all of them.
        text: One sentence about Weft.
        code: A program over `torch`, whose last line is an expression.
        ours: What that is with Weft, or the error: "raises ValueError".
        theirs: The same with PyTorch.
    """

    names: str
    text: str
    code: str
    ours: str
    theirs: str


def outcome(library: ModuleType, code: str) -> str:
    """Run a program with a library in the place of `torch`, and say what its last line gives."""
    *before, last = textwrap.dedent(code).strip().splitlines()
    scope = {"torch": library}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            exec("\n".join(before), scope)
            return repr(eval(last, scope))
        except Exception as error:  # noqa: BLE001 - which one is the answer
            return f"raises {type(error).__name__}"


DIFFERENCES = (
    Difference(
        "torch.linalg.eig torch.linalg.eigvals",
        "raises: results would be complex; `eigh` is there",
        "torch.linalg.eigvals(torch.eye(2))",
        "raises UnsupportedError",
        "tensor([1.+0.j, 1.+0.j])",
    ),
    Difference(
        "",
        (
            "There is one device, the CPU: `torch.device('cuda')` raises, and so does "
            "`.cuda()`. Scripts that ask `torch.cuda.is_available()` first run as they are."
        ),
        "torch.device('cuda').type",
        "raises UnsupportedError",
        "'cuda'",
    ),
    Difference(
        "",
        (
            "Errors name the op and the arguments. They can be caught as PyTorch's: `ShapeError` "
            "is a `RuntimeError`, `OutOfRangeError` an `IndexError`. Their texts differ."
        ),
        "torch.ones(2) + torch.ones(3)",
        "raises ShapeError",
        "raises RuntimeError",
    ),
    Difference(
        "",
        (
            "Dtypes and sizes print as `weft.float32` and `weft.Size([3])`; under `weft run` as "
            "PyTorch's."
        ),
        "torch.zeros(3).dtype, torch.zeros(3).shape",
        "(weft.float32, weft.Size([3]))",
        "(torch.float32, torch.Size([3]))",
    ),
    Difference(
        "",
        "`memory_format` is accepted by `.to` and changes nothing; other methods do not take it.",
        "torch.zeros(1, 3, 2, 2).to(memory_format=torch.channels_last).stride()",
        "(12, 4, 2, 1)",
        "(12, 1, 6, 3)",
    ),
    Difference(
        "torch.take_along_dim",
        "raises for places beyond the dimension, where PyTorch wraps them around",
        "torch.take_along_dim(torch.arange(3), torch.tensor([5]), 0)",
        "raises OutOfRangeError",
        "tensor([2])",
    ),
    Difference(
        "torch.Tensor.index_reduce torch.Tensor.index_add torch.prod",
        "combine half precision in float32 and round once, where PyTorch rounds at each element",
        "torch.prod(torch.tensor([300.0, 300.0, 0.001], dtype=torch.float16)).isinf().item()",
        "False",
        "True",
    ),
    Difference(
        "torch.Tensor.backward",
        (
            "never writes into a `.grad` that has a history: it takes a new tensor for the sum, "
            "also without `create_graph`"
        ),
        """
        x = torch.ones(1, requires_grad=True)
        (x**3).sum().backward(create_graph=True)
        first = x.grad
        x.sum().backward()
        first.item()
        """,
        "3.0",
        "4.0",
    ),
    Difference(
        "",
        (
            "`axis` is another name of `dim` for ops; functions made of several ops (`max`, "
            "`std`) know `dim` alone."
        ),
        "torch.std(torch.ones(2, 3), axis=1)",
        "raises TypeError",
        "tensor([0., 0.])",
    ),
    Difference(
        "",
        (
            "A write through `.data` counts as a write: backward raises if it needs what was "
            "there, where PyTorch gives wrong gradients."
        ),
        """
        x = torch.ones(2, requires_grad=True)
        y = x.exp()
        _ = y.data.zero_()
        y.sum().backward()
        x.grad
        """,
        "raises GradientError",
        "tensor([0., 0.])",
    ),
    Difference(
        "torch.nn.functional.interpolate",
        (
            "to images one pixel wide is right with `antialias` and of bytes too, where PyTorch "
            "gives every row the first one's values"
        ),
        """
        x = torch.arange(6.0).reshape(1, 1, 3, 2)
        resized = torch.nn.functional.interpolate(x, (4, 1), mode="bilinear", antialias=True)
        resized.flatten().tolist()
        """,
        "[0.5, 1.75, 3.25, 4.5]",
        "[0.5, 0.5, 0.5, 0.5]",
    ),
    Difference(
        "torch.optim.lr_scheduler.CosineAnnealingWarmRestarts",
        (
            "made with `last_epoch` after a restart goes on where it was, where PyTorch begins "
            "again with a period of `T_0`"
        ),
        """
        optimizer = torch.optim.SGD([torch.zeros(1).requires_grad_()], lr=1.0)
        begin = torch.optim.lr_scheduler.CosineAnnealingWarmRestarts
        first = begin(optimizer, T_0=2, T_mult=2)
        _ = [(optimizer.step(), first.step()) for _ in range(6)]
        resumed = begin(optimizer, T_0=2, T_mult=2, last_epoch=6)
        round(resumed.get_last_lr()[0], 3)
        """,
        "0.962",
        "0.854",
    ),
    Difference(
        "torch.nn.functional.ctc_loss",
        "has gradients of zero for a target that cannot be, whose loss is infinite, not NaN; "
        "raises for classes that there are not, where PyTorch reads other memory",
        """
        logs = torch.zeros(1, 1, 3, requires_grad=True)
        of_two = torch.tensor([[1, 2]])
        loss = torch.nn.functional.ctc_loss(
            logs.log_softmax(2), of_two, torch.tensor([1]), torch.tensor([2])
        )
        loss.backward()
        logs.grad.flatten().tolist()
        """,
        "[0.0, 0.0, 0.0]",
        "[nan, nan, nan]",
    ),
    Difference(
        "",
        "Ops on a subclass of Tensor give plain tensors, and `__torch_function__` is not asked.",
        """
        class Mine(torch.Tensor):
            pass

        type(Mine([1.0]) * 2).__name__
        """,
        "'Tensor'",
        "'Mine'",
    ),
    Difference(
        "torch.compile",
        "compiles branches, loops and calls too; `mode`, `dynamic`, `backend` and `options` are "
        "taken and change nothing",
        """
        type(torch.compile(torch.nn.ReLU())).__name__
        """,
        "'CompiledModule'",
        "'OptimizedModule'",
    ),
    Difference(
        "torch.nn.Module.compile",
        "does nothing: `torch.compile(module)` compiles",
        """
        m = torch.nn.Linear(1, 1)
        m.compile()
        getattr(m, '_compiled_call_impl', None) is None
        """,
        "True",
        "False",
    ),
    Difference(
        "torch.autocast torch.amp.autocast",
        "does nothing: ops run in the dtypes of their tensors",
        """
        x = torch.ones(2, 2)
        with torch.autocast('cpu', dtype=torch.bfloat16):
            y = x @ x

        y.dtype
        """,
        "weft.float32",
        "torch.bfloat16",
    ),
    Difference(
        "torch.GradScaler torch.amp.GradScaler",
        "scales by one",
        "torch.amp.GradScaler('cpu').scale(torch.ones(1))",
        "tensor([1.])",
        "tensor([65536.])",
    ),
    Difference(
        (
            "torch.device torch.set_default_device torch.Tensor.to torch.Tensor.cuda "
            "torch.nn.Module.cuda torch.nn.Module.to"
        ),
        "knows only the CPU",
        "torch.zeros(2).to('meta').device.type",
        "raises UnsupportedError",
        "'meta'",
    ),
    Difference(
        "torch.are_deterministic_algorithms_enabled torch.use_deterministic_algorithms",
        "says True from the start: results never depend on the number of threads",
        "torch.are_deterministic_algorithms_enabled()",
        "True",
        "False",
    ),
    Difference(
        (
            "torch.get_rng_state torch.set_rng_state torch.random.get_rng_state "
            "torch.random.set_rng_state"
        ),
        (
            "has a state of its own form: PyTorch's cannot be set, though the same seed gives "
            "the same numbers"
        ),
        "torch.get_rng_state().numel()",
        "2552",
        "5056",
    ),
    Difference(
        (
            "torch.Tensor.layout torch.strided torch.channels_last torch.contiguous_format "
            "torch.preserve_format"
        ),
        "is a text",
        "torch.zeros(2).layout == 'torch.strided'",
        "True",
        "False",
    ),
    Difference(
        "torch.Tensor.contiguous torch.Tensor.is_contiguous",
        "has no `memory_format`",
        "torch.zeros(1, 3, 2, 2).is_contiguous(memory_format=torch.channels_last)",
        "raises TypeError",
        "False",
    ),
    Difference(
        "torch.Tensor.copy_",
        "has no `non_blocking`",
        "torch.zeros(2).copy_(torch.ones(2), non_blocking=True)",
        "raises TypeError",
        "tensor([1., 1.])",
    ),
    Difference(
        "torch.dropout torch.dropout_",
        "calls its switch `training`, as nn.functional.dropout does, and it is on if not given",
        "torch.dropout(torch.ones(2), 0.5, train=False)",
        "raises TypeError",
        "tensor([1., 1.])",
    ),
    Difference(
        "torch.convolution",
        "takes neither `transposed` nor `output_padding`; the other arguments have defaults",
        "torch.convolution(torch.ones(1, 1, 5), torch.ones(1, 1, 3), padding=[1]).shape",
        "weft.Size([1, 1, 5])",
        "raises TypeError",
    ),
    Difference(
        "torch.detach_copy",
        "gives a copy without history",
        "torch.detach_copy(torch.ones(2, requires_grad=True)).requires_grad",
        "False",
        "True",
    ),
    Difference(
        "torch.save",
        "writes safetensors, of plain data and tensors; save a module's `state_dict()`",
        """
        import io
        file = io.BytesIO()
        torch.save({'a': torch.ones(1)}, file)
        file.getvalue()[:2]
        """,
        r"b'\xb8\x00'",
        "b'PK'",
    ),
    Difference(
        "torch.load",
        "reads safetensors and PyTorch's weight files, as data; anything else is a LoadError",
        """
        import io
        torch.load(io.BytesIO(b'not a file of weights'))
        """,
        "raises LoadError",
        "raises UnpicklingError",
    ),
    Difference(
        "torch.Tensor.grad_fn",
        "has nodes with `name()` and `next_functions`, without hooks and `_saved_...` of their own",
        "torch.ones(2, requires_grad=True).exp().grad_fn._saved_result is not None",
        "raises AttributeError",
        "True",
    ),
    Difference(
        "torch.nn.Module.state_dict",
        "is an OrderedDict without `_metadata`",
        "hasattr(torch.nn.Linear(2, 2).state_dict(), '_metadata')",
        "False",
        "True",
    ),
    Difference(
        "torch.Tensor.data",
        "shares the version with the tensor, so that writes through it are noticed",
        """
        x = torch.zeros(2)
        _ = x.data.add_(1)
        x._version
        """,
        "1",
        "0",
    ),
    Difference(
        "torch.Tensor.share_memory_ torch.nn.Module.share_memory torch.Tensor.is_shared",
        "does nothing: forked processes share what nobody writes",
        "torch.zeros(2).share_memory_().is_shared()",
        "False",
        "True",
    ),
    Difference(
        "torch.Tensor.pin_memory torch.Tensor.is_pinned",
        "does nothing: there is one kind of memory",
        """
        x = torch.zeros(2)
        x.pin_memory() is x
        """,
        "True",
        "raises RuntimeError",
    ),
    Difference(
        "torch.tensor",
        "raises TypeError for what is no number",
        "torch.tensor(['a'])",
        "raises TypeError",
        "raises ValueError",
    ),
    Difference(
        "",
        (
            "Operators take NumPy arrays on both sides, with gradients, and promote as between "
            "tensors; NumPy's other functions are in [numpy.md](numpy.md)."
        ),
        """
        import numpy
        x = torch.ones(2, requires_grad=True)
        (numpy.ones(2) * x).sum().backward()
        x.grad
        """,
        "tensor([1., 1.])",
        "raises TypeError",
    ),
    Difference(
        "",
        "`tensor += array` writes into the tensor, where PyTorch makes a new one by NumPy's rules.",
        """
        import numpy
        x = torch.ones(2)
        x += numpy.ones(2)
        x.dtype == torch.float64
        """,
        "False",
        "True",
    ),
    Difference(
        "",
        "Functions of NumPy's for all elements are ops: `numpy.exp` has a gradient and our dtypes.",
        """
        import numpy
        numpy.isnan(torch.ones(2))
        """,
        "tensor([False, False])",
        "tensor([0, 0], dtype=torch.uint8)",
    ),
    Difference(
        "",
        (
            "There is no uint16, uint32 and uint64: NumPy's numbers of these count as ints, and "
            "arrays are read where a dtype is given."
        ),
        """
        import numpy
        torch.tensor(numpy.array([1], dtype=numpy.uint16))
        """,
        "raises TypeError",
        "tensor([1], dtype=torch.uint16)",
    ),
    Difference(
        "torch.random.fork_rng",
        "keeps the state of the one generator: it has no `devices`",
        """
        with torch.random.fork_rng(devices=[]):
            pass

        True
        """,
        "raises TypeError",
        "True",
    ),
    Difference(
        "torch.OutOfMemoryError",
        "is a MemoryError too",
        "issubclass(torch.OutOfMemoryError, MemoryError)",
        "True",
        "False",
    ),
)

NOT_YET = "not yet"


def reason(name: str) -> str:
    """Say why a name of PyTorch is missing, such as "torch.imag"."""
    return kind_of(name) or NOT_YET
