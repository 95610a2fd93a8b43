"""The fault plan: a pure function of the call's name, never too much in a row."""

from __future__ import annotations

import pytest

from companyos_gateway.chaos import FaultPlan, Kind, profile_for
from companyos_gateway.chaos.faults import CALLS_PER_ROUND
from companyos_gateway.chaos.profiles import MAX_CONSECUTIVE
from companyos_shared.wire.context import FaultKind

OPERATION = "get_ticket"


def _plan(level: int, **overrides: float) -> FaultPlan:
    return FaultPlan.from_profile(profile_for(level), overrides, "a test", 5)


def _kinds(plan: FaultPlan, target: str, calls: int = 40, service: str = "ticketdesk") -> list[FaultKind | None]:
    faults = (plan.fault_for(service, OPERATION, target, nth) for nth in range(1, calls + 1))
    return [fault.kind if fault else None for fault in faults]


def test_nothing_fails_in_calm() -> None:
    plan = _plan(0)
    assert not any(any(_kinds(plan, f"OPS-{n}")) for n in range(200))
    assert not any(plan.slow_minutes("ticketdesk", OPERATION, f"OPS-{n}", 1) for n in range(200))


@pytest.mark.parametrize("level", [1, 2, 3, 4])
def test_failures_never_last_longer_than_three_calls(level: int) -> None:
    plan = _plan(level, unavailable=0.9)
    for n in range(200):
        run = 0
        for kind in _kinds(plan, f"OPS-{n}"):
            run = run + 1 if kind else 0
            assert run <= min(MAX_CONSECUTIVE, plan.consecutive)


def test_a_target_is_left_alone_after_its_spells() -> None:
    plan = _plan(4, unavailable=1.0)
    for n in range(50):
        assert not any(_kinds(plan, f"OPS-{n}")[plan.spells * CALLS_PER_ROUND :])


def test_the_plan_is_a_pure_function_of_names() -> None:
    one, other = _plan(4), _plan(4)
    backwards = [other.fault_for("datahub", OPERATION, f"MET-{n}", 1) for n in reversed(range(100))]
    assert [one.fault_for("datahub", OPERATION, f"MET-{n}", 1) for n in range(100)] == backwards[::-1]


def test_another_seed_is_another_plan() -> None:
    other = FaultPlan.from_profile(profile_for(4), {}, "a test", 6)
    assert [_kinds(_plan(4), f"OPS-{n}", 1) for n in range(200)] != [_kinds(other, f"OPS-{n}", 1) for n in range(200)]


def test_a_forced_kind_strikes_the_first_call_of_every_target() -> None:
    for kind in (Kind.UNAVAILABLE, Kind.RATE_LIMITED, Kind.TIMEOUT_AFTER_COMMIT, Kind.FORBIDDEN):
        plan = _plan(0, **{kind: 1.0})
        assert {_kinds(plan, f"OPS-{n}", 1)[0] for n in range(50)} == {FaultKind(kind.value)}


def test_a_service_has_rates_of_its_own() -> None:
    plan = _plan(0, **{"datahub.unavailable": 1.0})
    assert _kinds(plan, "X", 1, service="datahub") == [FaultKind.UNAVAILABLE]
    assert _kinds(plan, "X", 1, service="ticketdesk") == [None]


def test_a_service_can_be_spared() -> None:
    plan = _plan(0, **{"unavailable": 1.0, "datahub.unavailable": 0.0})
    assert _kinds(plan, "X", 1, service="datahub") == [None]
    assert _kinds(plan, "X", 1, service="approvalflow") == [FaultKind.UNAVAILABLE]


def test_refusals_that_say_when_to_come_back_do() -> None:
    fault = _plan(0, rate_limited=1.0).fault_for("datahub", OPERATION, "X", 1)
    assert fault is not None
    assert fault.retry_after_s is not None
    assert fault.retry_after_s > 0
    silent = _plan(0, timeout_after_commit=1.0).fault_for("datahub", OPERATION, "X", 1)
    assert silent is not None
    assert silent.retry_after_s is None


def test_slow_answers_take_minutes() -> None:
    minutes = {_plan(0, slow_answer=1.0).slow_minutes("datahub", OPERATION, "X", nth) for nth in range(1, 40)}
    assert min(minutes) >= 5
    assert max(minutes) <= 30
    assert len(minutes) > 5


def test_a_service_that_no_profile_knows_is_left_alone() -> None:
    plan = _plan(4, unavailable=1.0)
    assert plan.fault_for("notes", OPERATION, "1", 1) is None
    assert plan.slow_minutes("notes", OPERATION, "1", 1) == 0
