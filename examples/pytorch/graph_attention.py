"""Attention over the edges of a random graph, and a critic kept smooth: scatter, softmax by node."""

import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.utils import prune
from torch.nn.utils.parametrizations import spectral_norm, weight_norm


def softmax_by(scores, index, count):
    """Softmax over the edges that lead to the same node."""
    shape = index.unsqueeze(-1).expand_as(scores)
    most = torch.full((count, scores.size(1)), -torch.inf).scatter_reduce(0, shape, scores, "amax")
    weights = (scores - most.detach()[index]).exp()
    total = torch.zeros(count, scores.size(1)).scatter_add_(0, shape, weights)
    return weights / total[index]


class EdgeAttention(nn.Module):
    def __init__(self, inputs, outputs, heads):
        super().__init__()
        self.heads, self.size = heads, outputs // heads
        self.project = weight_norm(nn.Linear(inputs, outputs, bias=False))
        self.score = nn.Parameter(torch.empty(size=(2, heads, self.size)))
        nn.init.xavier_normal_(self.score, gain=1.414)

    def forward(self, x, edges):
        source, target = edges
        h = self.project(x).view(-1, self.heads, self.size)
        left, right = (torch.einsum("nhd,hd->nh", h, part) for part in self.score)
        weights = softmax_by(F.leaky_relu(left[source] + right[target], 0.2), target, len(x))
        messages = (weights.unsqueeze(-1) * h[source]).flatten(1)
        return torch.zeros_like(h).flatten(1).index_add(0, target, messages)


class Classifier(nn.Module):
    def __init__(self, inputs, classes):
        super().__init__()
        self.first = EdgeAttention(inputs, 16, 4)
        self.second = EdgeAttention(16, 8, 1)
        self.head = spectral_norm(nn.Linear(8, classes))

    def forward(self, x, edges):
        x = F.dropout(F.elu(self.first(x, edges)), 0.2, training=self.training)
        return self.head(F.elu(self.second(x, edges)))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    args = parser.parse_args()
    torch.manual_seed(4)
    count, classes = 60, 3
    labels = torch.randint(classes, (count,))
    near = (labels[:, None] == labels[None]).float() * 0.2 + 0.02
    edges = torch.bernoulli(near.triu(1)).nonzero().t()
    edges = torch.cat([edges, edges.flip(0), torch.arange(count).repeat(2, 1)], dim=1)
    print(edges.shape, torch.bincount(edges[1], minlength=count).float().mean())
    x = F.one_hot(labels, classes).float() + 0.7 * torch.randn(count, classes)
    train = torch.zeros(count, dtype=torch.bool).index_fill_(0, torch.randperm(count)[:20], True)
    model = Classifier(classes, classes)
    print(model)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02, weight_decay=5e-4)
    for epoch in range(30 if args.quick else 200):
        model.train()
        loss = F.cross_entropy(model(x, edges)[train], labels[train])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if epoch % 5 == 4:
            model.eval()
            with torch.no_grad():
                right = model(x, edges).argmax(dim=-1).eq(labels)[~train].float().mean()
            print(f"epoch {epoch + 1}: loss {loss.item():.4f}, accuracy {right:.3f}")
    layer = prune.l1_unstructured(nn.Linear(8, 4), name="weight", amount=0.5)
    print(layer.weight_mask.sum(), [name for name, _ in layer.named_parameters()])


if __name__ == "__main__":
    main()
