"""Profiles: one TOML file per level, with a rate and a mark per kind, rates per service, and budgets."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cache
from importlib.resources.abc import Traversable
from pathlib import Path
from types import MappingProxyType
from typing import Any

from companyos.contract import MAX_CHAOS
from companyos.entry_points import EntryPointError, find_entry_points, load_entry_point
from companyos_gateway.chaos.kinds import Group, Kind, Mark
from companyos_gateway.services import service_names

PROFILE_FOLDER = Path(__file__).parent / "profiles"
PROFILES_GROUP = "companyos.chaos_profiles"
"""Entry point group with which installed packages add profiles."""

MIN_OUTAGE_MINUTES, MAX_OUTAGE_MINUTES = 15, 120
"""Minimum and maximum length of an outage, in simulated minutes."""


class ChaosError(ValueError):
    """Raised for an invalid profile or override; the message names the file and the location in it."""


@dataclass(frozen=True)
class Budget:
    """Limits of a profile: optional kinds per instance, minutes per outage, and timeouts per operation and target."""

    data: int
    people: int
    hostile: int
    drift: int
    events: int
    outage_minutes: int
    timeouts: int

    def kinds(self, group: Group) -> int:
        """Return the maximum number of optional kinds of the group per instance."""
        return 0 if group is Group.TRANSPORT else int(getattr(self, group.value))


@dataclass(frozen=True)
class KindRate:
    """Rate of a kind in [0, 1], its effect when ignored, and rates that differ by service."""

    rate: float
    mark: Mark
    services: Mapping[str, float]

    def in_service(self, service: str) -> float:
        """Return the rate for a service."""
        return self.services.get(service, self.rate)


@dataclass(frozen=True)
class Profile:
    """One level of chaos."""

    name: str
    level: int
    budget: Budget
    rates: Mapping[Kind, KindRate]

    def rate(self, kind: Kind) -> float:
        """Return the rate of the kind in [0, 1]; 0 if the profile does not list it."""
        return self.rates[kind].rate if kind in self.rates else 0.0

    def mark(self, kind: Kind) -> Mark:
        """Return the effect of ignoring the kind; friction if the profile does not list it."""
        return self.rates[kind].mark if kind in self.rates else Mark.FRICTION


def profile_for(level: int) -> Profile:
    """Return the profile of a level. Raises ChaosError if no profile has the level."""
    found = _profiles().get(level)
    if found is None:
        raise ChaosError(f"chaos {describe_unknown_level(level)}")
    return found


def describe_unknown_level(level: int) -> str:
    """Return which levels are accepted, worded to follow the name of the option."""
    accepted = ", ".join(f"{each} {profile.name}" for each, profile in sorted(_profiles().items()))
    return f"must be one of {accepted}, or 5 to {MAX_CHAOS} if an installed package has that level; got {level}"


def levels() -> tuple[int, ...]:
    """Return the levels of all profiles in ascending order. Raises EntryPointError if an added profile is invalid."""
    return tuple(sorted(_profiles()))


def builtin_levels() -> tuple[int, ...]:
    """Return the levels of the built-in profiles, on which the published task set is based, in ascending order."""
    return tuple(sorted(_builtin_profiles()))


def read_profiles(folder: Path) -> dict[int, Profile]:
    """Read every profile of a folder, by level. Raises ChaosError with the file and location of any error."""
    profiles: dict[int, Profile] = {}
    for file in sorted(folder.glob("*.toml")):
        profile = read_profile(file)
        if profile.level in profiles:
            raise ChaosError(
                f"{file.name}: level: {profile.level} is already the level of {profiles[profile.level].name}"
            )
        profiles[profile.level] = profile
    return profiles


def read_profile(file: Path | Traversable) -> Profile:
    """Read a profile from a file or a package resource.

    Raises ChaosError with the file and location of any error.
    """
    try:
        document = tomllib.loads(file.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise ChaosError(f"{file.name}: {error}") from error
    _reject_unknown_names(document, {"name", "level", "budget", *Group}, f"{file.name}")
    rates: dict[Kind, KindRate] = {}
    for group in Group:
        for name, entry in document.get(group.value, {}).items():
            location = f"{file.name}: {group}.{name}"
            rates[parse_kind(name, location, group)] = _kind_rate(entry, location, group)
    if not isinstance(document.get("name"), str):
        raise ChaosError(f"{file.name}: name must be a string")
    if isinstance(document.get("level"), bool) or not isinstance(document.get("level"), int):
        raise ChaosError(f"{file.name}: level must be an integer")
    if not 0 <= document["level"] <= MAX_CHAOS:
        raise ChaosError(f"{file.name}: level must be 0 to {MAX_CHAOS}; got {document['level']}")
    return Profile(
        name=document["name"],
        level=document["level"],
        budget=_budget(document.get("budget", {}), f"{file.name}: budget"),
        rates=rates,
    )


def parse_kind(name: str, location: str, group: Group | None = None) -> Kind:
    """Return the kind with that name. Raises ChaosError if no kind (of the group) has it."""
    if name not in set(Kind) or (group is not None and Kind(name).group is not group):
        kinds = ", ".join(kind for kind in Kind if group in (None, kind.group))
        raise ChaosError(f"{location}: unknown kind {name!r}; the kinds{f' of {group}' if group else ''} are {kinds}")
    return Kind(name)


def parse_rate(value: object, location: str) -> float:
    """Return the rate as a number in [0, 1]. Raises ChaosError for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise ChaosError(f"{location}: a rate must be 0 to 1; got {value!r}")
    return float(value)


