"""The generator of data discrepancies."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from companyos_gateway.chaos import Kind
from companyos_gateway.chaos.kinds import Group
from companyos_gateway.evaluation import TaskRubric
from companyos_gateway.evaluation.cases import Refusal
from companyos_gateway.scenarios.blocks.ticket import TicketPlan, add_task_ticket
from companyos_gateway.scenarios.blocks.ticket_scenario import (
    BuildContext,
    TicketScenario,
    buildable_kinds,
)
from companyos_gateway.scenarios.blocks.tools import (
    METRIC_TOOLS,
    PEOPLE_TOOLS,
    POLICY_TOOLS,
    RECORD_TOOLS,
    TICKET_TOOLS,
)
from companyos_gateway.scenarios.data_discrepancy.case import NAME, Case, RefusalGround, Variant
from companyos_gateway.scenarios.data_discrepancy.documents import Discrepancy, add_discrepancy, texts
from companyos_gateway.scenarios.data_discrepancy.policy import add_policy
from companyos_gateway.scenarios.data_discrepancy.rubric import build_rubric
from companyos_gateway.world import finish_world
from companyos_gateway.world.builder import WorldBuilder
from companyos_gateway.world.seed_documents.datahub import PolicyRow
from companyos_shared.streams import Stream
from companyos_shared.wire.company import Company

NOT_APPLICABLE = (Kind.EXPIRED_CERTIFICATE, *(kind for kind in Kind if kind.group is Group.PEOPLE))
"""Nobody decides about a correction, and it does not matter what papers a vendor has."""

TEAM = "data"
ALWAYS = (Kind.MISSING_PRIORITY, Kind.STALE_METRIC)
DISTRACTORS = (
    "datahub_update_vendor",
    "datahub_get_metric_history",
    "ticketdesk_create_ticket",
    "approvalflow_list_approvals",
)


class DataDiscrepancy(TicketScenario[Case]):
    """Settle what sources disagree about: find the authority, report who is wrong, correct what was filed with it."""

    name = NAME
    texts = staticmethod(texts)
    team = TEAM
    always = ALWAYS
    applicable = buildable_kinds(exclude=NOT_APPLICABLE)
    max_steps = 120
    tools = (
        *TICKET_TOOLS,
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

    def add_task(self, context: BuildContext) -> tuple[Case, Mapping[Kind, str]]:
        """Put one discrepancy and the obstacles drawn for it into the company."""
        world, stream, kinds = context.world, context.stream, context.kinds
        found = add_discrepancy(world, stream.child("discrepancy"), kinds, must_refuse=context.must_refuse)
        policy_terms = add_policy(world, stream.child("rules"), found, kinds)
        plan = ticket_plan(world, found, kinds)
        task_ticket = add_task_ticket(world, stream.child("desk"), plan, priority=policy_terms.priority, kinds=kinds)
        finish_world(world)
        case = Case(
            **task_ticket.case_fields(world, kinds, policy_terms.priority),
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
        return case, dict.fromkeys(kinds, case.ticket_key) | _struck_entities(case)

    def rubric(self, case: Case, company: Company) -> TaskRubric:
        """Return the rubric of a discrepancy."""
        return build_rubric(case, company)


def _refusal(found: Discrepancy, policy: PolicyRow) -> Refusal | None:
    if found.ground is None:
        return None
    if found.ground is RefusalGround.NO_AUTHORITY:
        return Refusal(found.ground.value, (policy.policy_id, policy.id))
    return Refusal(found.ground.value, tuple(record.id for record in found.records))


def _struck_entities(case: Case) -> dict[Kind, str]:
    return {
        Kind.STALE_METRIC: case.figure.spec.metric_id,
        Kind.FAILED_PIPELINE: case.figure.spec.source_id,
        Kind.CONFLICTING_SOURCES: case.figure.key,
        Kind.SUPERSEDED_POLICY: case.policy_id,
        Kind.SIMILAR_NAMES: case.vendor_id,
    }


SCENARIO = DataDiscrepancy()


def ticket_plan(world: WorldBuilder, found: Discrepancy, kinds: Collection[Kind]) -> TicketPlan:
    """Return how the ticket looks."""
    words, vendor = texts(), found.vendor
    what = words["topic"][found.topic.key]

    def fill(stream: Stream, text: str) -> str:
        person = stream.choice(world.staff.active()).name
        return text.format(what=what, vendor=vendor.legal_name, vendor_id=vendor.id, person=person)

    def describe(stream: Stream) -> str:
        by = "name" if Kind.SIMILAR_NAMES in kinds else stream.choice(["id", "name"])
        return fill(stream, stream.choice(words["citations"][by]))

    return TicketPlan(
        team_id=TEAM,
        titles=[title.format(what=what) for title in words["titles"]],
        describe=describe,
        fill=fill,
        words=words,
        duplicate_texts=words["citations"]["name"],
        tags=["data quality"],
        duplicate_tags=["data quality"],
        type="bug",
    )
