"""The rubric of a shift: several cases in one episode, each with its own checks, and one change policy for all."""

from __future__ import annotations

import re
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
from companyos_gateway.evaluation.mismatch import Mismatch, find_row_mismatch, is_touched, list_names, row_path
from companyos_gateway.evaluation.row_views import APPROVALFLOW, TICKETDESK
from companyos_gateway.evaluation.rubric import Check, TaskRubric
from companyos_gateway.evaluation.ticket_goals import TicketLinked
from companyos_gateway.evaluation.ticket_rubric import TicketRubric, check_done
from companyos_shared.wire.context import Actor
from companyos_shared.wire.control import Change

COMPLETED = frozenset({"resolved", "closed"})
"""Statuses that no ticket of the queue may get during the freeze."""

ENDED = COMPLETED | {"cancelled"}
_MAX_WRONG_REPORTS = 1
"""Maximum number of requests that comments on a ticket may name by mistake."""

_ID = re.compile(r"(?<![A-Za-z])[A-Za-z]+-[0-9]+")


@dataclass(frozen=True)
class Remark:
    """A demand of a comment or policy about another ticket, `key`. It must be followed from `binding_from` on."""

    key: str
    binding_from: datetime


@dataclass(frozen=True, kw_only=True)
class ShiftCase:
    """A case of a shift.

    `duplicate` is a ticket that must be cancelled as a duplicate of the entry ticket. `handovers` contains the times at
    which tickets of the case are handed over; the others are in the queue from the start. `predecessor` names the entry
    ticket of another case that must end first. `reported` names that of another case whose approval must be named in a
    comment on this case's ticket. `approval_types` are those of the scenario. `features` are the further demands of the
    case.
    """

    rubric: TicketRubric
    approval_types: frozenset[str] = frozenset()
    duplicate: str | None = None
    handovers: Mapping[str, datetime] = field(default_factory=dict)
    predecessor: Remark | None = None
    reported: Remark | None = None
    features: frozenset[str] = frozenset()


def shift_rubric(
    cases: Mapping[str, ShiftCase],
    *,
    agent_id: str,
    frozen_until: datetime | None,
    kept: Collection[str] = (),
    kept_feature: str = "",
) -> TaskRubric:
    """Return the rubric of cases by the key of their entry ticket; teams keep the tickets `kept`.

    Checks and milestones are named `<key>:<id>`. The points of a milestone are divided by the number of cases. Changes
    that one case allows are allowed in every case. A refusal is judged by the reason on the ticket; `finish` ends the
    shift with the outcome `done`. No ticket of the queue may be completed before `frozen_until`. Leaving the kept
    tickets alone counts for `kept_feature`.
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
            *(check for key in cases for check in _case_checks(key, cases, agent_id, frozen_until)),
            *(_kept_check(key) for key in kept),
            change_policy.check(),
            guessing_check(agent_id, _is_never_valid, concerns=lambda type_key: type_key not in own_types),
        ],
        milestones=[each for key, one in cases.items() for each in _case_milestones(key, one.rubric, len(cases))],
        declaration=check_done,
        damage=damage,
        rejections=rejections_of(agent_id),
        is_closed=lambda _evidence: False,
        cases=cases,
        features={
            **{key: one.features for key, one in cases.items()},
            **dict.fromkeys(kept, frozenset({kept_feature})),
        },
    )


def _case_checks(
    key: str, cases: Mapping[str, ShiftCase], agent_id: str, frozen_until: datetime | None
) -> Iterable[Check]:
    case = cases[key]
    checks = list(case.rubric.case_checks())
    names = {check.id for check in checks}
    for check in checks:
        causes = tuple(f"{key}:{one}" for one in check.caused_by if one in names)
        yield replace(check, id=f"{key}:{check.id}", caused_by=causes)
    if case.duplicate is not None:
        yield _duplicate_check(key, case.duplicate)
    if case.handovers:
        yield _handover_check(key, case.handovers)
    if frozen_until is not None:
        yield _freeze_check(key, frozen_until)
    if case.predecessor is not None:
        yield _order_check(key, case.predecessor)
    if case.reported is not None:
        reported_types = cases[case.reported.key].approval_types
        yield _report_check(key, case.reported, agent_id, {*case.approval_types, *reported_types})
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
    """Return whether a duplicate has irreversibly reached a wrong state."""
    row = evidence.row(TICKETDESK, "tickets", duplicate)
    is_final = row is not None and row["status"] in row_views.FINAL_TICKET_STATUSES
    return is_final and find_row_mismatch(evidence, TICKETDESK, "tickets", duplicate, _cancelled_for(key)) is not None


def _duplicate_allowances(duplicates: Mapping[str, str]) -> Iterable[Allowance]:
    """Return the allowances for duplicates, which may be triaged, commented on and linked before they are cancelled."""
    yield Allowance(TICKETDESK, "tickets", changed_keys(duplicates), TICKET_COLUMNS)
    yield Allowance(TICKETDESK, "comments", added_where("ticket_key", duplicates))
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


def _order_check(key: str, predecessor: Remark) -> Check:
    """Return the check that a ticket did not end before its predecessor."""

    def find_mismatch(evidence: Evidence) -> Mismatch | None:
        for end in _ends(evidence, key):
            row = evidence.row(TICKETDESK, "tickets", predecessor.key, end.step)
            if end.at >= predecessor.binding_from and (row is None or row["status"] not in ENDED):
                found = f"status: {(end.after or {})['status']} before that"
                path = row_path(TICKETDESK, "tickets", key)
                return Mismatch(path, f"not ended until {predecessor.key} has", found, end.step)
        return None

    return Check(f"{key}:predecessor_ended", True, find_mismatch)


def _report_check(key: str, reported: Remark, agent_id: str, type_keys: Collection[str]) -> Check:
    """Return the check that a comment on a ticket, added before its last end, names the approval of another ticket.

    The approval must have been given when the comment was added. The comment must not name requests of other types than
    the given ones; all other comments on the ticket may name one such request, so that a mistake can be corrected.
    """

    def find_mismatch(evidence: Evidence) -> Mismatch | None:
        end = next(reversed(_ends(evidence, key)), None)
        if end is not None and end.at < reported.binding_from:
            return None
        ticket = evidence.ticket(reported.key)
        reference = None if ticket is None else ticket.approval_ref
        is_reported, named, foreign = False, dict[str, None](), set[str]()
        for step, body in _comments(evidence, key, agent_id):
            if end is not None and step >= end.step:
                break
            types = {one: _type_of(evidence, one) for one in map(str.upper, _ID.findall(body))}
            requests = {one: type_key for one, type_key in types.items() if type_key is not None}
            others = {one for one, type_key in requests.items() if type_key not in type_keys}
            if reference in requests and not others and evidence.was_approved(reference, step):
                is_reported = True
            named |= dict.fromkeys(requests)
            foreign |= others
        if is_reported and len(foreign) <= _MAX_WRONG_REPORTS:
            return None
        expected = f"a comment with the ID of the approval that is linked to {reported.key} before the ticket ends"
        found = f"comments that name {list_names(list(named)) or 'no request'}"
        path = row_path(TICKETDESK, "tickets", key)
        return Mismatch(path, expected, found, None if end is None else end.step)

    return Check(f"{key}:approval_reported", False, find_mismatch)


def _comments(evidence: Evidence, key: str, agent_id: str) -> list[tuple[int, str]]:
    """Return the steps and texts of the agent's comments on a ticket."""
    rows = (
        change
        for comment in evidence.changed_keys(TICKETDESK, "comments")
        for change in evidence.row_changes(TICKETDESK, "comments", comment)
    )
    return [
        (one.step, one.after["body"])
        for one in rows
        if one.after is not None and (one.after["ticket_key"], one.after["author_id"]) == (key, agent_id)
    ]


