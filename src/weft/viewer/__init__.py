"""Show runs: pages of graphs, files, and a program while it runs."""
