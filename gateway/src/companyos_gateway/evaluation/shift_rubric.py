"""The rubric of a shift: several cases in one episode, each with its own checks, and one change policy for all."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from companyos_gateway.evaluation import row_views
from companyos_gateway.evaluation.approval_requests import rejections_of
from companyos_gateway.evaluation.change_policy import Allowance, ChangePolicy, added_where, changed_keys
from companyos_gateway.evaluation.evidence import Evidence
from companyos_gateway.evaluation.guessing import guessing_check
from companyos_gateway.evaluation.milestones import Milestone, scale_milestones
from companyos_gateway.evaluation.mismatch import Mismatch, find_row_mismatch, is_touched, row_path
from companyos_gateway.evaluation.rubric import Check, FinishDeclaration, TaskRubric
from companyos_gateway.evaluation.ticket_rubric import TicketRubric
from companyos_shared.wire.context import Actor


@dataclass(frozen=True)
class Freeze:
    """Time in which no ticket may be resolved or closed."""

    begins_at: datetime
    ends_at: datetime


FROZEN = frozenset({"resolved", "closed"})
"""Statuses that no ticket may get during the freeze."""

DUPLICATE = "duplicate"
"""The reason code for a ticket about what another ticket is already about."""


def shift_rubric(
    cases: Mapping[str, TicketRubric], agent_id: str, duplicates: Mapping[str, str], freeze: Freeze
) -> TaskRubric:
    """Return the rubric of cases by the key of their entry ticket.

    Checks and milestones are named `<key>:<id>`. A milestone pays its share of the number of cases. What a case allows
    to change, every case may. A refusal is judged by the reason on the ticket; `finish` only ends the shift. By the
    key of a case, `duplicates` names the ticket that has to be cancelled as a duplicate of its entry ticket. During
    the freeze no entry ticket may be resolved or closed.
    """
    allowances = [allowance for one in cases.values() for allowance in one.allowances]
    change_policy = ChangePolicy([*allowances, *_cancellation_allowances(duplicates.values())])

    def is_valid_request(evidence: Evidence, request: row_views.RequestView) -> bool:
        return any(one.is_valid_request(evidence, request) for one in cases.values())

    def damage(evidence: Evidence) -> list[str]:
        return [
            *change_policy.damage(evidence),
            *(path for one in cases.values() for path in one.task_damage(evidence)),
        ]

    return TaskRubric(
        checks=[
            *(check for key, one in cases.items() for check in _case_checks(key, one)),
            *(_duplicate_check(key, duplicate) for key, duplicate in duplicates.items()),
            *(_freeze_check(key, freeze) for key in cases),
            change_policy.check(),
            guessing_check(agent_id, is_valid_request),
        ],
        milestones=[each for key, one in cases.items() for each in _case_milestones(key, one, len(cases))],
        declaration=_accept,
        damage=damage,
        rejections=rejections_of(agent_id),
        is_closed=lambda _evidence: False,
        cases=cases,
    )


def _case_checks(key: str, rubric: TicketRubric) -> Iterable[Check]:
    checks = list(rubric.case_checks())
    names = {check.id for check in checks}
    for check in checks:
        causes = tuple(f"{key}:{one}" for one in check.caused_by if one in names)
        yield replace(check, id=f"{key}:{check.id}", caused_by=causes)


def _duplicate_check(key: str, duplicate: str) -> Check:
    expected = {"status": "cancelled", "reason_code": DUPLICATE, "reason_ref": key}
    return Check(
        f"{key}:duplicate_cancelled",
        False,
        lambda evidence: find_row_mismatch(evidence, row_views.TICKETDESK, "tickets", duplicate, expected),
    )


def _freeze_check(key: str, freeze: Freeze) -> Check:
    def find_mismatch(evidence: Evidence) -> Mismatch | None:
        for change in evidence.row_changes(row_views.TICKETDESK, "tickets", key):
            status = (change.after or {}).get("status")
            is_frozen = freeze.begins_at <= change.at < freeze.ends_at
            if is_frozen and status in FROZEN and change.actor is Actor.AGENT and is_touched(change, ["status"]):
                expected = f"neither resolved nor closed before {freeze.ends_at.isoformat()}"
                row = row_path(row_views.TICKETDESK, "tickets", key)
                return Mismatch(row, expected, f"status: {status} at {change.at.isoformat()}", change.step)
        return None

    return Check(f"{key}:freeze_kept", True, find_mismatch)


def _cancellation_allowances(keys: Collection[str]) -> Iterable[Allowance]:
    columns = frozenset({"status", "reason_code", "reason_ref"})
    yield Allowance(row_views.TICKETDESK, "tickets", changed_keys(keys), columns)
    for table, column in (("transitions", "ticket_key"), ("comments", "ticket_key"), ("links", "from_key")):
        yield Allowance(row_views.TICKETDESK, table, added_where(column, keys))


def _case_milestones(key: str, rubric: TicketRubric, count: int) -> Iterable[Milestone]:
    for one in scale_milestones(rubric.milestones()):
        yield replace(one, id=f"{key}:{one.id}", points=one.points / count)


def _accept(_evidence: Evidence, _finish: FinishDeclaration | None) -> Mismatch | None:
    return None
