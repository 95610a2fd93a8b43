"""The approver engine: delays, verdicts, second approvers and expiry."""

from __future__ import annotations

from typing import Any

import pytest

from companyos_approvalflow.seed import Seed
from companyos_shared.framework.testing import ServiceHarness
from companyos_shared.wire.context import Actor
from tests.approvalflow.builders import (
    CEO,
    CFO,
    CONTROLLER,
    FIELDS,
    a_company,
    a_seed,
    delegation_row,
    reaction_row,
    request_row,
    submission,
    type_row,
)
from tests.approvalflow.conftest import DAY, Start, read_approval

LARGE = {**FIELDS, "cost_cents": 20_000_000}


async def _decided(start: Start, seed: Seed, **changed: Any) -> dict[str, Any]:
    flow = await start(seed)
    assert (await flow.post("/approvals", json=submission(**changed))).status_code == 201
    await flow.advance(minutes=4 * DAY)
    return await read_approval(flow)


async def test_a_valid_request_is_approved_within_the_time_of_the_approver(flow: ServiceHarness) -> None:
    await flow.post("/approvals", json=submission())
    await flow.advance(minutes=19)
    assert (await read_approval(flow))["status"] == "pending"
    report = await flow.advance(minutes=41)
    approval = await read_approval(flow)
    assert (approval["status"], approval["version"]) == ("approved", 2)
    assert approval["decisions"] == [
        {
            "kind": "approved",
            "by": CFO,
            "at": approval["decided_at"],
            "reason_code": None,
            "reason_ref": None,
            "reason": "Approved.",
        }
    ]
    assert {change.actor for change in report.changes} == {Actor.CLOCK}
    assert {change.cause for change in report.changes} == {"test:1:1"}


async def test_polling_does_not_speed_up_a_decision(flow: ServiceHarness) -> None:
    await flow.post("/approvals", json=submission())
    before = await flow.digest()
    for _ in range(20):
        assert (await read_approval(flow))["status"] == "pending"
    assert await flow.digest() == before


async def test_the_delay_does_not_depend_on_other_requests(start: Start) -> None:
    plain, busy = await start(a_seed()), await start(a_seed())
    for subject in ("V-5", "V-6"):
        await busy.post("/approvals", json=submission(subject=subject))
    await busy.post("/approvals", json=submission(approver_id="E-99"))
    for flow in (plain, busy):
        await flow.post("/approvals", json=submission())
        await flow.advance(minutes=DAY)
    assert (await read_approval(plain))["decided_at"] == (await read_approval(busy, "APR-3"))["decided_at"]


async def test_a_late_submission_is_decided_the_next_working_morning(flow: ServiceHarness) -> None:
    await flow.advance(minutes=4 * DAY + 7 * 60 + 59)
    fresh = {**FIELDS, "score_as_of": "2026-03-06T12:00:00Z"}
    await flow.post("/approvals", json=submission(fields=fresh))
    await flow.advance(minutes=3 * DAY)
    decided_at = (await read_approval(flow))["decided_at"]
    assert decided_at.startswith("2026-03-09T09:")


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"subject": CFO}, "conflict_of_interest"),
        ({"fields": {**FIELDS, "for_person": CFO}}, "conflict_of_interest"),
        ({"justification": "Please."}, "missing_justification"),
        ({"justification": ""}, "missing_justification"),
        ({"fields": {**FIELDS, "score_as_of": "2026-03-01T08:59:59Z"}}, "evidence_too_old"),
    ],
)
async def test_an_approver_rejects_a_request_with_a_problem(start: Start, changed: dict[str, Any], reason: str) -> None:
    approval = await _decided(start, a_seed(), **changed)
    assert (approval["status"], approval["decisions"][0]["reason_code"]) == ("rejected", reason)
    assert approval["decided_at"] == approval["decisions"][0]["at"]


async def test_an_approver_without_authority_rejects(start: Start) -> None:
    flow = await start(a_seed(requests=[request_row(approver_id=CONTROLLER)]))
    await flow.advance(minutes=DAY)
    assert (await read_approval(flow, "APR-40"))["decisions"][0]["reason_code"] == "over_the_limit"


async def test_a_revoked_delegate_rejects(start: Start) -> None:
    flow = await start(a_seed(delegations=[delegation_row(to_id="E-7")]))
    await flow.post("/approvals", json=submission(approver_id="E-7"))
    assert (await flow.post("/delegations/DEL-1/revocation")).status_code == 200
    await flow.advance(minutes=DAY)
    assert (await read_approval(flow))["decisions"][0]["reason_code"] == "not_entitled"


