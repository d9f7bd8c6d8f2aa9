"""Fit a sine; how many powers share one weight is drawn anew in each forward."""

import argparse
import math
import random

import torch


class Surprise(torch.nn.Module):
    def __init__(self):
        super().__init__()
        for name in "abcde":
            setattr(self, name, torch.nn.Parameter(torch.randn(())))

    def forward(self, x):
        y = self.a + self.b * x + self.c * x**2 + self.d * x**3
        for power in range(4, random.randint(4, 6)):
            y = y + self.e * x**power
        return y

    def string(self):
        a, b, c, d, e = (p.item() for p in self.parameters())
        return (
            f"y = {a:.4f} + {b:.4f} x + {c:.4f} x^2 + {d:.4f} x^3 + {e:.5f} x^4 ? + {e:.5f} x^5 ?"
        )


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    steps = 300 if parser.parse_args().quick else 20000
    random.seed(3)
    torch.manual_seed(3)

    x = torch.linspace(-math.pi, math.pi, 800)
    y = torch.sin(x)
    model = Surprise()
    measure = torch.nn.MSELoss(reduction="sum")
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-8, momentum=0.9)
    for step in range(steps):
        loss = measure(model(x), y)
        if step % 30 == 29:
            print(step, f"{loss.item():.4f}")
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(model.string())


if __name__ == "__main__":
    main()
