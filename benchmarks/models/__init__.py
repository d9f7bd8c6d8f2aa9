"""Models over one example each: Weft's own batching against PyTorch, one file a model."""
