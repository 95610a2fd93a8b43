"""The generator of data discrepancies."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from companyos_gateway.chaos import Kind, Profile
from companyos_gateway.chaos.kinds import Group
from companyos_gateway.rubrics import TaskRubric
from companyos_gateway.rubrics.cases import Refusal
from companyos_gateway.scenarios.data_discrepancy.case import NAME, Case, RefusalGround, Variant
from companyos_gateway.scenarios.data_discrepancy.documents import Discrepancy, add_discrepancy, texts
from companyos_gateway.scenarios.data_discrepancy.policy import add_policy
from companyos_gateway.scenarios.data_discrepancy.rubric import build_rubric
from companyos_gateway.scenarios.parts.entry import EntryPlan, add_entry
from companyos_gateway.scenarios.parts.staging import (
    Staged,
    StagedScenario,
    act_for,
    data_and_people,
    draw_chances,
    injections,
)
from companyos_gateway.scenarios.parts.tools import (
    DESK_TOOLS,
    METRIC_TOOLS,
    PEOPLE_TOOLS,
    POLICY_TOOLS,
    RECORD_TOOLS,
)
from companyos_gateway.scenarios.parts.words import draw_brief
from companyos_gateway.world import finish_world, generate_world
from companyos_gateway.world.documents.datahub import PolicyRow
from companyos_gateway.world.draft import World
from companyos_shared.streams import Stream
from companyos_shared.wire.company import Company

NOT_APPLICABLE = (Kind.EXPIRED_CERTIFICATE, *(kind for kind in Kind if kind.group is Group.PEOPLE))
"""Nobody decides about a correction, and it does not matter what papers a vendor has."""

ALWAYS = (Kind.MISSING_PRIORITY, Kind.STALE_METRIC)
DISTRACTORS = (
    "datahub_update_vendor",
    "datahub_get_metric_history",
    "ticketdesk_create_ticket",
    "approvalflow_list_approvals",
)


class DataDiscrepancy(StagedScenario[Case]):
    """Settle what sources disagree about: find the authority, report who is wrong, correct what was filed with it."""

    name = NAME
    max_steps = 120
    tools = (
        *DESK_TOOLS,
        *METRIC_TOOLS,
        "datahub_list_metrics",
        *RECORD_TOOLS,
        "datahub_get_vendor",
        *PEOPLE_TOOLS,
        *POLICY_TOOLS,
        "datahub_report_data_issue",
        *DISTRACTORS,
    )
    distractors = DISTRACTORS
    held_out = frozenset({Variant.SEVERAL_DERIVED.value})

    def build(self, seed: int, profile: Profile, overrides: Mapping[str, float]) -> Staged[Case]:
        """Draw a company, and put one discrepancy with all that is in its way into it."""
        return build(seed, profile, overrides)

    def rubric(self, case: Case, company: Company) -> TaskRubric:
        """Return the rubric of a discrepancy."""
        return build_rubric(case, company)


def build(seed: int, profile: Profile, overrides: Mapping[str, float]) -> Staged[Case]:
    """Draw a company, and put one discrepancy with all that is in its way into it."""
    stream = Stream(NAME, seed)
    applicable = data_and_people(without=NOT_APPLICABLE)
    chances = draw_chances(stream, profile, overrides, applicable=applicable, always=ALWAYS)
    kinds = chances.kinds
    world = generate_world(stream.child("world"))
    act_for(world, stream.child("agent"), TEAM)
    found = add_discrepancy(world, stream.child("discrepancy"), kinds, must_refuse=chances.must_refuse)
    policy_terms = add_policy(world, stream.child("rules"), found, kinds)
    plan = ticket_plan(world, found, kinds)
    entry = add_entry(world, stream.child("desk"), plan, priority=policy_terms.priority, kinds=kinds)
    finish_world(world)
    case = Case(
        **entry.facts(world, kinds, policy_terms.priority),
        approver_ids=(),
        refusal=_refusal(found, policy_terms.policy),
        variant=found.variant,
        ground=found.ground,
        vendor_id=found.vendor.id,
        figure=found.figure,
        wrong_metric_id=found.wrong_metric_id,
        metric_ids=found.metric_ids,
        measuring_ids=found.measuring_ids,
        corrections=found.corrections,
        record_ids=tuple(record.id for record in found.records),
        policy_id=policy_terms.policy.policy_id,
        kinds=kinds,
    )
    brief = draw_brief(texts(), stream.child("brief"), case.ticket_key)
    return Staged(
        world, case, brief, injections(profile, kinds, dict.fromkeys(kinds, case.ticket_key) | _struck_entities(case))
    )


def _refusal(found: Discrepancy, policy: PolicyRow) -> Refusal | None:
    if found.ground is None:
        return None
    if found.ground is RefusalGround.NO_AUTHORITY:
        return Refusal(found.ground.value, (policy.policy_id, policy.id))
    return Refusal(found.ground.value, tuple(record.id for record in found.records))


def _struck_entities(case: Case) -> dict[Kind, str]:
    return {
        Kind.STALE_METRIC: case.figure.reading.metric_id,
        Kind.FAILED_PIPELINE: case.figure.reading.source_id,
        Kind.CONFLICTING_SOURCES: case.figure.key,
        Kind.SUPERSEDED_POLICY: case.policy_id,
        Kind.SIMILAR_NAMES: case.vendor_id,
    }


SCENARIO = DataDiscrepancy()


TEAM = "data"


def ticket_plan(world: World, found: Discrepancy, kinds: Collection[Kind]) -> EntryPlan:
    """Return how the ticket looks."""
    words, vendor = texts(), found.vendor
    what = words["topic"][found.topic.key]

    def fill(stream: Stream, text: str) -> str:
        person = stream.choice(world.staff.active()).name
        return text.format(what=what, vendor=vendor.legal_name, vendor_id=vendor.id, person=person)

    def describe(stream: Stream) -> str:
        by = "name" if Kind.SIMILAR_NAMES in kinds else stream.choice(["id", "name"])
        return fill(stream, stream.choice(words["citations"][by]))

    return EntryPlan(
        team_id=TEAM,
        titles=[title.format(what=what) for title in words["titles"]],
        describe=describe,
        fill=fill,
        words=words,
        double_texts=words["citations"]["name"],
        tags=["data quality"],
        double_tags=["data quality"],
        type="bug",
    )
