"""The agent's knowledge: the objects that it was shown about each entity, by step."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from companyos_gateway.evaluation.row_views import parse_time
from companyos_shared.pages.shown_objects import IDENTITIES

_COMPARED = 8
"""Number of earlier sightings with which a new one is compared."""

Sighting = tuple[int, Mapping[str, Any]]
"""A step, and an object that was shown in it."""


class Knowledge:
    """Objects in responses, by the entity that they are about.

    An object without an identity of its own belongs to the enclosing object, or else to the entity that the call named:
    a value in the history of a metric is about the metric. Calls and views must be added in order.
    """

    def __init__(self) -> None:
        self._sightings: dict[str, list[Sighting]] = {}

    def add(self, step: int, arguments: Mapping[str, Any], response: Any) -> list[str]:
        """Add a response that the agent received; return the entities of which it shows something new."""
        return self._add_objects(step, objects_in(arguments, response))

    def add_view(self, step: int, row: dict[str, Any]) -> list[str]:
        """Add an object that a page showed after a step; return the entities of which it shows something new."""
        return self._add_objects(step, _objects(row, None))

    def _add_objects(self, step: int, shown: Iterable[tuple[str, Mapping[str, Any]]]) -> list[str]:
        return [entity for entity, one in shown if self._add_sighting(step, entity, one)]

    def _add_sighting(self, step: int, entity: str, shown: Mapping[str, Any]) -> bool:
        """Add a sighting unless a recent one contains it; return whether it was added."""
        sightings = self._sightings.setdefault(entity, [])
        if any(shown.items() <= earlier.items() for _, earlier in sightings[-_COMPARED:]):
            return False
        sightings.append((step, shown))
        return True

    def has_seen(self, entity: str, *, before: int, columns: Collection[str], values: Mapping[str, Any]) -> bool:
        """Return whether a response before a step showed these columns of an entity together, with these values."""
        sightings = self._sightings.get(entity, ())
        return any(step < before and contains(shown, columns, values) for step, shown in sightings)

    def last_shown(self, entity: str, *, before: int | None) -> int | None:
        """Return the last step before `before` (None: up to now) that showed something new of an entity, or None."""
        steps = (step for step, _ in reversed(self._sightings.get(entity, ())) if before is None or step < before)
        return next(steps, None)


def objects_in(arguments: Mapping[str, Any], response: Any) -> list[tuple[str, Mapping[str, Any]]]:
    """Return the objects that a response contains, each with its entity."""
    return _objects(response, _named_entity(arguments))


def contains(shown: Mapping[str, Any], columns: Collection[str], values: Mapping[str, Any]) -> bool:
    """Return whether an object has the columns and the values."""
    return all(name in shown for name in columns) and all(
        _is_same(shown.get(name), value) for name, value in values.items()
    )


def _objects(value: Any, owner: str | None) -> list[tuple[str, Mapping[str, Any]]]:
    found: list[tuple[str, Mapping[str, Any]]] = []
    _collect_objects(value, owner, found)
    return found


def _collect_objects(value: Any, owner: str | None, found: list[tuple[str, Mapping[str, Any]]]) -> None:
    """Append the objects to a list: twice as fast as nested generators, and this runs for every response."""
    if isinstance(value, dict):
        for name in IDENTITIES:
            if isinstance(value.get(name), str):
                owner = value[name]
                break
        if owner is not None:
            found.append((owner, value))
        for part in value.values():
            if isinstance(part, (dict, list)):
                _collect_objects(part, owner, found)
    elif isinstance(value, list):
        for part in value:
            _collect_objects(part, owner, found)


def _named_entity(arguments: Mapping[str, Any]) -> str | None:
    found = (value for name, value in arguments.items() if name == "key" or name.endswith("_id"))
    return next((value for value in found if isinstance(value, str)), None)


def _is_same(shown: Any, value: Any) -> bool:
    if hasattr(value, "tzinfo"):
        return isinstance(shown, str) and parse_time(shown) == value
    return bool(shown == value) and isinstance(shown, bool) == isinstance(value, bool)
