"""Mutants that are expected to survive, each with the reason."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib import resources

from verification.proof.code_mutation.mutants import Mutant

Key = tuple[str, str, str, str]


@cache
def reasons() -> dict[Key, str]:
    """Return the reasons by module, function, source line and change."""
    text = resources.files(__package__).joinpath("explained.toml").read_text(encoding="utf-8")
    entries = tomllib.loads(text)["mutant"]
    return {(item["module"], item["function"], item["line"], item["change"]): item["why"] for item in entries}


def survival_reason(mutant: Mutant) -> str | None:
    """Return the reason for which a mutant may survive, or None."""
    return reasons().get(mutant.key)
