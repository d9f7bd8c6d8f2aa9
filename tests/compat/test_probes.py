"""What scripts ask about the machine gets a CPU's answers."""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import weft
from weft.batching.captures import where_made
from weft.compat import answering_torch
from weft.compat.probes import notices
from weft.compat.probes.version import Version


@pytest.fixture(autouse=True)
def torch_is_weft(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(notices, "_said", set())
    with answering_torch():
        yield


def test_there_is_no_gpu() -> None:
    import torch

    assert not torch.cuda.is_available()
    assert torch.cuda.device_count() == 0
    assert not torch.backends.mps.is_available()
    assert not torch.mps.is_available()
    assert not torch.xpu.is_available()
    assert not torch.accelerator.is_available()
    assert torch.accelerator.current_accelerator() is None
    assert not torch.distributed.is_available()
    assert torch.version.cuda is None
    torch.cuda.manual_seed_all(0)
    torch.cuda.empty_cache()
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    assert torch.zeros(2, device=device).to(device).device == device
    with pytest.raises(RuntimeError, match="there is no GPU"):
        torch.cuda.current_device()
    with pytest.raises(RuntimeError, match="only the CPU"):
        torch.zeros(2).cuda()
    with pytest.raises(RuntimeError, match="only the CPU"):
        torch.zeros(2).to("cuda")
    with pytest.raises(RuntimeError, match="only the CPU"):
        torch.nn.Linear(2, 2).cuda()
    x = torch.ones(2, 3)
    assert x.pin_memory() is x.share_memory_() is x
    assert x.is_cpu
    assert not x.is_pinned()
    assert x.get_device() == -1
    assert x.is_signed()
    assert x.is_same_size(torch.zeros(2, 3))
    assert x[:, torch.newaxis].shape == (2, 1, 3)
    assert torch.pi == np.pi


@pytest.mark.parametrize("use", ["trace", "autocast"])
def test_says_once_that_it_does_nothing(use: str, caplog: pytest.LogCaptureFixture) -> None:
    import torch

    layer = torch.nn.Linear(2, 2)
    for _ in range(2):
        if use == "trace":
            assert torch.jit.trace(layer, torch.zeros(1, 2)) is layer
        else:
            with torch.autocast("cpu", dtype=torch.bfloat16):
                assert layer(torch.ones(1, 2)).dtype is torch.float32
    (said,) = caplog.records
    assert (said.name, said.levelname) == ("weft", "WARNING")
    assert use in said.getMessage()


def test_says_it_on_stderr_unless_told_otherwise(tmp_path: Path) -> None:
    use = "import torch\nwith torch.autocast('cpu'):\n    pass\n"
    (tmp_path / "plain.py").write_text(use)
    quiet = "import logging\nlogging.getLogger('weft').setLevel(logging.ERROR)\n"
    (tmp_path / "quiet.py").write_text(quiet + use)
    for name, expected in (("plain", "weft: autocast does nothing"), ("quiet", "")):
        command = [sys.executable, "-m", "weft", "run", f"{name}.py"]
        ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
        assert ran.stderr.startswith(expected)
        assert bool(ran.stderr) == bool(expected)


def test_compile_and_script_compile() -> None:
    import torch

    layer, x = torch.nn.Linear(2, 2), torch.ones(1, 2)
    for compiled in (torch.compile(layer, mode="max-autotune"), torch.compile(dynamic=True)(layer)):
        assert torch.equal(compiled(x), layer(x))
        assert list(compiled.state_dict()) == ["_orig_mod.weight", "_orig_mod.bias"]
    scripted = torch.jit.script(layer)
    assert torch.equal(scripted(x), layer(x))
    assert list(scripted.state_dict()) == list(layer.state_dict())
    assert [name for name, _ in scripted.named_parameters()] == ["weight", "bias"]

    @torch.jit.script
    def steps(x, n: int):  # type: ignore[no-untyped-def]
        for _ in range(n):
            x = x * 2
        return x

    assert steps(x, 2).tolist() == [[4.0, 4.0]]
    assert "compiled" in str(steps.explain())


def test_disabled_autocast_is_silent(caplog: pytest.LogCaptureFixture) -> None:
    import torch

    with torch.autocast("cuda", enabled=False), torch.cuda.amp.autocast(enabled=False):
        pass
    assert caplog.records == []


def test_the_scaler_is_disabled() -> None:
    import torch

    weight = torch.nn.Parameter(torch.ones(2))
    optimizer = torch.optim.SGD([weight], lr=0.5)
    scaler = torch.cuda.amp.GradScaler()
    scaler.scale(weight.sum()).backward()
    scaler.unscale_(optimizer)
    scaler.step(optimizer)
    scaler.update()
    assert weight.tolist() == [0.5, 0.5]
    assert not scaler.is_enabled()


def test_versions_compare_by_number() -> None:
    import torch

    assert torch.__version__.startswith("2.")
    assert torch.__version__ >= "2.2"
    assert torch.__version__ > (1, 12)
    assert Version("2.13.0+weft") < "2.13.1"
    assert Version("2.13.0+weft") <= "2.13"
    assert tuple(int(n) for n in torch.__version__.split("+")[0].split(".")) == (2, 13, 0)


def test_old_types() -> None:
    import torch

    assert torch.LongTensor([1, 2]).dtype is torch.int64
    assert torch.FloatTensor(2, 3).shape == (2, 3)
    assert torch.ByteTensor(np.array([1, 2])).tolist() == [1, 2]
    assert isinstance(torch.zeros(2), torch.FloatTensor)
    assert not isinstance(torch.zeros(2), torch.LongTensor)
    variable = torch.autograd.Variable(torch.ones(2), requires_grad=True)
    assert variable.requires_grad
    assert isinstance(variable, torch.autograd.Variable)
    assert not isinstance(1.0, torch.autograd.Variable)


def test_classes_go_by_their_names_in_pytorch() -> None:
    """Packages such as tensorboardX ask for them."""
    import torch

    assert str(torch.Tensor) == "<class 'torch.Tensor'>"
    assert str(torch.nn.Parameter) == "<class 'torch.nn.parameter.Parameter'>"
    for made in (torch.ones(2), torch.nn.Parameter(torch.ones(2))):
        again = pickle.loads(pickle.dumps(made))
        assert type(again) is type(made)
        assert again.tolist() == [1, 1]
    assert where_made(torch.Tensor) == "weft"  # so that a map still knows it


def test_tensorboardx_takes_tensors(tmp_path: Path) -> None:
    tensorboard = pytest.importorskip("tensorboardX")
    import torch

    with tensorboard.SummaryWriter(str(tmp_path)) as writer:
        loss = torch.ones(3, requires_grad=True).sum()
        writer.add_scalar("loss", loss, 0)
        writer.add_scalar("number", torch.tensor(1.5).item(), 0)
        writer.add_scalars("both", {"one": loss, "other": loss.detach()}, 0)
        writer.add_histogram("weights", torch.nn.Parameter(torch.rand(10)), 0)
        writer.add_image("image", torch.rand(3, 8, 8), 0)
        writer.add_images("images", torch.rand(2, 3, 8, 8), 0)
    assert [path.stat().st_size > 1000 for path in tmp_path.glob("events*")] == [True]


def test_assert_close() -> None:
    import torch

    torch.testing.assert_close(torch.ones(2), torch.ones(2) + 1e-7)
    torch.testing.assert_close([torch.ones(2), 1.0], [torch.ones(2), 1.0])
    with pytest.raises(AssertionError, match="1 of 2 elements are not close"):
        torch.testing.assert_close(torch.ones(2), torch.tensor([1.0, 1.1]))
    with pytest.raises(AssertionError, match="dtypes differ"):
        torch.testing.assert_close(torch.ones(2), torch.ones(2).double())
    with pytest.raises(AssertionError, match="shapes differ"):
        torch.testing.assert_close(torch.ones(2), torch.ones(3))


def test_settings() -> None:
    import torch

    torch.set_float32_matmul_precision("high")
    assert torch.get_float32_matmul_precision() == "high"
    with pytest.raises(ValueError, match="precision"):
        torch.set_float32_matmul_precision("low")
    torch.use_deterministic_algorithms(True)
    assert torch.are_deterministic_algorithms_enabled()
    assert torch.get_num_threads() >= 1


def test_weft_answers_them_too() -> None:
    assert not weft.cuda.is_available()
    assert weft.LongTensor([3]).dtype is weft.int64
    with pytest.raises(AttributeError, match="module 'weft' has no attribute 'zeroes'"):
        weft.zeroes


def test_one_device_is_enough_for_data_parallel() -> None:
    import torch
    from torch.nn.parallel import DistributedDataParallel, data_parallel

    layer = torch.nn.Linear(2, 1)
    model = torch.nn.DataParallel(layer)
    x = torch.ones(1, 2)
    assert torch.equal(model(x), layer(x))
    assert torch.equal(data_parallel(layer, x), layer(x))
    assert list(model.state_dict()) == ["module.weight", "module.bias"]
    with pytest.raises(RuntimeError, match="Weft runs in one process"):
        DistributedDataParallel(layer)


def test_there_are_no_process_groups_and_no_onnx_files() -> None:
    import torch.distributed as dist
    import torch.onnx

    assert not dist.is_initialized()
    with pytest.raises(RuntimeError, match="there are no groups"):
        dist.init_process_group("gloo")
    with pytest.raises(RuntimeError, match="writes no ONNX files"):
        torch.onnx.export(None, None, "x.onnx")


def _shout(number: int, words: str) -> None:
    if words != "fine" or number > 1:
        raise ValueError(words)


def test_processes_are_the_standard_librarys(caplog: pytest.LogCaptureFixture) -> None:
    import multiprocessing

    import torch.multiprocessing as mp

    assert mp.Queue == multiprocessing.Queue
    assert mp.spawn(_shout, ("fine",), nprocs=2) is None
    process = mp.Process(target=_shout, args=(0, "fine"))
    process.start()
    process.join()
    assert process.exitcode == 0
    assert caplog.text.count("processes share no memory") == 1
    with pytest.raises(RuntimeError, match="process 0 ended with exit code 1"):
        mp.spawn(_shout, ("bad",))


def test_spawned_processes_find_weft_behind_torch() -> None:
    import torch.multiprocessing as mp

    assert mp.get_context("spawn").get_start_method() == "fork"


def test_profilers_nest() -> None:
    from torch.profiler import profile, record_function

    outer, inner = profile(), profile()
    outer.start()
    with inner:
        pass
    with record_function("late"):
        pass
    with pytest.warns(UserWarning, match="another tool watched"):
        outer.stop()
    assert "late" in [event.key for event in outer.key_averages()]
    assert "late" not in [event.key for event in inner.key_averages()]


def test_timers_and_profilers(capsys: pytest.CaptureFixture[str]) -> None:
    import torch
    from torch.profiler import ProfilerActivity, profile, record_function
    from torch.utils import benchmark

    timer = benchmark.Timer("x + x", globals={"x": torch.ones(2)}, label="add", num_threads=1)
    measured = timer.timeit(5)
    assert measured.mean > 0
    assert measured.times == [each / 5 for each in measured.raw_times]
    assert "add" in repr(measured)
    assert timer.blocked_autorange(min_run_time=0.001).median > 0
    benchmark.Compare([measured]).print()
    assert "add" in capsys.readouterr().out
    with profile(activities=[ProfilerActivity.CPU], record_shapes=True) as watched:
        with record_function("here"):
            torch.ones(3).exp()
        watched.step()
    table = watched.key_averages().table(sort_by="cpu_time_total", row_limit=10)
    assert "here" in table
    assert "exp" in table
    assert watched.key_averages().total_average().count >= 2


def test_whole_modules_are_saved_as_pickles(tmp_path: Path) -> None:
    import torch

    path = tmp_path / "model.pt"
    layer = torch.nn.Linear(2, 1)
    torch.save(layer, path)
    with pytest.raises(ValueError, match="weights_only=False reads it if you trust it"):
        torch.load(path)
    loaded = torch.load(path, weights_only=False)
    assert torch.equal(loaded.weight, layer.weight)
    with path.open("wb") as file:
        torch.save(layer, file)
    with path.open("rb") as file:
        assert torch.equal(torch.load(file, weights_only=False).weight, layer.weight)
    torch.save(layer.state_dict(), path)
    assert torch.equal(torch.load(path)["weight"], layer.weight)
    with torch.serialization.safe_globals([torch.nn.Linear]):
        torch.load(path, map_location="cpu", weights_only=True)


def test_functions_beside_nn_functional() -> None:
    import torch

    assert torch.max_pool2d is weft.nn.functional.max_pool2d
    with pytest.warns(UserWarning, match=r"torch\.range is deprecated"):
        assert torch.range(1, 4).tolist() == [1.0, 2.0, 3.0, 4.0]
    x = torch.ones(2, requires_grad=True)
    assert not torch.detach(x).requires_grad
    assert torch.is_signed(x)
    assert torch.is_same_size(x, x)


def test_everything_can_be_imported() -> None:
    names: dict[str, object] = {}
    exec("from torch.distributions import *\nfrom torch.nn import *", names)
    assert names["Normal"] is weft.distributions.Normal
    assert names["Linear"] is weft.nn.Linear


def test_names_without_an_underscore_still_work() -> None:
    import torch

    weight = torch.empty(2, 2)
    with pytest.warns(FutureWarning, match=r"in favor of `nn\.init\.constant_`"):
        assert torch.nn.init.constant(weight, 3.0) is weight
    assert weight.tolist() == [[3.0, 3.0], [3.0, 3.0]]
