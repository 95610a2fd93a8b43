"""The fault plan: which calls of an episode meet a transport fault, as a pure function of the call's name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from companyos_gateway.chaos.kinds import Group, Kind
from companyos_gateway.chaos.profiles import MAX_CONSECUTIVE, Profile
from companyos_gateway.chaos.sampling import split_overrides
from companyos_gateway.services import service_names
from companyos_shared.streams import Stream
from companyos_shared.wire.context import Fault, FaultKind

CALLS_PER_ROUND = MAX_CONSECUTIVE + 1
"""Calls with the same target come in rounds; a spell of faults starts a round and leaves its last call alone."""

SLOW_MINUTES = (5, 30)
STALE_MINUTES = (3, 9)
"""For how long reads of an entity may answer what was before a write."""

RETRY_AFTER_S = (1, 30)
_FAULT_KINDS = {
    Kind.UNAVAILABLE: FaultKind.UNAVAILABLE,
    Kind.RATE_LIMITED: FaultKind.RATE_LIMITED,
    Kind.TIMEOUT_BEFORE_COMMIT: FaultKind.TIMEOUT_BEFORE_COMMIT,
    Kind.TIMEOUT_AFTER_COMMIT: FaultKind.TIMEOUT_AFTER_COMMIT,
    Kind.FORBIDDEN: FaultKind.FORBIDDEN,
}
_FAULTS_WITH_RETRY_AFTER = (FaultKind.UNAVAILABLE, FaultKind.RATE_LIMITED)


@dataclass(frozen=True)
class FaultPlan:
    """The transport faults of one instance.

    `name` is the stream's name; `rates` holds, by service, the chance that a spell of each kind starts a round.
    A spell has one kind and at most `consecutive` calls; after `spells` rounds a target is left alone.
    """

    name: tuple[str | int, ...]
    rates: Mapping[str, Mapping[Kind, float]]
    consecutive: int
    spells: int

    @classmethod
    def from_profile(cls, profile: Profile, overrides: Mapping[str, float], *name: str | int) -> FaultPlan:
        """Return the plan of a profile with overrides. Raises ChaosError for overrides that do not fit."""
        by_kind, by_service = split_overrides(overrides)
        rates: dict[str, dict[Kind, float]] = {}
        for service in service_names():
            default_rates = {kind: rate.in_service(service) for kind, rate in profile.rates.items()}
            service_rates = {kind: rate for (named, kind), rate in by_service.items() if named == service}
            merged = {**default_rates, **by_kind, **service_rates}
            rates[service] = {kind: merged[kind] for kind in Kind if _is_transport(kind) and merged.get(kind)}
        is_forced = any(_is_transport(kind) for kind in by_kind) or bool(by_service)
        minimum = 1 if is_forced else 0
        budget = profile.budget
        return cls(name, rates, consecutive=max(budget.consecutive, minimum), spells=max(budget.spells, minimum))

    def fault_for(self, service: str, operation: str, target: str, nth: int) -> Fault | None:
        """Return the fault that the n-th call (from 1) of the operation on the target meets, if any."""
        rates = self.rates.get(service)
        round_index, position = divmod(nth - 1, CALLS_PER_ROUND)
        if not rates or round_index >= self.spells or position >= self.consecutive:
            return None
        stream = Stream(*self.name, "fault", service, operation, target, round_index)
        kind = self._draw_kind(rates, stream.fraction())
        if kind is None or position >= stream.integer(1, self.consecutive):
            return None
        retry_after_s = stream.integer(*RETRY_AFTER_S) if kind in _FAULTS_WITH_RETRY_AFTER else None
        return Fault(kind=kind, retry_after_s=retry_after_s)

    def slow_minutes(self, service: str, operation: str, target: str, nth: int) -> int:
        """Return by how many simulated minutes the n-th call (from 1) of the operation on the target is slow."""
        rate = self.rates.get(service, {}).get(Kind.SLOW_ANSWER, 0.0)
        if not rate:
            return 0
        stream = Stream(*self.name, "slow", service, operation, target, nth)
        return stream.integer(*SLOW_MINUTES) if stream.chance(rate) else 0

    def stale_minutes(self, service: str, operation: str, target: str, nth: int) -> int:
        """Return for how many simulated minutes reads of the target do not see what the n-th such write changed."""
        rate = self.rates.get(service, {}).get(Kind.STALE_READ, 0.0)
        if not rate or not target:
            return 0
        stream = Stream(*self.name, "stale", service, operation, target, nth)
        return stream.integer(*STALE_MINUTES) if stream.chance(rate) else 0

    @staticmethod
    def _draw_kind(rates: Mapping[Kind, float], point: float) -> FaultKind | None:
        for kind, fault_kind in _FAULT_KINDS.items():
            point -= rates.get(kind, 0.0)
            if point < 0:
                return fault_kind
        return None


def _is_transport(kind: Kind) -> bool:
    return kind.group is Group.TRANSPORT
