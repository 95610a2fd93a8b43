"""The expense policy, its approvers and its approval type."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from companyos_gateway.chaos import Kind
from companyos_gateway.scenarios.blocks.approvers import (
    DEAD_END_KINDS,
    ApproverChain,
    DecisionSpec,
    add_approver_chain,
    field_spec,
    leads_and_finance,
    members_without_role,
    replace_approval_type,
)
from companyos_gateway.scenarios.blocks.policy_versions import (
    PRIORITIES,
    PolicyParameters,
    add_policy_versions,
    draw_other_priority,
    draw_priority_limits,
)
from companyos_gateway.scenarios.expense_report.case import TYPE_KEY, RefusalGround, Variant
from companyos_gateway.scenarios.expense_report.documents import PERSONAL, UNITS, Report, texts
from companyos_gateway.world.approvals import EXPIRES_AFTER_MINUTES
from companyos_gateway.world.builder import WorldBuilder
from companyos_gateway.world.people import FINANCE
from companyos_gateway.world.records import rounded_amount
from companyos_gateway.world.seed_documents.approvalflow import ApprovalTypeRow, ThresholdRow
from companyos_gateway.world.seed_documents.datahub import PolicyRow
from companyos_gateway.world.seed_documents.ticketdesk import Priority
from companyos_shared.streams import Stream
from companyos_shared.wire.company import Role

TOPIC = "expenses"
STEPS_CENTS = {Role.TEAM_LEAD: 2_000, Role.FINANCE_CONTROLLER: 10_000, Role.CFO: 50_000}
"""The limits of priorities are multiples of these, by the role that decides."""

RECEIPT_FROM_CENTS = (1_500, 9_000)
LIMITS_CENTS = {"lodging": (9_000, 24_000), "meal": (3_000, 9_000)}


@dataclass(frozen=True)
class PolicyTerms:
    """The policy version in force, and the priority that it asks for."""

    policy: PolicyRow
    priority: Priority


def add_policy(world: WorldBuilder, stream: Stream, report: Report, kinds: Collection[Kind]) -> PolicyTerms:
    """Add the policy; earlier versions ask for another priority and draw the limit on the other side of the report."""
    priority = stream.choice(PRIORITIES)
    figures = _figures(stream, report, priority, is_over=report.ground is RefusalGround.OVER_LIMIT)
    policy = add_policy_versions(
        world,
        stream,
        titles=texts()["policy"]["titles"],
        topic=TOPIC,
        body=lambda _figures: str(texts()["policy"]["body"]),
        in_force=figures,
        superseded=lambda own: _figures(
            own, report, draw_other_priority(own, priority), is_over=report.ground is not RefusalGround.OVER_LIMIT
        ),
        kinds=kinds,
    )
    return PolicyTerms(policy, priority)


def add_approval_type(world: WorldBuilder, stream: Stream, report: Report, policy: PolicyRow) -> None:
    """Add the approval type, whose limits put the whole report, and no part of it alone, before the deciding role."""
    whole = report.amount_cents
    largest_part = max(record.amount_cents or 0 for record in report.records)
    below = (largest_part, whole - 500) if report.papers is Variant.SPLIT else (whole // 2, whole - 500)
    manager_limit, controller_limit = _limits(stream, report.role, whole, below)
    replace_approval_type(
        world,
        ApprovalTypeRow(
            key=TYPE_KEY,
            title="Expense report",
            description="Reimbursement of what an employee has paid. The subject is the ID of the first record.",
            policy_ref=policy.policy_id,
            fields=[
                field_spec("expense_id", "text", "ID of the first expense record."),
                field_spec("amount_cents", "integer", "Amount of the whole report, in cents."),
                field_spec("has_receipts", "boolean", "Whether receipts are attached to the expense records."),
                field_spec("records", "integer", "Number of expense records in the report."),
            ],
            amount_field="amount_cents",
            thresholds=[
                ThresholdRow(up_to_cents=manager_limit, role=Role.TEAM_LEAD.value),
                ThresholdRow(up_to_cents=controller_limit, role=Role.FINANCE_CONTROLLER.value),
                ThresholdRow(up_to_cents=None, role=Role.CFO.value),
            ],
            expires_after_minutes=EXPIRES_AFTER_MINUTES,
        ),
    )


def add_approvers(world: WorldBuilder, stream: Stream, report: Report, kinds: Collection[Kind]) -> ApproverChain:
    """Add who decides: the employee's manager, a finance controller or the CFO.

    Colleagues stand in for a manager, and where they are too few, other leads.
    """
    manager_id = world.staff.lead(report.owner.team_id).id
    is_manager = report.role is Role.TEAM_LEAD
    holders = [manager_id] if is_manager else sorted(one.id for one in world.staff.holders(report.role))
    deputy_candidates = (
        members_without_role(world, FINANCE, report.owner.team_id, "procurement")
        if is_manager
        else leads_and_finance(world)
    )
    deputy_candidates -= {report.owner.id, world.agent_id, *holders}
    if len(deputy_candidates) <= len({*DEAD_END_KINDS, Kind.APPROVER_LEAVES}.intersection(kinds)):
        deputy_candidates |= leads_and_finance(world) - {report.owner.id}
    decision_spec = DecisionSpec(
        type_key=TYPE_KEY,
        role=report.role,
        holder_ids=holders,
        amount_cents=report.amount_cents,
        deputy_candidates=deputy_candidates,
        other_types=["purchase_order", "contract_renewal"],
    )
    return add_approver_chain(world, stream, decision_spec, kinds)


def _limits(stream: Stream, role: Role, whole: int, below: tuple[int, int]) -> tuple[int, int]:
    """Draw up to where the manager and up to where a controller decides."""
    above = rounded_amount(stream, whole, whole * 2)
    under = rounded_amount(stream, *below)
    if role is Role.TEAM_LEAD:
        return above, above * stream.integer(3, 6)
    if role is Role.FINANCE_CONTROLLER:
        return under, above
    return max(500, under // stream.integer(4, 8) // 500 * 500), under


def _figures(stream: Stream, report: Report, level: Priority, *, is_over: bool) -> PolicyParameters:
    """Draw the figures of a version: the priority of the report, and its category's limit below or above it."""
    medium, high, critical = draw_priority_limits(stream, report.amount_cents, level, step=STEPS_CENTS[report.role])
    limits = {name: 100 * stream.integer(low // 100, high_ // 100) for name, (low, high_) in LIMITS_CENTS.items()}
    if report.category in UNITS:
        each = report.amount_cents // report.units
        share = stream.integer(60, 90) if is_over else stream.integer(105, 160)
        limits[report.category] = max(100, each * share // 100 // 100 * 100 + (0 if is_over else 100))
    names = [report.category] if report.ground is RefusalGround.PERSONAL else []
    others = [name for name in PERSONAL if name != report.category]
    figures: dict[str, Any] = {
        "medium_from_cents": medium,
        "high_from_cents": high,
        "critical_from_cents": critical,
        "receipt_from_cents": rounded_amount(stream, *RECEIPT_FROM_CENTS),
        "lodging_limit_cents": limits["lodging"],
        "meal_limit_cents": limits["meal"],
        "not_repaid": ", ".join(sorted([*names, *stream.sample(others, 2)])),
    }
    return figures
