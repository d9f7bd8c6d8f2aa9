"""Time Weft and PyTorch side by side, in one run on one machine: `make bench`."""
