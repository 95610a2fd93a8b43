"""Reset and step of CompanyOS and of other environments: `python -m verification.benchmarks.peers`."""
