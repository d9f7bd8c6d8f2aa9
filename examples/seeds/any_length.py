"""Read sequences of any length, and nested lists of any depth, with a loop and a recursion."""

import weft as torch
from weft import nn


class Reader(nn.Module):
    """Goes over a sequence, longer ones with one layer more."""

    def __init__(self):
        super().__init__()
        self.cell = nn.RNNCell(2, 4)
        self.extra = nn.Linear(4, 4)
        self.score = nn.Linear(4, 1)

    def forward(self, sequence):
        state = torch.zeros(1, 4)
        for item in sequence:
            state = self.cell(item.view(1, 2), state)
        if len(sequence) > 2:
            state = torch.relu(self.extra(state))
        return self.score(state)


def depth_weighted(tree, weight, depth=0):
    if isinstance(tree, (int, float)):
        return tree * weight**depth
    return sum((depth_weighted(part, weight, depth + 1) for part in tree), torch.zeros(()))


torch.manual_seed(7)
reader = Reader()
for length in (1, 2, 5):
    reader.zero_grad()
    out = reader(torch.randn(length, 2))
    out.backward()
    print(length, "items:", out.shape, "extra layer used:", reader.extra.weight.grad is not None)

weight = torch.tensor(0.5, requires_grad=True)
for tree in (3, [1, 2], [1, [2, [3, 4]], 5]):
    weight.grad = None
    total = depth_weighted(tree, weight)
    if total is not tree:
        total.backward()
    print(tree, "->", total, weight.grad)
