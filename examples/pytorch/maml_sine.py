"""Learn to learn sine waves: gradients of steps of gradient descent (MAML), weights by name."""

import argparse
import math
from collections import OrderedDict

import torch
import torch.nn as nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self, width=20):
        super().__init__()
        self.net = nn.Sequential(
            OrderedDict(
                [
                    ("first", nn.Linear(1, width)),
                    ("relu1", nn.ReLU(inplace=True)),
                    ("second", nn.Linear(width, width)),
                    ("relu2", nn.ReLU(inplace=True)),
                    ("last", nn.Linear(width, 1)),
                ]
            )
        )

    def forward(self, x, weights=None):
        if weights is None:
            return self.net(x)
        for name in ("first", "second", "last"):
            x = F.linear(x, weights[f"net.{name}.weight"], weights[f"net.{name}.bias"])
            x = x if name == "last" else F.relu(x)
        return x


class Task:
    def __init__(self):
        self.height = 0.1 + 4.9 * torch.rand(1)
        self.phase = math.pi * torch.rand(1)

    def points(self, count):
        x = torch.empty(count, 1).uniform_(-5, 5)
        return x, self.height * torch.sin(x + self.phase)


def adapted(model, task, steps, rate=0.01, create_graph=True):
    weights = OrderedDict(model.named_parameters())
    for _ in range(steps):
        x, y = task.points(10)
        loss = F.mse_loss(model(x, weights), y)
        grads = torch.autograd.grad(loss, tuple(weights.values()), create_graph=create_graph)
        moved = (weight - rate * grad for weight, grad in zip(weights.values(), grads))
        weights = OrderedDict(zip(weights, moved))
    return weights


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    args = parser.parse_args()
    torch.manual_seed(0)
    model = Net()
    print(model)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(optimizer, T_0=5, T_mult=2)
    for iteration in range(15 if args.quick else 500):
        losses = []
        for _ in range(4):
            task = Task()
            weights = adapted(model, task, steps=2)
            x, y = task.points(10)
            losses.append(F.mse_loss(model(x, weights), y))
        loss = torch.stack(losses).mean()
        optimizer.zero_grad()
        loss.backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), 10.0)
        optimizer.step()
        scheduler.step()
        print(
            f"{iteration}: {loss.item():.4f}, norm {norm:.3f}, lr {scheduler.get_last_lr()[0]:.5f}"
        )
    task = Task()
    for steps in range(3):
        x, y = task.points(20)
        print(
            steps, F.mse_loss(model(x, adapted(model, task, steps, create_graph=False)), y).item()
        )


if __name__ == "__main__":
    main()
