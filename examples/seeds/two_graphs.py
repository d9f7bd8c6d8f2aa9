"""Give one function two inputs that take different branches, and differentiate both."""
# ruff: noqa: SIM108 (the if is what this program is about)

import weft as torch


def dynamic_graph_example(x):
    if x.sum() > 0:
        y = x * 2
    else:
        y = x - 2
    return y


# Create input tensors
input_positive = torch.tensor([1.0, -1.0, 2.0], requires_grad=True)
input_negative = torch.tensor([-3.0, -2.0, -1.0], requires_grad=True)

print("Before backward:")
print("input_positive:", input_positive)
print("input_negative:", input_negative)

# Forward pass
output_positive = dynamic_graph_example(input_positive)
output_negative = dynamic_graph_example(input_negative)

print("\nOutputs:")
print("output_positive:", output_positive)
print("output_negative:", output_negative)

# Backward pass
output_positive.sum().backward()
output_negative.sum().backward()

print("\nGradients after backward:")
print("input_positive.grad:", input_positive.grad)
print("input_negative.grad:", input_negative.grad)
