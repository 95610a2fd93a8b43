"""Wrong ends of EVERY scenario: what was recorded of a right one, bent in one place, is rejected."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import pytest

from companyos_gateway.rubrics import FinishDeclaration
from companyos_gateway.scenarios import catalogue
from companyos_shared.wire.company import Company
from tests.scenarios.endings import Bend, Ending
from tests.scenarios.stage import Kept
from tests.scenarios.ways import Way, both_ways

DESK, HUB, FLOW = "ticketdesk", "datahub", "approvalflow"
STATUSES = (None, "open", "in_progress", "blocked", "in_review", "resolved", "closed", "cancelled", "Resolved")
REQUEST_STATUSES = ("pending", "rejected", "info_requested", "escalated", "withdrawn", "cancelled", "expired", "draft")
LEAST_BENDS = 50

Bends = dict[str, Bend]


@pytest.fixture(scope="module", params=sorted(catalogue()))
def ways(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> list[Way]:
    """The ways through a feasible instance and one that must be refused."""
    return both_ways(tmp_path_factory.mktemp("ways"), request.param)


def test_the_ends_that_are_bent_are_right(ways: list[Way]) -> None:
    assert all(Ending(way.kept).judge().success for way in ways)


def test_every_wrong_end_is_rejected(ways: list[Way]) -> None:
    feasible, refused = ways
    bends = {way.seed: {**_ticket_bends(way), **_elsewhere(way)} for way in ways}
    bends[feasible.seed] |= {**_request_bends(feasible), **_record_bends(feasible), **_checklist_bends(feasible)}
    bends[refused.seed] |= _declarations(refused)
    for way in ways:
        accepted = [name for name, bend in bends[way.seed].items() if _bent(way.kept, bend)]
        assert accepted == [], (way.scenario, way.seed)
    assert len(bends[feasible.seed]) >= LEAST_BENDS


def _bent(kept: Kept, bend: Bend) -> bool:
    ending = Ending(kept)
    bend(ending)
    return ending.judge().success


def _key(way: Way) -> str:
    moves = [arguments for tool, arguments in way.writes if tool == "ticketdesk_transition_ticket"]
    return str(moves[-1]["key"])


def _company(way: Way) -> Company:
    return Company.model_validate(way.kept.instance.documents[DESK]["company"])


def _people(way: Way) -> dict[str, str]:
    """Return people who may not do what the right one did."""
    company, day = _company(way), way.kept.instance.started_at.date()
    team = Ending(way.kept).initial[DESK]["tickets"][_key(way)]["team_id"]
    return {
        "nobody": "E-0000",
        "somebody who has left": next(one.id for one in company.people if not one.is_employed(day)),
        "somebody without a role": next(
            one.id for one in company.people if one.is_employed(day) and not one.roles and one.team_id != team
        ),
    }


def _ticket_bends(way: Way) -> Bends:
    key = _key(way)
    row = Ending(way.kept).row(DESK, "tickets", key)
    assert row is not None

    def bend(**columns: Any) -> Bend:
        return lambda ending: ending.set(DESK, "tickets", key, **columns)

    bends = {f"ticket: status {status}": bend(status=status) for status in STATUSES if status != row["status"]}
    changes: dict[str, dict[str, Any]] = {
        "another title": {"title": "Something else"},
        "another team": {"team_id": "legal" if row["team_id"] != "legal" else "data"},
        "another type": {"type": "incident"},
        "another tag": {"tags": ["other"]},
        "due later": {"due_at": "2031-01-01T00:00:00Z"},
        "another reporter": {"reporter_id": "E-0000"},
        "an approval that is none": {"approval_ref": "APR-1"},
    }
    if row["status"] != "cancelled":
        changes |= {
            "no priority": {"priority": None},
            "priority in capitals": {"priority": str(row["priority"]).upper()},
            "not verified": {"verified_at": None, "verified_by": None},
            "verified by nobody": {"verified_by": None},
            "no approval": {"approval_ref": None},
            "approval padded": {"approval_ref": f" {row['approval_ref']}"},
            "approval in lower case": {"approval_ref": str(row["approval_ref"]).lower()},
            "nobody assigned": {"assignee_id": None},
            **{f"assigned to {who}": {"assignee_id": person_id} for who, person_id in _people(way).items()},
        }
        others = [level for level in ("low", "medium", "high", "critical") if level != row["priority"]]
        changes |= {f"priority {level}": {"priority": level} for level in others}
    else:
        changes |= {
            "no reason": {"reason_code": None, "reason_ref": None},
            "another code": {"reason_code": "withdrawn"},
            "another fact": {"reason_ref": "POL-999"},
            "fact in lower case": {"reason_ref": str(row["reason_ref"]).lower()},
        }
    bends |= {f"ticket: {name}": bend(**columns) for name, columns in changes.items()}
    bends["ticket: deleted"] = lambda ending: ending.delete(DESK, "tickets", key)
    return bends


def _checklist_bends(way: Way) -> Bends:
    initial = Ending(way.kept).initial[DESK]["checklist_items"]
    ticked = [arguments["item_id"] for tool, arguments in way.writes if tool.endswith("complete_checklist_item")]
    undone: Bends = {
        f"checklist: {item} undone": lambda ending, item=item: ending.undo(  # type: ignore[misc]
            DESK, "checklist_items", item, "done_at", "done_by"
        )
        for item in ticked
    }
    assert set(ticked) <= set(initial)
    return undone


def _request_bends(way: Way) -> Bends:
    key, row = next((key, row) for key, row in Ending(way.kept).made(FLOW, "requests") if row["status"] == "approved")

    def rewritten(**columns: Any) -> Bend:
        return lambda ending: ending.rewrite(FLOW, "requests", key, **columns)

    bends = {f"request: {status}": rewritten(status=status) for status in REQUEST_STATUSES}
    bends |= {f"request: put to {who}": rewritten(approver_id=one) for who, one in _people(way).items()}
    bends |= {
        "request: put to the agent itself": rewritten(approver_id=row["requester_id"]),
        "request: of another type": rewritten(type_key="access_grant"),
        "request: on another subject": rewritten(subject="VEN-1"),
        "request: by another requester": rewritten(requester_id="E-0000"),
        "request: about another ticket": rewritten(ticket_ref="OPS-1"),
        "request: never made": lambda ending: ending.undo(FLOW, "requests", key),
        "request: a second one": lambda ending: ending.add(
            FLOW, "requests", "APR-9990", {**row, "id": "APR-9990", "status": "pending"}
        ),
    }
    for name, value in row["fields"].items():
        for how, other in _others(value):
            fields = {**row["fields"], name: other}
            bends[f"request: {name} {how}"] = rewritten(fields=fields)
        without = {one: held for one, held in row["fields"].items() if one != name}
        bends[f"request: without {name}"] = rewritten(fields=without)
    return bends


def _record_bends(way: Way) -> Bends:
    bends: Bends = {}
    for key in Ending(way.kept).evidence().changed_keys(HUB, "records"):
        row = Ending(way.kept).row(HUB, "records", key)
        assert row is not None
        columns: dict[str, Any] = {
            "state": "draft",
            "title": "x",
            "owner_id": "E-0000",
            "amount_cents": 1,
            "ends_on": None,
        }
        for name, other in columns.items():
            if row[name] != other:
                bends[f"record {key}: {name}"] = _set_record(key, **{name: other})
        for name, value in row["fields"].items():
            for how, other in _others(value):
                bends[f"record {key}: {name} {how}"] = _set_record(key, fields={**row["fields"], name: other})
        bends[f"record {key}: one field more"] = _set_record(key, fields={**row["fields"], "more": 1})
        bends[f"record {key}: deleted"] = lambda ending, key=key: ending.delete(HUB, "records", key)  # type: ignore[misc]
    return bends


def _set_record(key: str, **columns: Any) -> Bend:
    return lambda ending: ending.set(HUB, "records", key, **columns)


def _others(value: Any) -> Iterator[tuple[str, Any]]:
    """Yield wrong values that look like the right one."""
    yield "null", None
    if isinstance(value, bool):
        yield "the opposite", not value
        yield "as text", str(value).lower()
    elif isinstance(value, int | float):
        yield "off by one", value + 1
        yield "off by less", value + 0.5
        yield "as text", str(value)
        yield "true", True
    elif isinstance(value, str):
        yield "padded", f" {value}"
        yield "of other case", value.lower() if value.lower() != value else f"{value.upper()}X"
        try:
            yield "a minute later", (datetime.fromisoformat(value) + timedelta(minutes=1)).isoformat()
        except ValueError:
            yield "empty", ""


def _elsewhere(way: Way) -> Bends:
    """Return a row added, changed and deleted in every table that the task leaves alone."""
    bends: Bends = {}
    first = Ending(way.kept)
    for service, tables in first.initial.items():
        touched = {change["key"] for change in first.changes.get(service, [])}
        for table, rows in tables.items():
            left = sorted(key for key in rows if key not in touched)
            if left:
                bends |= _touches(service, table, left[0], rows[left[0]])
    return bends


def _touches(service: str, table: str, key: str, row: dict[str, Any]) -> Bends:
    column = next(name for name in sorted(row) if name not in ("version", "updated_at", "id", "key"))
    new = {**row, "key": "something-new", "id": "something-new"}
    place = f"{service}.{table}"
    return {
        f"{place}: a row more": lambda ending: ending.add(service, table, "something-new", new),
        f"{place}: a row changed": lambda ending: ending.set(service, table, key, **{column: "something else"}),
        f"{place}: a row less": lambda ending: ending.delete(service, table, key),
    }


def _declarations(way: Way) -> Bends:
    right = way.kept.finish
    assert right is not None

    def declared(finish: FinishDeclaration | None) -> Bend:
        def bend(ending: Ending) -> None:
            ending.finish = finish

        return bend

    return {
        "declared: nothing": declared(None),
        "declared: done": declared(FinishDeclaration(outcome="done", summary="")),
        "declared: refused without a reason": declared(FinishDeclaration(outcome="refused", summary="")),
        "declared: impossible": declared(right.model_copy(update={"outcome": "impossible"})),
        "declared: another code": declared(right.model_copy(update={"reason_code": "withdrawn"})),
        "declared: another fact": declared(right.model_copy(update={"reason_ref": "POL-999"})),
    }
