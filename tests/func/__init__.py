"""Tests of function transforms."""
