"""Choose another model for each input, and train what was chosen."""

import weft as torch
from weft import nn, optim

torch.manual_seed(3)
small = nn.Linear(1, 1)
large = nn.Sequential(nn.Linear(1, 8), nn.Tanh(), nn.Linear(8, 1))
models = nn.ModuleDict({"small": small, "large": large})
optimizer = optim.SGD(models.parameters(), lr=0.05)


def predict(x):
    name = "small" if x.abs().item() < 1 else "large"
    return name, models[name](x.view(1, 1))


used = {"small": 0, "large": 0}
for step in range(60):
    x = torch.randn(()) * 2
    name, guess = predict(x)
    loss = (guess - x * x).pow(2).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    used[name] += 1
    if step % 20 == 19:
        print(f"step {step + 1}: loss {loss.item():.3f}, used {used}")
