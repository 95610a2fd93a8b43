"""Installed policies: entry points of the group `companyos.policies`, each callable without arguments."""

from __future__ import annotations

from functools import cache
from importlib.metadata import EntryPoint
from typing import cast

from companyos.entry_points import EntryPointError, find_entry_points
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
    """Return the names of the installed policies in alphabetical order, without importing them.

    Raises EntryPointError for a duplicate name.
    """
    return sorted(_entry_points())


def load_policy(name: str) -> Policy:
    """Return a new policy with this name. Raises UnknownPolicyError and EntryPointError."""
    point = _entry_points().get(name)
    if point is None:
        raise UnknownPolicyError(name)
    try:
        policy = point.load()()
    except Exception as error:  # the module of another package may raise anything
        raise EntryPointError(point, f"{type(error).__name__}: {error}") from error
    if not callable(getattr(policy, "play", None)):
        raise EntryPointError(point, f"must create a policy, with a method play; got {type(policy).__name__}")
    if getattr(policy, "name", None) != name:
        raise EntryPointError(point, f"name must be {name!r}; got {getattr(policy, 'name', None)!r}")
    return cast(Policy, policy)


@cache
def _entry_points() -> dict[str, EntryPoint]:
    return find_entry_points(GROUP)
