"""Tests of PyTorch's scripts on Weft."""
