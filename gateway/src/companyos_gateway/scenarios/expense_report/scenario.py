"""The generator of expense reports."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from companyos_gateway.chaos import Kind, Profile
from companyos_gateway.chaos.kinds import ASKED_FOR, Group
from companyos_gateway.rubrics import TaskRubric
from companyos_gateway.rubrics.cases import Refusal
from companyos_gateway.scenarios.expense_report.case import NAME, TYPE_KEY, Case, Ground, Papers
from companyos_gateway.scenarios.expense_report.report import Report, add_report, plan_receipt, texts
from companyos_gateway.scenarios.expense_report.rubric import build_rubric
from companyos_gateway.scenarios.expense_report.rules import add_approval_type, add_deciders, add_rules
from companyos_gateway.scenarios.expense_report.ticket import add_promise, entry_plan
from companyos_gateway.scenarios.parts.deciders import Chain, plan_reactions
from companyos_gateway.scenarios.parts.entry import add_entry
from companyos_gateway.scenarios.parts.staging import (
    Staged,
    StagedScenario,
    act_for,
    data_and_people,
    draw_chances,
    injections,
)
from companyos_gateway.scenarios.parts.tools import APPROVAL_TOOLS, DESK_TOOLS, PEOPLE_TOOLS, POLICY_TOOLS, RECORD_TOOLS
from companyos_gateway.scenarios.parts.words import draw_brief
from companyos_gateway.world import finish_world, generate_world
from companyos_gateway.world.documents.datahub import PolicyRow
from companyos_gateway.world.people import FINANCE
from companyos_shared.streams import Stream
from companyos_shared.wire.company import Company, Role

ALWAYS = (Kind.MISSING_PRIORITY, Kind.APPROVER_OUT_OF_OFFICE)
APPLICABLE = data_and_people(
    without=(Kind.STALE_METRIC, Kind.CONFLICTING_SOURCES, Kind.FAILED_PIPELINE, Kind.EXPIRED_CERTIFICATE),
    also=ASKED_FOR,
)
DISTRACTORS = (
    "ticketdesk_create_ticket",
    "ticketdesk_link_tickets",
    "datahub_report_data_issue",
    "datahub_query_metric",
    "approvalflow_create_delegation",
    "approvalflow_withdraw_approval",
)


class ExpenseReport(StagedScenario[Case]):
    """Repay an expense by the policy: check record and receipts, get the approval its amount asks for, record it."""

    name = NAME
    held_out = frozenset({Papers.SPLIT.value})
    asked_for = ASKED_FOR
    max_steps = 140
    distractors = DISTRACTORS
    tools = DESK_TOOLS + RECORD_TOOLS + PEOPLE_TOOLS + POLICY_TOOLS + APPROVAL_TOOLS + DISTRACTORS

    def stage(self, seed: int, profile: Profile, overrides: Mapping[str, float]) -> Staged[Case]:
        """Draw a company, and put one expense report with all that is in its way into it."""
        return stage(seed, profile, overrides)

    def rubric(self, case: Case, company: Company) -> TaskRubric:
        """Return the rubric of an expense report."""
        return build_rubric(case, company)


def stage(seed: int, profile: Profile, overrides: Mapping[str, float]) -> Staged[Case]:
    """Draw a company, and put one expense report with all that is in its way into it."""
    stream = Stream(NAME, seed)
    chances = draw_chances(stream, profile, overrides, applicable=APPLICABLE, always=ALWAYS)
    kinds = chances.kinds
    world = generate_world(stream.child("world"))
    act_for(world, stream.child("agent"), FINANCE)
    report = add_report(world, stream.child("report"), kinds, must_refuse=chances.must_refuse)
    rules = add_rules(world, stream.child("rules"), report, kinds)
    add_approval_type(world, stream.child("type"), report, rules.policy)
    chain = add_deciders(world, stream.child("chain"), report, kinds)
    subject, words = report.records[0].id, texts()["decisions"]
    plan_reactions(world, stream.child("reactions"), type_key=TYPE_KEY, subject=subject, words=words, kinds=kinds)
    entry = add_entry(
        world, stream.child("desk"), entry_plan(world, report, kinds), priority=rules.priority, kinds=kinds
    )
    add_promise(world, stream.child("promise"), report, entry.ticket)
    plan_receipt(world, stream.child("receipt"), report)
    finish_world(world)
    case = Case(
        **entry.facts(world, kinds, rules.priority),
        approver_ids=chain.approver_ids,
        refusal=_refusal(report, rules.policy),
        shape=report.papers,
        record_ids=tuple(record.id for record in report.records),
        owner_id=report.owner.id,
        amount_cents=report.amount_cents,
        role=report.role,
        holder_id=world.staff.lead(report.owner.team_id).id if report.role is Role.TEAM_LEAD else None,
        receipt_total_cents=report.receipt_total_cents,
        has_receipts=report.papers is not Papers.PER_DIEM,
        policy_id=rules.policy.policy_id,
        paid_twin_id=report.paid_twin_id,
        kinds=kinds,
    )
    brief = draw_brief(texts(), stream.child("brief"), case.ticket_key)
    return Staged(world, case, brief, injections(profile, kinds, _entities(case, chain, kinds)))


def _refusal(report: Report, policy: PolicyRow) -> Refusal | None:
    if report.ground is None:
        return None
    if report.ground is Ground.DUPLICATE:
        assert report.paid_twin_id is not None
        return Refusal(report.ground.value, (report.paid_twin_id,))
    return Refusal(report.ground.value, (policy.policy_id, policy.id))


def _entities(case: Case, chain: Chain, kinds: Collection[Kind]) -> dict[Kind, str]:
    on_report = {kind: case.record_ids[0] for kind in kinds if kind.group is Group.PEOPLE}
    own = {
        Kind.SIMILAR_NAMES: case.record_ids[0],
        Kind.SUPERSEDED_POLICY: case.policy_id,
        Kind.APPROVER_OUT_OF_OFFICE: case.role.value,
    }
    return dict.fromkeys(kinds, case.ticket_key) | on_report | own | chain.dead_ends


SCENARIO = ExpenseReport()
