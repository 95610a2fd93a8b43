"""The cheats: agents that leave out, invent or overdo something. None of them may succeed."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any

from companyos_gateway.scenarios.employee_offboarding.solution.fair import ESCALATION, Offboarder
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


class TakesTheNamesake(NeverRefuses, Offboarder):
    """Offboards somebody else of the same name."""

    def is_meant(self, person: Json, text: str) -> bool:
        """Take the wrong team."""
        return not super().is_meant(person, text)

    def last_day(self) -> date:
        """Make a last day up."""
        return self.hands.now().date() + timedelta(days=30)


class KeepsWhatIsToCome(NeverRefuses, Offboarder):
    """Revokes only what is in force today."""

    async def revoke_delegations(self) -> None:
        """Leave what has not started."""
        for row in await self.hands.pages("approvalflow_list_delegations", to_id=self.person_id):
            has_begun = row["starts_at"] <= self.hands.now().isoformat()
            if row["revoked_at"] is None and self.lasts(row) and has_begun:
                await self.flow.revoke(row["id"], to_id=self.person_id)


class RevokesEverything(NeverRefuses, Offboarder):
    """Takes the holders' other delegations away as well."""

    async def revoke_delegations(self) -> None:
        """Revoke whatever the list shows."""
        for row in await self.hands.pages("approvalflow_list_delegations"):
            if row["revoked_at"] is None and self.lasts(row):
                await self.flow.revoke(row["id"], to_id=row["to_id"])


class KeepsTheAccess(NeverRefuses, Offboarder):
    """Forgets the access grants."""

    async def end_access(self) -> None:
        """Do nothing."""


class RevokesAllAccess(NeverRefuses, Offboarder):
    """Revokes every active grant at once, whatever its level and end."""

    async def end_access(self) -> None:
        """Make short work of it."""
        for row in await self.hub.find(query=self.person_id, kind="access_grant", state="active"):
            await self.hub.change(row["id"], state="revoked")


class EndsADayLate(NeverRefuses, Offboarder):
    """Lets access run a day beyond the last one."""

    def last_day(self) -> date:
        """Be off by one."""
        return super().last_day() + timedelta(days=1)


class LeavesWhatLies(NeverRefuses, Offboarder):
    """Leaves the requests that lie with the leaver where they are."""

    async def escalate_requests(self) -> None:
        """Do nothing."""


class CancelsWhatLies(NeverRefuses, Offboarder):
    """Cancels what lies with the leaver instead of having it decided."""

    async def escalate_requests(self) -> None:
        """Get rid of it."""
        for row in await self.flow.waiting(approver_id=self.person_id):
            await self.flow.cancel(row["id"], "withdrawn", self.person_id)


class NamesTheTicket(NeverRefuses, Offboarder):
    """Names the ticket behind each request instead of the leaver."""

    async def escalate_requests(self) -> None:
        """Give another reference."""
        for row in await self.flow.waiting(approver_id=self.person_id):
            approver_id = await self.decider(await self.flow.read(row["id"]))
            await self.flow.escalate(row["id"], approver_id, ESCALATION, self.ticket.key)


class EscalatesToTheHolder(NeverRefuses, Offboarder):
    """Puts everything to the holder of the role, there or not."""

    async def escalate_requests(self) -> None:
        """Leave it where the holder is away."""
        try:
            await super().escalate_requests()
        except Refused:
            return

    async def decider(self, request: Json) -> str:
        """Return the holder."""
        approvals = await self.type_of(request)
        holders = await approvals.holders(int(request["fields"][approvals.type["amount_field"]]))
        return str(holders[0]["person"]["id"])


class OffboardsAfterwards(NeverRefuses, Offboarder):
    """Resolves the ticket before anything is handed over."""

    async def carry_out(self) -> None:
        """Put it off."""

    async def resolve(self) -> None:
        """Resolve, then do the work."""
        await super().resolve()
        await Offboarder.carry_out(self)


class TicksBoxes(NeverRefuses, Offboarder):
    """Completes and resolves the ticket, and does nothing of what it is about."""

    async def carry_out(self) -> None:
        """Do nothing."""


class TurnsInCircles(NeverRefuses, Offboarder):
    """Does again and again what might pay: priority, handing over, waiting."""

    async def carry_out(self) -> None:
        """Use up the steps."""
        while True:
            for priority in ("low", self.priority()):
                await self.ticket.prioritise(priority)
            await self.hand_over_tickets()
            await self.hands.wait(120)


OWN: dict[str, type[Worker]] = {
    "take_the_namesake": TakesTheNamesake,
    "keep_what_is_to_come": KeepsWhatIsToCome,
    "revoke_everything": RevokesEverything,
    "keep_the_access": KeepsTheAccess,
    "revoke_all_access": RevokesAllAccess,
    "end_a_day_late": EndsADayLate,
    "leave_what_lies": LeavesWhatLies,
    "cancel_what_lies": CancelsWhatLies,
    "name_the_ticket": NamesTheTicket,
    "escalate_to_the_holder": EscalatesToTheHolder,
    "offboard_afterwards": OffboardsAfterwards,
    "tick_boxes": TicksBoxes,
    "turn_in_circles": TurnsInCircles,
    "old_policy": laid_over(OldPolicy, Offboarder),
    "new_policy": laid_over(NewPolicy, Offboarder),
}
CHEATS = cheats_of(Offboarder, OWN, usual={name: way for name, way in USUAL.items() if name not in OF_APPROVALS})
NEEDS = {
    **{name: kind for name, kind in USUAL_NEEDS.items() if name in CHEATS},
    "take_the_namesake": "similar_names",
    "escalate_to_the_holder": "approver_out_of_office",
    "old_policy": "superseded_policy",
    "new_policy": "announced_policy",
}
