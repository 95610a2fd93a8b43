"""The clairvoyant oracle: it knows the case and does what it takes, looking only at what the episode makes."""

from __future__ import annotations

from math import ceil

from companyos.policies import Call
from companyos_gateway.chaos import profile_for
from companyos_gateway.scenarios.skills import ApprovalSkill, Hands, TicketSkill
from companyos_gateway.scenarios.vendor_onboarding.case import METRIC_KEY, REASON_CODE, TYPE_KEY, Case, Unblocking
from companyos_gateway.scenarios.vendor_onboarding.scenario import stage

LONGEST_REFRESH_MINUTES = 95
JUSTIFICATION = "Checked against the onboarding policy; everything that it asks for is in place."


async def play_seed(seed: int, chaos: int, call: Call) -> None:
    """Solve the case of a seed and chaos level."""
    await play(stage(seed, profile_for(chaos), {}).case, call)


async def play(case: Case, call: Call) -> None:
    """Solve the case."""
    await Clairvoyant(case, Hands(call)).onboard()


class Clairvoyant:
    """Solves a case it knows."""

    def __init__(self, case: Case, hands: Hands) -> None:
        self.case = case
        self.hands = hands
        self.ticket = TicketSkill(hands, case.ticket_key)
        self.approvals = ApprovalSkill(hands, {"key": TYPE_KEY}, own_id=case.agent_id)

    async def onboard(self) -> None:
        """Do what the case takes."""
        case = self.case
        if case.first_status is None:
            await self.ticket.move("open")
        if case.must_refuse:
            await self.refuse()
        await self.unblock()
        if case.needs_priority:
            await self.ticket.prioritise(case.priority)
        if case.needs_assignee:
            await self.ticket.assign(case.assignee_ids[0])
        for item_id in case.open_items:
            await self.ticket.tick(item_id)
        await self.ticket.verify()
        await self.ticket.link_approval(await self.approval())
        if case.first_status != "in_progress":
            await self.ticket.move("in_progress")
        await self.ticket.move("resolved")
        await self.hands.finish("done", "Onboarded.")

    async def refuse(self) -> None:
        """Make the score known, end the ticket with the policy's reason and declare the same."""
        await self.fields()
        reason = {"reason_code": REASON_CODE, "reason_ref": self.case.policy_refs[-1]}
        await self.ticket.move("cancelled", **reason)
        await self.hands.finish("refused", "The score is below the bar.", **reason)

    async def unblock(self) -> None:
        """Take the right way past the blocker."""
        blocker = self.case.blocker
        if blocker is None:
            return
        if blocker.way is Unblocking.RESOLVE:
            await TicketSkill(self.hands, blocker.key).move("resolved")
        if blocker.way is Unblocking.UNLINK:
            await self.ticket.unlink(blocker.link_id, "This was linked by mistake.")
        if blocker.way is Unblocking.WAIT:
            await self.ticket.look()
            minutes = ceil((blocker.free_at - self.hands.now()).total_seconds() / 60)
            await self.hands.wait(max(1, minutes))
        if self.case.first_status == "blocked":
            await self.ticket.move("open")

    async def approval(self) -> str:
        """Get the approval and return its id."""
        while True:
            fields, approver_id = await self.fields(), self.case.approver_ids[0]
            request_id = await self.approvals.submit(self.case.vendor_id, approver_id, fields, JUSTIFICATION)
            if await self.approvals.decision(request_id) == "approved":
                return request_id

    async def fields(self) -> dict[str, object]:
        """Return the fields of the request with the score of now, refreshed as often as it takes."""
        score, subject = self.case.score, self.case.vendor_id
        while True:
            answer = await self.hands.ask(
                "datahub_query_metric", key=METRIC_KEY, subject=subject, source_id=score.source_id
            )
            reading = answer["readings"][0]
            if not reading["is_stale"]:
                return {**self.case.fixed_fields, METRIC_KEY: reading["value"], "score_as_of": reading["as_of"]}
            await self.hands.make("datahub_refresh_metric", metric_id=score.metric_id)
            await self.hands.wait(LONGEST_REFRESH_MINUTES)
