"""An encoder and a decoder learn to reverse sequences of different lengths, and decode greedily."""

import argparse
import math

import torch
import torch.nn as nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader, Dataset

PAD, BOS, EOS, FIRST, VOCABULARY = 0, 1, 2, 3, 13
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


class Reversed(Dataset):
    def __init__(self, count):
        lengths = torch.randint(3, 7, (count,)).tolist()
        self.items = [torch.randint(FIRST, VOCABULARY, size=(n,)) for n in lengths]

    def __len__(self):
        return len(self.items)

    def __getitem__(self, index):
        item = self.items[index]
        return item, torch.cat([torch.tensor([BOS]), item.flip(0), torch.tensor([EOS])])


def collate(batch):
    return tuple(pad_sequence(part, batch_first=True, padding_value=PAD) for part in zip(*batch))


class Positions(nn.Module):
    def __init__(self, width, dropout, length=64):
        super().__init__()
        rates = torch.exp(-torch.arange(0, width, 2) * math.log(10000) / width)
        angles = torch.arange(length).unsqueeze(1) * rates
        table = torch.zeros(1, length, width)
        table[..., 0::2], table[..., 1::2] = angles.sin(), angles.cos()
        self.register_buffer("table", table)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        return self.dropout(x + self.table[:, : x.size(1)])


class Translator(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.embed = nn.Embedding(VOCABULARY, width, padding_idx=PAD)
        self.positions = Positions(width, 0.1)
        self.transformer = nn.Transformer(width, 2, 1, 1, 32, 0.1, batch_first=True)
        self.out = nn.Linear(width, VOCABULARY)

    def forward(self, source, target):
        hidden = source == PAD
        causal = nn.Transformer.generate_square_subsequent_mask(target.size(1)).bool()
        result = self.transformer(
            self.positions(self.embed(source)),
            self.positions(self.embed(target)),
            tgt_mask=causal,
            src_key_padding_mask=hidden,
            memory_key_padding_mask=hidden,
            tgt_key_padding_mask=target == PAD,
        )
        return self.out(result)

    @torch.no_grad()
    def translate(self, source):
        self.eval()
        target = torch.full((len(source), 1), BOS, dtype=torch.long)
        while target.size(1) < 8:
            target = torch.cat([target, self(source, target)[:, -1:].argmax(-1)], 1)
        return target[:, 1:]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    args = parser.parse_args()
    torch.manual_seed(2)
    loader = DataLoader(Reversed(64), batch_size=16, shuffle=True, collate_fn=collate)
    model = Translator().to(device)
    print(f"{sum(p.numel() for p in model.parameters()):,} parameters")
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3, betas=(0.9, 0.98), eps=1e-9)
    steps = len(loader) * (4 if args.quick else 60)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=5e-3, total_steps=steps)
    criterion = nn.CrossEntropyLoss(ignore_index=PAD, label_smoothing=0.1)
    for epoch in range(steps // len(loader)):
        model.train()
        total = 0.0
        for source, target in loader:
            source, target = source.to(device), target.to(device)
            scores = model(source, target[:, :-1])
            loss = criterion(scores.flatten(0, 1), target[:, 1:].flatten())
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            scheduler.step()
            total += loss.item()
        print(f"epoch {epoch}: loss {total / len(loader):.4f}, lr {scheduler.get_last_lr()[0]:.5f}")
    source, target = next(iter(loader))
    got = model.translate(source[:3])
    for row in range(3):
        print(source[row].tolist(), "->", got[row].tolist())


if __name__ == "__main__":
    main()