async def test_a_planned_rejection_happens_once_and_states_its_reason(start: Start) -> None:
    planned = reaction_row(reason_code="budget_frozen", reason="No budget this month.")
    flow = await start(a_seed(reactions=[planned]))
    await flow.post("/approvals", json=submission())
    await flow.advance(minutes=DAY)
    rejected = await read_approval(flow)
    assert rejected["status"] == "rejected"
    assert rejected["decisions"][0]["reason_code"] == "budget_frozen"
    fresh = {**FIELDS, "score_as_of": "2026-03-03T08:00:00Z"}
    await flow.post("/approvals", json=submission(fields=fresh))
    await flow.advance(minutes=DAY)
    assert (await read_approval(flow, "APR-2"))["status"] == "approved"


async def test_a_slow_approver_takes_longer(start: Start) -> None:
    quick = await _decided(start, a_seed())
    slow = await _decided(start, a_seed(reactions=[reaction_row(kind="slow", extra_minutes=480)]))
    assert slow["status"] == "approved"
    assert quick["decided_at"].replace("-02T", "-03T") == slow["decided_at"]


async def test_a_large_amount_is_passed_to_a_second_approver(flow: ServiceHarness) -> None:
    submitted = await flow.post("/approvals", json=submission(fields=LARGE))
    assert submitted.json()["approvals_needed"] == 2
    seen = set()
    for _ in range(30):
        await flow.advance(minutes=5)
        approval = await read_approval(flow)
        seen.add((approval["status"], approval["approver_id"], approval["decided_at"] is None))
    assert seen == {("pending", CFO, True), ("escalated", CEO, True), ("approved", CEO, False)}
    assert [(found["kind"], found["by"]) for found in approval["decisions"]] == [("approved", CFO), ("approved", CEO)]


async def test_without_a_second_approver_a_large_amount_is_rejected(start: Start) -> None:
    row = request_row(requester_id=CEO, fields=LARGE)
    flow = await start(a_seed(requests=[row]))
    await flow.advance(minutes=DAY)
    approval = await read_approval(flow, "APR-40")
    assert (approval["status"], approval["decisions"][0]["reason_code"]) == ("rejected", "no_approver")


async def test_an_open_request_expires_at_its_time(start: Start) -> None:
    trait = {"id": CFO, "min_minutes": 9000, "max_minutes": 9000}
    flow = await start(a_seed(traits=[trait]))
    await flow.post("/approvals", json=submission())
    await flow.advance(minutes=7199)
    assert (await read_approval(flow))["status"] == "pending"
    await flow.advance(minutes=1)
    expired = await read_approval(flow)
    assert (expired["status"], expired["decided_at"], expired["decisions"]) == ("expired", None, [])
    await flow.advance(minutes=60 * DAY)
    assert await read_approval(flow) == expired


async def test_a_decided_request_does_not_expire(flow: ServiceHarness) -> None:
    await flow.post("/approvals", json=submission())
    await flow.advance(minutes=DAY)
    decided = await read_approval(flow)
    await flow.advance(minutes=30 * DAY)
    assert await read_approval(flow) == decided


async def test_an_ended_request_is_not_decided(flow: ServiceHarness) -> None:
    await flow.post("/approvals", json=submission())
    await flow.post("/approvals/APR-1/withdrawal")
    report = await flow.advance(minutes=30 * DAY)
    assert report.changes == []
    assert (await read_approval(flow))["status"] == "withdrawn"


async def test_a_colleagues_request_is_decided_too(start: Start) -> None:
    flow = await start(a_seed(requests=[request_row()]))
    report = await flow.advance(minutes=DAY)
    assert (await read_approval(flow, "APR-40"))["status"] == "approved"
    assert {change.cause for change in report.changes} == {None}


async def test_an_approver_who_became_ill_decides_after_the_return(start: Start) -> None:
    company = a_company(absences=[(CFO, "2026-03-03", "2026-03-04")])
    trait = {"id": CFO, "min_minutes": 600, "max_minutes": 600}
    flow = await start(a_seed(company, traits=[trait]))
    await flow.post("/approvals", json=submission())
    await flow.advance(minutes=4 * DAY)
    assert (await read_approval(flow))["decided_at"] == "2026-03-05T11:00:00Z"


async def test_a_decision_due_at_the_expiry_is_not_made(start: Start) -> None:
    trait = {"id": CFO, "min_minutes": 60, "max_minutes": 60}
    flow = await start(a_seed(traits=[trait], approval_types=[type_row(expires_after_minutes=60)]))
    await flow.post("/approvals", json=submission())
    await flow.advance(minutes=60)
    assert (await read_approval(flow))["status"] == "expired"


async def test_an_open_request_of_the_seed_expires(start: Start) -> None:
    flow = await start(a_seed(requests=[request_row(status="info_requested")]))
    await flow.advance(minutes=5 * DAY)
    assert (await read_approval(flow, "APR-40"))["status"] == "expired"


@pytest.mark.parametrize(("amount", "needed"), [(10_000_000, 1), (10_000_001, 2)])
async def test_the_second_approver_is_required_above_the_limit(flow: ServiceHarness, amount: int, needed: int) -> None:
    made = await flow.post("/approvals", json=submission(fields={**FIELDS, "cost_cents": amount}))
    assert made.json()["approvals_needed"] == needed
