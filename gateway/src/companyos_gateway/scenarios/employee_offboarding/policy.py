"""The offboarding policy, approvers of the leaver's pending requests, and reasons to refuse."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from companyos_gateway.chaos import Kind
from companyos_gateway.scenarios.blocks.approvers import (
    ApproverChain,
    DecisionSpec,
    add_approver_chain,
    leads_and_finance,
)
from companyos_gateway.scenarios.blocks.documents import add_document
from companyos_gateway.scenarios.blocks.policy_versions import (
    PRIORITIES,
    PolicyParameters,
    add_policy_versions,
    draw_other_priority,
    draw_priority_limits,
)
from companyos_gateway.scenarios.employee_offboarding.case import TYPE_KEY, RefusalGround
from companyos_gateway.scenarios.employee_offboarding.documents import ADMIN, WRITE, Leaver, texts
from companyos_gateway.world.builder import WorldBuilder
from companyos_gateway.world.seed_documents.datahub import PolicyRow
from companyos_gateway.world.seed_documents.ticketdesk import Priority
from companyos_shared.streams import Stream
from companyos_shared.wire.company import Role

TOPIC = "offboarding"
STEP_DAYS = 10
LEAD_FROM: tuple[Priority, ...] = ("medium", "high", "critical")


@dataclass(frozen=True)
class PolicyTerms:
    """The policy version in force, the priority that it asks for, and from which on a lead takes a ticket."""

    policy: PolicyRow
    priority: Priority
    lead_from: Priority

    def goes_to_lead(self, level: Priority | None) -> bool:
        """Say whether a ticket of that priority is handed to the team's lead."""
        return level is not None and PRIORITIES.index(level) >= PRIORITIES.index(self.lead_from)


def add_policy(
    world: WorldBuilder, stream: Stream, leaver: Leaver, kinds: Collection[Kind], *, is_write_revoked: bool
) -> PolicyTerms:
    """Add the policy; earlier versions ask for another priority and treat access to write otherwise."""
    priority, lead_from = stream.choice(PRIORITIES), stream.choice(LEAD_FROM)
    words = texts()["policy"]
    policy = add_policy_versions(
        world,
        stream,
        titles=words["titles"],
        topic=TOPIC,
        body=lambda _figures: str(words["body"]),
        in_force=_figures(stream, leaver, priority, lead_from, is_write_revoked=is_write_revoked),
        superseded=lambda own: _figures(
            own,
            leaver,
            draw_other_priority(own, priority),
            own.choice(LEAD_FROM),
            is_write_revoked=not is_write_revoked,
        ),
        kinds=kinds,
    )
    return PolicyTerms(policy, priority, lead_from)


def add_approvers(
    world: WorldBuilder, stream: Stream, leaver: Leaver, role: Role, amounts: Sequence[int], kinds: Collection[Kind]
) -> ApproverChain:
    """Add who decides instead of the leaver."""
    kept = {leaver.person.id, world.staff.lead(leaver.person.team_id).id}
    decision_spec = DecisionSpec(
        type_key=TYPE_KEY,
        role=role,
        holder_ids=[world.staff.holders(role)[0].id],
        amount_cents=max(amounts),
        deputy_candidates=leads_and_finance(world) - kept,
        other_types=["access_grant", "document_publication"],
    )
    return add_approver_chain(world, stream, decision_spec, kinds)


def add_hold_and_exit_record(world: WorldBuilder, stream: Stream, leaver: Leaver) -> str | None:
    """Add a hold and an exit record; return the id of the one that speaks against the offboarding, where one does."""
    words, person_id = texts()["papers"], leaver.person.id
    others = [one.id for one in world.staff.people if one.id != person_id and not one.roles]
    is_held, is_done = leaver.ground is RefusalGround.HELD, leaver.ground is RefusalGround.DONE_BEFORE
    is_over = stream.chance(0.5) and not is_held
    hold = add_document(
        world,
        stream,
        title=words["hold"],
        state="archived" if is_over else "published",
        fields={"document_type": "legal_hold", "person_id": person_id if is_held or is_over else stream.choice(others)},
    )
    exit_record = add_document(
        world,
        stream,
        title=words["exit_record"],
        state="published" if is_done else "draft",
        fields={"document_type": "exit_record", "person_id": person_id},
        team_id="people",
    )
    if is_held:
        return hold.id
    return exit_record.id if is_done else None


def _figures(
    stream: Stream, leaver: Leaver, level: Priority, lead_from: Priority, *, is_write_revoked: bool
) -> PolicyParameters:
    medium, high, critical = draw_priority_limits(stream, leaver.tenure_days, level, step=STEP_DAYS)
    return {
        "lead_from_priority": lead_from,
        "revoked_levels": ", ".join((ADMIN, WRITE) if is_write_revoked else (ADMIN,)),
        "medium_from_days": medium,
        "high_from_days": high,
        "critical_from_days": critical,
    }
