"""Predict how sine waves go on: two LSTM cells, trained by LBFGS in double precision."""

import argparse

import numpy as np
import torch
import torch.nn as nn
import torch.optim as optim


class Sequence(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.width = width
        self.lstm1 = nn.LSTMCell(1, width)
        self.lstm2 = nn.LSTMCell(width, width)
        self.linear = nn.Linear(width, 1)

    def forward(self, input, future=0):
        outputs = []
        h1 = c1 = h2 = c2 = torch.zeros(input.size(0), self.width, dtype=torch.double)
        for step in input.split(1, dim=1):
            h1, c1 = self.lstm1(step, (h1, c1))
            h2, c2 = self.lstm2(h1, (h2, c2))
            output = self.linear(h2)
            outputs += [output]
        for _ in range(future):
            h1, c1 = self.lstm1(output, (h1, c1))
            h2, c2 = self.lstm2(h1, (h2, c2))
            output = self.linear(h2)
            outputs += [output]
        return torch.cat(outputs, dim=1)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--steps", type=int, default=10)
    args = parser.parse_args()
    count, length, steps = (10, 40, 3) if args.quick else (50, 400, args.steps)

    np.random.seed(2)
    torch.manual_seed(0)
    x = np.arange(length) + np.random.randint(-80, 80, count).reshape(count, 1)
    data = np.sin(x / 1.0 / 8).astype("float64")
    input, target = torch.from_numpy(data[3:, :-1]), torch.from_numpy(data[3:, 1:])
    test_input, test_target = torch.from_numpy(data[:3, :-1]), torch.from_numpy(data[:3, 1:])

    seq = Sequence(12 if args.quick else 51)
    seq.double()
    criterion = nn.MSELoss()
    optimizer = optim.LBFGS(seq.parameters(), lr=0.8, max_iter=5 if args.quick else 20)
    for i in range(steps):
        print("STEP: ", i)

        def closure():
            optimizer.zero_grad()
            loss = criterion(seq(input), target)
            print("loss:", f"{loss.item():.8f}")
            loss.backward()
            return loss

        optimizer.step(closure)
        with torch.no_grad():
            pred = seq(test_input, future=10)
            loss = criterion(pred[:, :-10], test_target)
            print("test loss:", f"{loss.item():.8f}")
            print(pred.detach().numpy()[0, -3:].round(5))


if __name__ == "__main__":
    main()
