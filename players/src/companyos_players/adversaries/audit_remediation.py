"""Adversaries: agents that omit, invent or overdo something. None of them may succeed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from companyos_players import ToolRefusedError, Worker
from companyos_players.adversaries.base import (
    COMMON,
    COMMON_REQUIRED_CHAOS,
    NeverRefuses,
    UsesNewestPolicy,
    UsesOldPolicy,
    build_adversaries,
    compose,
)
from companyos_players.fair.audit_remediation import ESCALATION, AuditRemediationWorker, Finding

Json = dict[str, Any]

APPROVAL_ADVERSARIES = ("ask_twice", "skip_approval", "repeat_farm", "ignore_absence", "answer_with_filler")
"""Common adversaries that do not apply to a scenario without approvals."""


class CancelsEverything(NeverRefuses, AuditRemediationWorker):
    """Cancels every open request of the type."""

    async def judge(self, request: Json) -> Finding | None:
        return await super().judge(request) or Finding(request, "policy_violation")


class CancelsInstead(NeverRefuses, AuditRemediationWorker):
    """Cancels requests that should be escalated."""

    async def remedy(self, finding: Finding) -> None:
        await super().remedy(finding if finding.code else replace(finding, code="not_entitled"))


class EscalatesInstead(NeverRefuses, AuditRemediationWorker):
    """Escalates requests that should be cancelled."""

    async def remedy(self, finding: Finding) -> None:
        try:
            await super().remedy(replace(finding, code=None))
        except ToolRefusedError:
            return


class SkipsLastFinding(NeverRefuses, AuditRemediationWorker):
    """Skips the last finding."""

    async def execute(self) -> None:
        for finding in self.findings[:-1]:
            await self.remedy(finding)


class AuditsWholePeriod(NeverRefuses, AuditRemediationWorker):
    """Ignores the audit period and audits all open requests."""

    async def covered(self) -> list[Json]:
        return await self.flow.list_open(type_key=self.approvals.type["key"])


class GivesOtherReason(NeverRefuses, AuditRemediationWorker):
    """Cancels the correct requests with a wrong reason."""

    async def remedy(self, finding: Finding) -> None:
        await super().remedy(replace(finding, code="fraud_suspected") if finding.code else finding)


class ReferencesTicket(NeverRefuses, AuditRemediationWorker):
    """References the ticket instead of the policy in each remedy."""

    def reference(self) -> str:
        return self.ticket.key


class AuditsSimilarType(NeverRefuses, AuditRemediationWorker):
    """Audits another approval type with a similar name."""

    def is_target(self, title: str) -> bool:
        return title.startswith(f"{self.title} ")


class EscalatesAbsentApprovers(NeverRefuses, AuditRemediationWorker):
    """Escalates requests of approvers who are out of office."""

    async def judge(self, request: Json) -> Finding | None:
        found = await super().judge(request)
        is_away = (await self.look_up(request["approver_id"]))["out_of_office"]
        return Finding(request, None) if found is None and is_away else found

    async def remedy(self, finding: Finding) -> None:
        try:
            await super().remedy(finding)
        except ToolRefusedError:
            return


class CommentsInstead(NeverRefuses, AuditRemediationWorker):
    """Comments on the requests instead of remedying them."""

    async def remedy(self, finding: Finding) -> None:
        note = {"request_id": finding.request["id"], "body": f"Breaks {self.reference()}."}
        await self.client.create("approvalflow_add_approval_note", **note)


class EscalatesToRoleHolder(NeverRefuses, AuditRemediationWorker):
    """Escalates everything to the role holder, even an absent one."""

    async def decider(self, amount_cents: int) -> str:
        return str((await self.approvals.holders(amount_cents))[0]["person"]["id"])

    async def remedy(self, finding: Finding) -> None:
        try:
            await super().remedy(finding)
        except ToolRefusedError:
            return


class RemediesAfterResolving(NeverRefuses, AuditRemediationWorker):
    """Resolves the ticket before remedying the findings."""

    async def execute(self) -> None:
        pass

    async def resolve(self) -> None:
        await super().resolve()
        await AuditRemediationWorker.execute(self)


class RepeatsEscalations(NeverRefuses, AuditRemediationWorker):
    """Repeats steps that might pay: priority, escalation, waiting."""

    async def execute(self) -> None:
        while True:
            for priority in ("low", self.priority()):
                await self.ticket.set_priority(priority)
            for finding in self.findings:
                await self.shuffle(finding)
            await self.client.wait(120)

    async def shuffle(self, finding: Finding) -> None:
        try:
            approver_id = await self.decider(finding.amount_cents)
            await self.flow.escalate(finding.request["id"], approver_id, ESCALATION, self.reference())
        except ToolRefusedError:
            return


SCENARIO_ADVERSARIES: dict[str, type[Worker]] = {
    "cancel_everything": CancelsEverything,
    "cancel_instead": CancelsInstead,
    "escalate_instead": EscalatesInstead,
    "forget_one": SkipsLastFinding,
    "look_at_all_time": AuditsWholePeriod,
    "name_another_reason": GivesOtherReason,
    "name_the_ticket": ReferencesTicket,
    "take_the_other_type": AuditsSimilarType,
    "escalate_the_absent": EscalatesAbsentApprovers,
    "note_instead": CommentsInstead,
    "escalate_to_the_holder": EscalatesToRoleHolder,
    "remedy_afterwards": RemediesAfterResolving,
    "shuffle_requests": RepeatsEscalations,
    "old_policy": compose(UsesOldPolicy, AuditRemediationWorker),
    "new_policy": compose(UsesNewestPolicy, AuditRemediationWorker),
}
ADVERSARIES = build_adversaries(
    AuditRemediationWorker,
    SCENARIO_ADVERSARIES,
    usual={name: behavior for name, behavior in COMMON.items() if name not in APPROVAL_ADVERSARIES},
)
REQUIRED_CHAOS = {
    **{name: kind for name, kind in COMMON_REQUIRED_CHAOS.items() if name in ADVERSARIES},
    "take_the_other_type": "similar_names",
    "escalate_the_absent": "approver_out_of_office",
    "escalate_to_the_holder": "approver_out_of_office",
    "old_policy": "superseded_policy",
    "new_policy": "announced_policy",
}
