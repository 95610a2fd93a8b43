"""The command line `companyos`. Commands import their dependencies when they run, to keep `companyos --help` fast."""
