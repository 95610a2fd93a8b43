"""The installed policies: the entry points of the group `companyos.policies`, each callable without arguments."""

from __future__ import annotations

from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import cast

from companyos.policies.policy import Policy

GROUP = "companyos.policies"


class UnknownPolicy(LookupError):
    """Raised for a policy that no installed package registers."""

    def __init__(self, name: str) -> None:
        super().__init__(f"No policy is called {name!r}; installed are {', '.join(policy_names()) or 'none'}.")


def policy_names() -> list[str]:
    """Return the names of the installed policies, in alphabetical order, without importing them."""
    return sorted(_entry_points())


def load_policy(name: str) -> Policy:
    """Return a new policy of that name. Raises UnknownPolicy."""
    found = _entry_points().get(name)
    if found is None:
        raise UnknownPolicy(name)
    return cast(Policy, found.load()())


@cache
def _entry_points() -> dict[str, EntryPoint]:
    return {point.name: point for point in entry_points(group=GROUP)}
