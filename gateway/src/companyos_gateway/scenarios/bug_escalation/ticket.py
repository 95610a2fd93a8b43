"""The ticket of a bug, the approval type of its escalation, and who decides for the CTO."""

from __future__ import annotations

from collections.abc import Collection

from companyos_gateway.chaos import Kind
from companyos_gateway.rubrics.cases import Reading
from companyos_gateway.scenarios.bug_escalation.case import METRIC_KEY, TYPE_KEY, Shape
from companyos_gateway.scenarios.bug_escalation.faults import Fault, texts
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

TEAM = "platform"


def entry_plan(world: World, fault: Fault) -> EntryPlan:
    """Return how the ticket looks; it is open as long as nobody has decided."""
    words = texts()
    named = [fault.service, *([fault.other] if fault.other else [])]

    def fill(stream: Stream, text: str) -> str:
        return text.format(
            service=fault.service,
            services=" and ".join(f'"{name}"' for name in stream.shuffled(named)),
            person=stream.choice(world.staff.active()).name,
        )

    def describe(stream: Stream) -> str:
        return fill(stream, stream.choice(words["citations"]["chain" if fault.other else "plain"]))

    symptoms = [symptom.format(service=fault.service) for symptom in words["symptoms"]]
    return EntryPlan(
        team_id=TEAM,
        titles=[title.format(symptom=symptom) for title in words["titles"] for symptom in symptoms],
        describe=describe,
        fill=fill,
        words=words,
        double_texts=words["citations"]["plain"],
        tags=["bug", "production"],
        double_tags=["bug"],
        type="bug",
        statuses=("open",),
    )


def add_approval_type(world: World, fault: Fault, policy: PolicyRow, rate: Reading) -> None:
    """Add the approval type."""
    specs = [
        field_spec("service", "text", "The service that is escalated."),
        field_spec(METRIC_KEY, "number", "Its error rate in percent, by the authoritative source."),
        FieldSpecRow(
            name="measured_at",
            type="datetime",
            required=True,
            description="When the rate was true.",
            max_age_minutes=int(rate.max_age.total_seconds()) // 60,
        ),
    ]
    if fault.shape is Shape.RUNBOOK:
        specs.append(field_spec("runbook_id", "text", "Id of the service's runbook."))
    put_type(
        world,
        ApprovalTypeRow(
            key=TYPE_KEY,
            title="Escalation of a bug",
            description="Engineers drop other work for a bug. The subject is the ticket's key.",
            policy_ref=policy.policy_id,
            fields=specs,
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
