"""A two-layer network three times: gradients by hand, by autograd, and with nn and optim."""

import argparse

import torch
from torch import nn


def by_hand(x, y, steps, rate):
    w1 = torch.randn(x.shape[1], 32) * 0.2
    w2 = torch.randn(32, y.shape[1]) * 0.2
    for step in range(steps):
        before = x.mm(w1)
        hidden = before.clamp(min=0)
        error = hidden.mm(w2) - y
        if step % 20 == 0:
            print(f"by hand  {step:4d}  {error.pow(2).sum().item():.6f}")
        slope = 2.0 * error
        w2_slope = hidden.t().mm(slope)
        hidden_slope = slope.mm(w2.t())
        hidden_slope[before < 0] = 0
        w1 -= rate * x.t().mm(hidden_slope)
        w2 -= rate * w2_slope


def by_autograd(x, y, steps, rate):
    w1 = (torch.randn(x.shape[1], 32) * 0.2).requires_grad_()
    w2 = (torch.randn(32, y.shape[1]) * 0.2).requires_grad_()
    for step in range(steps):
        loss = ((x @ w1).clamp(min=0) @ w2 - y).pow(2).sum()
        if step % 20 == 0:
            print(f"autograd {step:4d}  {loss.item():.6f}")
        loss.backward()
        with torch.no_grad():
            for weight in (w1, w2):
                weight -= rate * weight.grad
                weight.grad.zero_()


def with_modules(x, y, steps):
    model = nn.Sequential(nn.Linear(x.shape[1], 32), nn.ReLU(), nn.Linear(32, y.shape[1]))
    measure = nn.MSELoss(reduction="sum")
    optimizer = torch.optim.RMSprop(model.parameters(), lr=1e-3)
    for step in range(steps):
        loss = measure(model(x), y)
        if step % 20 == 0:
            print(f"nn       {step:4d}  {loss.item():.6f}")
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(model)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    steps = 41 if parser.parse_args().quick else 501
    torch.manual_seed(1)
    x = torch.randn(48, 20)
    y = torch.tanh(x[:, :4] - x[:, 4:8])
    by_hand(x, y, steps, 1e-4)
    by_autograd(x, y, steps, 1e-4)
    with_modules(x, y, steps)


if __name__ == "__main__":
    main()
