"""A tagger: a BiLSTM scores tags, and a conditional random field the way from tag to tag."""

import argparse

import torch
from torch import nn, optim

START, STOP = "<start>", "<stop>"
SENTENCES = [
    ("the small fox saw the old river", "B I I O B I I"),
    ("a bird sang", "B I O"),
    ("the miller gave the bird a grey stone", "B I O B I B I I"),
    ("old stones sleep", "B I O"),
    ("we saw a fox by the river", "O O B I O B I"),
]


def log_sum_exp(row):
    highest = row[0, torch.max(row, 1)[1].item()]
    return highest + torch.log(torch.sum(torch.exp(row - highest.view(1, -1).expand_as(row))))


class Tagger(nn.Module):
    def __init__(self, words, tags, width=6, hidden=8):
        super().__init__()
        self.hidden, self.tags, self.count = hidden, tags, len(tags)
        self.table = nn.Embedding(words, width)
        self.lstm = nn.LSTM(width, hidden // 2, num_layers=1, bidirectional=True)
        self.to_tags = nn.Linear(hidden, self.count)
        self.moves = nn.Parameter(torch.randn(self.count, self.count))
        self.moves.data[tags[START], :] = -10000
        self.moves.data[:, tags[STOP]] = -10000

    def features(self, sentence):
        state = (torch.randn(2, 1, self.hidden // 2), torch.randn(2, 1, self.hidden // 2))
        out, _ = self.lstm(self.table(sentence).view(len(sentence), 1, -1), state)
        return self.to_tags(out.view(len(sentence), self.hidden))

    def all_ways(self, features):
        alphas = torch.full((1, self.count), -10000.0)
        alphas[0][self.tags[START]] = 0.0
        for feature in features:
            following = []
            for tag in range(self.count):
                emitted = feature[tag].view(1, -1).expand(1, self.count)
                following.append(
                    log_sum_exp(alphas + self.moves[tag].view(1, -1) + emitted).view(1)
                )
            alphas = torch.cat(following).view(1, -1)
        return log_sum_exp(alphas + self.moves[self.tags[STOP]])

    def this_way(self, features, tags):
        score = torch.zeros(1)
        tags = torch.cat([torch.tensor([self.tags[START]], dtype=torch.long), tags])
        for place, feature in enumerate(features):
            score = score + self.moves[tags[place + 1], tags[place]] + feature[tags[place + 1]]
        return score + self.moves[self.tags[STOP], tags[-1]]

    def loss(self, sentence, tags):
        features = self.features(sentence)
        return self.all_ways(features) - self.this_way(features, tags)

    def forward(self, sentence):
        """Return the best way and its score."""
        pointers = []
        scores = torch.full((1, self.count), -10000.0)
        scores[0][self.tags[START]] = 0
        for feature in self.features(sentence):
            found = (scores + self.moves).max(dim=1)
            pointers.append(found.indices.tolist())
            scores = (found.values + feature).view(1, -1)
        final = scores + self.moves[self.tags[STOP]]
        best = torch.argmax(final, dim=1).item()
        path = [best]
        for row in reversed(pointers):
            path.append(row[path[-1]])
        assert path.pop() == self.tags[START]
        return final[0][best], path[::-1]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    epochs = 8 if parser.parse_args().quick else 120
    torch.manual_seed(1)
    words = {}
    for text, _ in SENTENCES:
        for word in text.split():
            words.setdefault(word, len(words))
    tags = {"B": 0, "I": 1, "O": 2, START: 3, STOP: 4}
    data = [
        (
            torch.tensor([words[w] for w in text.split()]),
            torch.tensor([tags[t] for t in wanted.split()]),
        )
        for text, wanted in SENTENCES
    ]
    model = Tagger(len(words), tags)
    optimizer = optim.SGD(model.parameters(), lr=0.05, weight_decay=1e-4)
    with torch.no_grad():
        print(model(data[0][0]))
    for epoch in range(epochs):
        total = 0.0
        for sentence, wanted in data:
            model.zero_grad()
            loss = model.loss(sentence, wanted)
            loss.backward()
            optimizer.step()
            total += loss.item()
        print(epoch, f"{total:.5f}")
    with torch.no_grad():
        score, path = model(data[0][0])
        print(f"{score.item():.4f}", path)


if __name__ == "__main__":
    main()
