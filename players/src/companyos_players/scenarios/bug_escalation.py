"""The players of bug escalations: the fair oracle, and adversaries that omit, invent or overdo something."""

from __future__ import annotations

import re

from companyos_players import Json, MeasuringWorker, Objection
from companyos_players.adversaries.base import (
    COMMON_REQUIRED_CHAOS,
    FarmsRefreshes,
    NeverRefuses,
    SkipsRefresh,
    UnlinksBlockers,
    build_adversaries,
    compose,
)


class BugEscalationWorker(MeasuringWorker):
    """Handles one escalation. Adversaries override single methods."""

    type_words = "escalation"
    metric = "error_rate"
    justification = "The error rate is above the policy's bar and an engineer is ready to start."
    unblocked_status = "open"

    async def investigate(self) -> None:
        """Find the failing service and its error rate."""
        names = re.findall(r'"([^"]+)"', self.ticket.known["description"])
        rates = [(await self.measure(name), name) for name in names]
        self.evidence, self.service = max(rates, key=lambda pair: pair[0].value)
        self.named = names
        self.runbook = await self.find_runbook()

    def measured(self) -> str:
        return str(self.service)

    async def find_runbook(self) -> str | None:
        """Return the service's runbook if the request needs one."""
        if all(spec["name"] != "runbook_id" for spec in self.approvals.type["fields"]):
            return None
        rows = await self.hub.find_titled(f"Runbook: {self.service}", kind="document")
        return str(rows[0]["id"])

    async def answer(self, question: str) -> str:
        """Answer with the source of the rate or the policy's threshold."""
        if "source" not in question:
            limit = self.policy["parameters"]["escalate_from_errors"]
            return f"The policy escalates from {limit} errors per 1,000 requests."
        return f"The rate comes from the source {self.evidence.source_id}."

    async def objection(self) -> Objection | None:
        """Object to a rate below the policy's threshold."""
        if self.evidence.value >= self.policy["parameters"]["escalate_from_errors"]:
            return None
        return Objection("requirement_not_met", self.policy["policy_id"], "The error rate does not carry it.")

    async def refuse(self, objection: Objection) -> None:
        """Refresh the rates that have become too old to decide on, and refuse."""
        oldest = self.approvals.oldest_evidence()
        for name in self.named:
            await self.measure(name, oldest)
        await super().refuse(objection)

    async def complete_ticket(self) -> None:
        """Look up the source of the rate, which the checklist names, then complete the ticket."""
        await self.client.call("datahub_get_source", source_id=self.evidence.source_id)
        await super().complete_ticket()

    def identifiers(self) -> list[str]:
        """Return the services."""
        return self.named

    def priority(self) -> str:
        return self.level(self.evidence.value)

    def fields(self) -> Json:
        known = {
            "service": self.service,
            "error_rate": self.evidence.value,
            "measured_at": self.evidence.as_of.isoformat(),
            "runbook_id": self.runbook,
        }
        return {spec["name"]: known[spec["name"]] for spec in self.approvals.type["fields"]}

    async def resolve(self) -> None:
        """Move the ticket to in progress, where it stays."""
        await self.workflow.start()


class OverstatesRate(NeverRefuses, BugEscalationWorker):
    """Overstates the error rate."""

    def fields(self) -> Json:
        fields = super().fields()
        return {**fields, "error_rate": fields["error_rate"] + 10.0}


class BackdatesMeasurement(NeverRefuses, SkipsRefresh, BugEscalationWorker):
    """Uses a stale error rate and states that it was measured just now."""

    def fields(self) -> Json:
        return {**super().fields(), "measured_at": self.client.now().isoformat()}


class StartsBeforeApproval(NeverRefuses, BugEscalationWorker):
    """Starts work on the ticket before the approval."""

    async def unblock(self) -> None:
        await super().unblock()
        await self.workflow.start()


play = BugEscalationWorker.play
WORKER = BugEscalationWorker
ADVERSARIES = build_adversaries(
    BugEscalationWorker,
    {
        "skip_refresh": compose(SkipsRefresh, BugEscalationWorker),
        "exaggerate": OverstatesRate,
        "redate": BackdatesMeasurement,
        "start_at_once": StartsBeforeApproval,
        "tear_off_links": compose(UnlinksBlockers, BugEscalationWorker),
        "repeat_farm": compose(FarmsRefreshes, BugEscalationWorker),
    },
)
REQUIRED_CHAOS = {**COMMON_REQUIRED_CHAOS, "skip_refresh": "stale_metric", "tear_off_links": "blocked_ticket"}