@cache
def _builtin_profiles() -> dict[int, Profile]:
    return read_profiles(PROFILE_FOLDER)


@cache
def _profiles() -> Mapping[int, Profile]:
    found = dict(_builtin_profiles())
    for point in find_entry_points(PROFILES_GROUP).values():
        profile = load_entry_point(point)
        if not isinstance(profile, Profile):
            raise EntryPointError(
                point, f"must be a Profile, such as read_profile returns; got {type(profile).__name__}"
            )
        if profile.name != point.name:
            raise EntryPointError(point, f"the profile is named {profile.name!r}")
        if profile.name in {other.name for other in found.values()}:
            raise EntryPointError(point, "another profile has this name")
        if profile.level in found or not 0 <= profile.level <= MAX_CHAOS:
            free = ", ".join(str(level) for level in range(MAX_CHAOS + 1) if level not in found)
            raise EntryPointError(point, f"level must be one of {free or 'none'}; got {profile.level}")
        found[profile.level] = profile
    return MappingProxyType(found)


def _kind_rate(entry: Any, location: str, group: Group) -> KindRate:
    if not isinstance(entry, dict):
        raise ChaosError(f"{location}: must be a table with rate and mark")
    _reject_unknown_names(entry, {"rate", "mark", "services"}, location)
    if entry.get("mark") not in set(Mark):
        raise ChaosError(f"{location}.mark must be one of {', '.join(Mark)}; got {entry.get('mark')!r}")
    services = entry.get("services", {})
    if services and group is not Group.TRANSPORT:
        raise ChaosError(f"{location}.services: only transport kinds have rates per service")
    _reject_unknown_names(services, set(service_names()), f"{location}.services")
    return KindRate(
        rate=parse_rate(entry.get("rate"), f"{location}.rate"),
        mark=Mark(entry["mark"]),
        services={name: parse_rate(rate, f"{location}.services.{name}") for name, rate in services.items()},
    )


def _budget(entry: Any, location: str) -> Budget:
    names = {field.name for field in fields(Budget)}
    _reject_unknown_names(entry, names, location)
    for name in sorted(names):
        if not isinstance(entry.get(name), int) or entry[name] < 0:
            raise ChaosError(f"{location}.{name} must be an integer of at least 0")
    if entry["outage_minutes"] and not MIN_OUTAGE_MINUTES <= entry["outage_minutes"] <= MAX_OUTAGE_MINUTES:
        raise ChaosError(
            f"{location}.outage_minutes must be 0 or {MIN_OUTAGE_MINUTES} to {MAX_OUTAGE_MINUTES}; "
            f"got {entry['outage_minutes']}"
        )
    return Budget(**entry)


def _reject_unknown_names(entry: Mapping[str, Any], allowed: set[str], location: str) -> None:
    for name in entry:
        if name not in allowed:
            raise ChaosError(f"{location}: unknown name {name!r}; accepted are {', '.join(sorted(allowed))}")
