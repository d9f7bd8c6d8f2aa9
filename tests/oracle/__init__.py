"""The op table against real PyTorch; run by `make oracle`, never by `make test`."""
