"""Entry points by which installed packages add policies, players, commands, scenarios, chaos profiles and services."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import lru_cache
from importlib.metadata import EntryPoint, EntryPoints, entry_points
from typing import Any


class EntryPointError(ValueError):
    """Raised for an entry point that cannot be used; the text names it with its package."""

    def __init__(self, point: EntryPoint, reason: object) -> None:
        package = "" if point.dist is None else f" of {point.dist.name} {point.dist.version}"
        super().__init__(f"entry point {point.name} = {point.value}{package}: {reason}")


def find_entry_points(group: str) -> dict[str, EntryPoint]:
    """Return the entry points of a group, sorted by name. Raises EntryPointError for a duplicate name.

    Packages that are installed later are found after a restart.
    """
    found: dict[str, EntryPoint] = {}
    for point in sorted(_selector(tuple(sys.path))(group=group), key=lambda point: (point.name, point.value)):
        if point.name in found:
            raise EntryPointError(point, f"{found[point.name].value} has the same name in {group}")
        found[point.name] = point
    return found


@lru_cache(maxsize=1)
def _selector(_path: tuple[str, ...]) -> Callable[..., EntryPoints]:
    """Return the function that selects entry points; reading the metadata of all packages takes milliseconds."""
    return entry_points().select


def load_entry_point(point: EntryPoint) -> Any:
    """Import and return the object of an entry point. Raises EntryPointError if it cannot be imported."""
    try:
        return point.load()
    except Exception as error:  # the module of another package may raise anything
        raise EntryPointError(point, str(error) or type(error).__name__) from error
