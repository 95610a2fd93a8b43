"""What the enterprise costs, measured: `python -m benchmarks`, or `make bench`."""
