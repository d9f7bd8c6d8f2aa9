"""Make up names: counts of letter pairs, then an MLP with batch normalisation by hand."""

import argparse
import random

import torch
import torch.nn.functional as F

STARTS = "ka lo mi ra te vi so na el an fe ju".split()
MIDDLES = ["", "ra", "li", "no", "ve", "mi", "sha"]
ENDS = "n a el is ora eth la s".split()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    steps = 101 if parser.parse_args().quick else 5000

    random.seed(42)
    words = sorted({a + b + c for a in STARTS for b in MIDDLES for c in ENDS})
    random.shuffle(words)
    chars = sorted(set("".join(words)))
    stoi = {s: i + 1 for i, s in enumerate(chars)}
    stoi["."] = 0
    itos = {i: s for s, i in stoi.items()}
    size = len(itos)

    counts = torch.zeros((size, size), dtype=torch.int32)
    for w in words:
        w = ["."] + list(w) + ["."]
        for a, b in zip(w, w[1:]):
            counts[stoi[a], stoi[b]] += 1
    P = (counts + 1).float()
    P /= P.sum(1, keepdims=True)
    g = torch.Generator().manual_seed(2147483647)
    for _ in range(3):
        out, ix = [], 0
        while True:
            ix = torch.multinomial(P[ix], num_samples=1, replacement=True, generator=g).item()
            if ix == 0:
                break
            out.append(itos[ix])
        print("by counts:", "".join(out))

    block = 3
    X, Y = [], []
    for w in words:
        context = [0] * block
        for ch in w + ".":
            ix = stoi[ch]
            X.append(context)
            Y.append(ix)
            context = context[1:] + [ix]
    X, Y = torch.tensor(X), torch.tensor(Y)
    cut = int(0.9 * len(X))
    print(X.shape, Y.shape, X.dtype)

    g = torch.Generator().manual_seed(2147483647)
    n_embd, n_hidden = 8, 64
    C = torch.randn((size, n_embd), generator=g)
    W1 = torch.randn((n_embd * block, n_hidden), generator=g) * (5 / 3) / ((n_embd * block) ** 0.5)
    W2 = torch.randn((n_hidden, size), generator=g) * 0.01
    b2 = torch.randn(size, generator=g) * 0
    gain = torch.ones((1, n_hidden))
    shift = torch.zeros((1, n_hidden))
    mean_running = torch.zeros((1, n_hidden))
    std_running = torch.ones((1, n_hidden))
    parameters = [C, W1, W2, b2, gain, shift]
    print(sum(p.nelement() for p in parameters))
    for p in parameters:
        p.requires_grad = True

    for i in range(steps):
        ix = torch.randint(0, cut, (32,), generator=g)
        emb = C[X[ix]]
        pre = emb.view(emb.shape[0], -1) @ W1
        mean, std = pre.mean(0, keepdim=True), pre.std(0, keepdim=True)
        h = torch.tanh(gain * (pre - mean) / std + shift)
        loss = F.cross_entropy(h @ W2 + b2, Y[ix])
        with torch.no_grad():
            mean_running = 0.99 * mean_running + 0.01 * mean
            std_running = 0.99 * std_running + 0.01 * std
        for p in parameters:
            p.grad = None
        loss.backward()
        lr = 0.1 if i < steps // 2 else 0.01
        for p in parameters:
            p.data += -lr * p.grad
        if i % 10 == 0:
            print(f"{i:5d}/{steps:5d}: {loss.item():.4f}")

    @torch.no_grad()
    def split_loss(name, x, y):
        pre = C[x].view(len(x), -1) @ W1
        h = torch.tanh(gain * (pre - mean_running) / std_running + shift)
        print(name, f"{F.cross_entropy(h @ W2 + b2, y).item():.4f}")

    split_loss("train", X[:cut], Y[:cut])
    split_loss("val", X[cut:], Y[cut:])


if __name__ == "__main__":
    main()
