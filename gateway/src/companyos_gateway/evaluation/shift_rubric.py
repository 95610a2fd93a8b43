"""The rubric of a shift: several cases in one episode, each with its own checks, and one change policy for all."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from companyos_gateway.evaluation import row_views
from companyos_gateway.evaluation.approval_requests import rejections_of
from companyos_gateway.evaluation.change_policy import ChangePolicy
from companyos_gateway.evaluation.evidence import Evidence
from companyos_gateway.evaluation.guessing import guessing_check
from companyos_gateway.evaluation.milestones import Milestone, scale_milestones
from companyos_gateway.evaluation.mismatch import Mismatch
from companyos_gateway.evaluation.rubric import Check, FinishDeclaration, TaskRubric
from companyos_gateway.evaluation.ticket_rubric import TicketRubric


def shift_rubric(cases: Mapping[str, TicketRubric], agent_id: str) -> TaskRubric:
    """Return the rubric of cases by the key of their entry ticket.

    Checks and milestones are named `<key>:<id>`. A milestone pays its share of the number of cases. What a case allows
    to change, every case may. A refusal is judged by the reason on the ticket; `finish` only ends the shift.
    """
    change_policy = ChangePolicy([allowance for one in cases.values() for allowance in one.allowances])

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


def _case_milestones(key: str, rubric: TicketRubric, count: int) -> Iterable[Milestone]:
    for one in scale_milestones(rubric.milestones()):
        yield replace(one, id=f"{key}:{one.id}", points=one.points / count)


def _accept(_evidence: Evidence, _finish: FinishDeclaration | None) -> Mismatch | None:
    return None
