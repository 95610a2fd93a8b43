"""The command line `companyos`. Commands import what they need when they run: so `companyos --help` is fast."""
