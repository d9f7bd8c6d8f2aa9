"""One table of ops with sample inputs, and the tests that it drives."""
