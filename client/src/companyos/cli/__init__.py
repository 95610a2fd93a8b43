"""The command line `companyos`. Commands import what they need when they run: `companyos --help` answers at once."""
