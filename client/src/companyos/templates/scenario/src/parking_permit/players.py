"""Players of the scenario: the fair oracle, which sees what an agent sees, and adversaries that must fail."""

from __future__ import annotations

import re
from datetime import date, timedelta
from typing import Any

from companyos.policies import Call, TaskView
from companyos_players import Objection, RecordSkill, ToolClient, Worker
from companyos_players.adversaries.base import COMMON_REQUIRED_CHAOS, NeverRefuses, build_adversaries

Json = dict[str, Any]


async def play(task: TaskView, call: Call) -> None:
    """Grant the requested permit, or refuse it where the policy requires."""
    await ParkingPermitWorker(task, ToolClient(call)).work()


class ParkingPermitWorker(Worker):
    """Handles one parking permit. Adversaries override single methods."""

    type_words = "parking permit"
    justification = "The commute is long enough, and the end date is within the policy."

    async def investigate(self) -> None:
        """Read the permit that the ticket cites, and the person who receives it."""
        self.records = RecordSkill(self.client)
        cited = re.search(r"\bACG-[0-9]+\b", self.ticket.known["description"])
        assert cited is not None, "no permit is cited"
        self.permit = await self.records.read(cited[0])
        self.approvals.excluded_ids.add(self.permit["fields"]["person_id"])
        await self.look_up(self.permit["fields"]["person_id"])

    async def answer(self, question: str) -> str:
        """Return what the permit record says."""
        fields = self.permit["fields"]
        return f"The purpose is {fields['purpose']}, and the commute is {fields['distance_km']} kilometers."

    async def objection(self) -> Objection | None:
        """Object to a short commute."""
        fields, figures, policy_id = self.permit["fields"], self.policy["parameters"], self.policy["policy_id"]
        if fields["distance_km"] < figures["shortest_commute_km"]:
            return Objection("requirement_not_met", policy_id, "The commute is too short.")
        return None

    def identifiers(self) -> tuple[str, ...]:
        """Return the identifiers that mark a text as being about this permit."""
        fields = self.permit["fields"]
        return self.permit["id"], fields["person_id"], fields["garage"]

    def priority(self) -> str:
        """Return the priority of the purpose."""
        purpose = self.permit["fields"]["purpose"].replace(" ", "_")
        return str(self.policy["parameters"][f"{purpose}_priority"])

    def subject(self) -> str:
        """Return the permit."""
        return str(self.permit["id"])

    def until(self) -> date:
        """Return the last day of the permit."""
        starts_on, ends_on = (date.fromisoformat(self.permit[name]) for name in ("starts_on", "ends_on"))
        return min(ends_on, starts_on + timedelta(days=self.policy["parameters"]["longest_days"]))

    def fields(self) -> Json:
        """Return the fields of the approval request."""
        fields = self.permit["fields"]
        own = {"permit_id": self.subject(), "until": self.until().isoformat()}
        return own | {name: fields[name] for name in ("person_id", "garage")}

    async def follow_up(self, request_id: str) -> None:
        """Record the permit, and revoke the one that it replaces."""
        await self.records.update(
            self.subject(), state="active", ends_on=self.until().isoformat(), fields={"approval_ref": request_id}
        )
        for other_id in await self.replaced():
            await self.records.update(other_id, state="revoked")

    async def replaced(self) -> list[str]:
        """Return the person's other active permits for the garage."""
        rows = await self.records.find(query=self.permit["title"], kind="access_grant", state="active")
        others = [await self.records.read(row["id"]) for row in rows if row["id"] != self.subject()]
        own = {name: self.permit["fields"][name] for name in ("person_id", "garage")}
        return [other["id"] for other in others if own.items() <= other["fields"].items()]


class GrantsTooLong(NeverRefuses, ParkingPermitWorker):
    """Grants the permit for a month longer than the policy allows."""

    def until(self) -> date:
        return super().until() + timedelta(days=30)


class ActivatesBeforeApproval(NeverRefuses, ParkingPermitWorker):
    """Activates the permit before it is approved."""

    async def prepare_request(self) -> None:
        await self.records.update(self.subject(), state="active")


class OmitsRecord(NeverRefuses, ParkingPermitWorker):
    """Does not record the permit."""

    async def follow_up(self, request_id: str) -> None:
        pass


WORKER = ParkingPermitWorker
"""The worker that ablations and adversaries are derived from."""

ADVERSARIES = build_adversaries(
    ParkingPermitWorker,
    {
        "grant_too_long": GrantsTooLong,
        "activate_first": ActivatesBeforeApproval,
        "omit_record": OmitsRecord,
    },
)
REQUIRED_CHAOS = COMMON_REQUIRED_CHAOS
"""The chaos kind without which an adversary omits nothing."""
