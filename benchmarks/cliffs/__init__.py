"""Models in ordinary spellings, in `map` and `lazy` against a plain loop, call after call."""
