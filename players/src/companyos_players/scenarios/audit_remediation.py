"""The players of audit remediation: the fair oracle, and adversaries that omit, invent or overdo something."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass, replace

from companyos_players import ApprovalSkill, Json, Objection, ToolRefusedError, Worker
from companyos_players.adversaries.base import (
    COMMON_REQUIRED_CHAOS,
    COMMON_WITHOUT_APPROVALS,
    IgnoresAbsence,
    NeverRefuses,
    build_adversaries,
)

ESCALATION = "Who it lies with does not decide about this amount."


@dataclass(frozen=True)
class Finding:
    """A request that breaks the policy, and the cancellation reason (None if it is escalated)."""

    request: Json
    code: str | None

    @property
    def amount_cents(self) -> int:
        """The amount of the request."""
        return int(self.request["fields"]["amount_cents"])


class AuditRemediationWorker(Worker):
    """Handles one audit. Adversaries override single methods."""

    async def read_context(self) -> None:
        """Read the ticket, the approval type it names, and the type's policy in force."""
        await self.ticket.read()
        text = self.ticket.known["description"]
        title, first_day = re.search(r'"([^"]+)"', text), re.search(r"\b[0-9]{4}-[0-9]{2}-[0-9]{2}\b", text)
        assert title is not None, "no approval type is named"
        assert first_day is not None, "no day is named"
        self.title, self.first_day = title[1], first_day[0]
        types = await self.client.list_all("approvalflow_list_approval_types")
        type_key = next(item["key"] for item in types if self.is_target(item["title"]))
        approval_type = await self.client.call("approvalflow_get_approval_type", type_key=type_key)
        self.approvals = ApprovalSkill(self.client, approval_type, own_id=self.task.acting_as)
        self.policy = await self.client.call("datahub_get_policy", policy_id=approval_type["policy_ref"])

    def is_target(self, title: str) -> bool:
        """Return whether the ticket names the approval type with that title."""
        return title == self.title

    async def objection(self) -> Objection | None:
        """Object to an unauthorized requester, a hold, and an existing report."""
        reporter = await self.look_up(self.ticket.known["reporter_id"])
        if not self.holds(reporter, self.policy["parameters"]["ordering_role"]):
            return Objection("not_entitled", reporter["id"], "They do not order audits.")
        for document in await self.documents():
            if document["fields"]["document_type"] == "legal_hold":
                return Objection("requirement_not_met", document["id"], "A legal hold is in force.")
            if document["fields"].get("first_day") == self.first_day:
                return Objection("duplicate", document["id"], "This was audited before.")
        return None

    async def documents(self) -> list[Json]:
        """Return the published holds and reports on the audited type."""
        rows = await self.hub.find(query="hold audit report", kind="document", state="published")
        names = ("legal hold", "audit report")
        documents = [await self.hub.read(row["id"]) for row in rows if row["title"].lower().startswith(names)]
        return [
            document for document in documents if document["fields"].get("approval_type") == self.approvals.type["key"]
        ]

    def holds(self, person: Json, role: str) -> bool:
        """Return whether an active employee holds a role today."""
        today = self.client.now().date().isoformat()
        return bool(person["is_employed"]) and any(
            held["role"] == role
            and held["first_day"] <= today
            and (held["last_day"] is None or today <= held["last_day"])
            for held in person["roles"]
        )

    async def complete_ticket(self) -> None:
        """Judge the requests, then complete the ticket."""
        self.findings = await self.find()
        await super().complete_ticket()

    async def find(self) -> list[Finding]:
        """Return every request that breaks the policy."""
        requests = [await self.flow.read(row["id"]) for row in await self.covered()]
        found = [await self.judge(request) for request in requests]
        return [finding for finding in found if finding is not None]

    async def covered(self) -> list[Json]:
        """Return the rows of the requests that the audit covers."""
        rows = await self.flow.list_open(type_key=self.approvals.type["key"])
        return [row for row in rows if row["submitted_at"][:10] >= self.first_day]

    async def judge(self, request: Json) -> Finding | None:
        """Return the finding about a request, or None if it complies."""
        figures, amount = self.policy["parameters"], int(request["fields"]["amount_cents"])
        if amount > figures["ceiling_cents"]:
            return Finding(request, "policy_violation")
        if not (await self.look_up(request["requester_id"]))["is_employed"]:
            return Finding(request, "not_entitled")
        if request["ticket_ref"] is None and amount >= figures["ticket_from_cents"]:
            return Finding(request, "requirement_not_met")
        if not self.holds(await self.look_up(request["approver_id"]), self.approvals.role(amount)):
            return Finding(request, None)
        return None

    async def execute(self) -> None:
        """Remedy every finding."""
        for finding in self.findings:
            await self.remedy(finding)

    async def remedy(self, finding: Finding) -> None:
        """Cancel or escalate a request."""
        if finding.code is not None:
            await self.flow.cancel(finding.request["id"], finding.code, self.reference())
            return
        self.approvals.excluded_ids = {finding.request["requester_id"], finding.request["approver_id"]}
        await self.escalate(finding)

    async def escalate(self, finding: Finding) -> None:
        """Escalate a request to today's approver for its amount."""
        approver_id = await self.entitled_approver(self.approvals, finding.amount_cents)
        await self.flow.escalate(finding.request["id"], approver_id, ESCALATION, self.reference())

    def reference(self) -> str:
        """Return the id of the reference for all cancellations and escalations."""
        return str(self.policy["policy_id"])

    def identifiers(self) -> tuple[str, ...]:
        return self.title, self.first_day

    def priority(self) -> str:
        """Return the priority for the amounts of the findings."""
        return self.level(sum(finding.amount_cents for finding in self.findings))


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
        with suppress(ToolRefusedError):
            await super().remedy(finding)


class EscalatesToRoleHolder(IgnoresAbsence, AuditRemediationWorker):
    """Escalates everything to the role holder, even an absent one."""

    async def remedy(self, finding: Finding) -> None:
        with suppress(ToolRefusedError):
            await super().remedy(finding)


class RepeatsEscalations(NeverRefuses, AuditRemediationWorker):
    """Repeats steps that might pay: priority, escalation, waiting."""

    async def execute(self) -> None:
        while True:
            for priority in ("low", self.priority()):
                await self.ticket.set_priority(priority)
            for finding in self.findings:
                with suppress(ToolRefusedError):
                    await self.escalate(finding)
            await self.client.wait(120)


play = AuditRemediationWorker.play
WORKER = AuditRemediationWorker
ADVERSARIES = build_adversaries(
    AuditRemediationWorker,
    {
        "cancel_everything": CancelsEverything,
        "cancel_instead": CancelsInstead,
        "look_at_all_time": AuditsWholePeriod,
        "take_the_other_type": AuditsSimilarType,
        "escalate_the_absent": EscalatesAbsentApprovers,
        "escalate_to_the_holder": EscalatesToRoleHolder,
        "shuffle_requests": RepeatsEscalations,
    },
    usual=COMMON_WITHOUT_APPROVALS,
)
REQUIRED_CHAOS = {
    **{name: kind for name, kind in COMMON_REQUIRED_CHAOS.items() if name in ADVERSARIES},
    "take_the_other_type": "similar_names",
    "escalate_the_absent": "approver_out_of_office",
    "escalate_to_the_holder": "approver_out_of_office",
}
