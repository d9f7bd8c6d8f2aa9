"""Branch on a tensor's value; the sum is below ten, so a division is recorded."""
# ruff: noqa: SIM108 (the if is what this program is about)

import weft as torch


def dynamic_graph_example(x):
    if x.sum() > 10:
        y = x * 3
    else:
        y = x / 2
    return y


input_tensor = torch.tensor([2.0, 3.0, 4.0], requires_grad=True)
output = dynamic_graph_example(input_tensor)
print(output)
