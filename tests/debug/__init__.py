"""Tests of weft.debug."""
