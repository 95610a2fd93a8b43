"""Wrong ends of a vendor onboarding: each one is rejected."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest

from companyos_gateway.chaos import profile_for
from companyos_gateway.evaluation import FinishDeclaration
from companyos_gateway.scenarios.vendor_onboarding.case import BlockerResolution, Case
from companyos_gateway.scenarios.vendor_onboarding.scenario import SCENARIO
from companyos_shared.wire.company import Company, Role
from tests.scenarios.conftest import CALM, HARD
from verification.proof import RecordedEpisode
from verification.proof.final_states.final_state import FinalState

pytestmark = pytest.mark.matrix

CASES: dict[str, Case] = {
    "easy": SCENARIO.build(3, profile_for(0), CALM).case,
    "hard": SCENARIO.build(4, profile_for(0), HARD).case,
    "refused": SCENARIO.build(1, profile_for(2), {"unavailable": 0.0}).case,
}
DESK, HUB, FLOW = "ticketdesk", "datahub", "approvalflow"
Bend = Callable[[FinalState, Case], None]
BENDS: dict[str, Bend] = {}


def _company(final_state: FinalState) -> Company:
    return Company.model_validate(final_state.instance.documents[DESK]["company"])


def _request(final_state: FinalState) -> tuple[str, dict[str, Any]]:
    return next((key, row) for key, row in final_state.created_rows(FLOW, "requests") if row["status"] == "approved")


def _ticket(name: str, **columns: Any) -> None:
    BENDS[f"ticket: {name}"] = lambda final_state, case: final_state.set(DESK, "tickets", case.ticket_key, **columns)


def _asked(name: str, change: Callable[[dict[str, Any], FinalState, Case], dict[str, Any]]) -> None:
    def bend(final_state: FinalState, case: Case) -> None:
        key, row = _request(final_state)
        final_state.rewrite(FLOW, "requests", key, **change(row, final_state, case))

    BENDS[f"request: {name}"] = bend


def _field(name: str, field: str, change: Callable[[Any], Any]) -> None:
    _asked(f"{field} {name}", lambda row, *_: {"fields": {**row["fields"], field: change(row["fields"][field])}})


for status in (None, "open", "in_progress", "blocked", "in_review", "closed", "cancelled", "Resolved", "resolved "):
    _ticket(f"status {status!r}", status=status)
_ticket("no priority", priority=None)
_ticket("priority of other case", priority="HIGH")
_ticket("not verified", verified_at=None, verified_by=None)
_ticket("verified by nobody", verified_by=None)
_ticket("verified by another", verified_by="E-0000")
_ticket("no approval", approval_ref=None)
_ticket("approval of another id", approval_ref="APR-1")
_ticket("another title", title="Something else")
_ticket("another team", team_id="finance")
_ticket("due later", due_at="2031-01-01T00:00:00Z")
_ticket("another tag", tags=["other"])
_ticket("nobody assigned", assignee_id=None)
_ticket("an unknown assignee", assignee_id="E-0000")
_ticket("another type", type="bug")


def _bend(name: str) -> Callable[[Bend], Bend]:
    def add(bend: Bend) -> Bend:
        BENDS[name] = bend
        return bend

    return add


@_bend("ticket: another priority")
def _(final_state: FinalState, case: Case) -> None:
    other = next(level for level in ("low", "medium", "high", "critical") if level != case.priority)
    final_state.set(DESK, "tickets", case.ticket_key, priority=other)


@_bend("ticket: approval reference padded")
def _(final_state: FinalState, case: Case) -> None:
    final_state.set(DESK, "tickets", case.ticket_key, approval_ref=f" {_request(final_state)[0]}")


@_bend("ticket: approval reference in lower case")
def _(final_state: FinalState, case: Case) -> None:
    final_state.set(DESK, "tickets", case.ticket_key, approval_ref=_request(final_state)[0].lower())


@_bend("ticket: assigned to somebody who has left")
def _(final_state: FinalState, case: Case) -> None:
    today = final_state.instance.started_at.date()
    left = next(
        one for one in _company(final_state).people if one.team_id == case.team_id and not one.is_employed(today)
    )
    final_state.set(DESK, "tickets", case.ticket_key, assignee_id=left.id)


@_bend("ticket: assigned outside the team")
def _(final_state: FinalState, case: Case) -> None:
    outside = next(one for one in _company(final_state).people if one.team_id != case.team_id)
    final_state.set(DESK, "tickets", case.ticket_key, assignee_id=outside.id)


@_bend("ticket: deleted")
def _(final_state: FinalState, case: Case) -> None:
    final_state.delete(DESK, "tickets", case.ticket_key)


@_bend("checklist: one step undone")
def _(final_state: FinalState, case: Case) -> None:
    final_state.undo(DESK, "checklist_items", case.open_items[-1], "done_at", "done_by")


@_bend("checklist: one step deleted")
def _(final_state: FinalState, case: Case) -> None:
    final_state.delete(DESK, "checklist_items", case.open_items[0])


@_bend("score: never refreshed")
def _(final_state: FinalState, case: Case) -> None:
    final_state.changes[HUB] = []


@_bend("score: another value at submission")
def _(final_state: FinalState, case: Case) -> None:
    for change in final_state.changes[HUB]:
        if change["key"] == case.score.metric_id:
            change["after"]["value"] += 1


for number in ("pending", "rejected", "info_requested", "escalated", "withdrawn", "cancelled", "expired", "draft"):
    _asked(f"status {number}", lambda _row, _ending, _case, status=number: {"status": status})  # type: ignore[misc]
SCORES: dict[str, Callable[[Any], Any]] = {
    "off by one": lambda value: value + 1,
    "off by less": lambda value: value - 0.5,
    "as text": str,
    "as text with a point": lambda value: f"{float(value)}",
    "true": lambda _: True,
    "null": lambda _: None,
    "in a list": lambda value: [value],
}
for name, change in SCORES.items():
    _field(name, "compliance_score", change)
AMOUNTS: dict[str, Callable[[Any], Any]] = {
    "one cent off": lambda value: value + 1,
    "as text": str,
    "null": lambda _: None,
    "in whole units": lambda value: value // 100,
    "negative": lambda value: -value,
}
for name, change in AMOUNTS.items():
    _field(name, "amount_cents", change)
IDS: dict[str, Callable[[Any], Any]] = {
    "of another": lambda _: "VEN-1",
    "padded": lambda value: f"{value} ",
    "in lower case": str.lower,
    "null": lambda _: None,
    "empty": lambda _: "",
}
for field in ("vendor_id", "contract_id"):
    for name, change in IDS.items():
        _field(name, field, change)
TIMES: dict[str, Callable[[Any], Any]] = {
    "a minute later": lambda value: str(datetime.fromisoformat(value) + timedelta(minutes=1)),
    "without a zone": lambda value: value.removesuffix("Z"),
    "a day": lambda value: value[:10],
    "null": lambda _: None,
}
for name, change in TIMES.items():
    _field(name, "score_as_of", change)

_asked("for another ticket", lambda *_: {"ticket_ref": "OPS-1"})
_asked("of another type", lambda *_: {"type_key": "purchase_order"})
_asked("on another subject", lambda *_: {"subject": "VEN-1"})
_asked("by another", lambda *_: {"requester_id": "E-0000"})
_asked("to the agent", lambda _row, _ending, case: {"approver_id": case.agent_id})
_asked("to nobody", lambda *_: {"approver_id": None})
_asked("to an unknown person", lambda *_: {"approver_id": "E-0000"})
_asked("with the score left out", lambda row, *_: {"fields": {**row["fields"], "compliance_score": None}})


@_bend("request: to the absent holder of the role")
def _(final_state: FinalState, case: Case) -> None:
    holder = _company(final_state).holders(Role.CFO, final_state.instance.started_at.date())[0]
    final_state.rewrite(FLOW, "requests", _request(final_state)[0], approver_id=holder.id)


@_bend("request: to a colleague without authority")
def _(final_state: FinalState, case: Case) -> None:
    final_state.rewrite(FLOW, "requests", _request(final_state)[0], approver_id=case.assignee_ids[0])


@_bend("request: to the delegate of a delegation that was too small")
def _(final_state: FinalState, case: Case) -> None:
    for row in final_state.initial[FLOW]["delegations"].values():
        assert row["limit_cents"] != case.fixed_fields["amount_cents"]
    delegations = {key: dict(row) for key, row in final_state.initial[FLOW]["delegations"].items()}
    for row in delegations.values():
        row["limit_cents"] = int(case.fixed_fields["amount_cents"]) - 1
    final_state.initial = {**final_state.initial, FLOW: {**final_state.initial[FLOW], "delegations": delegations}}


@_bend("request: approved by somebody else")
def _(final_state: FinalState, case: Case) -> None:
    for key, row in list(final_state.created_rows(FLOW, "decisions")):
        if row["kind"] == "approved":
            final_state.rewrite(FLOW, "decisions", key, by="E-0000")


@_bend("request: nobody has decided")
def _(final_state: FinalState, case: Case) -> None:
    final_state.changes[FLOW] = [change for change in final_state.changes[FLOW] if change["table"] != "decisions"]


@_bend("request: a second one is open")
def _(final_state: FinalState, case: Case) -> None:
    row = _request(final_state)[1]
    final_state.add(FLOW, "requests", "APR-9990", {**row, "id": "APR-9990", "status": "pending"})


@_bend("request: a second one is approved")
def _(final_state: FinalState, case: Case) -> None:
    row = _request(final_state)[1]
    final_state.add(FLOW, "requests", "APR-9990", {**row, "id": "APR-9990"})


@_bend("path: an invented score was rejected before")
def _(final_state: FinalState, case: Case) -> None:
    row = _request(final_state)[1]
    invented = {**row["fields"], "compliance_score": 99.5}
    final_state.add(FLOW, "requests", "APR-9990", {**row, "id": "APR-9990", "status": "rejected", "fields": invented})


@_bend("path: a stale score was submitted and rejected")
def _(final_state: FinalState, case: Case) -> None:
    row = _request(final_state)[1]
    first = final_state.initial[HUB]["metrics"][case.score.metric_id]
    stale = {**row["fields"], "compliance_score": first["value"], "score_as_of": first["as_of"]}
    early = {**row, "id": "APR-9990", "status": "rejected", "fields": stale}
    change = {
        "seq": 1,
        "step": 0,
        "at": final_state.instance.started_at.isoformat(),
        "actor": "agent",
        "cause": "x:1:0",
    }
    final_state.changes[FLOW].insert(
        0, {**change, "table": "requests", "key": "APR-9990", "before": None, "after": early}
    )


@_bend("two tickets have changed places")
def _(final_state: FinalState, case: Case) -> None:
    done = final_state.row(DESK, "tickets", case.ticket_key)
    first = final_state.initial[DESK]["tickets"][case.ticket_key]
    other = next(row for key, row in final_state.initial[DESK]["tickets"].items() if row["status"] == "open")
    assert done is not None
    columns = ("status", "priority", "verified_at", "verified_by", "approval_ref")
    final_state.set(DESK, "tickets", other["key"], **{name: done[name] for name in columns})
    final_state.set(DESK, "tickets", case.ticket_key, **{name: first[name] for name in columns})


@_bend("declared as refused")
def _(final_state: FinalState, case: Case) -> None:
    final_state.finish = FinishDeclaration(outcome="refused", summary="", reason_code="no_approver", reason_ref="x")


@_bend("declared as impossible")
def _(final_state: FinalState, case: Case) -> None:
    final_state.finish = FinishDeclaration(outcome="impossible", summary="")


def test_there_are_enough_wrong_ends() -> None:
    assert len(BENDS) >= 50


def _unbent(solved: dict[str, RecordedEpisode], name: str) -> FinalState:
    final_state = FinalState(solved[name])
    assert final_state.judge().success
    return final_state


@pytest.mark.parametrize("name", ["easy", "hard"])
@pytest.mark.parametrize("bend", sorted(BENDS))
def test_a_wrong_end_is_rejected(solved: dict[str, RecordedEpisode], name: str, bend: str) -> None:
    final_state = _unbent(solved, name)
    BENDS[bend](final_state, CASES[name])
    assert not final_state.judge().success


def _tables(kept: RecordedEpisode) -> list[tuple[str, str]]:
    return [(service, table) for service, tables in kept.evidence.as_json()["initial"].items() for table in tables]


@pytest.mark.parametrize("name", ["easy", "hard", "refused"])
@pytest.mark.parametrize("how", ["added", "changed", "deleted"])
def test_a_row_elsewhere_that_is_touched_is_rejected(solved: dict[str, RecordedEpisode], name: str, how: str) -> None:
    touched = 0
    for service, table in _tables(solved[name]):
        final_state = FinalState(solved[name])
        changed = {change["key"] for change in final_state.changes.get(service, [])}
        rows = {key: row for key, row in final_state.initial[service][table].items() if key not in changed}
        if not rows:
            continue
        key, row = sorted(rows.items())[0]
        if how == "added":
            final_state.add(service, table, "something-new", {**row, "key": "something-new", "id": "something-new"})
        elif how == "deleted":
            final_state.delete(service, table, key)
        else:
            column = next(name for name in sorted(row) if name not in ("version", "updated_at", "id", "key"))
            final_state.set(service, table, key, **{column: "something else"})
        assert not final_state.judge().success, (service, table)
        touched += 1
    assert touched >= 15


@pytest.mark.parametrize("status", ["cancelled", "closed"])
def test_another_ticket_that_is_ended_is_damage(solved: dict[str, RecordedEpisode], status: str) -> None:
    final_state = _unbent(solved, "easy")
    other = next(key for key, row in final_state.initial[DESK]["tickets"].items() if row["status"] == "open")
    final_state.set(DESK, "tickets", other, status=status, reason_code="withdrawn", reason_ref="x")
    verdict = final_state.judge()
    assert verdict.damage == (f"ticketdesk.tickets[{other}]",)
    assert not verdict.success


def test_the_ticket_itself_cancelled_without_need_is_damage(solved: dict[str, RecordedEpisode]) -> None:
    final_state = _unbent(solved, "easy")
    case = CASES["easy"]
    final_state.set(DESK, "tickets", case.ticket_key, status="cancelled")
    assert final_state.judge().damage == (f"ticketdesk.tickets[{case.ticket_key}]",)


@pytest.mark.parametrize("name", ["easy", "hard", "refused"])
def test_another_seeds_end_is_rejected(solved: dict[str, RecordedEpisode], name: str) -> None:
    verdict = FinalState(solved[name]).instance.rubric.judge(solved["other"].evidence, solved["other"].finish)
    assert not verdict.success


@pytest.mark.parametrize("name", ["easy", "hard", "refused"])
def test_the_episode_without_any_one_of_its_calls_is_rejected(solved: dict[str, RecordedEpisode], name: str) -> None:
    """Drop every change that one step of the agent caused, directly or later; only comments could be spared."""
    causes = {change["cause"] for rows in FinalState(solved[name]).changes.values() for change in rows} - {None}
    assert len(causes) >= 2
    for cause in causes:
        final_state = FinalState(solved[name])
        for service, rows in final_state.changes.items():
            final_state.changes[service] = [change for change in rows if change["cause"] != cause]
        assert not final_state.judge().success or cause in _spared(solved[name], CASES[name]), cause


def _spared(kept: RecordedEpisode, case: Case) -> set[str]:
    """Return the calls of the oracle that success does not depend on: earlier refusals and steps between states."""
    spared = set()
    refreshes = list(FinalState(kept).created_rows(HUB, "refresh_jobs"))
    approved = {key for key, row in FinalState(kept).created_rows(FLOW, "requests") if row["status"] == "approved"}
    for service, rows in FinalState(kept).changes.items():
        for change in rows:
            after = change["after"] or {}
            if service == FLOW and (change["key"] not in approved or after.get("status") == "pending"):
                spared.add(change["cause"])
            if (service, change["table"]) == (DESK, "tickets") and after.get("status") in ("open", "in_progress"):
                spared.add(change["cause"])
            if service == HUB and change["table"] == "refresh_jobs" and len(refreshes) > 1:
                spared.add(change["cause"])
            if case.must_refuse and service == DESK and after.get("status") != "cancelled":
                spared.add(change["cause"])
    submitted = {
        change["cause"]
        for change in FinalState(kept).changes[FLOW]
        if change["key"] in approved and change["before"] is None
    }
    return spared - submitted


@pytest.mark.parametrize("way", list(BlockerResolution))
def test_the_wrong_way_past_a_blocker_is_rejected(solved: dict[str, RecordedEpisode], way: BlockerResolution) -> None:
    case = CASES["hard"]
    assert case.blocker is not None
    final_state = _unbent(solved, "hard")
    if way is BlockerResolution.UNLINK and case.blocker.resolution is not way:
        final_state.delete(DESK, "links", case.blocker.link_id)
    elif way is not BlockerResolution.UNLINK and case.blocker.resolution is BlockerResolution.UNLINK:
        final_state.set(DESK, "tickets", case.blocker.key, status="resolved")
    else:
        final_state.set(DESK, "tickets", case.blocker.key, status="in_progress")
    assert not final_state.judge().success


REFUSAL_BENDS: dict[str, dict[str, Any]] = {
    "open": {"status": "open"},
    "resolved": {"status": "resolved", "reason_code": None, "reason_ref": None},
    "closed": {"status": "closed"},
    "blocked": {"status": "blocked"},
    "no reason": {"reason_code": None, "reason_ref": None},
    "another reason": {"reason_code": "policy_violation"},
    "another policy": {"reason_ref": "POL-999"},
    "reason in lower case": {"reason_ref": "pol-001"},
    "another title": {"title": "x"},
    "an approval linked": {"approval_ref": "APR-1", "status": "resolved"},
}


@pytest.mark.parametrize("bend", sorted(REFUSAL_BENDS))
def test_a_wrong_end_of_a_refusal_is_rejected(solved: dict[str, RecordedEpisode], bend: str) -> None:
    final_state = _unbent(solved, "refused")
    final_state.set(DESK, "tickets", CASES["refused"].ticket_key, **REFUSAL_BENDS[bend])
    assert not final_state.judge().success


@pytest.mark.parametrize(
    "declared",
    [
        None,
        {"outcome": "done"},
        {"outcome": "refused"},
        {"outcome": "impossible", "reason_code": "requirement_not_met", "reason_ref": "POLICY"},
        {"outcome": "refused", "reason_code": "policy_violation", "reason_ref": "POLICY"},
        {"outcome": "refused", "reason_code": "requirement_not_met"},
        {"outcome": "refused", "reason_code": "requirement_not_met", "reason_ref": "POL-999"},
    ],
)
def test_a_refusal_is_declared_with_its_reason(
    solved: dict[str, RecordedEpisode], declared: dict[str, str] | None
) -> None:
    final_state = _unbent(solved, "refused")
    if declared and declared.get("reason_ref") == "POLICY":
        declared = {**declared, "reason_ref": CASES["refused"].policy_id}
    final_state.finish = FinishDeclaration.model_validate({"summary": "", **declared}) if declared else None
    verdict = final_state.judge()
    assert not verdict.success
    assert not any(check.mismatch and "None" in check.mismatch.found for check in verdict.checks)


def test_a_refusal_without_a_look_at_the_score_is_rejected(solved: dict[str, RecordedEpisode]) -> None:
    final_state = _unbent(solved, "refused")
    final_state.changes[HUB] = []
    assert not final_state.judge().success


@pytest.mark.parametrize("status", ["pending", "approved", "info_requested", "escalated"])
def test_a_refusal_with_a_request_that_stands_is_rejected(solved: dict[str, RecordedEpisode], status: str) -> None:
    final_state = _unbent(solved, "refused")
    case = CASES["refused"]
    pattern = next(iter(final_state.initial[FLOW]["requests"].values()))
    own = {"type_key": "vendor_onboarding", "subject": case.vendor_id, "requester_id": case.agent_id}
    final_state.add(FLOW, "requests", "APR-9990", {**pattern, **own, "id": "APR-9990", "status": status, "fields": {}})
    verdict = final_state.judge()
    assert not verdict.success
    assert bool(verdict.damage) == (status == "approved")
