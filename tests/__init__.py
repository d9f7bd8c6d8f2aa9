"""Tests of Weft, as a package so that test files can share the op table."""
