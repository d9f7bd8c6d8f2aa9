"""Let a signal through or damp it: the `if` decides, and the gradient follows what ran."""

import weft as torch


def gate(signal, limit=1.0):
    if signal.abs().max() < limit:
        return signal * 0.1
    return signal.clamp(-limit, limit) + signal.tanh()


for values in ([0.3, -0.2, 0.9], [0.5, -3.0, 1.5]):
    signal = torch.tensor(values, requires_grad=True)
    passed = gate(signal)
    passed.sum().backward()
    print("in      ", signal)
    print("out     ", passed)
    print("gradient", signal.grad)
