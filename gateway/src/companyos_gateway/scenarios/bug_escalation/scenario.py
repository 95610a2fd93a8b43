"""The generator of bug escalations."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from companyos_gateway.chaos import Kind, Profile
from companyos_gateway.chaos.kinds import ASKED_FOR, Group
from companyos_gateway.rubrics import TaskRubric
from companyos_gateway.rubrics.cases import Refusal
from companyos_gateway.scenarios.bug_escalation.case import METRIC_KEY, NAME, REASON_CODE, TYPE_KEY, Case, Shape
from companyos_gateway.scenarios.bug_escalation.faults import (
    add_other_rate,
    add_rate,
    add_rules,
    add_runbook,
    choose_authority,
    draw_fault,
    texts,
)
from companyos_gateway.scenarios.bug_escalation.rubric import build_rubric
from companyos_gateway.scenarios.bug_escalation.ticket import TEAM, add_approval_type, add_cto, entry_plan
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
from companyos_gateway.scenarios.parts.tools import APPROVAL_TOOLS, DESK_TOOLS, METRIC_TOOLS, PEOPLE_TOOLS, POLICY_TOOLS
from companyos_gateway.scenarios.parts.words import draw_brief
from companyos_gateway.world import finish_world, generate_world
from companyos_shared.streams import Stream
from companyos_shared.wire.company import Company, Role

ALWAYS = (Kind.BLOCKED_TICKET, Kind.MISSING_ASSIGNEE, Kind.STALE_METRIC)
APPLICABLE = data_and_people(without=(Kind.EXPIRED_CERTIFICATE, Kind.SIMILAR_NAMES, Kind.LIMIT_TOO_LOW), also=ASKED_FOR)
FILE_TOOLS = ("datahub_search_records", "datahub_get_record")
DISTRACTORS = (
    "datahub_update_record",
    "datahub_report_data_issue",
    "ticketdesk_create_ticket",
    "ticketdesk_link_tickets",
    "approvalflow_create_delegation",
    "approvalflow_withdraw_approval",
)


class BugEscalation(StagedScenario[Case]):
    """Escalate a bug by the policy: clear its way, an engineer on it, a fresh error rate, the CTO's yes, into work."""

    name = NAME
    held_out = frozenset({Shape.CHAIN.value})
    asked_for = ASKED_FOR - {Kind.PUT_ON_HOLD}
    max_steps = 130
    distractors = DISTRACTORS
    tools = DESK_TOOLS + METRIC_TOOLS + FILE_TOOLS + PEOPLE_TOOLS + POLICY_TOOLS + APPROVAL_TOOLS + DISTRACTORS

    def stage(self, seed: int, profile: Profile, overrides: Mapping[str, float]) -> Staged[Case]:
        """Draw a company, and put one bug escalation with all that is in its way into it."""
        return stage(seed, profile, overrides)

    def rubric(self, case: Case, company: Company) -> TaskRubric:
        """Return the rubric of a bug escalation."""
        return build_rubric(case, company)


def stage(seed: int, profile: Profile, overrides: Mapping[str, float]) -> Staged[Case]:
    """Draw a company, and put one bug escalation with all that is in its way into it."""
    stream = Stream(NAME, seed)
    chances = draw_chances(stream, profile, overrides, applicable=APPLICABLE, always=ALWAYS)
    kinds = chances.kinds
    world = generate_world(stream.child("world"))
    act_for(world, stream.child("agent"), TEAM)
    fault = draw_fault(world, stream.child("fault"), must_refuse=chances.must_refuse)
    rules = add_rules(world, stream.child("rules"), fault, kinds)
    sources = choose_authority(world, stream.child("sources"))
    rate = add_rate(world, stream.child("rate"), fault, sources, kinds)
    other_rate = add_other_rate(world, stream.child("other"), fault, sources)
    runbook_id = add_runbook(world, stream.child("runbook"), fault)
    add_approval_type(world, fault, rules.policy, rate)
    chain = add_cto(world, stream.child("chain"), kinds)
    plan = entry_plan(world, fault)
    entry = add_entry(world, stream.child("desk"), plan, priority=rules.priority, kinds=kinds)
    key, words = entry.ticket.key, texts()["decisions"]
    plan_reactions(world, stream.child("reactions"), type_key=TYPE_KEY, subject=key, words=words, kinds=kinds)
    finish_world(world)
    policy = rules.policy
    case = Case(
        **entry.facts(world, kinds, rules.priority),
        approver_ids=chain.approver_ids,
        refusal=Refusal(REASON_CODE, (policy.policy_id, policy.id)) if fault.must_refuse else None,
        end_status="in_progress",
        shape=fault.shape,
        service=fault.service,
        rate=rate,
        other_rate=other_rate,
        runbook_id=runbook_id,
        lowest_rate=fault.bar,
        policy_id=policy.policy_id,
        kinds=kinds,
    )
    brief = draw_brief(texts(), stream.child("brief"), case.ticket_key)
    return Staged(world, case, brief, injections(profile, kinds, _entities(case, chain, kinds)))


def _entities(case: Case, chain: Chain, kinds: Collection[Kind]) -> dict[Kind, str]:
    people = {kind: case.ticket_key for kind in kinds if kind.group is Group.PEOPLE}
    own = {
        Kind.STALE_METRIC: case.rate.metric_id,
        Kind.FAILED_PIPELINE: case.rate.source_id,
        Kind.CONFLICTING_SOURCES: METRIC_KEY,
        Kind.SUPERSEDED_POLICY: case.policy_id,
        Kind.APPROVER_OUT_OF_OFFICE: Role.CTO.value,
    }
    return dict.fromkeys(kinds, case.ticket_key) | people | own | chain.dead_ends


SCENARIO = BugEscalation()
