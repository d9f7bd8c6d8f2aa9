"""Repeat until it is good enough: each input decides how long its graph is."""

import weft as torch


def square_root(x):
    guess, rounds = torch.ones_like(x), 0
    while (guess * guess - x).abs() > 1e-4:
        guess = (guess + x / guess) / 2
        rounds += 1
    return guess, rounds


for value in (1.0, 2.0, 50.0, 10_000.0):
    x = torch.tensor(value, requires_grad=True)
    root, rounds = square_root(x)
    if rounds:
        root.backward()
    slope = "none" if x.grad is None else f"{x.grad.item():.4f}"
    print(f"{value:g}: {rounds} rounds, root {root.item():.3f}, gradient {slope}")
