"""Tests of weft.utils."""
