"""The audited policy, its approval type, the approvers of escalations, and reasons to refuse."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import date

from companyos_gateway.chaos import Kind
from companyos_gateway.scenarios.audit_remediation.case import Breach, RefusalGround
from companyos_gateway.scenarios.audit_remediation.documents import AuditedRequests, texts
from companyos_gateway.scenarios.blocks.approvers import (
    ApproverChain,
    DecisionSpec,
    add_approver_chain,
    field_spec,
    leads_and_finance,
    replace_approval_type,
)
from companyos_gateway.scenarios.blocks.documents import ApprovalSubject, add_document
from companyos_gateway.scenarios.blocks.pending_requests import EXPIRES_AFTER_MINUTES
from companyos_gateway.scenarios.blocks.policy_versions import (
    PRIORITIES,
    PolicyParameters,
    add_policy_versions,
    draw_other_priority,
    draw_priority_limits,
)
from companyos_gateway.world.builder import WorldBuilder
from companyos_gateway.world.calendar import working_days_from
from companyos_gateway.world.records import rounded_amount
from companyos_gateway.world.seed_documents.approvalflow import ApprovalTypeRow, ThresholdRow
from companyos_gateway.world.seed_documents.datahub import PolicyRow
from companyos_gateway.world.seed_documents.ticketdesk import Priority
from companyos_shared.streams import Stream
from companyos_shared.wire.company import Role

ORDERING_ROLES = (Role.FINANCE_CONTROLLER, Role.SECURITY_LEAD, Role.LEGAL_COUNSEL)
STEPS = 20
"""Into how many steps the total is cut, of which limits of priorities are multiples."""


@dataclass(frozen=True)
class PolicyTerms:
    """The policy version in force, the priority that it asks for, and who orders audits by it."""

    policy: PolicyRow
    priority: Priority
    ordering_role: Role


def add_policy(
    world: WorldBuilder, stream: Stream, audited_requests: AuditedRequests, kinds: Collection[Kind]
) -> PolicyTerms:
    """Add the policy; by earlier versions a request that is in order broke it, and the priority was another."""
    priority = stream.choice(PRIORITIES)
    ordering_role = stream.choice(ORDERING_ROLES)
    words = texts()["policy"]
    policy = add_policy_versions(
        world,
        stream,
        titles=words["titles"][audited_requests.audited.type_key],
        topic=audited_requests.audited.topic,
        body=lambda _figures: str(words["body"]),
        in_force=_figures(stream, audited_requests, priority, ordering_role, ceiling=audited_requests.limits.ceiling),
        superseded=lambda own: _figures(
            own,
            audited_requests,
            draw_other_priority(own, priority),
            own.choice(ORDERING_ROLES),
            ceiling=_lower(own, audited_requests),
        ),
        kinds=kinds,
    )
    return PolicyTerms(policy, priority, ordering_role)


def add_approval_types(
    world: WorldBuilder, audited_requests: AuditedRequests, policy: PolicyRow, kinds: Collection[Kind]
) -> None:
    """Add the audited type, and the one that is nearly called the same."""
    for audited in (
        audited_requests.audited,
        *([audited_requests.audited.lookalike()] if Kind.SIMILAR_NAMES in kinds else []),
    ):
        replace_approval_type(world, _type(audited, audited_requests, policy), keep_requests=True)


def add_approvers(
    world: WorldBuilder, stream: Stream, audited_requests: AuditedRequests, kinds: Collection[Kind]
) -> ApproverChain:
    """Add who decides about what is escalated, which nobody of them has asked for."""
    decision_spec = DecisionSpec(
        type_key=audited_requests.audited.type_key,
        role=audited_requests.role,
        holder_ids=[audited_requests.holder_id],
        amount_cents=audited_requests.escalated_cents,
        deputy_candidates=leads_and_finance(world) - audited_requests.wrong_ids,
        other_types=["access_grant", "document_publication"],
    )
    chain = add_approver_chain(world, stream, decision_spec, kinds)
    _replace_requesters(world, stream, audited_requests, exclude=chain.approver_ids)
    return chain


def _replace_requesters(
    world: WorldBuilder, stream: Stream, audited_requests: AuditedRequests, *, exclude: Collection[str]
) -> None:
    """Put somebody else in the place of those who would decide about what they have asked for."""
    for row, breach in audited_requests.breaches_found:
        if breach is Breach.WRONG_HANDS and row.requester_id in exclude:
            taken = {*exclude, *audited_requests.wrong_ids, world.agent_id}
            row.requester_id = stream.choice(
                [one.id for one in world.staff.active() if not one.roles and one.id not in taken]
            )
            next(record for record in world.datahub.records if record.id == row.subject).owner_id = row.requester_id


def add_holds_and_reports(world: WorldBuilder, stream: Stream, audited_requests: AuditedRequests) -> str | None:
    """Add holds and reports; return the id of the one that stands against the audit, where one does."""
    type_key, words = audited_requests.audited.type_key, texts()["papers"]
    other_key = "expense_report"
    is_held, is_done = (
        audited_requests.ground is RefusalGround.HELD,
        audited_requests.ground is RefusalGround.DONE_BEFORE,
    )
    elsewhere = stream.chance(0.5)
    hold = add_document(
        world,
        stream,
        title=words["hold"],
        state="published" if is_held or elsewhere else "archived",
        fields={"document_type": "legal_hold", "approval_type": type_key if is_held or not elsewhere else other_key},
    )
    earlier = working_days_from(audited_requests.first_day, -stream.integer(3, 20))
    first_day: date = audited_requests.first_day if is_done else earlier
    report = add_document(
        world,
        stream,
        title=words["report"],
        state="published",
        fields={"document_type": "audit_report", "approval_type": type_key, "first_day": first_day.isoformat()},
    )
    if audited_requests.ground is None or audited_requests.ground is RefusalGround.NOT_ORDERED:
        return None
    return hold.id if is_held else report.id


def reporter(
    world: WorldBuilder, stream: Stream, policy_terms: PolicyTerms, ground: RefusalGround | None, *, exclude: str
) -> str:
    """Draw who has ordered the audit: a holder of the role that the policy names, unless that is the ground."""
    holders = [one.id for one in world.staff.holders(policy_terms.ordering_role)]
    if ground is not RefusalGround.NOT_ORDERED:
        return stream.choice(holders)
    return stream.choice([one.id for one in world.staff.active() if one.id not in {*holders, exclude}])


def _type(audited: ApprovalSubject, audited_requests: AuditedRequests, policy: PolicyRow) -> ApprovalTypeRow:
    return ApprovalTypeRow(
        key=audited.type_key,
        title=audited.title,
        description=texts()["type"],
        policy_ref=policy.policy_id,
        fields=[
            field_spec(audited.id_field, "text", "ID of the record."),
            field_spec("amount_cents", "integer", "Amount in cents."),
        ],
        amount_field="amount_cents",
        thresholds=[
            ThresholdRow(up_to_cents=audited_requests.limits.lead_limit, role=Role.PROCUREMENT_LEAD.value),
            ThresholdRow(up_to_cents=None, role=Role.CFO.value),
        ],
        expires_after_minutes=EXPIRES_AFTER_MINUTES,
    )


def _figures(
    stream: Stream, audited_requests: AuditedRequests, level: Priority, role: Role, *, ceiling: int
) -> PolicyParameters:
    total = audited_requests.total_cents
    medium, high, critical = draw_priority_limits(stream, total, level, step=total // STEPS // 500 * 500)
    return {
        "ceiling_cents": ceiling,
        "ticket_from_cents": audited_requests.limits.ticket_from,
        "ordering_role": role.value,
        "medium_from_cents": medium,
        "high_from_cents": high,
        "critical_from_cents": critical,
    }


def _lower(stream: Stream, audited_requests: AuditedRequests) -> int:
    """Draw a ceiling below the largest amount that breaks nothing."""
    return rounded_amount(stream, audited_requests.limits.lead_limit + 500, audited_requests.near_cents - 500)
