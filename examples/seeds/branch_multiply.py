"""Branch on a tensor's value; the sum is positive, so a multiplication is recorded."""
# ruff: noqa: SIM108 (the if is what this program is about)

import weft as torch


def dynamic_graph_example(x):
    if x.sum() > 0:
        y = x * 2
    else:
        y = x - 2
    return y


input_tensor = torch.tensor([1.0, -1.0, 2.0], requires_grad=True)
output = dynamic_graph_example(input_tensor)
print(output)
