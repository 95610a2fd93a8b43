"""Installed policies: entry points of the group `companyos.policies`, each callable without arguments."""

from __future__ import annotations

from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import cast

from companyos.policies.policy import Policy

GROUP = "companyos.policies"
SCRIPTED = frozenset({"oracle", "worker1", "worker2", "worker3"})
"""Policies of the distribution companyos-players."""


class UnknownPolicyError(LookupError):
    """Raised for a policy that is not installed."""

    def __init__(self, name: str) -> None:
        hint = " Install companyos-players for it." if name in SCRIPTED and not SCRIPTED & set(policy_names()) else ""
        super().__init__(f"Unknown policy {name!r}; installed policies: {', '.join(policy_names()) or 'none'}.{hint}")


def policy_names() -> list[str]:
    """Return the names of the installed policies in alphabetical order, without importing them."""
    return sorted(_entry_points())


def load_policy(name: str) -> Policy:
    """Return a new policy with this name. Raises UnknownPolicyError."""
    entry_point = _entry_points().get(name)
    if entry_point is None:
        raise UnknownPolicyError(name)
    return cast(Policy, entry_point.load()())


@cache
def _entry_points() -> dict[str, EntryPoint]:
    return {point.name: point for point in entry_points(group=GROUP)}
