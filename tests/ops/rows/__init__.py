"""The rows of the op table, one file a family."""
