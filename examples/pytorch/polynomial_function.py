"""Fit a sine with a polynomial whose activation is an autograd.Function of its own."""

import argparse
import math

import torch


class Cubic(torch.autograd.Function):
    """The third Legendre polynomial, (5 x^3 - 3 x) / 2."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return 0.5 * (5 * x**3 - 3 * x)

    @staticmethod
    def backward(ctx, slope):
        (x,) = ctx.saved_tensors
        return slope * 1.5 * (5 * x**2 - 1)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    steps = 301 if parser.parse_args().quick else 3001

    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    x = torch.linspace(-math.pi, math.pi, 1000, device=device, dtype=torch.float)
    y = torch.sin(x)
    a = torch.full((), 0.0, device=device, requires_grad=True)
    b = torch.full((), -1.0, device=device, requires_grad=True)
    c = torch.full((), 0.0, device=device, requires_grad=True)
    d = torch.full((), 0.3, device=device, requires_grad=True)

    rate = 5e-6
    for step in range(steps):
        loss = (a + b * Cubic.apply(c + d * x) - y).pow(2).sum()
        if step % 50 == 0:
            print(step, f"{loss.item():.5f}")
        loss.backward()
        with torch.no_grad():
            for weight in (a, b, c, d):
                weight -= rate * weight.grad
                weight.grad = None
    print(f"y = {a.item():.5f} + {b.item():.5f} * P3({c.item():.5f} + {d.item():.5f} x)")

    gradient_is_right = torch.autograd.gradcheck(
        Cubic.apply, torch.randn(6, dtype=torch.double, requires_grad=True)
    )
    print("gradcheck:", gradient_is_right)


if __name__ == "__main__":
    main()
