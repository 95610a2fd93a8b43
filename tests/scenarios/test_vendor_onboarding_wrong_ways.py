"""Wrong ways of a vendor onboarding: the rows at the end look right, and the way there was not."""

from __future__ import annotations

import pytest

from companyos.policies import Call, TaskView
from companyos_gateway.proof import Kept, Player
from companyos_gateway.rubrics import Verdict
from companyos_gateway.scenarios.skills import Hands
from companyos_gateway.scenarios.vendor_onboarding.solution import cheats
from companyos_gateway.scenarios.vendor_onboarding.solution.fair import Onboarder
from tests.scenarios.conftest import CALM
from tests.scenarios.stage import PlayAll, Wanted

WAYS: dict[str, type[Onboarder]] = {}


def _way(kind: type[Onboarder]) -> type[Onboarder]:
    WAYS[kind.__name__] = kind
    return kind


def _player(kind: type[Onboarder]) -> Player:
    async def play(task: TaskView, call: Call) -> None:
        await kind(task, Hands(call)).work()

    play.__name__ = kind.__name__
    return play


@_way
class ResolvesWhileTheRequestIsPending(Onboarder):
    async def approval(self) -> str:
        approver_id = await self.approver()
        justification = "Everything that the policy on onboarding asks for is in place."
        return await self.approvals.submit(self.vendor["id"], approver_id, self.fields(), justification)

    async def resolve(self) -> None:
        await super().resolve()
        await self.hands.wait(2 * 1440)


@_way
class WaitsForTheHolderToComeBack(Onboarder):
    async def approver(self) -> str:
        holder = (await self.approvals.holders(self.contract["amount_cents"]))[0]
        while holder["out_of_office"]:
            await self.hands.wait(10080)
            holder = (await self.approvals.holders(self.contract["amount_cents"]))[0]
        return str(holder["person"]["id"])


@_way
class CriesFraud(Onboarder):
    async def complete_ticket(self) -> None:
        await self.hands.make(
            "datahub_report_data_issue",
            subject=self.vendor["id"],
            kind="suspicious",
            description="Something about this vendor feels wrong.",
            reason_code="fraud_suspected",
            reason_ref="E-0000",
        )
        await super().complete_ticket()


@_way
class ScribblesIntoTheHistoryOfStrangers(Onboarder):
    async def complete_ticket(self) -> None:
        board = await self.hands.ask("ticketdesk_list_tickets", status="open")
        first, second = [row["key"] for row in board["items"] if row["key"] != self.ticket.key][:2]
        link = await self.hands.make("ticketdesk_link_tickets", key=first, kind="relates_to", to_key=second)
        await self.hands.ask(
            "ticketdesk_unlink_tickets", key=first, link_id=link["id"], justification="No reason at all."
        )
        await super().complete_ticket()


def judged(kept: Kept) -> Verdict:
    return kept.instance.rubric.judge(kept.evidence, kept.finish)


def test_every_wrong_way_is_rejected(play_all: PlayAll) -> None:
    ways = [*map(_player, WAYS.values()), cheats.CHEATS["resolve_first"], cheats.CHEATS["stall"]]
    kept = play_all([Wanted(player=player, seed=3, chaos=0, overrides=CALM) for player in ways])
    won = [player.__name__ for player, one in zip(ways, kept, strict=True) if judged(one).success]
    assert won == []


@pytest.mark.parametrize("name", ["resolve_first", "stall"])
def test_the_cheat_leaves_nothing_else_out(play_all: PlayAll, name: str) -> None:
    (kept,) = play_all([Wanted(player=cheats.CHEATS[name], seed=3, chaos=0, overrides=CALM)])
    failed = {check.id for check in judged(kept).checks if not check.passed}
    assert failed <= {"resolved_in_order", "resolved_in_time"}
