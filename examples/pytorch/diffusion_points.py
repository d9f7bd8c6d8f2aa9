"""A diffusion model of points on a ring, with an exponential average of its weights."""

import argparse
import copy
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

STEPS = 20
betas = torch.linspace(1e-3, 0.2, STEPS)
alphas = 1.0 - betas
kept = torch.cumprod(alphas, axis=0)
before = F.pad(kept[:-1], (1, 0), value=1.0)
spread = betas * (1.0 - before) / (1.0 - kept)


def at(values, t, x):
    return values.gather(-1, t).reshape(t.shape[0], *((1,) * (x.ndim - 1)))


class TimeEmbedding(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.size = size

    def forward(self, t):
        rates = torch.exp(torch.arange(self.size // 2) * (-math.log(1000) / (self.size // 2 - 1)))
        angles = t[:, None].float() * rates[None]
        return torch.cat((angles.sin(), angles.cos()), dim=-1)


class Noise(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.time = nn.Sequential(TimeEmbedding(8), nn.Linear(8, width), nn.SiLU())
        self.point = nn.Linear(2, width)
        self.blocks = nn.ModuleList(
            nn.Sequential(nn.LayerNorm(width), nn.Linear(width, width), nn.GELU()) for _ in range(2)
        )
        self.out = nn.Linear(width, 2)

    def forward(self, x, t):
        h = self.point(x) + self.time(t)
        for block in self.blocks:
            h = h + block(h)
        return self.out(h)


@torch.inference_mode()
def sample(model, count):
    x = torch.randn(count, 2)
    for step in reversed(range(STEPS)):
        t = torch.full((count,), step, dtype=torch.long)
        x = (x - betas[step] * model(x, t) / (1 - kept[step]).sqrt()) / alphas[step].sqrt()
        if step > 0:
            x = x + at(spread, t, x).sqrt() * torch.randn_like(x)
    return x


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    args = parser.parse_args()
    torch.manual_seed(0)
    model = Noise()
    average = copy.deepcopy(model).eval().requires_grad_(False)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    print(model)
    for step in range(30 if args.quick else 2000):
        angles = torch.rand(64) * 2 * math.pi
        x = torch.stack([angles.cos(), angles.sin()], dim=1) + 0.05 * torch.randn(64, 2)
        t = torch.randint(0, STEPS, (64,)).long()
        noise = torch.randn_like(x)
        noisy = at(kept.sqrt(), t, x) * x + at((1 - kept).sqrt(), t, x) * noise
        loss = F.smooth_l1_loss(model(noisy, t), noise)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        for slow, fast in zip(average.parameters(), model.parameters()):
            slow.lerp_(fast.data, 0.05)
        if step % 5 == 4:
            print(f"step {step + 1}: loss {loss.item():.4f}")
    points = sample(average, 5)
    print(points)
    print(f"mean radius {points.norm(dim=1).mean():.4f}")


if __name__ == "__main__":
    main()
