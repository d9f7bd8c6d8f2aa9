"""Run a small network forward: the graph is recorded while forward() runs."""

import weft as torch
from weft import nn


class DynamicNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(10, 50)
        self.fc2 = nn.Linear(50, 2)

    def forward(self, x):
        hidden = torch.relu(self.fc1(x))
        return self.fc2(hidden)


torch.manual_seed(0)
model = DynamicNet()
print(model(torch.randn(1, 10)))
