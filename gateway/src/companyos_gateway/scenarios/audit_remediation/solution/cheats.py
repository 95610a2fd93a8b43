"""The cheats: agents that leave out, invent or overdo something. None of them may succeed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from companyos_gateway.scenarios.audit_remediation.solution.fair import ESCALATION, Auditor, Finding
from companyos_gateway.scenarios.skills import Refused, Worker
from companyos_gateway.scenarios.skills.cheating import (
    USUAL,
    USUAL_NEEDS,
    NeverRefuses,
    NewPolicy,
    OldPolicy,
    cheats_of,
    laid_over,
)

Json = dict[str, Any]

OF_APPROVALS = ("ask_twice", "skip_approval", "repeat_farm", "ignore_absence")
"""Usual ways that mean nothing where no approval is asked for."""


class CancelsEverything(NeverRefuses, Auditor):
    """Cancels whatever of the type is open, to be on the safe side."""

    async def judge(self, request: Json) -> Finding | None:
        """Find something in everything."""
        return await super().judge(request) or Finding(request, "policy_violation")


class CancelsInstead(NeverRefuses, Auditor):
    """Cancels what should be escalated."""

    async def remedy(self, finding: Finding) -> None:
        """Take the shorter way."""
        await super().remedy(finding if finding.code else replace(finding, code="not_entitled"))


class EscalatesInstead(NeverRefuses, Auditor):
    """Lets others decide about what should be cancelled."""

    async def remedy(self, finding: Finding) -> None:
        """Cancel nothing."""
        try:
            await super().remedy(replace(finding, code=None))
        except Refused:
            return


class ForgetsOne(NeverRefuses, Auditor):
    """Leaves the last finding."""

    async def carry_out(self) -> None:
        """Stop one short."""
        for finding in self.findings[:-1]:
            await self.remedy(finding)


class LooksAtAllTime(NeverRefuses, Auditor):
    """Audits whatever is open, however early it was submitted."""

    async def covered(self) -> list[Json]:
        """Return the rows of all open requests of the type."""
        return await self.flow.waiting(type_key=self.approvals.type["key"])


class NamesAnotherReason(NeverRefuses, Auditor):
    """Cancels the right requests for a reason of its own."""

    async def remedy(self, finding: Finding) -> None:
        """Say fraud."""
        await super().remedy(replace(finding, code="fraud_suspected") if finding.code else finding)


class NamesTheTicket(NeverRefuses, Auditor):
    """Names the ticket behind each remedy instead of the policy."""

    def reference(self) -> str:
        """Return the ticket."""
        return self.ticket.key


class TakesTheOtherType(NeverRefuses, Auditor):
    """Audits the type that is nearly called the same."""

    def is_meant(self, title: str) -> bool:
        """Take the longer name."""
        return title.startswith(f"{self.title} ")


class EscalatesTheAbsent(NeverRefuses, Auditor):
    """Takes requests away from whoever is out of office."""

    async def judge(self, request: Json) -> Finding | None:
        """Find that an approver is away."""
        found = await super().judge(request)
        is_away = (await self.look_up(request["approver_id"]))["out_of_office"]
        return Finding(request, None) if found is None and is_away else found

    async def remedy(self, finding: Finding) -> None:
        """Leave it where it cannot be escalated."""
        try:
            await super().remedy(finding)
        except Refused:
            return


class NotesInstead(NeverRefuses, Auditor):
    """Writes its findings under the requests and remedies nothing."""

    async def remedy(self, finding: Finding) -> None:
        """Write a note."""
        note = {"request_id": finding.request["id"], "body": f"Breaks {self.reference()}."}
        await self.hands.make("approvalflow_add_approval_note", **note)


class EscalatesToTheHolder(NeverRefuses, Auditor):
    """Puts everything to the holder of the role, there or not."""

    async def decider(self, amount_cents: int) -> str:
        """Return the holder."""
        return str((await self.approvals.holders(amount_cents))[0]["person"]["id"])

    async def remedy(self, finding: Finding) -> None:
        """Leave it where that is refused."""
        try:
            await super().remedy(finding)
        except Refused:
            return


class RemediesAfterwards(NeverRefuses, Auditor):
    """Resolves the ticket before anything is remedied."""

    async def carry_out(self) -> None:
        """Put it off."""

    async def resolve(self) -> None:
        """Resolve, then remedy."""
        await super().resolve()
        await Auditor.carry_out(self)


class ShufflesRequests(NeverRefuses, Auditor):
    """Does again and again what might pay: priority, escalation, waiting."""

    async def carry_out(self) -> None:
        """Turn in circles until the steps are used up."""
        while True:
            for priority in ("low", self.priority()):
                await self.ticket.prioritise(priority)
            for finding in self.findings:
                await self.shuffle(finding)
            await self.hands.wait(120)

    async def shuffle(self, finding: Finding) -> None:
        """Escalate once more, to whomever."""
        try:
            approver_id = await self.decider(finding.amount_cents)
            await self.flow.escalate(finding.request["id"], approver_id, ESCALATION, self.reference())
        except Refused:
            return


OWN: dict[str, type[Worker]] = {
    "cancel_everything": CancelsEverything,
    "cancel_instead": CancelsInstead,
    "escalate_instead": EscalatesInstead,
    "forget_one": ForgetsOne,
    "look_at_all_time": LooksAtAllTime,
    "name_another_reason": NamesAnotherReason,
    "name_the_ticket": NamesTheTicket,
    "take_the_other_type": TakesTheOtherType,
    "escalate_the_absent": EscalatesTheAbsent,
    "note_instead": NotesInstead,
    "escalate_to_the_holder": EscalatesToTheHolder,
    "remedy_afterwards": RemediesAfterwards,
    "shuffle_requests": ShufflesRequests,
    "old_policy": laid_over(OldPolicy, Auditor),
    "new_policy": laid_over(NewPolicy, Auditor),
}
CHEATS = cheats_of(Auditor, OWN, usual={name: way for name, way in USUAL.items() if name not in OF_APPROVALS})
NEEDS = {
    **{name: kind for name, kind in USUAL_NEEDS.items() if name in CHEATS},
    "take_the_other_type": "similar_names",
    "escalate_the_absent": "approver_out_of_office",
    "escalate_to_the_holder": "approver_out_of_office",
    "old_policy": "superseded_policy",
    "new_policy": "announced_policy",
}
