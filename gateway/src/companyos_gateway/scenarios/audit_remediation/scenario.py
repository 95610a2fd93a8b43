"""Audits: requests that break the policy are cancelled or escalated, and all others stay as they are."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from companyos_gateway.chaos import Kind
from companyos_gateway.evaluation.cases import Refusal
from companyos_gateway.evaluation.entity_goals import EntityGoals, RequestCancelled
from companyos_gateway.evaluation.facts import person_shown, record_shown
from companyos_gateway.evaluation.outcome import Escalation, Outcome
from companyos_gateway.scenarios.audit_remediation.documents import (
    ORDERING_ROLES,
    Audit,
    Breach,
    RefusalGround,
    RequestStack,
    Variant,
    draw_audit,
)
from companyos_gateway.scenarios.blocks.approvers import (
    ApproverChain,
    DecisionSpec,
    add_approver_chain,
    field_spec,
    leads_and_finance,
    replace_approval_type,
    struck_people,
)
from companyos_gateway.scenarios.blocks.declared_scenario import DeclaredScenario, Solution, policy_refs
from companyos_gateway.scenarios.blocks.documents import ApprovalSubject, add_document
from companyos_gateway.scenarios.blocks.pending_requests import EXPIRES_AFTER_MINUTES
from companyos_gateway.scenarios.blocks.policy_versions import PolicyParameters, draw_priority_limits
from companyos_gateway.scenarios.blocks.ticket_scenario import DECISION_KINDS, METRIC_KINDS, buildable_kinds
from companyos_gateway.scenarios.blocks.tools import PEOPLE_TOOLS, POLICY_TOOLS, RECORD_TOOLS, TICKET_TOOLS
from companyos_gateway.world.builder import KeySlot, WorldBuilder
from companyos_gateway.world.calendar import working_days_from
from companyos_gateway.world.records import rounded_amount
from companyos_gateway.world.seed_documents.approvalflow import ApprovalTypeRow, ThresholdRow
from companyos_gateway.world.seed_documents.datahub import PolicyRow
from companyos_gateway.world.seed_documents.ticketdesk import Priority
from companyos_shared.streams import Stream
from companyos_shared.wire.company import Role

PRIORITY_STEPS = 20
"""Limits of priorities are multiples of this fraction of the total."""


class AuditRemediation(DeclaredScenario[Audit]):
    """Remedy approvals that break the policy: cancel or escalate each for its reason, leave every other alone."""

    name, team, max_steps = "audit_remediation", "security", 150
    tags, duplicate_tags = ("audit",), ("audit", "approvals")
    held_out = frozenset({Variant.EVERYTHING.value})
    always = (Kind.MISSING_PRIORITY, Kind.APPROVER_OUT_OF_OFFICE)
    opt_in_kinds = frozenset[Kind]()
    applicable = buildable_kinds(exclude=(*METRIC_KINDS, *DECISION_KINDS, Kind.EXPIRED_CERTIFICATE))
    distractors = (
        "ticketdesk_create_ticket",
        "datahub_report_data_issue",
        "approvalflow_submit_approval",
        "approvalflow_withdraw_approval",
        "approvalflow_revoke_delegation",
    )
    tools = (
        *TICKET_TOOLS,
        *RECORD_TOOLS,
        *PEOPLE_TOOLS,
        *POLICY_TOOLS,
        "approvalflow_list_approval_types",
        "approvalflow_get_approval_type",
        "approvalflow_list_delegations",
        "approvalflow_get_approval",
        "approvalflow_list_approvals",
        "approvalflow_cancel_approval",
        "approvalflow_escalate_approval",
        "approvalflow_add_approval_note",
        *distractors,
    )

    def draw(self, world: WorldBuilder, stream: Stream, kinds: Collection[Kind], *, must_refuse: bool) -> Audit:
        """Draw the audit and file its requests."""
        audit = draw_audit(stream, world.today, must_refuse=must_refuse)
        stack = RequestStack(world, stream, audit, self.texts())
        return replace(audit, breaches=stack.file(kinds), wrong_ids=frozenset(stack.wrong_ids))

    def slots(self, facts: Audit) -> Mapping[str, str]:
        """Name the approval type and the first day."""
        return {"title": facts.audited.title, "first_day": facts.first_day.isoformat()}

    def duplicate_texts(self, facts: Audit) -> Sequence[str]:
        """Return questions about requests of the type."""
        texts: Sequence[str] = self.texts()["double"]["texts"]
        return texts

    def reporter_id(self, facts: Audit) -> str:
        """Return who ordered the audit."""
        return facts.reporter_id

    def policy_head(self, facts: Audit) -> tuple[Sequence[str], str]:
        """Return the titles and the topic of the audited type's policy."""
        return self.texts()["policy"]["titles"][facts.audited.type_key], facts.audited.topic

    def figures(self, facts: Audit, stream: Stream, priority: Priority, *, in_force: bool) -> PolicyParameters:
        """Draw the limits and the ordering role; under another version a request that breaks nothing breaks it."""
        total = sum(facts.amounts(*Breach))
        step = total // PRIORITY_STEPS // 500 * 500
        medium, high, critical = draw_priority_limits(stream, total, priority, step=step)
        lower_ceiling = rounded_amount(stream, facts.lead_limit_cents + 500, facts.near_cents - 500)
        return {
            "ceiling_cents": facts.ceiling_cents if in_force else lower_ceiling,
            "ticket_from_cents": facts.ticket_from_cents,
            "ordering_role": (facts.ordering_role if in_force else stream.choice(ORDERING_ROLES)).value,
            "medium_from_cents": medium,
            "high_from_cents": high,
            "critical_from_cents": critical,
        }

    def complete(
        self,
        world: WorldBuilder,
        stream: Stream,
        facts: Audit,
        policy: PolicyRow,
        slot: KeySlot,
        kinds: Collection[Kind],
    ) -> Audit:
        """Add the approval types, who decides about escalated requests, the documents and the reporter."""
        for one in (facts.audited, *([facts.audited.lookalike()] if Kind.SIMILAR_NAMES in kinds else [])):
            replace_approval_type(world, self._approval_type(one, facts, policy), keep_requests=True)
        chain = _add_approvers(world, stream.child("approvers"), facts, kinds)
        ground_id = self._add_documents(world, stream.child("documents"), facts)
        holder_ids = {one.id for one in world.staff.holders(facts.ordering_role)}
        is_ordered = facts.ground is not RefusalGround.NOT_ORDERED
        present = [one.id for one in world.present(slot.created_at.date()) if one.id != world.agent_id]
        reporters = sorted(holder_ids) if is_ordered else [one for one in present if one not in holder_ids]
        return replace(facts, chain=chain, ground_id=ground_id, reporter_id=stream.choice(reporters))

    def solution(self, facts: Audit, policy: PolicyRow, ticket_key: str) -> Solution:
        """Remedy every request that breaks the policy, or refuse and change none."""
        refs, role = policy_refs(policy), facts.role
        cancelled = [
            RequestCancelled(row.id, Refusal(breach.value, refs))
            for row, breach in facts.breaches
            if breach is not Breach.WRONG_HANDS
        ]
        escalated = [
            Escalation(
                request_id=row.id,
                type_key=row.type_key,
                role=role,
                amount_cents=int(row.fields["amount_cents"]),
                references=refs,
            )
            for row, breach in facts.breaches
            if breach is Breach.WRONG_HANDS
        ]
        struck = struck_people(facts.chain, role.value, role.value) | {Kind.SIMILAR_NAMES: facts.audited.type_key}
        fact = record_shown(facts.ground_id) if facts.ground_id else person_shown(facts.reporter_id)
        refused = Outcome(facts=(fact,), subjects=(facts.ground_id,) if facts.ground_id else ())
        done = Outcome(prepared=(EntityGoals("requests_cancelled", cancelled),), escalated=tuple(escalated))
        return Solution(
            variant=facts.variant,
            outcome=refused if facts.ground else done,
            refusal=Refusal(facts.ground.value, (facts.ground_id or facts.reporter_id,)) if facts.ground else None,
            approver_ids=facts.chain.approver_ids,
            struck=struck,
        )

    def _approval_type(self, audited: ApprovalSubject, facts: Audit, policy: PolicyRow) -> ApprovalTypeRow:
        return ApprovalTypeRow(
            key=audited.type_key,
            title=audited.title,
            description=self.texts()["type"],
            policy_ref=policy.policy_id,
            fields=[
                field_spec(audited.id_field, "text", "ID of the record."),
                field_spec("amount_cents", "integer", "Amount in cents."),
            ],
            amount_field="amount_cents",
            thresholds=[
                ThresholdRow(up_to_cents=facts.lead_limit_cents, role=Role.PROCUREMENT_LEAD.value),
                ThresholdRow(up_to_cents=None, role=Role.CFO.value),
            ],
            expires_after_minutes=EXPIRES_AFTER_MINUTES,
        )

    def _add_documents(self, world: WorldBuilder, stream: Stream, facts: Audit) -> str | None:
        """Add a legal hold and an audit report; return the id of the one that speaks against the audit."""
        words, type_key = self.texts()["papers"], facts.audited.type_key
        is_held, is_done = facts.ground is RefusalGround.HELD, facts.ground is RefusalGround.DONE_BEFORE
        is_elsewhere = not is_held and stream.chance(0.5)
        hold = add_document(
            world,
            stream,
            title=words["hold"],
            state="published" if is_held or is_elsewhere else "archived",
            fields={"document_type": "legal_hold", "approval_type": "expense_report" if is_elsewhere else type_key},
        )
        first_day = facts.first_day if is_done else working_days_from(facts.first_day, -stream.integer(3, 20))
        report = add_document(
            world,
            stream,
            title=words["report"],
            state="published",
            fields={"document_type": "audit_report", "approval_type": type_key, "first_day": first_day.isoformat()},
        )
        if is_held:
            return hold.id
        return report.id if is_done else None


def _add_approvers(world: WorldBuilder, stream: Stream, facts: Audit, kinds: Collection[Kind]) -> ApproverChain:
    """Add who decides about escalated requests: neither their requesters nor their former approvers."""
    requester_ids = {row.requester_id for row, breach in facts.breaches if breach is Breach.WRONG_HANDS}
    spec = DecisionSpec(
        type_key=facts.audited.type_key,
        role=facts.role,
        holder_ids=[world.staff.holders(facts.role)[0].id],
        amount_cents=max(facts.amounts(Breach.WRONG_HANDS)),
        deputy_candidates=leads_and_finance(world) - facts.wrong_ids - requester_ids,
        other_types=["access_grant", "document_publication"],
    )
    return add_approver_chain(world, stream, spec, kinds)


SCENARIO = AuditRemediation()
