"""Tests of weft.autograd."""
