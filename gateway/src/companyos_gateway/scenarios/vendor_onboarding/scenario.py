"""The generator of vendor onboardings."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from companyos_gateway.chaos import FaultPlan, Injection, Kind, Profile, draw_kinds, profile_for
from companyos_gateway.chaos.kinds import Group
from companyos_gateway.scenarios.scenario import Instance, source_id
from companyos_gateway.scenarios.vendor_onboarding.approvers import (
    Chain,
    add_approval_type,
    add_chain,
    plan_reactions,
)
from companyos_gateway.scenarios.vendor_onboarding.brief import draw_brief
from companyos_gateway.scenarios.vendor_onboarding.case import METRIC_KEY, NAME, Blocker, Case
from companyos_gateway.scenarios.vendor_onboarding.desk import Entry, able_assignees, add_entry
from companyos_gateway.scenarios.vendor_onboarding.papers import Papers, add_papers, add_score
from companyos_gateway.scenarios.vendor_onboarding.rubric import build_rubric
from companyos_gateway.scenarios.vendor_onboarding.rulebook import add_rulebook
from companyos_gateway.world import World, finish_world, generate_world
from companyos_shared.streams import Stream, digest

MAX_STEPS = 120
REFUSALS = 1 / 8
"""Share of instances that must be refused, from REFUSALS_FROM on."""

REFUSALS_FROM = 2
ALWAYS = (Kind.MISSING_PRIORITY, Kind.STALE_METRIC, Kind.APPROVER_OUT_OF_OFFICE)
APPLICABLE = tuple(kind for kind in Kind if kind.group is not Group.TRANSPORT)
TASK_TOOLS = (
    "ticketdesk_list_tickets",
    "ticketdesk_search_tickets",
    "ticketdesk_get_ticket",
    "ticketdesk_update_ticket",
    "ticketdesk_transition_ticket",
    "ticketdesk_assign_ticket",
    "ticketdesk_verify_ticket",
    "ticketdesk_complete_checklist_item",
    "ticketdesk_add_comment",
    "ticketdesk_list_comments",
    "ticketdesk_unlink_tickets",
    "ticketdesk_link_approval",
    "datahub_query_metric",
    "datahub_refresh_metric",
    "datahub_get_refresh_job",
    "datahub_get_source",
    "datahub_search_records",
    "datahub_get_record",
    "datahub_get_vendor",
    "datahub_search_people",
    "datahub_get_person",
    "datahub_get_approver",
    "datahub_get_calendar",
    "datahub_search_policies",
    "datahub_get_policy",
    "approvalflow_list_approval_types",
    "approvalflow_get_approval_type",
    "approvalflow_list_delegations",
    "approvalflow_submit_approval",
    "approvalflow_get_approval",
    "approvalflow_list_approvals",
    "approvalflow_provide_information",
)
DISTRACTORS = (
    "ticketdesk_create_ticket",
    "ticketdesk_link_tickets",
    "datahub_update_vendor",
    "datahub_update_record",
    "datahub_report_data_issue",
    "approvalflow_create_delegation",
    "approvalflow_withdraw_approval",
)
"""Tools that are offered with the task's own and are not needed for it."""


@dataclass(frozen=True)
class Staged:
    """A world with an onboarding in it, and the facts of the onboarding."""

    world: World
    case: Case
    brief: str
    injections: tuple[Injection, ...]


class VendorOnboarding:
    """Onboard a vendor by the policy: triage and verify its ticket, read its score fresh, get the approval, resolve."""

    name = NAME

    def plan(self, seed: int, chaos: int, overrides: Mapping[str, float] | None = None) -> Instance:
        """Plan the instance of a seed and level. Raises ChaosError for a level or overrides that do not fit."""
        profile, overrides = profile_for(chaos), overrides or {}
        faults = FaultPlan.of(profile, overrides, NAME, seed)
        staged = stage(seed, profile, overrides)
        world, case = staged.world, staged.case
        documents = world.documents(draw_seed=digest([NAME, seed]))
        return Instance(
            scenario=NAME,
            seed=seed,
            chaos=chaos,
            brief=staged.brief,
            company_name=world.company_name,
            acting_as=world.agent_id,
            started_at=world.started_at,
            max_steps=MAX_STEPS,
            documents=documents,
            source_ids={name: source_id(name, document) for name, document in documents.items()},
            task_tools=TASK_TOOLS + DISTRACTORS,
            faults=faults,
            rubric=build_rubric(case, world.company()),
            injections=staged.injections + _transport(profile, faults),
        )


