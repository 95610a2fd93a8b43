"""The fault plan: outages as windows of simulated time, timeouts by call, slow calls and lagging reads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from math import ceil

from companyos_gateway.chaos.kinds import Group, Kind
from companyos_gateway.chaos.profiles import MIN_OUTAGE_MINUTES, Profile
from companyos_gateway.chaos.sampling import split_overrides
from companyos_gateway.services import service_names
from companyos_shared.streams import Stream
from companyos_shared.wire.context import Fault, FaultKind

SLOW_MINUTES = (5, 30)
STALE_MINUTES = (3, 9)
"""Minimum and maximum lag of reads of a service behind a write."""

FORCED_OUTAGE_MINUTES = 30
"""Maximum length of an outage if only overrides request outages."""

_CACHED_WINDOWS = 4096
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MINUTE = timedelta(minutes=1)
_OUTAGES = {
    Kind.UNAVAILABLE: FaultKind.UNAVAILABLE,
    Kind.RATE_LIMITED: FaultKind.RATE_LIMITED,
    Kind.FORBIDDEN: FaultKind.FORBIDDEN,
}
_TIMEOUTS = {
    Kind.TIMEOUT_BEFORE_COMMIT: FaultKind.TIMEOUT_BEFORE_COMMIT,
    Kind.TIMEOUT_AFTER_COMMIT: FaultKind.TIMEOUT_AFTER_COMMIT,
}


@dataclass(frozen=True)
class Outage:
    """A window of simulated time in which a service rejects calls: `starts_at` <= time < `ends_at`."""

    kind: FaultKind
    starts_at: datetime
    ends_at: datetime

    def affects(self, *, is_read: bool) -> bool:
        """Return whether the outage rejects a call. Rate limits apply to reads, the other outages to every call."""
        return is_read or self.kind is not FaultKind.RATE_LIMITED


@dataclass(frozen=True)
class FaultPlan:
    """The transport faults of one instance.

    `name` is the name of the stream. `rates` contains, by service, the share of simulated time in outages of each kind,
    and the share of calls that each other kind affects. An outage lasts `outage_minutes` at most. At most `timeouts`
    calls of an operation on a target time out.
    """

    name: tuple[str | int, ...]
    rates: Mapping[str, Mapping[Kind, float]]
    outage_minutes: int
    timeouts: int

    @classmethod
    def from_profile(cls, profile: Profile, overrides: Mapping[str, float], *name: str | int) -> FaultPlan:
        """Return the plan of a profile with overrides. Raises ChaosError for invalid overrides."""
        by_kind, by_service = split_overrides(overrides)
        rates: dict[str, dict[Kind, float]] = {}
        for service in service_names():
            default_rates = {kind: rate.in_service(service) for kind, rate in profile.rates.items()}
            service_rates = {kind: rate for (named, kind), rate in by_service.items() if named == service}
            merged = {**default_rates, **by_kind, **service_rates}
            rates[service] = {kind: merged[kind] for kind in Kind if merged.get(kind) and _is_transport(kind)}
        is_forced = any(_is_transport(kind) for kind in by_kind) or bool(by_service)
        budget = profile.budget
        return cls(
            name,
            rates,
            outage_minutes=budget.outage_minutes or (FORCED_OUTAGE_MINUTES if is_forced else 0),
            timeouts=max(budget.timeouts, 1 if is_forced else 0),
        )

    def fault_for(
        self, service: str, operation: str, target: str, nth: int, *, began_at: datetime, now: datetime, is_read: bool
    ) -> Fault | None:
        """Return the fault of the n-th call (from 1) of the operation on the target, None if there is none.

        A call that begins in an outage fails. Its Retry-After is the number of seconds from `now` to the end of the
        outage, or 0 if the outage has ended by `now`.
        """
        outage = self._rejecting_outage(service, began_at, is_read=is_read)
        if outage is None:
            return self._timeout(service, operation, target, nth)
        return Fault(kind=outage.kind, retry_after_s=max(0, ceil((outage.ends_at - now).total_seconds())))

    def outage(self, service: str, at: datetime) -> Outage | None:
        """Return the outage of a service at a time, None if there is none.

        Time is divided into periods with one outage each. The gap to the next outage is `outage_minutes` or longer, so
        outages take up at most half of the time.
        """
        rates = {kind: rate for kind, rate in self.rates.get(service, {}).items() if kind in _OUTAGES}
        share, longest = sum(rates.values()), self.outage_minutes
        if not share or not longest:
            return None
        period = max(2 * longest, round((MIN_OUTAGE_MINUTES + longest) / 2 / share))
        index = (at - _EPOCH) // _MINUTE // period
        starts_at, ends_at, fraction = _draw_window(self.name, service, index, period, longest)
        if not starts_at <= at < ends_at:
            return None
        kind = _draw_kind(_OUTAGES, rates, fraction * share)
        return Outage(kind, starts_at, ends_at) if kind is not None else None

    def slow_minutes(
        self, service: str, operation: str, target: str, nth: int, *, began_at: datetime, is_read: bool
    ) -> int:
        """Return the extra simulated minutes of the n-th call (from 1) of the operation on the target.

        A call that an outage rejects is not slow.
        """
        rate = self.rates.get(service, {}).get(Kind.SLOW_ANSWER, 0.0)
        if not rate or self._rejecting_outage(service, began_at, is_read=is_read) is not None:
            return 0
        stream = Stream(*self.name, "slow", service, operation, target, nth)
        return stream.integer(*SLOW_MINUTES) if stream.chance(rate) else 0

    def stale_minutes(self, service: str, operation: str, target: str, nth: int) -> int:
        """Return for how many simulated minutes reads of the service lag behind the n-th such write to the target.

        Writes without a target, which create rows, cause no lag.
        """
        rate = self.rates.get(service, {}).get(Kind.STALE_READ, 0.0)
        if not rate or not target:
            return 0
        stream = Stream(*self.name, "stale", service, operation, target, nth)
        return stream.integer(*STALE_MINUTES) if stream.chance(rate) else 0

    def _rejecting_outage(self, service: str, at: datetime, *, is_read: bool) -> Outage | None:
        outage = self.outage(service, at)
        return outage if outage is not None and outage.affects(is_read=is_read) else None

    def _timeout(self, service: str, operation: str, target: str, nth: int) -> Fault | None:
        """Return the timeout of a call. Only every other call can time out, so that an identical retry goes through."""
        if nth % 2 == 0 or nth > 2 * self.timeouts:
            return None
        stream = Stream(*self.name, "timeout", service, operation, target, nth)
        kind = _draw_kind(_TIMEOUTS, self.rates.get(service, {}), stream.fraction())
        return None if kind is None else Fault(kind=kind)


@lru_cache(_CACHED_WINDOWS)
def _draw_window(
    name: tuple[str | int, ...], service: str, index: int, period: int, longest: int
) -> tuple[datetime, datetime, float]:
    """Return the start and end of the outage in a period, and a draw for its kind. Lengths are in minutes."""
    stream = Stream(*name, "outage", service, index)
    length = stream.integer(MIN_OUTAGE_MINUTES, longest)
    starts_at = _EPOCH + _MINUTE * (index * period + stream.integer(0, period - longest - length))
    return starts_at, starts_at + _MINUTE * length, stream.fraction()


def _draw_kind(kinds: Mapping[Kind, FaultKind], rates: Mapping[Kind, float], point: float) -> FaultKind | None:
    """Return the kind whose range of the cumulative rates contains the point, None if it is beyond all of them."""
    for kind, fault_kind in kinds.items():
        point -= rates.get(kind, 0.0)
        if point < 0:
            return fault_kind
    return None


def _is_transport(kind: Kind) -> bool:
    return kind.group is Group.TRANSPORT
