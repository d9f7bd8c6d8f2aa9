"""A variational autoencoder on small pictures of bars that are drawn here."""

import argparse

import torch
from torch import nn, optim
from torch.nn import functional as F


def pictures(count):
    """Draw one horizontal and one vertical bar into each 8 by 8 picture."""
    images = torch.zeros(count, 8, 8)
    rows, columns = torch.randint(0, 8, (count,)), torch.randint(0, 8, (count,))
    numbers = torch.arange(count)
    images[numbers, rows] = 1.0
    images[numbers, :, columns] = 1.0
    return images


class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(64, 40)
        self.fc21 = nn.Linear(40, 6)
        self.fc22 = nn.Linear(40, 6)
        self.fc3 = nn.Linear(6, 40)
        self.fc4 = nn.Linear(40, 64)

    def encode(self, x):
        h = F.relu(self.fc1(x))
        return self.fc21(h), self.fc22(h)

    def reparameterize(self, mu, logvar):
        std = torch.exp(0.5 * logvar)
        return mu + torch.randn_like(std) * std

    def decode(self, z):
        return torch.sigmoid(self.fc4(F.relu(self.fc3(z))))

    def forward(self, x):
        mu, logvar = self.encode(x.view(-1, 64))
        return self.decode(self.reparameterize(mu, logvar)), mu, logvar


def loss_function(recon_x, x, mu, logvar):
    bce = F.binary_cross_entropy(recon_x, x.view(-1, 64), reduction="sum")
    kld = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())
    return bce + kld


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    epochs = 2 if parser.parse_args().quick else 20
    torch.manual_seed(1)
    device = torch.device("cpu")
    train, test = pictures(512), pictures(64).to(device)
    model = VAE().to(device)
    optimizer = optim.Adam(model.parameters(), lr=1e-3)
    for epoch in range(1, epochs + 1):
        model.train()
        total = 0
        for i, data in enumerate(train[torch.randperm(len(train))].split(32)):
            optimizer.zero_grad()
            loss = loss_function(*((out := model(data))[0], data), *out[1:])
            loss.backward()
            total += loss.item()
            optimizer.step()
            if i % 4 == 0:
                print(
                    f"epoch {epoch} [{i * len(data)}/{len(train)}]  {loss.item() / len(data):.5f}"
                )
        model.eval()
        with torch.no_grad():
            recon, mu, logvar = model(test)
            print(
                f"average {total / len(train):.4f}  test {loss_function(recon, test, mu, logvar) / 64:.4f}"
            )
            print(model.decode(torch.randn(2, 6).to(device)).view(2, 8, 8)[0, :2])


if __name__ == "__main__":
    main()
