"""The fair oracle: escalates a bug from brief, tools and answers alone."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import Any

from companyos.policies import Call, TaskView
from companyos_players import MetricReading, MetricSkill, Objection, RecordSkill, ToolClient, Worker

RATE = "error_rate"
MARGIN = timedelta(minutes=120)
"""Evidence this close to its age limit is refreshed before it is used."""

Json = dict[str, Any]


async def play(task: TaskView, call: Call) -> None:
    """Escalate the bug that the brief is about, or refuse it where the policy says so."""
    await BugEscalationWorker(task, ToolClient(call)).work()


class BugEscalationWorker(Worker):
    """One escalation; each part is a method, so that a cheat can leave one out."""

    type_words = "escalation"
    justification = "The error rate is above the policy's bar and an engineer is ready to start."
    unblocked_status = "open"

    async def investigate(self) -> None:
        """Find out which service fails how often."""
        names = re.findall(r'"([^"]+)"', self.ticket.known["description"])
        rates = [(await self.rate_of(name), name) for name in names]
        self.rate, self.service = max(rates, key=lambda pair: pair[0].value)
        self.named = names
        self.runbook = await self.find_runbook()

    async def rate_of(self, service: str, since: datetime | None = None) -> MetricReading:
        """Return the authoritative error rate of a service, refreshed where it is stale or older than asked for."""
        return await MetricSkill(self.client, RATE, service).fresh(since)

    async def find_runbook(self) -> str | None:
        """Return the runbook of the service, where the request asks for one."""
        if all(spec["name"] != "runbook_id" for spec in self.approvals.type["fields"]):
            return None
        found = await RecordSkill(self.client).find(query=f"Runbook: {self.service}", kind="document")
        return next(str(row["id"]) for row in found if row["title"] == f"Runbook: {self.service}")

    async def objection(self) -> Objection | None:
        """Object where the rate lies below the policy's bar."""
        if self.rate.value >= self.policy["parameters"]["escalate_from_percent"]:
            return None
        return Objection("requirement_not_met", self.policy["policy_id"], "The error rate does not carry it.")

    def identifiers(self) -> list[str]:
        """Return the services."""
        return self.named

    def priority(self) -> str:
        """Return the priority that the policy's figures ask for."""
        return self.level(self.rate.value)

    def subject(self) -> str:
        """Return the ticket's key."""
        return self.ticket.key

    async def prepare_request(self) -> None:
        """Refresh a rate that has grown old."""
        ages = [spec["max_age_minutes"] for spec in self.approvals.type["fields"] if spec["max_age_minutes"]]
        oldest = self.client.now() - timedelta(minutes=min(ages)) + MARGIN
        if self.rate.as_of < oldest:
            self.rate = await self.rate_of(self.service, oldest)

    def fields(self) -> Json:
        """Return the fields that the approval type asks for."""
        known = {
            "service": self.service,
            RATE: self.rate.value,
            "measured_at": self.rate.as_of.isoformat(),
            "runbook_id": self.runbook,
        }
        return {spec["name"]: known[spec["name"]] for spec in self.approvals.type["fields"]}

    async def resolve(self) -> None:
        """Take the ticket into work, where it stays."""
        await self.workflow.start()


WORKER = BugEscalationWorker
"""The worker that ablations and adversaries are derived from."""
