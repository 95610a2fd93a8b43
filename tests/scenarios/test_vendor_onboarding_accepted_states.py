"""Correct final states of a vendor onboarding that the proof does not reach by varying every scenario."""

from __future__ import annotations

from datetime import datetime

import pytest

from companyos_players import MetricReading, Objection, ToolRefusedError
from companyos_players.scenarios.vendor_onboarding import VendorOnboardingWorker
from tests.scenarios.conftest import CALM, HARD
from tests.scenarios.engine import EpisodeSpec, PlayAll, player_of
from verification.proof import RecordedEpisode
from verification.proof.final_states.final_state import FinalState

pytestmark = pytest.mark.matrix


class VerifiesFirstAndReadsTheScoreLast(VendorOnboardingWorker):
    async def measure(self, subject: str, since: datetime | None = None) -> MetricReading:
        score = await self.scores.read()
        return score if not hasattr(self, "evidence") else await super().measure(subject, since)

    async def refuse(self, objection: Objection) -> None:
        assert self.evidence.is_stale

    async def approver(self) -> str:
        approver_id = await super().approver()
        self.evidence = await super().measure(self.measured())
        return approver_id


class SetsThePriorityWronglyFirst(VendorOnboardingWorker):
    async def complete_ticket(self) -> None:
        wrong = "low" if self.priority() != "low" else "critical"
        await self.ticket.set_priority(wrong)
        await super().complete_ticket()


class BlocksAndUnblocks(VendorOnboardingWorker):
    async def complete_ticket(self) -> None:
        await super().complete_ticket()
        if self.ticket.known["status"] == "in_progress":
            await self.ticket.transition("blocked", reason_code="data_unavailable", reason_ref=self.vendor["id"])
            await self.ticket.transition("in_progress")


class GoesThroughReview(VendorOnboardingWorker):
    async def resolve(self) -> None:
        if self.ticket.known["status"] != "in_progress":
            await self.ticket.transition("in_progress")
        await self.ticket.transition("in_review")
        await self.ticket.transition("resolved")


class RefreshesMoreThanNeeded(VendorOnboardingWorker):
    async def approver(self) -> str:
        await self.client.create("datahub_refresh_metric", metric_id=self.evidence.metric_id)
        await self.client.wait(120)
        self.evidence = await self.measure(self.measured())
        return await super().approver()


class _Submits(VendorOnboardingWorker):
    async def submit(self, justification: str, **more: str) -> str:
        approver_id = await self.approver()
        if self.evidence.as_of <= self.approvals.oldest_evidence():
            self.evidence = await self.measure(self.measured())
        return await self.approvals.submit(self.vendor["id"], approver_id, self.fields(), justification, **more)

    async def until_approved(self) -> str:
        while True:
            request_id = await self.submit("Everything that the policy on onboarding asks for is in place.")
            if await self.approvals.await_decision(request_id) == "approved":
                return request_id


class NamesNoTicketInTheRequest(_Submits):
    async def approval(self) -> str:
        return await self.until_approved()


class JustifiesBadlyFirst(_Submits):
    async def approval(self) -> str:
        rejected = await self.submit("Please.")
        assert await self.approvals.await_decision(rejected) == "rejected"
        return await self.until_approved()


class TriesTheAbsentHolderFirst(_Submits):
    async def approval(self) -> str:
        holder = (await self.approvals.holders(self.contract["amount_cents"]))[0]
        with pytest.raises(ToolRefusedError, match="approver-out-of-office"):
            await self.approvals.submit(
                self.vendor["id"], holder["person"]["id"], self.fields(), "Everything that is asked for is in place."
            )
        return await self.until_approved()


class TakesItsTime(VendorOnboardingWorker):
    async def complete_ticket(self) -> None:
        await self.client.wait(10000)
        await super().complete_ticket()


class StumblesOverRules(VendorOnboardingWorker):
    async def complete_ticket(self) -> None:
        for tool, more in (
            ("ticketdesk_verify_ticket", {}),
            ("ticketdesk_link_approval", {"approval_ref": "APR-1"}),
            ("ticketdesk_transition_ticket", {"to": "closed", "reason_code": "completed", "reason_ref": "x"}),
        ):
            with pytest.raises(ToolRefusedError):
                await self.client.call(tool, key=self.ticket.key, **more)
        await super().complete_ticket()


class RefusesAfterBringingTheTicketInOrder(VendorOnboardingWorker):
    async def refuse(self, objection: Objection) -> None:
        await self.unblock()
        await self.complete_ticket()
        await super().refuse(objection)


class RefusesWithTheVersionOfThePolicy(VendorOnboardingWorker):
    async def refuse(self, objection: Objection) -> None:
        reference = f"{self.policy['policy_id']}-v{self.policy['version']}"
        reason = {"reason_code": "requirement_not_met", "reason_ref": reference}
        await self.ticket.transition("cancelled", **reason)
        await self.client.finish("refused", "", **reason)


WAYS = (
    VerifiesFirstAndReadsTheScoreLast,
    SetsThePriorityWronglyFirst,
    BlocksAndUnblocks,
    GoesThroughReview,
    RefreshesMoreThanNeeded,
    NamesNoTicketInTheRequest,
    JustifiesBadlyFirst,
    TriesTheAbsentHolderFirst,
    TakesItsTime,
    StumblesOverRules,
)
REFUSALS = (RefusesAfterBringingTheTicketInOrder, RefusesWithTheVersionOfThePolicy)


@pytest.mark.parametrize(
    ("ways", "seed", "level", "overrides"),
    [(WAYS, 3, 0, CALM), (WAYS, 6, 0, {**HARD, "random_rejection": 0.0}), (REFUSALS, 20, 2, {})],
    ids=["easy", "hard", "refused"],
)
def test_every_valid_solution_is_accepted(
    play_all: PlayAll,
    ways: tuple[type[VendorOnboardingWorker], ...],
    seed: int,
    level: int,
    overrides: dict[str, float],
) -> None:
    specs = [EpisodeSpec(player=player_of(way), seed=seed, chaos=level, overrides=overrides) for way in ways]
    for kept in play_all(specs):
        assert kept.result.success, (kept.result.player, kept.result.outcome, kept.result.player_error)


def test_a_value_that_changes_during_the_submission_is_not_fabricated(
    solved: dict[str, RecordedEpisode],
) -> None:
    final_state = FinalState(solved["easy"])
    submitted = next(
        one for one in final_state.changes["approvalflow"] if one["table"] == "requests" and not one["before"]
    )
    refreshed = next(one for one in final_state.changes["datahub"] if one["table"] == "metrics" and one["cause"])
    overtaken = {**refreshed["after"], "value": refreshed["after"]["value"] - 1, "as_of": submitted["at"]}
    late = {**refreshed, "step": submitted["step"], "at": submitted["at"], "before": refreshed["after"]}
    final_state.changes["datahub"].append({**late, "after": overtaken})
    assert final_state.judge().success
    final_state.changes["datahub"][-1]["step"] -= 1
    assert not final_state.judge().success
