"""Discovers the installed services and the rules that other packages declare for their services."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.metadata import EntryPoint
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from companyos.entry_points import EntryPointError, find_entry_points, load_entry_point

if TYPE_CHECKING:
    from companyos_shared.streams import Stream
    from companyos_shared.wire.control import Row

SERVICE_GROUP = "companyos.services"
"""Group of the entry points that name the app of a service."""

RULES_GROUP = "companyos.service_rules"
"""Group of the entry points that name the ServiceRules of a service."""

BUILTIN_SERVICES = ("ticketdesk", "datahub", "approvalflow")

_NAME = re.compile(r"[a-z][a-z0-9]*")
"""A tool is named `<service>_<operation>`, so the name of a service contains no underscore."""


def _no_rows(_world: Any, _stream: Stream) -> dict[str, Any]:
    return {}


def _never(_table: str, _before: Row, _after: Row | None) -> bool:
    return False


@dataclass(frozen=True, kw_only=True)
class ServiceRules:
    """Rules by which the gateway seeds a service of another package and judges changes of its rows."""

    seed: Callable[[Any, Stream], dict[str, Any]] = _no_rows
    """Function of the WorldBuilder of a generated company and a stream. It returns the members that the service's seed
    document has besides `company`, `draw_seed` and `started_at`, as JSON."""

    protected_tables: frozenset[str] = frozenset()
    """Tables in which a change that the task does not allow counts even if it is undone."""

    is_irreversible: Callable[[str, Row, Row | None], bool] = _never
    """Function of a table and one of its rows before and after (None: deleted) a change that the task does not allow.
    It returns whether the change is damage that cannot be undone."""


def service_entry_points() -> dict[str, EntryPoint]:
    """Return the entry point of each installed service. Raises EntryPointError for a name that cannot be used."""
    found = find_entry_points(SERVICE_GROUP)
    for point in found.values():
        _check_name(point)
    return found


def load_error_file(folder: Path, name: str) -> Path:
    """Return the path, in the folder of sockets, of the file with the reason why a service's app cannot be served."""
    return folder / f"{name}.error"


@cache
def service_names() -> tuple[str, ...]:
    """Return the built-in services and those that other packages add. Raises EntryPointError."""
    added = {*service_entry_points(), *find_entry_points(RULES_GROUP)} - set(BUILTIN_SERVICES)
    return (*BUILTIN_SERVICES, *sorted(added))


@cache
def service_rules() -> Mapping[str, ServiceRules]:
    """Return the rules of services that other packages add. Raises EntryPointError."""
    return MappingProxyType({name: _load_rules(point) for name, point in find_entry_points(RULES_GROUP).items()})


def check_services(configured: Mapping[str, object]) -> None:
    """Raise EntryPointError for rules of a service that the gateway is not connected to."""
    for name, point in find_entry_points(RULES_GROUP).items():
        if name not in configured:
            raise EntryPointError(point, f"no service is named {name!r}; there are {', '.join(sorted(configured))}")


def write_seed(service: str, world: Any, stream: Stream) -> dict[str, Any]:
    """Return the members of a service's seed document. Raises EntryPointError if its rules fail."""
    try:
        return service_rules()[service].seed(world, stream)
    except Exception as error:  # the function of another package may raise anything
        point = find_entry_points(RULES_GROUP)[service]
        raise EntryPointError(point, f"seed: {type(error).__name__}: {error}") from error


def _load_rules(point: EntryPoint) -> ServiceRules:
    _check_name(point)
    if point.name in BUILTIN_SERVICES:
        raise EntryPointError(point, "a built-in service has this name")
    rules = load_entry_point(point)
    if not isinstance(rules, ServiceRules):
        raise EntryPointError(point, f"must be a ServiceRules; got {type(rules).__name__}")
    return rules


def _check_name(point: EntryPoint) -> None:
    if not _NAME.fullmatch(point.name):
        raise EntryPointError(point, "the name of a service must consist of lowercase letters and digits")
