"""Adversaries: agents that omit, invent or overdo something. None of them may succeed."""

from __future__ import annotations

from dataclasses import replace

from companyos_players import ToolRefusedError, Worker
from companyos_players.adversaries.base import (
    COMMON_REQUIRED_CHAOS,
    COMMON_WITHOUT_APPROVALS,
    NeverRefuses,
    build_adversaries,
)
from companyos_players.fair.audit_remediation import ESCALATION, AuditRemediationWorker, Finding
from companyos_players.player import Json


class CancelsEverything(NeverRefuses, AuditRemediationWorker):
    """Cancels every open request of the type."""

    async def judge(self, request: Json) -> Finding | None:
        return await super().judge(request) or Finding(request, "policy_violation")


class CancelsInstead(NeverRefuses, AuditRemediationWorker):
    """Cancels requests that should be escalated."""

    async def remedy(self, finding: Finding) -> None:
        await super().remedy(finding if finding.code else replace(finding, code="not_entitled"))


class AuditsWholePeriod(NeverRefuses, AuditRemediationWorker):
    """Ignores the audit period and audits all open requests."""

    async def covered(self) -> list[Json]:
        return await self.flow.list_open(type_key=self.approvals.type["key"])


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


class EscalatesToRoleHolder(NeverRefuses, AuditRemediationWorker):
    """Escalates everything to the role holder, even an absent one."""

    async def decider(self, amount_cents: int) -> str:
        return str((await self.approvals.holders(amount_cents))[0]["person"]["id"])

    async def remedy(self, finding: Finding) -> None:
        try:
            await super().remedy(finding)
        except ToolRefusedError:
            return


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
    "look_at_all_time": AuditsWholePeriod,
    "take_the_other_type": AuditsSimilarType,
    "escalate_the_absent": EscalatesAbsentApprovers,
    "escalate_to_the_holder": EscalatesToRoleHolder,
    "shuffle_requests": RepeatsEscalations,
}
ADVERSARIES = build_adversaries(
    AuditRemediationWorker,
    SCENARIO_ADVERSARIES,
    usual=COMMON_WITHOUT_APPROVALS,
)
REQUIRED_CHAOS = {
    **{name: kind for name, kind in COMMON_REQUIRED_CHAOS.items() if name in ADVERSARIES},
    "take_the_other_type": "similar_names",
    "escalate_the_absent": "approver_out_of_office",
    "escalate_to_the_holder": "approver_out_of_office",
}
