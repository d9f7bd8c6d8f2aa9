"""Write models as plain functions: built as they run, for inputs of any size, with print inside."""

import weft as torch


def build_while_running(x):
    y = x + 1
    return y * 2


def take_any_size(x):
    return x * 2


def print_inside(x):
    print("Input:", x)
    y = x * 2
    print("Output:", y)
    return y


print(build_while_running(torch.tensor([1.0, 2.0], requires_grad=True)))
for size in (1, 3, 5):
    print(take_any_size(torch.ones(size)))
print_inside(torch.tensor([[0.5, -1.5], [2.0, 3.25]], requires_grad=True)).sum().backward()
