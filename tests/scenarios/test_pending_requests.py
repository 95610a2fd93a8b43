"""Requests pending with the wrong person: the person to whom they are escalated is not their requester."""

from __future__ import annotations

import pytest

from companyos_gateway.chaos import profile_for
from companyos_gateway.scenarios.audit_remediation import scenario as audit_remediation
from companyos_gateway.scenarios.audit_remediation.scenario import Breach
from companyos_gateway.scenarios.employee_offboarding import scenario as employee_offboarding
from companyos_gateway.world.builder import WorldBuilder

SEEDS = range(40)


@pytest.mark.sample(8)
@pytest.mark.parametrize("level", [1, 4])
@pytest.mark.parametrize("seed", SEEDS)
def test_no_approver_requested_what_an_audit_escalates(seed: int, level: int) -> None:
    built = audit_remediation.SCENARIO.build(seed, profile_for(level), {})
    wrong = {row.id for row, breach in built.case.facts.breaches if breach is Breach.WRONG_HANDS}
    _check_requesters(built.world, wrong, built.case.approver_ids)


@pytest.mark.sample(8)
@pytest.mark.parametrize("level", [1, 4])
@pytest.mark.parametrize("seed", SEEDS)
def test_no_approver_requested_the_pending_requests_of_a_leaver(seed: int, level: int) -> None:
    built = employee_offboarding.SCENARIO.build(seed, profile_for(level), {})
    _check_requesters(built.world, {row.id for row in built.case.facts.duties.waiting}, built.case.approver_ids)


def _check_requesters(world: WorldBuilder, escalated: set[str], approver_ids: tuple[str, ...]) -> None:
    requests = [request for request in world.approvalflow.requests if request.id in escalated]
    assert len(requests) == len(escalated) > 0
    for request in requests:
        assert request.requester_id not in approver_ids
        assert world.staff.person(request.requester_id).is_employed(world.today)
        subject = next(record for record in world.datahub.records if record.id == request.subject)
        assert subject.owner_id == request.requester_id
