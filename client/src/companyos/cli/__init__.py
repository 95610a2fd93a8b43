"""The command line `companyos`. Commands import their dependencies when they run, so that `companyos --help` is fast."""
