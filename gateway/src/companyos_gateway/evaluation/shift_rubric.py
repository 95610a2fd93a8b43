"""The rubric of a shift: several cases in one episode, each with its own checks, and one change policy for all."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

from companyos_gateway.evaluation import row_views
from companyos_gateway.evaluation.approval_requests import rejections_of
from companyos_gateway.evaluation.change_policy import (
    TICKET_COLUMNS,
    Allowance,
    ChangePolicy,
    added_where,
    changed_keys,
)
from companyos_gateway.evaluation.evidence import Evidence
from companyos_gateway.evaluation.guessing import guessing_check
from companyos_gateway.evaluation.milestones import Milestone, scale_milestones
from companyos_gateway.evaluation.mismatch import Mismatch, find_row_mismatch, is_touched, row_path
from companyos_gateway.evaluation.row_views import TICKETDESK
from companyos_gateway.evaluation.rubric import Check, FinishDeclaration, TaskRubric
from companyos_gateway.evaluation.ticket_goals import TicketLinked
from companyos_gateway.evaluation.ticket_rubric import TicketRubric
from companyos_shared.wire.context import Actor
from companyos_shared.wire.control import Change

FROZEN = frozenset({"resolved", "closed"})
"""Statuses that no ticket may get during the freeze."""


@dataclass(frozen=True)
class Freeze:
    """Time in which no ticket may be resolved or closed."""

    begins_at: datetime
    ends_at: datetime


@dataclass(frozen=True, kw_only=True)
class ShiftCase:
    """A case of a shift.

    `duplicate` is a ticket that has to be cancelled as a duplicate of the entry ticket. `handovers` says when tickets
    of the case are handed over; others are in the queue from the start. `approval_types` are those of the scenario.
    """

    rubric: TicketRubric
    approval_types: frozenset[str] = frozenset()
    duplicate: str | None = None
    handovers: Mapping[str, datetime] = field(default_factory=dict)


def shift_rubric(
    cases: Mapping[str, ShiftCase], *, agent_id: str, freeze: Freeze, kept: Collection[str] = ()
) -> TaskRubric:
    """Return the rubric of cases by the key of their entry ticket; teams keep the tickets `kept`.

    Checks and milestones are named `<key>:<id>`. A milestone pays its share of the number of cases. What a case allows
    to change, every case may. A refusal is judged by the reason on the ticket; `finish` only ends the shift.
    """
    rubrics = [one.rubric for one in cases.values()]
    duplicates = {one.duplicate: key for key, one in cases.items() if one.duplicate is not None}
    own_types = frozenset[str]().union(*(one.approval_types for one in cases.values()))
    allowances = [allowance for one in rubrics for allowance in one.allowances]
    allowances += [Allowance(TICKETDESK, "comments", added_where("ticket_key", kept))]
    change_policy = ChangePolicy([*allowances, *_duplicate_allowances(duplicates)])

    def damage(evidence: Evidence) -> list[str]:
        return [
            *change_policy.damage(evidence),
            *(path for one in rubrics for path in one.task_damage(evidence)),
            *(row_path(TICKETDESK, "tickets", one) for one, key in duplicates.items() if _is_lost(evidence, one, key)),
        ]

    return TaskRubric(
        checks=[
            *(check for key, one in cases.items() for check in _case_checks(key, one, agent_id, freeze)),
            change_policy.check(),
            guessing_check(agent_id, _is_never_valid, concerns=lambda type_key: type_key not in own_types),
        ],
        milestones=[each for key, one in cases.items() for each in _case_milestones(key, one.rubric, len(cases))],
        declaration=_accept,
        damage=damage,
        rejections=rejections_of(agent_id),
        is_closed=lambda _evidence: False,
        cases=cases,
    )


def _case_checks(key: str, case: ShiftCase, agent_id: str, freeze: Freeze) -> Iterable[Check]:
    checks = list(case.rubric.case_checks())
    names = {check.id for check in checks}
    for check in checks:
        causes = tuple(f"{key}:{one}" for one in check.caused_by if one in names)
        yield replace(check, id=f"{key}:{check.id}", caused_by=causes)
    if case.duplicate is not None:
        yield _duplicate_check(key, case.duplicate)
    if case.handovers:
        yield _handover_check(key, case.handovers)
    yield _freeze_check(key, case, freeze)
    yield guessing_check(
        agent_id,
        case.rubric.is_valid_request,
        f"{key}:not_guessed",
        concerns=case.approval_types.__contains__,
    )


def _duplicate_check(key: str, duplicate: str) -> Check:
    def find_mismatch(evidence: Evidence) -> Mismatch | None:
        return find_row_mismatch(evidence, TICKETDESK, "tickets", duplicate, _cancelled_for(key))

    return Check(f"{key}:duplicate_cancelled", False, find_mismatch)


def _cancelled_for(key: str) -> dict[str, str]:
    return {"status": "cancelled", "reason_code": "duplicate", "reason_ref": key}


def _is_lost(evidence: Evidence, duplicate: str, key: str) -> bool:
    """Return whether a duplicate was brought to a wrong end for good."""
    row = evidence.row(TICKETDESK, "tickets", duplicate)
    is_final = row is not None and row["status"] in row_views.FINAL_TICKET_STATUSES
    return is_final and find_row_mismatch(evidence, TICKETDESK, "tickets", duplicate, _cancelled_for(key)) is not None


def _duplicate_allowances(duplicates: Mapping[str, str]) -> Iterable[Allowance]:
    """Return what may change on duplicates: they may be triaged, commented on and linked before they are cancelled."""
    yield Allowance(TICKETDESK, "tickets", changed_keys(duplicates), TICKET_COLUMNS)
    for table in ("transitions", "comments"):
        yield Allowance(TICKETDESK, table, added_where("ticket_key", duplicates))
    for duplicate, key in duplicates.items():
        yield from TicketLinked("duplicates", duplicate, key).allowances()


def _handover_check(key: str, handovers: Mapping[str, datetime]) -> Check:
    def find_mismatch(evidence: Evidence) -> Mismatch | None:
        for ticket_key, at in handovers.items():
            for change in _agent_changes(evidence, ticket_key):
                if change.at < at:
                    row = row_path(TICKETDESK, "tickets", ticket_key)
                    found = f"changed at {change.at.isoformat()}"
                    return Mismatch(row, f"unchanged until {at.isoformat()}, its handover", found, change.step)
        return None

    return Check(f"{key}:handover_awaited", True, find_mismatch)


def _freeze_check(key: str, case: ShiftCase, freeze: Freeze) -> Check:
    """Return the check that the tickets of the case were neither resolved nor closed during the freeze."""
    own = {key, case.duplicate}

    def find_mismatch(evidence: Evidence) -> Mismatch | None:
        for ticket_key in evidence.changed_keys(TICKETDESK, "tickets"):
            change = next((one for one in _agent_changes(evidence, ticket_key) if _is_frozen(one, freeze)), None)
            row_key = (TICKETDESK, "tickets", ticket_key)
            if change and (ticket_key in own or case.rubric.change_policy.has_allowed(evidence, row_key)):
                status = (change.after or {})["status"]
                expected = f"neither resolved nor closed before {freeze.ends_at.isoformat()}"
                return Mismatch(
                    row_path(*row_key), expected, f"status: {status} at {change.at.isoformat()}", change.step
                )
        return None

    return Check(f"{key}:freeze_kept", True, find_mismatch)


def _agent_changes(evidence: Evidence, ticket_key: str) -> Iterable[Change]:
    changes = evidence.row_changes(TICKETDESK, "tickets", ticket_key)
    return (change for change in changes if change.actor is Actor.AGENT)


def _is_frozen(change: Change, freeze: Freeze) -> bool:
    is_completed = (change.after or {}).get("status") in FROZEN and is_touched(change, ["status"])
    return is_completed and freeze.begins_at <= change.at < freeze.ends_at


def _is_never_valid(_evidence: Evidence, _request: row_views.RequestView) -> bool:
    """Say of a request whose type belongs to no case that no case needs it."""
    return False


def _case_milestones(key: str, rubric: TicketRubric, count: int) -> Iterable[Milestone]:
    for one in scale_milestones(rubric.milestones()):
        yield replace(one, id=f"{key}:{one.id}", points=one.points / count)


def _accept(_evidence: Evidence, _finish: FinishDeclaration | None) -> Mismatch | None:
    return None
