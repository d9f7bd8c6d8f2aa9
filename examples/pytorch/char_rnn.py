"""A character model: first a cell written out step by step, then an LSTM, then samples from it."""

import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F

TEXT = (
    "the weaver sat by the loom and the loom sang to the weaver. a thread of red, a thread of "
    "blue, and under and over the shuttle flew. the day was long and the cloth was wide; the river "
    "went by on the other side. "
)


class Cell(nn.Module):
    """A recurrent cell from linear layers."""

    def __init__(self, inputs, hidden, outputs):
        super().__init__()
        self.hidden_size = hidden
        self.to_hidden = nn.Linear(inputs + hidden, hidden)
        self.to_output = nn.Linear(hidden, outputs)

    def forward(self, x, hidden):
        hidden = torch.tanh(self.to_hidden(torch.cat((x, hidden), 1)))
        return F.log_softmax(self.to_output(hidden), dim=1), hidden

    def start(self):
        return torch.zeros(1, self.hidden_size)


class CharLSTM(nn.Module):
    def __init__(self, count, width=48, layers=2):
        super().__init__()
        self.table = nn.Embedding(count, width)
        self.lstm = nn.LSTM(width, width, layers, batch_first=True)
        self.head = nn.Linear(width, count)

    def forward(self, x, state=None):
        out, state = self.lstm(self.table(x), state)
        return self.head(out), state


def train_cell(data, count, steps):
    cell = Cell(count, 32, count)
    measure = nn.NLLLoss()
    for step in range(steps):
        start = torch.randint(0, len(data) - 13, (1,)).item()
        hidden, loss = cell.start(), torch.Tensor([0])
        for place in range(start, start + 12):
            letter = F.one_hot(data[place : place + 1], count).float()
            output, hidden = cell(letter, hidden)
            loss = loss + measure(output, data[place + 1 : place + 2])
        cell.zero_grad()
        loss.backward()
        for p in cell.parameters():
            p.data.add_(p.grad.data, alpha=-0.01)
        if step % 10 == 0:
            print(f"cell {step:4d}  {loss.item() / 12:.5f}")


def train_lstm(data, count, steps):
    model = CharLSTM(count)
    optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)
    for step in range(steps):
        starts = torch.randint(0, len(data) - 25, (8,))
        x = torch.stack([data[i : i + 24] for i in starts])
        y = torch.stack([data[i + 1 : i + 25] for i in starts])
        logits, _ = model(x)
        loss = F.cross_entropy(logits.reshape(-1, count), y.reshape(-1))
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if step % 10 == 0:
            print(f"lstm {step:4d}  {loss.item():.5f}  norm {norm.item():.4f}")
    return model


@torch.no_grad()
def sample(model, letters, start, length):
    model.eval()
    index, state, out = torch.tensor([[letters.index(start)]]), None, [start]
    for _ in range(length):
        logits, state = model(index, state)
        index = torch.multinomial(logits[:, -1].softmax(-1), 1)
        out.append(letters[index.item()])
    return "".join(out)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    torch.manual_seed(5)
    letters = sorted(set(TEXT))
    data = torch.tensor([letters.index(c) for c in TEXT * 3], dtype=torch.long)
    train_cell(data, len(letters), 31 if quick else 500)
    model = train_lstm(data, len(letters), 31 if quick else 400)
    print(repr(sample(model, letters, "t", 40)))


if __name__ == "__main__":
    main()
