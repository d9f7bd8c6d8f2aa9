"""Tests that mirror src/weft."""
