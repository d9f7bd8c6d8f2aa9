"""Two networks against each other: points on a ring, real and made up."""

import argparse
import math

import torch
import torch.nn as nn


class Generator(nn.Module):
    def __init__(self, noise, hidden):
        super().__init__()
        self.main = nn.Sequential(
            nn.Linear(noise, hidden, bias=False),
            nn.BatchNorm1d(hidden),
            nn.ReLU(True),
            nn.Linear(hidden, hidden),
            nn.LeakyReLU(0.2, inplace=True),
            nn.Linear(hidden, 2),
        )

    def forward(self, x):
        return self.main(x)


class Discriminator(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.main = nn.Sequential(
            nn.Linear(2, hidden),
            nn.LeakyReLU(0.2),
            nn.Dropout(0.3),
            nn.Linear(hidden, 1),
            nn.Sigmoid(),
        )

    def forward(self, x):
        return self.main(x).view(-1)


def weights_init(m):
    name = m.__class__.__name__
    if name.find("Linear") != -1:
        nn.init.normal_(m.weight.data, 0.0, 0.2)
    elif name.find("BatchNorm") != -1:
        nn.init.normal_(m.weight.data, 1.0, 0.02)
        nn.init.constant_(m.bias.data, 0)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    steps = 40 if parser.parse_args().quick else 2000
    torch.manual_seed(999)
    netG, netD = Generator(8, 32).apply(weights_init), Discriminator(32).apply(weights_init)
    print(netG)
    criterion = nn.BCELoss()
    optimizerD = torch.optim.Adam(netD.parameters(), lr=2e-3, betas=(0.5, 0.999))
    optimizerG = torch.optim.Adam(netG.parameters(), lr=2e-3, betas=(0.5, 0.999))
    for step in range(steps):
        angle = torch.rand(64) * 2 * math.pi
        real = torch.stack([angle.cos(), angle.sin()], dim=1) + 0.05 * torch.randn(64, 2)
        netD.zero_grad()
        label = torch.full((64,), 1.0, dtype=torch.float)
        errD_real = criterion(netD(real), label)
        errD_real.backward()
        fake = netG(torch.randn(64, 8))
        label.fill_(0.0)
        output = netD(fake.detach())
        errD_fake = criterion(output, label)
        errD_fake.backward()
        D_G_z1 = output.mean().item()
        optimizerD.step()
        netG.zero_grad()
        label.fill_(1.0)
        errG = criterion(netD(fake), label)
        errG.backward()
        optimizerG.step()
        if step % 5 == 0:
            print(
                f"[{step}] D {(errD_real + errD_fake).item():.4f} G {errG.item():.4f} {D_G_z1:.4f}"
            )
    netG.eval()
    with torch.no_grad():
        print("radius", f"{netG(torch.randn(256, 8)).norm(dim=1).mean().item():.4f}")


if __name__ == "__main__":
    main()
