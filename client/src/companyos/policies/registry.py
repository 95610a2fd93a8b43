"""Installed policies: entry points of the group `companyos.policies`, each callable without arguments."""

from __future__ import annotations

import os
import pkgutil
import re
import sys
from collections.abc import Callable
from functools import cache
from importlib.metadata import EntryPoint
from typing import cast

from companyos.entry_points import EntryPointError, find_entry_points
from companyos.policies.policy import Policy

GROUP = "companyos.policies"
SCRIPTED = frozenset({"oracle", "worker1", "worker2", "worker3"})
"""Policies of the distribution companyos-players."""


_NAME = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]*")
"""Pattern of a policy's name, which is part of the names of files."""


class UnknownPolicyError(LookupError):
    """Raised for a policy that is not installed."""

    def __init__(self, name: str) -> None:
        hint = " Install companyos-players for it." if name in SCRIPTED and not SCRIPTED & set(policy_names()) else ""
        super().__init__(f"Unknown policy {name!r}; installed policies: {', '.join(policy_names()) or 'none'}.{hint}")


class PolicyImportError(UnknownPolicyError):
    """Raised for a policy that is named by module and class and cannot be used."""

    def __init__(self, reference: str, reason: object) -> None:
        LookupError.__init__(self, f"policy {reference}: {reason}")


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


def import_policy(reference: str) -> tuple[str, Callable[[], Policy]]:
    """Return the name and the class of a policy given by module and class, such as `my_agent:MyAgent`.

    Modules are also found in the current folder. Raises PolicyImportError.
    """
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        factory = pkgutil.resolve_name(reference)
        policy = factory()
    except Exception as error:  # the module of another author may raise anything
        raise PolicyImportError(reference, f"{type(error).__name__}: {error}") from error
    name = getattr(policy, "name", None)
    has_play = callable(getattr(policy, "play", None))
    if name is None or not has_play:
        missing = f"{type(policy).__name__} has no {'method play' if name is not None else 'name'}"
        raise PolicyImportError(reference, f"must create a policy, with a name and a method play; {missing}")
    if not isinstance(name, str) or _NAME.fullmatch(name) is None:
        raise PolicyImportError(reference, f"name must consist of letters, digits, '-', '_' and '.'; got {name!r}")
    if name in policy_names():
        raise PolicyImportError(reference, f"an installed policy is also named {name!r}")
    return name, factory


@cache
def _entry_points() -> dict[str, EntryPoint]:
    return find_entry_points(GROUP)
