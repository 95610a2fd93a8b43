"""The generator of sweeps of a backlog."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from companyos_gateway.chaos import Kind, Profile
from companyos_gateway.chaos.kinds import ASKED_FOR, Group
from companyos_gateway.rubrics import TaskRubric
from companyos_gateway.rubrics.cases import Refusal
from companyos_gateway.scenarios.backlog_triage.case import NAME, Case, Ground, Shape
from companyos_gateway.scenarios.backlog_triage.queue import Queue, add_queue, draw_scale, texts
from companyos_gateway.scenarios.backlog_triage.rubric import build_rubric
from companyos_gateway.scenarios.backlog_triage.rules import (
    add_asset_cards,
    add_rules,
    goals_of,
    keep_some_in_office,
    most_urgent,
)
from companyos_gateway.scenarios.backlog_triage.ticket import TEAMS, add_other_sweep, entry_plan, order_by
from companyos_gateway.scenarios.parts.entry import add_entry
from companyos_gateway.scenarios.parts.staging import (
    Staged,
    StagedScenario,
    act_for,
    data_and_people,
    draw_chances,
    injections,
)
from companyos_gateway.scenarios.parts.tools import DESK_TOOLS, PEOPLE_TOOLS, POLICY_TOOLS
from companyos_gateway.scenarios.parts.words import draw_brief
from companyos_gateway.world import finish_world, generate_world
from companyos_shared.streams import Stream
from companyos_shared.wire.company import Company

ALWAYS = (Kind.MISSING_PRIORITY, Kind.DUPLICATE_TICKET)
MEANINGLESS = (
    Kind.STALE_METRIC,
    Kind.CONFLICTING_SOURCES,
    Kind.FAILED_PIPELINE,
    Kind.EXPIRED_CERTIFICATE,
    *(kind for kind in Kind if kind.group is Group.PEOPLE),
)
"""Nothing is measured and nobody is asked for an approval."""

APPLICABLE = data_and_people(without=MEANINGLESS)
FILE_TOOLS = ("datahub_search_records", "datahub_get_record")
DISTRACTORS = (
    "ticketdesk_create_ticket",
    "datahub_update_record",
    "datahub_report_data_issue",
    "approvalflow_list_approval_types",
    "approvalflow_submit_approval",
)


class BacklogTriage(StagedScenario[Case]):
    """Sweep a backlog by the policy: triage, priorities, assignees and duplicates of all tickets under a tag."""

    name = NAME
    max_steps = 200
    held_out = frozenset({Shape.LEAD.value})
    asked_for = ASKED_FOR
    tools = (*DESK_TOOLS, "ticketdesk_link_tickets", *FILE_TOOLS, *PEOPLE_TOOLS, *POLICY_TOOLS, *DISTRACTORS)
    distractors = DISTRACTORS

    def stage(self, seed: int, profile: Profile, overrides: Mapping[str, float]) -> Staged[Case]:
        """Draw a company, and put one sweep with all that is in its way into it."""
        return stage(seed, profile, overrides)

    def rubric(self, case: Case, company: Company) -> TaskRubric:
        """Return the rubric of a sweep."""
        return build_rubric(case, company)


def stage(seed: int, profile: Profile, overrides: Mapping[str, float]) -> Staged[Case]:
    """Draw a company, and put one sweep with all that is in its way into it."""
    stream = Stream(NAME, seed)
    chances = draw_chances(stream, profile, overrides, applicable=APPLICABLE, always=ALWAYS)
    kinds, own = chances.kinds, stream.child("sweep")
    world = generate_world(stream.child("world"))
    team_id, shape, ground = own.choice(TEAMS), own.choice(list(Shape)), own.choice(list(Ground))
    refused = ground if chances.must_refuse else None
    act_for(world, stream.child("agent"), team_id)
    keep_some_in_office(world, stream.child("office"), team_id)
    scale = draw_scale(stream.child("scale"))
    queue = add_queue(world, stream.child("queue"), team_id, scale, kinds=kinds, ground=refused)
    owners = add_asset_cards(world, stream.child("owners"), queue) if shape is Shape.OWNERS else {}
    rules = add_rules(world, stream.child("rules"), queue, scale, shape=shape, ground=refused, kinds=kinds)
    other_key = add_other_sweep(world, stream.child("other"), queue, is_same=refused is Ground.TWICE)
    priority, plan = most_urgent(queue, rules), entry_plan(world, queue)
    entry = add_entry(world, stream.child("desk"), plan, priority=priority, kinds=kinds)
    ordered_by = order_by(world, stream.child("order"), entry, ground=refused)
    goals = () if refused else goals_of(world, queue, rules, shape=shape, owners=owners)
    finish_world(world)
    policy = rules.policy
    references = {
        Ground.TOO_FEW: (policy.policy_id, policy.id),
        Ground.NOT_ORDERED: (ordered_by,),
        Ground.TWICE: (other_key,),
    }
    case = Case(
        **entry.facts(world, kinds, priority),
        approver_ids=(),
        refusal=Refusal(refused.value, references[refused]) if refused else None,
        shape=shape,
        ground=refused,
        tag=queue.tag,
        goals=goals,
        most_each=rules.most_each,
        ordered_by=ordered_by,
        sweep_key=other_key,
        policy_id=policy.policy_id,
        kinds=kinds,
    )
    brief = draw_brief(texts(), stream.child("brief"), case.ticket_key)
    return Staged(world, case, brief, injections(profile, kinds, _entities(case, queue, kinds)))


def _entities(case: Case, queue: Queue, kinds: Collection[Kind]) -> dict[Kind, str]:
    own = {Kind.SUPERSEDED_POLICY: case.policy_id}
    if queue.look_alike is not None:
        own[Kind.SIMILAR_NAMES] = queue.look_alike.ticket.key
    return dict.fromkeys(kinds, case.ticket_key) | own


SCENARIO = BacklogTriage()
