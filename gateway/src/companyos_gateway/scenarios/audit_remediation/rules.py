"""What the audited policy says, its approval type, who decides about what is escalated, and what speaks against it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import date

from companyos_gateway.chaos import Kind
from companyos_gateway.scenarios.audit_remediation.case import Breach, Ground
from companyos_gateway.scenarios.audit_remediation.stack import Stack, texts
from companyos_gateway.scenarios.parts.deciders import (
    Chain,
    Deciding,
    add_chain,
    field_spec,
    leads_and_finance,
    put_type,
)
from companyos_gateway.scenarios.parts.papers import add_paper
from companyos_gateway.scenarios.parts.rulebook import LADDER, Figures, add_versions, amount_limits, other_level
from companyos_gateway.scenarios.parts.subjects import Subjects
from companyos_gateway.scenarios.parts.waiting import EXPIRES_AFTER_MINUTES
from companyos_gateway.world.calendar import working_days_from
from companyos_gateway.world.documents.approvalflow import ApprovalTypeRow, ThresholdRow
from companyos_gateway.world.documents.datahub import PolicyRow
from companyos_gateway.world.documents.ticketdesk import Priority
from companyos_gateway.world.draft import World
from companyos_gateway.world.records import rounded_amount
from companyos_shared.streams import Stream
from companyos_shared.wire.company import Role

ORDERING_ROLES = (Role.FINANCE_CONTROLLER, Role.SECURITY_LEAD, Role.LEGAL_COUNSEL)
STEPS = 20
"""Into how many steps the total is cut, of which limits of priorities are multiples."""


@dataclass(frozen=True)
class Rules:
    """The policy version in force, the priority that it asks for, and who orders audits by it."""

    policy: PolicyRow
    priority: Priority
    ordering_role: Role


def add_rules(world: World, stream: Stream, stack: Stack, kinds: Collection[Kind]) -> Rules:
    """Add the policy; by earlier versions a request that is in order broke it, and the priority was another."""
    priority = stream.choice(LADDER)
    ordering_role = stream.choice(ORDERING_ROLES)
    words = texts()["policy"]
    policy = add_versions(
        world,
        stream,
        titles=words["titles"][stack.audited.type_key],
        topic=stack.audited.topic,
        body=lambda _figures: str(words["body"]),
        in_force=_figures(stream, stack, priority, ordering_role, ceiling=stack.limits.ceiling),
        superseded=lambda own: _figures(
            own, stack, other_level(own, priority), own.choice(ORDERING_ROLES), ceiling=_lower(own, stack)
        ),
        kinds=kinds,
    )
    return Rules(policy, priority, ordering_role)


def add_approval_types(world: World, stack: Stack, policy: PolicyRow, kinds: Collection[Kind]) -> None:
    """Add the audited type, and the one that is nearly called the same."""
    for audited in (stack.audited, *([stack.audited.twin()] if Kind.SIMILAR_NAMES in kinds else [])):
        put_type(world, _type(audited, stack, policy))


def add_deciders(world: World, stream: Stream, stack: Stack, kinds: Collection[Kind]) -> Chain:
    """Add who decides about what is escalated, which nobody of them has asked for."""
    deciding = Deciding(
        type_key=stack.audited.type_key,
        role=stack.role,
        holder_ids=[stack.holder_id],
        amount_cents=stack.escalated_cents,
        bench=leads_and_finance(world) - stack.wrong_ids,
        other_types=["access_grant", "document_publication"],
    )
    chain = add_chain(world, stream, deciding, kinds)
    _let_others_ask(world, stream, stack, but=chain.approver_ids)
    return chain


def _let_others_ask(world: World, stream: Stream, stack: Stack, *, but: Collection[str]) -> None:
    """Put somebody else in the place of those who would decide about what they have asked for."""
    for row, breach in stack.broken:
        if breach is Breach.WRONG_HANDS and row.requester_id in but:
            taken = {*but, *stack.wrong_ids, world.agent_id}
            row.requester_id = stream.choice(
                [one.id for one in world.staff.active() if not one.roles and one.id not in taken]
            )
            next(record for record in world.hub.records if record.id == row.subject).owner_id = row.requester_id


def add_papers(world: World, stream: Stream, stack: Stack) -> str | None:
    """Add holds and reports; return the id of the one that stands against the audit, where one does."""
    type_key, words = stack.audited.type_key, texts()["papers"]
    other_key = "expense_report"
    is_held, is_done = stack.ground is Ground.HELD, stack.ground is Ground.DONE_BEFORE
    elsewhere = stream.chance(0.5)
    hold = add_paper(
        world,
        stream,
        title=words["hold"],
        state="published" if is_held or elsewhere else "archived",
        fields={"document_type": "legal_hold", "approval_type": type_key if is_held or not elsewhere else other_key},
    )
    earlier = working_days_from(stack.first_day, -stream.integer(3, 20))
    first_day: date = stack.first_day if is_done else earlier
    report = add_paper(
        world,
        stream,
        title=words["report"],
        state="published",
        fields={"document_type": "audit_report", "approval_type": type_key, "first_day": first_day.isoformat()},
    )
    if stack.ground is None or stack.ground is Ground.NOT_ORDERED:
        return None
    return hold.id if is_held else report.id


def reporter(world: World, stream: Stream, rules: Rules, ground: Ground | None, *, but: str) -> str:
    """Draw who has ordered the audit: a holder of the role that the policy names, unless that is the ground."""
    holders = [one.id for one in world.staff.holders(rules.ordering_role)]
    if ground is not Ground.NOT_ORDERED:
        return stream.choice(holders)
    return stream.choice([one.id for one in world.staff.active() if one.id not in {*holders, but}])


def _type(audited: Subjects, stack: Stack, policy: PolicyRow) -> ApprovalTypeRow:
    return ApprovalTypeRow(
        key=audited.type_key,
        title=audited.title,
        description=texts()["type"],
        policy_ref=policy.policy_id,
        fields=[
            field_spec(audited.id_field, "text", "Id of the record."),
            field_spec("amount_cents", "integer", "Amount in cents."),
        ],
        amount_field="amount_cents",
        thresholds=[
            ThresholdRow(up_to_cents=stack.limits.lead_limit, role=Role.PROCUREMENT_LEAD.value),
            ThresholdRow(up_to_cents=None, role=Role.CFO.value),
        ],
        expires_after_minutes=EXPIRES_AFTER_MINUTES,
    )


def _figures(stream: Stream, stack: Stack, level: Priority, role: Role, *, ceiling: int) -> Figures:
    total = stack.total_cents
    medium, high, critical = amount_limits(stream, total, level, step=total // STEPS // 500 * 500)
    return {
        "ceiling_cents": ceiling,
        "ticket_from_cents": stack.limits.ticket_from,
        "ordering_role": role.value,
        "medium_from_cents": medium,
        "high_from_cents": high,
        "critical_from_cents": critical,
    }


def _lower(stream: Stream, stack: Stack) -> int:
    """Draw a ceiling below the largest amount that breaks nothing."""
    return rounded_amount(stream, stack.limits.lead_limit + 500, stack.near_cents - 500)
