"""The chaos profile: the parking service is unavailable at times."""

from importlib.resources import files

from companyos_gateway.chaos import read_profile

OUTAGE = read_profile(files(__package__) / "outage.toml")
