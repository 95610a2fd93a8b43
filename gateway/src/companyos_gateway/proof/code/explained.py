"""Mutants that are known to survive, each with the reason: no end that can come about shows what they change."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib import resources

from companyos_gateway.proof.code.mutants import Mutant

Key = tuple[str, str, str, str]


@cache
def reasons() -> dict[Key, str]:
    """Return the reasons by module, function, line as it is written, and change."""
    text = resources.files(__package__).joinpath("explained.toml").read_text(encoding="utf-8")
    told = tomllib.loads(text)["mutant"]
    return {(one["module"], one["function"], one["line"], one["change"]): one["why"] for one in told}


def why_survives(mutant: Mutant) -> str | None:
    """Return the reason why a mutant may survive, None where there is none."""
    return reasons().get(mutant.key)
