"""Instances that several tests use, each planned once."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from companyos_gateway.scenarios import Instance, catalogue
from companyos_shared.streams import digest

SEEDS = range(3)
LEVELS = range(5)


@cache
def planned(scenario: str, seed: int, level: int) -> Instance:
    """Return the instance of a scenario."""
    return catalogue()[scenario].plan(seed, level)


def fingerprint(documents: Mapping[str, dict[str, Any]]) -> str:
    """Return a digest of everything except the services' draw seeds."""
    return digest(
        {
            service: {name: part for name, part in document.items() if name != "draw_seed"}
            for service, document in documents.items()
        }
    )
