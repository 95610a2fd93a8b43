"""Draws the kinds of chaos for an instance from rates, budget, required kinds and overrides."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from companyos.contract import InjectionInfo
from companyos_gateway.chaos.kinds import EXCLUDES, REQUIRES, Group, Kind, Mark
from companyos_gateway.chaos.profiles import ChaosError, Profile, parse_kind, parse_rate
from companyos_gateway.services import service_names
from companyos_shared.streams import Stream

_LOCATION = "chaos_overrides"


@dataclass(frozen=True)
class Injection:
    """One injected problem: hidden from the agent, stored in the episode's record."""

    kind: Kind
    mark: Mark
    entity: str
    detail: Mapping[str, Any] = field(default_factory=dict)

    def info(self) -> InjectionInfo:
        """Return the injection as evidence and viewers contain it."""
        return InjectionInfo(kind=self.kind.value, mark=self.mark.value, entity=self.entity, detail=dict(self.detail))


def split_overrides(overrides: Mapping[str, float]) -> tuple[dict[Kind, float], dict[tuple[str, Kind], float]]:
    """Split overrides into rates by kind and rates by (service, kind).

    Raises ChaosError for an unknown kind or service, a rate outside [0, 1], or a rate of one service for a kind outside
    the transport group.
    """
    by_kind: dict[Kind, float] = {}
    by_service: dict[tuple[str, Kind], float] = {}
    for name, rate in overrides.items():
        location = f"{_LOCATION}.{name}"
        service, dot, kind = name.rpartition(".")
        if not dot:
            by_kind[parse_kind(name, location)] = parse_rate(rate, location)
            continue
        if service not in service_names():
            services = ", ".join(service_names())
            raise ChaosError(f"{location}: unknown service {service!r}; the services are {services}")
        by_service[service, parse_kind(kind, location, Group.TRANSPORT)] = parse_rate(rate, location)
    return by_kind, by_service


def draw_kinds(
    profile: Profile,
    overrides: Mapping[str, float],
    stream: Stream,
    *,
    applicable: Sequence[Kind],
    always: Collection[Kind] = (),
) -> frozenset[Kind]:
    """Draw the kinds of an instance from all groups except transport.

    `always` are included from level 1 on. The draw of a kind depends neither on the level nor on the other kinds, so a
    kind that is drawn at one rate is drawn at every higher rate, as far as the budget allows. The order in which kinds
    use the budget is drawn as well. Overridden kinds and `always` do not count against the budget.
    """
    own_rates, _ = split_overrides(overrides)
    forced = {*own_rates, *(always if profile.level > 0 else ())}

    def occurs(kind: Kind) -> bool:
        rate = own_rates.get(kind, 1.0 if kind in forced else profile.rate(kind))
        return rate > 0 and stream.child("strikes", kind).chance(rate)

    drawn: list[Kind] = []
    used_budget = dict.fromkeys(Group, 0)
    for kind in sorted(filter(occurs, applicable), key=lambda one: stream.child("order", one).fraction()):
        if kind not in forced:
            if used_budget[kind.group] == profile.budget.kinds(kind.group):
                continue
            used_budget[kind.group] += 1
        drawn.append(kind)
    return _resolve_conflicts(drawn, own_rates)


def _resolve_conflicts(drawn: Sequence[Kind], own_rates: Mapping[Kind, float]) -> frozenset[Kind]:
    kinds = set(drawn)
    for kind, other in EXCLUDES:
        if {kind, other} <= kinds:
            kinds.remove(other if kind in own_rates and other not in own_rates else kind)
    for kind in drawn:
        needed = REQUIRES.get(kind)
        if needed is None or needed in kinds:
            continue
        if own_rates.get(needed) == 0:
            kinds.discard(kind)
        else:
            kinds.add(needed)
    return frozenset(kinds)
