"""Benchmarks of latency, throughput and memory: `python -m verification.benchmarks`, or `make bench`."""
