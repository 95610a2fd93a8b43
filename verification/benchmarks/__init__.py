"""What the enterprise costs, measured: `python -m verification.benchmarks`, or `make bench`."""
