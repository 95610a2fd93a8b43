"""The chaos of an instance: the kinds that a scenario can build, those that are drawn, and their injections."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from companyos_gateway.chaos import FaultPlan, Injection, Kind, Profile, draw_kinds
from companyos_gateway.chaos.kinds import OPT_IN_KINDS, PERTURBATION_KINDS, TREATED_LIKE, Group
from companyos_shared.streams import Stream

REFUSAL_SHARE = 1 / 4
"""Share of instances that must be refused, from REFUSAL_MIN_LEVEL on."""

REFUSAL_MIN_LEVEL = 2

METRIC_KINDS = (Kind.STALE_METRIC, Kind.CONFLICTING_SOURCES, Kind.FAILED_PIPELINE)
"""Kinds that do not apply if no metric matters."""

DECISION_KINDS = (Kind.RANDOM_REJECTION, Kind.INFORMATION_REQUEST, Kind.SLOW_DECISION)
"""Kinds that do not apply if the agent requests no approval."""


def buildable_kinds(*, exclude: Collection[Kind] = (), opt_in: Collection[Kind] = ()) -> tuple[Kind, ...]:
    """Return the kinds that a scenario can build: all but the excluded ones and the kinds that are treated like them.

    Opt-in kinds are included only if they are in `opt_in`.
    """
    excluded = {*PERTURBATION_KINDS, *(OPT_IN_KINDS - set(opt_in))}
    buildable = [kind for kind in Kind if kind.group is not Group.TRANSPORT and kind not in excluded]
    return tuple(kind for kind in buildable if not {kind, TREATED_LIKE.get(kind)} & set(exclude))


@dataclass(frozen=True)
class ChaosDraw:
    """Chaos drawn for an instance, and whether the work must be refused."""

    kinds: frozenset[Kind]
    must_refuse: bool


def draw_chaos(
    stream: Stream,
    profile: Profile,
    overrides: Mapping[str, float],
    *,
    applicable: Collection[Kind],
    always: Collection[Kind],
) -> ChaosDraw:
    """Draw the chaos kinds of an instance, and whether it must be refused."""
    kinds = draw_kinds(profile, overrides, stream.child("chaos"), applicable=tuple(applicable), always=always)
    must_refuse = stream.child("outcome").chance(REFUSAL_SHARE) and profile.level >= REFUSAL_MIN_LEVEL
    return ChaosDraw(kinds, must_refuse)


def injections(profile: Profile, kinds: Collection[Kind], entities: Mapping[Kind, str]) -> tuple[Injection, ...]:
    """Return an injection for each data and people kind, with the entity that it affects."""
    return tuple(
        Injection(kind, profile.mark(kind), entities.get(TREATED_LIKE.get(kind, kind), entities[kind]))
        for kind in Kind
        if kind in kinds
    )


def transport_injections(profile: Profile, faults: FaultPlan) -> tuple[Injection, ...]:
    """Return the possible transport faults by service."""
    return tuple(
        Injection(kind, profile.mark(kind), service, {"rate": rate})
        for service, rates in faults.rates.items()
        for kind, rate in rates.items()
    )
