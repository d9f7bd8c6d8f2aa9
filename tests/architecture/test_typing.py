"""Programs of users have the types that a checker should find in them."""

from __future__ import annotations

from pathlib import Path

from tests.architecture.test_stub import check_types

RIGHT = """\
from collections.abc import Iterator
from typing import Any, assert_type
import weft
from weft import Tensor, nn
from weft.utils.data import DataLoader, Dataset, IterableDataset, TensorDataset

class Net(nn.Module):
    def __init__(self, width: int = 4) -> None:
        super().__init__()
        self.layer = nn.Linear(3, width)
        self.blocks = nn.ModuleList([nn.Linear(width, width)])
        self.mean = nn.Buffer(weft.zeros(width))
        self.scale = nn.Parameter(weft.ones(width))
        self.register_buffer("steps", weft.zeros(1))

    steps: Tensor

    def forward(self, x: Tensor, twice: bool = False) -> Tensor:
        y = self.layer(x)
        assert_type(y, Tensor)
        assert_type(self.mean, Tensor)
        self.mean = y.mean(0)
        return (y - self.mean) * self.scale if twice else y + self.steps

class Pair(nn.Module):
    def forward(self, x: Tensor) -> tuple[Tensor, int]:
        return x, 1

net = Net()
assert_type(net(weft.ones(2, 3)), Tensor)
assert_type(net(weft.ones(2, 3), twice=True), Tensor)
assert_type(Pair()(weft.ones(2)), tuple[Tensor, int])
assert_type(nn.Sequential(net, nn.ReLU())(weft.ones(3)), Any)
assert_type(nn.Linear(2, 3)(weft.ones(2)), Tensor)
assert_type(nn.LSTMCell(2, 3)(weft.ones(2)), tuple[Tensor, Tensor])
assert_type(nn.CrossEntropyLoss()(weft.ones(2, 2), weft.ones(2)), Tensor)
assert_type(nn.ReLU()(weft.ones(2)), Tensor)
def apply(model: nn.Module, x: Tensor) -> Any:
    return model(x)
for name, buffer in net.named_buffers():
    assert_type(name, str)
    assert_type(buffer, Tensor)
assert_type(net.get_buffer("mean"), Tensor)
assert_type(next(net.buffers()), Tensor)
assert_type(next(net.parameters()), nn.Parameter)

def score(x: Tensor) -> Tensor: return x.sum()
def label(x: Tensor) -> int: return int(x.argmax())
assert_type(weft.map(score, [weft.ones(2)]), list[Tensor])
assert_type(weft.map(label, iter([weft.ones(2)])), list[int])
assert_type(weft.map(net, [weft.ones(2, 3)]), list[Tensor])
assert_type(weft.map(label, [weft.ones(2)], return_exceptions=True), list[int | Exception])

class Squares(Dataset[tuple[Tensor, int]]):
    def __len__(self) -> int: return 3
    def __getitem__(self, index: int) -> tuple[Tensor, int]: return weft.ones(2), index
class Words(IterableDataset[str]):
    def __iter__(self) -> Iterator[str]: return iter(["a"])
class Vectors(Dataset[Tensor]):
    def __getitem__(self, index: int) -> Tensor: return weft.ones(2)
def collate(batch: list[tuple[Tensor, int]]) -> tuple[Tensor, list[int]]:
    return weft.stack([x for x, _ in batch]), [n for _, n in batch]

loader = DataLoader(Squares(), batch_size=2, collate_fn=collate)
assert_type(loader, DataLoader[tuple[Tensor, list[int]]])
for x, numbers in loader:
    assert_type(x, Tensor)
    assert_type(numbers, list[int])
for batch in DataLoader(TensorDataset(weft.ones(2), weft.ones(2)), batch_size=2, shuffle=True):
    assert_type(batch, list[Tensor])
for xs, ys in DataLoader(TensorDataset(weft.ones(2), weft.ones(2))):
    assert_type(xs, Tensor)
    assert_type(ys, Tensor)
for vectors in DataLoader(Vectors(), 4):
    assert_type(vectors, Tensor)
for words in DataLoader(Words(), batch_size=2):
    assert_type(words, list[str])
for one in DataLoader(range(5), batch_size=2):
    assert_type(one, Tensor)
for single in DataLoader(Vectors(), batch_size=None):
    assert_type(single, Tensor)
any_loader: DataLoader[Any] = DataLoader(Squares(), batch_size=2)
for a, b in any_loader: pass
for a2, b2 in DataLoader(Squares()):
    pass
def train(batches: DataLoader[list[Tensor]]) -> None: ...
train(DataLoader(TensorDataset(weft.ones(2)), batch_size=2))
kept: DataLoader[tuple[Tensor, Tensor]] = DataLoader(Squares(), batch_size=2)
"""
WRONG = """\
import weft
from weft import Tensor, nn
from weft.utils.data import DataLoader, TensorDataset

class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.mean = nn.Buffer(weft.zeros(2))

    def forward(self, x: Tensor, twice: bool = False) -> Tensor:
        return x * 2 if twice else x

net = Net()
net("a")
net(weft.ones(2), thrice=True)
net(weft.ones(2)).nothing()
net.nothing
net.mean.nothing()
nn.Linaer
weft.map([weft.ones(2)], net)
weft.map(net, [weft.ones(2)])[0].nothing()
for batch in DataLoader(TensorDataset(weft.ones(2)), batch_size=2):
    batch.nothing()
DataLoader([1], collat_fn=len)
"""


def test_right_program_has_its_types(tmp_path: Path) -> None:
    assert check_types(tmp_path, RIGHT) == []


def test_each_mistake_is_noticed(tmp_path: Path) -> None:
    first = WRONG.splitlines().index("net = Net()") + 2
    last = len(WRONG.splitlines())
    wrong = {int(problem.partition(":")[0]) for problem in check_types(tmp_path, WRONG)}
    loop = next(n for n, line in enumerate(WRONG.splitlines(), 1) if line.startswith("for batch"))
    assert wrong == set(range(first, last + 1)) - {loop}
