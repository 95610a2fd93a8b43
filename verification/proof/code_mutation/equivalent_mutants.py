"""Mutants that are known to survive, each with the reason: no end that can come about shows what they change."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib import resources

from verification.proof.code_mutation.mutants import Mutant

Key = tuple[str, str, str, str]


@cache
def reasons() -> dict[Key, str]:
    """Return the reasons by module, function, line as it is written, and change."""
    text = resources.files(__package__).joinpath("explained.toml").read_text(encoding="utf-8")
    entries = tomllib.loads(text)["mutant"]
    return {(one["module"], one["function"], one["line"], one["change"]): one["why"] for one in entries}


def survival_reason(mutant: Mutant) -> str | None:
    """Return the reason why a mutant may survive, None where there is none."""
    return reasons().get(mutant.key)
