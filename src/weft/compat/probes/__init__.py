"""What scripts ask PyTorch about the machine, with a CPU's honest answers."""
