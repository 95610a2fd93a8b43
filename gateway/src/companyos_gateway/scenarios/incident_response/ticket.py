"""The ticket of an incident, the approval type of an emergency change, and who decides for the CTO."""

from __future__ import annotations

from collections.abc import Collection

from companyos_gateway.chaos import Kind
from companyos_gateway.rubrics.cases import Reading
from companyos_gateway.scenarios.incident_response.case import METRIC_KEY, TYPE_KEY
from companyos_gateway.scenarios.incident_response.outage import Outage, texts
from companyos_gateway.scenarios.incident_response.reports import TAGS, TEAM, words_of
from companyos_gateway.scenarios.parts.deciders import (
    Chain,
    Deciding,
    add_chain,
    field_spec,
    leads_and_finance,
    put_type,
)
from companyos_gateway.scenarios.parts.entry import EntryPlan
from companyos_gateway.world.approvals import EXPIRES_AFTER_MINUTES
from companyos_gateway.world.documents.approvalflow import ApprovalTypeRow, FieldSpecRow, ThresholdRow
from companyos_gateway.world.documents.datahub import PolicyRow
from companyos_gateway.world.draft import World
from companyos_shared.streams import Stream
from companyos_shared.wire.company import Role

DUE_IN_WORKING_DAYS = (8, 11)


def entry_plan(world: World, outage: Outage) -> EntryPlan:
    """Return how the ticket looks; its due day is what was promised for incidents."""
    words = texts()

    def fill(stream: Stream, text: str) -> str:
        return text.format(service=outage.service, person=stream.choice(world.staff.active()).name)

    return EntryPlan(
        team_id=TEAM,
        titles=[title.format(service=outage.service) for title in words["titles"]],
        describe=lambda stream: words_of(world, stream, outage),
        fill=fill,
        words=words,
        double_texts=words["asks"],
        tags=list(TAGS),
        double_tags=["question"],
        type="incident",
        due_in=DUE_IN_WORKING_DAYS,
        statuses=("open",),
    )


def add_approval_type(world: World, policy: PolicyRow, rate: Reading) -> None:
    """Add the approval type."""
    put_type(
        world,
        ApprovalTypeRow(
            key=TYPE_KEY,
            title="Emergency change",
            description="A change is taken back outside the calendar. The subject is the key of the incident ticket.",
            policy_ref=policy.policy_id,
            fields=[
                field_spec("service", "text", "The service that fails."),
                field_spec("cause_key", "text", "Key of the change that caused it."),
                field_spec(METRIC_KEY, "number", "Error rate of the service in percent, by the authoritative source."),
                FieldSpecRow(
                    name="measured_at",
                    type="datetime",
                    required=True,
                    description="When the rate was true.",
                    max_age_minutes=int(rate.max_age.total_seconds()) // 60,
                ),
            ],
            amount_field=None,
            thresholds=[ThresholdRow(up_to_cents=None, role=Role.CTO.value)],
            expires_after_minutes=EXPIRES_AFTER_MINUTES,
        ),
    )


def add_cto(world: World, stream: Stream, kinds: Collection[Kind]) -> Chain:
    """Add who stands in for the CTO."""
    deciding = Deciding(
        type_key=TYPE_KEY,
        role=Role.CTO,
        holder_ids=[world.staff.holders(Role.CTO)[0].id],
        amount_cents=0,
        bench=leads_and_finance(world),
        other_types=["access_grant", "purchase_order"],
    )
    return add_chain(world, stream, deciding, kinds)
