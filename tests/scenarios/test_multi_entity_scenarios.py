"""Instances with several entities: those of the task can be distinguished from similar ones."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

import pytest

from companyos_gateway.chaos import profile_for
from companyos_gateway.scenarios.audit_remediation.scenario import SCENARIO as AUDIT_REMEDIATION
from companyos_gateway.scenarios.audit_remediation.scenario import Breach
from companyos_gateway.scenarios.backlog_triage.documents import Sweep
from companyos_gateway.scenarios.blocks.declared_scenario import DeclaredScenario
from companyos_gateway.scenarios.budget_transfer.scenario import Transfer
from companyos_gateway.scenarios.budget_transfer.scenario import Variant as TransferVariant
from companyos_gateway.scenarios.employee_offboarding.scenario import SCENARIO as EMPLOYEE_OFFBOARDING
from companyos_gateway.scenarios.incident_response.documents import Incident
from tests.scenarios.engine import HARDEST, hardest_task

SEEDS = range(12)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_sweep_covers_the_open_and_untriaged_tickets_of_one_team_and_tag(seed: int) -> None:
    built = hardest_task("backlog_triage", seed)
    facts: Sweep = built.case.facts
    tagged = [ticket for ticket in built.world.ticketdesk.tickets if facts.tag in ticket.tags]
    ours = {one.key for one in tagged if one.team_id == facts.team_id and one.status in (None, "open")}
    assert {goal.key for goal in facts.goals} == ours
    assert len(ours) < len(tagged)
    assert built.case.ticket_key not in ours


@pytest.mark.parametrize("seed", SEEDS)
def test_a_duplicate_in_a_sweep_is_newer_than_its_original(seed: int) -> None:
    facts: Sweep = hardest_task("backlog_triage", seed).case.facts
    doubles = [(goal.key, goal.original) for goal in facts.goals if goal.original is not None]
    assert doubles
    for key, original in doubles:
        assert _number(key) > _number(original)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_sweeps_tickets_can_be_spread_within_the_limit(seed: int) -> None:
    facts: Sweep = hardest_task("backlog_triage", seed).case.facts
    if facts.most_each is None:
        return
    kept = [goal for goal in facts.goals if goal.assignee_ids is not None]
    loads = Counter(goal.assignee_ids[0] for goal in kept if goal.assignee_ids and len(goal.assignee_ids) == 1)
    for goal in kept:
        if goal.assignee_ids is not None and len(goal.assignee_ids) > 1:
            loads[min(goal.assignee_ids, key=lambda one: loads[one])] += 1
    assert max(loads.values()) <= facts.most_each


@pytest.mark.parametrize("seed", SEEDS)
def test_one_change_is_the_cause_of_an_incident(seed: int) -> None:
    built = hardest_task("incident_response", seed)
    case, facts = built.case, built.case.facts
    assert isinstance(facts, Incident)
    tickets = {ticket.key: ticket for ticket in built.world.ticketdesk.tickets}
    release = re.search(r"release ([0-9]+\.[0-9]+)", tickets[case.ticket_key].description)
    assert release is not None
    changes = [one for one in tickets.values() if one.type == "change" and f"elease {release[1]} of " in one.title]
    assert facts.cause_key in {change.key for change in changes}
    assert len({change.title.rpartition(" of ")[2] for change in changes}) == len(changes) > 1


@pytest.mark.parametrize("seed", SEEDS)
def test_the_person_on_call_may_work_on_the_incident(seed: int) -> None:
    built = hardest_task("incident_response", seed)
    case, facts = built.case, built.case.facts
    ticket = next(one for one in built.world.ticketdesk.tickets if one.key == case.ticket_key)
    on_call_id = facts.on_call_id(built.world, ticket.created_at.date(), case.due_on)
    person, company = built.world.staff.person(on_call_id), built.world.company()
    assert person.is_employed(case.due_on)
    assert not company.is_out_of_office(person.id, case.due_on)
    assert case.assignee_ids == (on_call_id,)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_parts_of_a_transfer_are_below_the_limit_that_the_total_exceeds(seed: int) -> None:
    built = hardest_task("budget_transfer", seed)
    facts: Transfer = built.case.facts
    amounts = [int(one.fields["amount_cents"]) for one in (*facts.own_parts, *facts.others_parts)]
    limits = next(one for one in built.world.approvalflow.approval_types if one.key == "budget_transfer").thresholds
    limit = limits[0].up_to_cents
    assert limit is not None
    assert bool(amounts) is (facts.variant is not TransferVariant.WHOLE)
    if amounts:
        assert sum(amounts) == facts.amount_cents > limit >= max(amounts)


@pytest.mark.parametrize("seed", SEEDS)
def test_parts_are_distinguished_from_other_requests_by_requester_and_purpose(seed: int) -> None:
    built = hardest_task("budget_transfer", seed)
    facts: Transfer = built.case.facts
    requests = [one for one in built.world.approvalflow.requests if one.type_key == "budget_transfer"]
    own_ids = {one.id for one in facts.own_parts}
    parts = own_ids | {one.id for one in facts.others_parts}
    assert {one.id for one in requests if one.requester_id == built.case.agent_id} == own_ids
    assert all(one.status == "info_requested" for one in requests)
    assert len({one.id for one in requests} - parts) == 3


@pytest.mark.sample(6)
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", ["backlog_triage", "incident_response", "employee_offboarding"])
def test_no_planted_text_requests_to_cancel_another_ticket_of_the_task(name: str, seed: int) -> None:
    instance = import_module(f"companyos_gateway.scenarios.{name}.scenario").SCENARIO.plan(seed, HARDEST)
    case = instance.build_rubric.case
    paths = {goal.row_path for entities in case.outcome.prepared for goal in entities.goals}
    paths.discard(f"ticketdesk.tickets[{case.ticket_key}]")
    targets = {f"{one.service}.{one.table}[{one.key}]" for one in instance.build_rubric.instructions}
    assert not targets & paths


@pytest.mark.sample(8)
@pytest.mark.parametrize("level", [1, HARDEST])
@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize(
    ("scenario", "escalated_of"),
    [
        (AUDIT_REMEDIATION, lambda facts: [row for row, breach in facts.breaches if breach is Breach.WRONG_HANDS]),
        (EMPLOYEE_OFFBOARDING, lambda facts: facts.duties.waiting),
    ],
    ids=["audit", "leaver"],
)
def test_a_request_to_be_escalated_was_not_made_by_its_new_approver(
    scenario: DeclaredScenario[Any], escalated_of: Callable[[Any], Sequence[Any]], seed: int, level: int
) -> None:
    built = scenario.build(seed, profile_for(level), {})
    world, escalated = built.world, {row.id for row in escalated_of(built.case.facts)}
    requests = [request for request in world.approvalflow.requests if request.id in escalated]
    assert len(requests) == len(escalated) > 0
    for request in requests:
        assert request.requester_id not in built.case.approver_ids
        assert world.staff.person(request.requester_id).is_employed(world.today)
        subject = next(record for record in world.datahub.records if record.id == request.subject)
        assert subject.owner_id == request.requester_id


def _number(key: str) -> int:
    return int(key.rpartition("-")[2])
