"""Audits: requests that break the policy are cancelled or escalated, and all others stay as they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from companyos_gateway.scenarios import kit
from companyos_gateway.scenarios.audit_remediation.documents import (
    ORDERING_ROLES,
    Audit,
    Breach,
    RefusalGround,
    RequestStack,
    Variant,
    draw_audit,
)

PRIORITY_STEPS = 20
"""Limits of priorities are multiples of this fraction of the total."""


class AuditRemediation(kit.DeclaredScenario[Audit]):
    """Remedy approvals that break the policy: cancel or escalate each for its reason, leave every other alone."""

    name, team, max_steps = "audit_remediation", "security", 150
    tags, duplicate_tags = ("audit",), ("audit", "approvals")
    held_out = frozenset({Variant.EVERYTHING.value})
    always = (kit.Kind.MISSING_PRIORITY, kit.Kind.APPROVER_OUT_OF_OFFICE)
    opt_in_kinds = frozenset[kit.Kind]()
    applicable = kit.buildable_kinds(exclude=(*kit.METRIC_KINDS, *kit.DECISION_KINDS, kit.Kind.EXPIRED_CERTIFICATE))
    distractors = (
        "ticketdesk_create_ticket",
        "datahub_report_data_issue",
        "approvalflow_submit_approval",
        "approvalflow_withdraw_approval",
        "approvalflow_revoke_delegation",
    )
    tools = (
        *kit.TICKET_TOOLS,
        *kit.RECORD_TOOLS,
        *kit.PEOPLE_TOOLS,
        *kit.POLICY_TOOLS,
        "approvalflow_list_approval_types",
        "approvalflow_get_approval_type",
        "approvalflow_list_delegations",
        "approvalflow_get_approval",
        "approvalflow_list_approvals",
        "approvalflow_cancel_approval",
        "approvalflow_escalate_approval",
        "approvalflow_add_approval_note",
    )

    def draw(self, build: kit.BuildContext) -> Audit:
        """Draw the audit and file its requests."""
        world, stream = build.world, build.stream
        audit = draw_audit(stream, world.today, must_refuse=build.must_refuse)
        stack = RequestStack(world, stream, audit, self.texts())
        return replace(audit, breaches=stack.file(build.kinds), wrong_ids=frozenset(stack.wrong_ids))

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

    def figures(self, facts: Audit, stream: kit.Stream, priority: kit.Priority, *, in_force: bool) -> kit.Figures:
        """Draw the limits and the ordering role; under another version a request that breaks nothing breaks it."""
        total = sum(facts.amounts(*Breach))
        step = total // PRIORITY_STEPS // 500 * 500
        lower_ceiling = kit.rounded_amount(stream, facts.lead_limit_cents + 500, facts.near_cents - 500)
        return {
            "ceiling_cents": facts.ceiling_cents if in_force else lower_ceiling,
            "ticket_from_cents": facts.ticket_from_cents,
            "ordering_role": (facts.ordering_role if in_force else stream.choice(ORDERING_ROLES)).value,
            **kit.priority_limits(stream, total, priority, step=step),
        }

    def complete(self, build: kit.BuildContext, facts: Audit, policy: kit.PolicyRow, slot: kit.KeySlot) -> Audit:
        """Add the approval types, who decides about escalated requests, the documents and the reporter."""
        world, stream = build.world, build.stream
        for one in (facts.audited, *([facts.audited.lookalike()] if kit.Kind.SIMILAR_NAMES in build.kinds else [])):
            kit.replace_approval_type(world, self._approval_type(one, facts, policy), keep_requests=True)
        chain = _add_approvers(build.child("approvers"), facts)
        ground_id = self._add_documents(world, stream.child("documents"), facts)
        holder_ids = {one.id for one in world.staff.holders(facts.ordering_role)}
        is_ordered = facts.ground is not RefusalGround.NOT_ORDERED
        present = [one.id for one in world.present(slot.created_at.date()) if one.id != world.agent_id]
        reporters = sorted(holder_ids) if is_ordered else [one for one in present if one not in holder_ids]
        return replace(facts, chain=chain, ground_id=ground_id, reporter_id=stream.choice(reporters))

    def solution(self, facts: Audit, policy: kit.PolicyRow, ticket_key: str) -> kit.Solution:
        """Remedy every request that breaks the policy, or refuse and change none."""
        refs, role = kit.policy_refs(policy), facts.role
        cancelled = [
            kit.RequestCancelled(row.id, kit.Refusal(breach.value, refs))
            for row, breach in facts.breaches
            if breach is not Breach.WRONG_HANDS
        ]
        escalated = [
            kit.Escalation(
                request_id=row.id,
                type_key=row.type_key,
                role=role,
                amount_cents=int(row.fields["amount_cents"]),
                references=refs,
            )
            for row, breach in facts.breaches
            if breach is Breach.WRONG_HANDS
        ]
        struck = kit.struck_people(facts.chain, role.value, role.value) | {
            kit.Kind.SIMILAR_NAMES: facts.audited.type_key
        }
        fact = kit.record_shown(facts.ground_id) if facts.ground_id else kit.person_shown(facts.reporter_id)
        refused = kit.Outcome(facts=(fact,), subjects=(facts.ground_id,) if facts.ground_id else ())
        done = kit.Outcome(prepared=(kit.EntityGoals("requests_cancelled", cancelled),), escalated=tuple(escalated))
        return kit.Solution(
            variant=facts.variant,
            outcome=refused if facts.ground else done,
            refusal=kit.Refusal(facts.ground.value, (facts.ground_id or facts.reporter_id,)) if facts.ground else None,
            approver_ids=facts.chain.approver_ids,
            struck=struck,
        )

    def _approval_type(self, audited: kit.ApprovalSubject, facts: Audit, policy: kit.PolicyRow) -> kit.ApprovalTypeRow:
        return kit.ApprovalTypeRow(
            key=audited.type_key,
            title=audited.title,
            description=self.texts()["type"],
            policy_ref=policy.policy_id,
            fields=[
                kit.field_spec(audited.id_field, "text", "ID of the record."),
                kit.field_spec("amount_cents", "integer", "Amount in cents."),
            ],
            amount_field="amount_cents",
            thresholds=[
                kit.ThresholdRow(up_to_cents=facts.lead_limit_cents, role=kit.Role.PROCUREMENT_LEAD.value),
                kit.ThresholdRow(up_to_cents=None, role=kit.Role.CFO.value),
            ],
            expires_after_minutes=kit.PENDING_EXPIRES_AFTER_MINUTES,
        )

    def _add_documents(self, world: kit.WorldBuilder, stream: kit.Stream, facts: Audit) -> str | None:
        """Add a legal hold and an audit report; return the id of the one that speaks against the audit."""
        words, type_key = self.texts()["papers"], facts.audited.type_key
        is_held, is_done = facts.ground is RefusalGround.HELD, facts.ground is RefusalGround.DONE_BEFORE
        is_elsewhere = not is_held and stream.chance(0.5)
        hold = kit.add_document(
            world,
            stream,
            title=words["hold"],
            state="published" if is_held or is_elsewhere else "archived",
            fields={"document_type": "legal_hold", "approval_type": "expense_report" if is_elsewhere else type_key},
        )
        first_day = facts.first_day if is_done else kit.working_days_from(facts.first_day, -stream.integer(3, 20))
        report = kit.add_document(
            world,
            stream,
            title=words["report"],
            state="published",
            fields={"document_type": "audit_report", "approval_type": type_key, "first_day": first_day.isoformat()},
        )
        if is_held:
            return hold.id
        return report.id if is_done else None


def _add_approvers(build: kit.BuildContext, facts: Audit) -> kit.ApproverChain:
    """Add who decides about escalated requests: neither their requesters nor their former approvers."""
    world, stream = build.world, build.stream
    requester_ids = {row.requester_id for row, breach in facts.breaches if breach is Breach.WRONG_HANDS}
    spec = kit.DecisionSpec(
        type_key=facts.audited.type_key,
        role=facts.role,
        holder_ids=[world.staff.holders(facts.role)[0].id],
        amount_cents=max(facts.amounts(Breach.WRONG_HANDS)),
        deputy_candidates=kit.leads_and_finance(world) - facts.wrong_ids - requester_ids,
        other_types=["access_grant", "document_publication"],
    )
    return kit.add_approver_chain(world, stream, spec, build.kinds)


SCENARIO = AuditRemediation()
