"""Demo seed, loaded from demo.toml."""

from __future__ import annotations

import tomllib
from importlib.resources import files

from companyos_datahub.seed import Seed


def demo_seed() -> Seed:
    """Return the demo seed."""
    return Seed.model_validate(tomllib.loads(files(__package__).joinpath("demo.toml").read_text("utf-8")))
