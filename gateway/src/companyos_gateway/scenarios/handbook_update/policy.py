"""The publication policy, its approval type, and HR's approvers."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from companyos_gateway.chaos import Kind
from companyos_gateway.scenarios.blocks.approvers import (
    ApproverChain,
    DecisionSpec,
    add_approver_chain,
    field_spec,
    replace_approval_type,
)
from companyos_gateway.scenarios.blocks.policy_versions import (
    PRIORITIES,
    PolicyParameters,
    add_policy_versions,
    draw_other_priority,
    draw_priority_limits,
)
from companyos_gateway.scenarios.handbook_update.case import TYPE_KEY, RefusalGround
from companyos_gateway.scenarios.handbook_update.documents import CLASSES, READERS, PageDraft, texts
from companyos_gateway.world.approvals import EXPIRES_AFTER_MINUTES
from companyos_gateway.world.builder import WorldBuilder
from companyos_gateway.world.people import EXECUTIVE
from companyos_gateway.world.seed_documents.approvalflow import ApprovalTypeRow, ThresholdRow
from companyos_gateway.world.seed_documents.datahub import PolicyRow
from companyos_gateway.world.seed_documents.ticketdesk import Priority
from companyos_shared.streams import Stream
from companyos_shared.wire.company import Role

TOPIC = "handbook"
STEP = 5
"""Limits of readers are multiples of this."""


@dataclass(frozen=True)
class PolicyTerms:
    """The policy version in force, and the priority that it asks for."""

    policy: PolicyRow
    priority: Priority


def add_policy(world: WorldBuilder, stream: Stream, page: PageDraft, kinds: Collection[Kind]) -> PolicyTerms:
    """Add the policy; earlier versions ask for another priority and another consent."""
    priority = stream.choice(PRIORITIES)
    needs_consent = page.ground is RefusalGround.NO_CONSENT or (page.ground is None and stream.chance(0.5))
    if needs_consent and page.ground is not RefusalGround.NO_CONSENT:
        page.draft.fields["consent_ref"] = f"WC-{stream.integer(100, 999)}"
    policy = add_policy_versions(
        world,
        stream,
        titles=texts()["policy"]["titles"],
        topic=TOPIC,
        body=lambda _figures: str(texts()["policy"]["body"]),
        in_force=_figures(stream, page, priority, needs_consent=needs_consent),
        superseded=lambda own: _figures(own, page, draw_other_priority(own, priority), needs_consent=not needs_consent),
        kinds=kinds,
    )
    return PolicyTerms(policy, priority)


def add_approval_type(world: WorldBuilder, policy: PolicyRow) -> None:
    """Add the approval type; it wants to know which version of which policy the page quotes."""
    replace_approval_type(
        world,
        ApprovalTypeRow(
            key=TYPE_KEY,
            title="Document publication",
            description="Publication of a handbook page. The subject is the document ID.",
            policy_ref=policy.policy_id,
            fields=[
                field_spec("document_id", "text", "ID of the document."),
                field_spec("revision", "integer", "Revision to be published."),
                field_spec("policy_id", "text", "ID of the policy that the page quotes."),
                field_spec("policy_version", "integer", "Version of that policy that the page matches."),
            ],
            amount_field=None,
            thresholds=[ThresholdRow(up_to_cents=None, role=Role.HR_LEAD.value)],
            expires_after_minutes=EXPIRES_AFTER_MINUTES,
        ),
    )


def add_hr_lead(world: WorldBuilder, stream: Stream, kinds: Collection[Kind]) -> ApproverChain:
    """Add who stands in for the HR lead: heads of other departments."""
    heads = {world.staff.lead(team.id).id for team in world.staff.teams if team.id != EXECUTIVE}
    decision_spec = DecisionSpec(
        type_key=TYPE_KEY,
        role=Role.HR_LEAD,
        holder_ids=[world.staff.holders(Role.HR_LEAD)[0].id],
        amount_cents=0,
        deputy_candidates=heads,
        other_types=["access_grant", "contract_renewal"],
    )
    return add_approver_chain(world, stream, decision_spec, kinds)


def _figures(stream: Stream, page: PageDraft, level: Priority, *, needs_consent: bool) -> PolicyParameters:
    medium, high, critical = draw_priority_limits(stream, page.readers, level, step=STEP)
    low, top = READERS
    consent_from = (
        stream.integer(low // 2, page.readers) if needs_consent else stream.integer(page.readers + 1, top + 50)
    )
    return {
        "medium_from_readers": medium,
        "high_from_readers": high,
        "critical_from_readers": critical,
        "publishable_class": CLASSES[0],
        "consent_from_readers": consent_from,
    }
