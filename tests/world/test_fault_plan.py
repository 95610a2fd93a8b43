"""The fault plan: outages are windows of simulated time, timeouts belong to a call, and both are deterministic."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from math import ceil

import pytest

from companyos_gateway.chaos import FaultPlan, Kind, profile_for
from companyos_gateway.chaos.faults import Outage
from companyos_gateway.chaos.profiles import MIN_OUTAGE_MINUTES
from companyos_gateway.engine.reward import STEP_COST
from companyos_shared.wire.context import Fault, FaultKind

OPERATION = "get_ticket"
SERVICES = ("ticketdesk", "datahub", "approvalflow")
START = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
DAY = 24 * 60
OUTAGES = (FaultKind.UNAVAILABLE, FaultKind.RATE_LIMITED, FaultKind.FORBIDDEN)
FAULT_COUNT = 1000


def _plan(level: int, seed: int = 5, /, **overrides: float) -> FaultPlan:
    return FaultPlan.from_profile(profile_for(level), overrides, "a test", seed)


def _fault(
    plan: FaultPlan,
    began_at: datetime,
    *,
    nth: int = 2,
    minutes: int = 1,
    service: str = "ticketdesk",
    target: str = "X",
) -> Fault | None:
    """Return the fault of a read; a second call of its kind never times out."""
    now = began_at + minutes * MINUTE
    return plan.fault_for(service, OPERATION, target, nth, began_at=began_at, now=now, is_read=True)


def _slow_minutes(plan: FaultPlan, service: str, nth: int = 1, *, at: datetime = START) -> int:
    return plan.slow_minutes(service, OPERATION, "X", nth, began_at=at, is_read=True)


def _outages(plan: FaultPlan, service: str, days: int = 7) -> list[Outage]:
    found = (plan.outage(service, START + n * MINUTE) for n in range(0, days * DAY, MIN_OUTAGE_MINUTES))
    return list(dict.fromkeys(outage for outage in found if outage is not None))


def _timeouts(plan: FaultPlan, target: str, calls: int = 12) -> list[bool]:
    """Return which calls time out, outside of outages."""
    quiet = next(START + n * MINUTE for n in range(DAY) if plan.outage("ticketdesk", START + n * MINUTE) is None)
    return [_fault(plan, quiet, nth=nth, target=target) is not None for nth in range(1, calls + 1)]


def test_nothing_fails_at_level_zero() -> None:
    plan = _plan(0)
    assert not any(_outages(plan, service) for service in SERVICES)
    assert not any(any(_timeouts(plan, f"OPS-{n}")) for n in range(200))
    assert not any(_slow_minutes(plan, "ticketdesk", nth) for nth in range(200))


@pytest.mark.parametrize("level", [1, 2, 3, 4])
def test_outages_are_bounded_and_the_gaps_are_at_least_as_long(level: int) -> None:
    for plan in (_plan(level), _plan(level, unavailable=1.0)):
        for service in SERVICES:
            outages = _outages(plan, service, days=30)
            lengths = [(outage.ends_at - outage.starts_at) // MINUTE for outage in outages[1:-1]]
            assert MIN_OUTAGE_MINUTES <= min(lengths) <= max(lengths) <= plan.outage_minutes
            gaps = [(later.starts_at - earlier.ends_at) // MINUTE for earlier, later in pairwise(outages)]
            assert min(gaps) >= plan.outage_minutes


@pytest.mark.sample(1)
@pytest.mark.parametrize("level", [1, 2, 3, 4])
def test_a_rate_is_the_share_of_time_in_outages_of_its_kind(level: int) -> None:
    minutes = range(0, 365 * DAY, 7)
    plan = _plan(level)
    met = [outage.kind for n in minutes if (outage := plan.outage("datahub", START + n * MINUTE)) is not None]
    for kind in OUTAGES:
        assert met.count(kind) / len(minutes) == pytest.approx(plan.rates["datahub"].get(Kind(kind), 0), rel=0.25)


def test_a_rate_limit_applies_to_reads_and_the_other_outages_to_every_call() -> None:
    for kind in OUTAGES:
        plan = _plan(0, **{kind: 1.0})
        at = _outages(plan, "datahub", days=1)[1].starts_at
        write = plan.fault_for("datahub", "update_record", "X", 2, began_at=at, now=at + MINUTE, is_read=False)
        assert (write is None) is (kind is FaultKind.RATE_LIMITED)
        read = _fault(plan, at, service="datahub")
        assert read is not None
        assert read.kind is kind


def test_outages_do_not_depend_on_the_calls() -> None:
    plan = _plan(4)
    for outage in _outages(plan, "ticketdesk", days=20):
        if outage.kind is FaultKind.UNAVAILABLE:
            kinds = {
                fault.kind
                for nth in (1, 2, 9)
                for target in ("OPS-1", "OPS-2", "")
                if (fault := _fault(plan, outage.starts_at, nth=nth, target=target))
            }
            assert kinds == {FaultKind.UNAVAILABLE}


def test_the_plan_is_a_pure_function_of_names_and_time() -> None:
    one, other = _plan(4), _plan(4)
    times = [START + n * 11 * MINUTE for n in range(500)]
    backwards = [_fault(other, at, nth=1) for at in reversed(times)]
    assert [_fault(one, at, nth=1) for at in times] == backwards[::-1]


def test_outages_depend_on_seed_and_service() -> None:
    assert len({tuple(_outages(_plan(4, seed), service)) for seed in (5, 6) for service in SERVICES}) == 6


def test_rates_can_be_set_and_disabled_per_service() -> None:
    plan = _plan(0, **{"datahub.unavailable": 1.0})
    assert [bool(_outages(plan, service, days=2)) for service in ("datahub", "ticketdesk")] == [True, False]
    plan = _plan(0, **{"unavailable": 1.0, "datahub.unavailable": 0.0})
    assert [bool(_outages(plan, service, days=2)) for service in ("datahub", "approvalflow")] == [False, True]


def _first_calls_in_outages() -> Iterator[tuple[FaultPlan, str, datetime, int, Outage]]:
    """Yield calls that begin at every position in an outage, with their minutes."""
    for seed in range(1000):
        for level in (1, 2, 3, 4):
            plan = _plan(level, seed)
            for service in SERVICES:
                for nth, outage in enumerate(_outages(plan, service, days=1)):
                    minutes_in = (seed * 7 + nth * 3 + level) % ((outage.ends_at - outage.starts_at) // MINUTE)
                    yield plan, service, outage.starts_at + minutes_in * MINUTE, (1, 3, 31)[(seed + nth) % 3], outage


def test_a_thousand_retry_times_are_respected_exactly() -> None:
    met = 0
    for plan, service, began_at, minutes, outage in _first_calls_in_outages():
        fault = _fault(plan, began_at, service=service, minutes=minutes)
        assert fault is not None
        assert fault.retry_after_s is not None
        retried_at = began_at + minutes * MINUTE + timedelta(seconds=fault.retry_after_s)
        assert retried_at >= outage.ends_at
        assert fault.retry_after_s == 0 or retried_at == outage.ends_at
        later = plan.outage(service, retried_at)
        assert later is None or later.starts_at > outage.starts_at
        before = plan.outage(service, outage.ends_at - MINUTE)
        assert before == outage
        met += 1
        if met == FAULT_COUNT:
            return
    raise AssertionError(f"only {met} faults")


def _steps_until_answered(plan: FaultPlan, service: str, began_at: datetime, minutes: int, *, waits: bool) -> int:
    now, steps = began_at, 0
    while True:
        steps += 1
        fault = _fault(plan, now, service=service, minutes=minutes)
        now += minutes * MINUTE
        if fault is None:
            return steps
        if waits and fault.retry_after_s:
            steps += 1
            now += ceil(fault.retry_after_s / 60) * MINUTE


def test_waiting_takes_no_more_steps_than_retrying_at_once() -> None:
    waited = retried = 0
    for nth, (plan, service, began_at, minutes, _) in enumerate(_first_calls_in_outages()):
        steps = [_steps_until_answered(plan, service, began_at, minutes, waits=waits) for waits in (True, False)]
        assert steps[0] * STEP_COST <= steps[1] * STEP_COST, (service, began_at, minutes)
        waited, retried = waited + steps[0], retried + steps[1]
        if nth == FAULT_COUNT:
            break
    assert waited * 2 < retried


def test_an_identical_retry_of_a_call_that_timed_out_does_not_time_out() -> None:
    for kind in (Kind.TIMEOUT_BEFORE_COMMIT, Kind.TIMEOUT_AFTER_COMMIT):
        affected = _timeouts(_plan(4, unavailable=0.0, **{kind: 1.0}), "OPS-1")
        assert affected[0]
        assert not any(first and second for first, second in pairwise(affected))


@pytest.mark.parametrize("level", [1, 2, 3, 4])
def test_the_timeouts_of_a_target_are_limited(level: int) -> None:
    plan = _plan(level, timeout_before_commit=0.9)
    assert {sum(_timeouts(plan, f"OPS-{n}", calls=20)) for n in range(200)} <= set(range(plan.timeouts + 1))


def test_a_timeout_has_no_retry_time() -> None:
    fault = _fault(_plan(0, timeout_after_commit=1.0), START, nth=1)
    assert fault == Fault(kind=FaultKind.TIMEOUT_AFTER_COMMIT)


def test_slow_responses_take_minutes() -> None:
    minutes = {_slow_minutes(_plan(0, slow_answer=1.0), "datahub", nth) for nth in range(1, 40)}
    assert min(minutes) >= 5
    assert max(minutes) <= 30
    assert len(minutes) > 5


def test_a_call_that_an_outage_rejects_is_not_slow() -> None:
    plan = _plan(0, slow_answer=1.0, unavailable=1.0)
    outage = _outages(plan, "datahub")[0]
    assert _slow_minutes(plan, "datahub", at=outage.starts_at) == 0
    assert _slow_minutes(plan, "datahub", at=outage.ends_at) > 0


def test_a_service_without_rates_gets_no_faults() -> None:
    plan = _plan(4, unavailable=1.0)
    assert not _outages(plan, "notes")
    assert _fault(plan, START, nth=1, service="notes") is None
    assert _slow_minutes(plan, "notes") == 0
