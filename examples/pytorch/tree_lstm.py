"""A tree-LSTM that learns the values of small formulas; each example is a graph of its own."""

import argparse
import random

import torch
from torch import nn
from torch.nn import functional as F

OPERATORS = ("max", "min", "sum")


def grow(depth):
    """Draw a tree: a digit, or an operator with two trees."""
    if depth == 0 or random.random() < 0.2:
        return random.randint(0, 9)
    return random.choice(OPERATORS), grow(depth - 1), grow(depth - 1)


def value(tree):
    if isinstance(tree, int):
        return tree
    name, left, right = tree
    a, b = value(left), value(right)
    return {"max": max(a, b), "min": min(a, b), "sum": (a + b) % 10}[name]


class TreeLSTM(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.digits = nn.Embedding(10, width)
        self.operators = nn.Embedding(len(OPERATORS), width)
        self.gates = nn.Linear(3 * width, 4 * width)
        self.forgets = nn.Linear(2 * width, 2 * width, bias=False)
        self.head = nn.Linear(width, 10)
        nn.init.xavier_uniform_(self.gates.weight)
        nn.init.constant_(self.gates.bias, 0.1)

    def forward(self, tree):
        if isinstance(tree, int):
            memory = self.digits(torch.tensor([tree]))
            return torch.tanh(memory), memory
        name, left, right = tree
        (h1, c1), (h2, c2) = self(left), self(right)
        word = self.operators(torch.tensor([OPERATORS.index(name)]))
        i, o, u, _ = self.gates(torch.cat([word, h1, h2], dim=1)).chunk(4, dim=1)
        f1, f2 = torch.sigmoid(self.forgets(torch.cat([h1, h2], 1))).chunk(2, 1)
        memory = torch.sigmoid(i) * torch.tanh(u) + f1 * c1 + f2 * c2
        return torch.sigmoid(o) * torch.tanh(memory), memory

    def loss(self, tree):
        logits = self.head(self(tree)[0])
        wanted = torch.tensor([value(tree)])
        return F.cross_entropy(logits, wanted), bool((logits.argmax(1) == wanted).all())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    batches = 12 if parser.parse_args().quick else 400
    random.seed(0)
    torch.manual_seed(0)
    model = TreeLSTM(24)
    optimizer = torch.optim.Adagrad(model.parameters(), lr=0.05)
    for batch in range(batches):
        results = [model.loss(grow(4)) for _ in range(16)]
        loss = torch.stack([each for each, _ in results]).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        right = sum(hit for _, hit in results) / len(results)
        if batches < 50 or batch % 20 == 0:
            print(f"{batch:4d}  loss {loss.item():.5f}  right {right:.2f}")


if __name__ == "__main__":
    main()