def stage(seed: int, profile: Profile, overrides: Mapping[str, float]) -> Staged:
    """Draw a company, and put one onboarding with all that is in its way into it."""
    stream = Stream(NAME, seed)
    kinds = draw_kinds(profile, overrides, stream.child("chaos"), applicable=APPLICABLE, always=ALWAYS)
    must_refuse = stream.child("outcome").chance(REFUSALS) and profile.level >= REFUSALS_FROM
    world = generate_world(stream.child("world"))
    papers = add_papers(world, stream.child("papers"), kinds)
    rules = add_rulebook(world, stream.child("rulebook"), papers, kinds)
    score = add_score(world, stream.child("score"), papers, rules.minimum_score, must_refuse=must_refuse, kinds=kinds)
    has_risk_tier = add_approval_type(world, stream.child("type"), rules.policy, score)
    chain = add_chain(world, stream.child("chain"), papers, kinds)
    plan_reactions(world, stream.child("reactions"), vendor_id=papers.vendor.id, kinds=kinds)
    entry = add_entry(world, stream.child("desk"), papers, priority=rules.priority, kinds=kinds)
    finish_world(world)
    ticket = entry.ticket
    case = Case(
        agent_id=world.agent_id,
        ticket_key=ticket.key,
        team_id=ticket.team_id,
        due_on=entry.due_on,
        open_items=_open_items(world, ticket.key),
        first_status=ticket.status,
        needs_priority=ticket.priority is None,
        needs_assignee=not kinds.isdisjoint({Kind.MISSING_ASSIGNEE, Kind.DEPARTED_ASSIGNEE}),
        assignee_ids=able_assignees(world, ticket.team_id, entry.due_on),
        priority=rules.priority,
        vendor_id=papers.vendor.id,
        contract_id=papers.contract.id,
        fixed_fields=_fixed_fields(papers, has_risk_tier=has_risk_tier),
        policy_id=rules.policy.policy_id,
        policy_version=rules.policy.version,
        minimum_score=rules.minimum_score,
        score=score,
        approver_ids=chain.approver_ids,
        blocker=_blocker(entry),
        must_refuse=must_refuse,
        kinds=kinds,
    )
    return Staged(world, case, draw_brief(stream.child("brief"), ticket.key), _injections(profile, case, chain))


def _open_items(world: World, key: str) -> tuple[str, ...]:
    items = world.desk.checklist_items
    return tuple(item.id for item in items if item.ticket_key == key and item.done_at is None)


def _fixed_fields(papers: Papers, *, has_risk_tier: bool) -> dict[str, str | int]:
    fields: dict[str, str | int] = {
        "vendor_id": papers.vendor.id,
        "contract_id": papers.contract.id,
        "amount_cents": papers.amount_cents,
    }
    return {**fields, "risk_tier": papers.vendor.risk_tier} if has_risk_tier else fields


def _blocker(entry: Entry) -> Blocker | None:
    if entry.block is None or entry.way is None:
        return None
    return Blocker(key=entry.block.from_key, link_id=entry.block.id, way=entry.way, free_at=entry.free_at)


def _injections(profile: Profile, case: Case, chain: Chain) -> tuple[Injection, ...]:
    """Return what was made to go wrong with data and people, with the entity it struck."""
    struck = _entities(case, chain, case.kinds)
    return tuple(Injection(kind, profile.mark(kind), struck[kind]) for kind in Kind if kind in case.kinds)


def _transport(profile: Profile, faults: FaultPlan) -> tuple[Injection, ...]:
    """Return what may go wrong on the wire, by service."""
    return tuple(
        Injection(kind, profile.mark(kind), service, {"rate": rate})
        for service, rates in faults.rates.items()
        for kind, rate in rates.items()
    )


def _entities(case: Case, chain: Chain, kinds: Collection[Kind]) -> dict[Kind, str]:
    of_papers = {
        Kind.STALE_METRIC: case.score.metric_id,
        Kind.FAILED_PIPELINE: case.score.source_id,
        Kind.CONFLICTING_SOURCES: METRIC_KEY,
        Kind.SUPERSEDED_POLICY: case.policy_id,
        Kind.APPROVER_OUT_OF_OFFICE: "cfo",
    }
    on_vendor = {kind: case.vendor_id for kind in kinds if kind.group is Group.PEOPLE}
    on_vendor |= dict.fromkeys((Kind.SIMILAR_NAMES, Kind.EXPIRED_CERTIFICATE), case.vendor_id)
    return dict.fromkeys(kinds, case.ticket_key) | on_vendor | of_papers | chain.dead_ends


SCENARIO = VendorOnboarding()