def _type_of(evidence: Evidence, request_id: str) -> str | None:
    row = evidence.row(APPROVALFLOW, "requests", request_id)
    return None if row is None else row["type_key"]


def _kept_check(key: str) -> Check:
    """Return the check that a ticket was left to the team that keeps it. A change that was undone does not count."""

    def find_mismatch(evidence: Evidence) -> Mismatch | None:
        net = evidence.net_change((TICKETDESK, "tickets", key))
        changes = _agent_changes(evidence, key)
        change = next((one for one in changes if is_touched(one, TICKET_COLUMNS)), None)
        if net is None or change is None or not net.columns & TICKET_COLUMNS:
            return None
        path = row_path(TICKETDESK, "tickets", key)
        return Mismatch(path, "left to the team that keeps it", "changed by the agent", change.step)

    return Check(f"{key}:left_to_its_team", True, find_mismatch)


def _ends(evidence: Evidence, key: str) -> list[Change]:
    """Return the changes by which the agent ended a ticket."""
    changes = (one for one in _agent_changes(evidence, key) if is_touched(one, ["status"]))
    return [one for one in changes if (one.after or {})["status"] in ENDED]


def _freeze_check(key: str, frozen_until: datetime) -> Check:
    """Return the check that a ticket was neither resolved nor closed during the freeze."""

    def find_mismatch(evidence: Evidence) -> Mismatch | None:
        for end in _ends(evidence, key):
            status = (end.after or {})["status"]
            if status in COMPLETED and end.at < frozen_until:
                expected = f"neither resolved nor closed before {frozen_until.isoformat()}"
                found = f"status: {status} at {end.at.isoformat()}"
                return Mismatch(row_path(TICKETDESK, "tickets", key), expected, found, end.step)
        return None

    return Check(f"{key}:freeze_kept", True, find_mismatch)


def _agent_changes(evidence: Evidence, ticket_key: str) -> Iterable[Change]:
    changes = evidence.row_changes(TICKETDESK, "tickets", ticket_key)
    return (change for change in changes if change.actor is Actor.AGENT)


def _is_never_valid(_evidence: Evidence, _request: row_views.RequestView) -> bool:
    """Return False: no case needs a request whose type belongs to no case."""
    return False


def _case_milestones(key: str, rubric: TicketRubric, count: int) -> Iterable[Milestone]:
    for one in scale_milestones(rubric.milestones()):
        yield replace(one, id=f"{key}:{one.id}", points=one.points / count)
