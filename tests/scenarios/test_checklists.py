"""Checklist items: a ticked item requires that the agent has looked up its subject."""

from __future__ import annotations

import pytest

from companyos.contract import Outcome
from companyos.policies import Call, TaskView
from companyos_players.player import Player
from companyos_players.registry import fair_player
from companyos_players.tickets import ticket_key_in
from tests.scenarios.engine import EpisodeSpec, PlayAll, verdict_of

SEED = 3


def _ticking_unread(fair: Player) -> Player:
    """Return the fair oracle, modified to complete the whole checklist before it reads anything except the ticket."""

    async def play(task: TaskView, call: Call) -> None:
        key = ticket_key_in(task.brief)
        ticket = (await call("ticketdesk_get_ticket", {"key": key})).result
        for item in ticket["checklist"]:
            if item["done_at"] is None:
                await call("ticketdesk_complete_checklist_item", {"key": key, "item_id": item["id"]})
        await fair(task, call)

    return play


def _spec(player: Player, scenario: str = "vendor_onboarding") -> EpisodeSpec:
    return EpisodeSpec(scenario=scenario, player=player, seed=SEED, chaos=0)


@pytest.mark.parametrize("name", ["vendor_onboarding", "access_request"])
def test_ticking_an_unread_item_forfeits_success(play_all: PlayAll, name: str) -> None:
    fair = fair_player(name)
    honest, unread = play_all([_spec(fair, name), _spec(_ticking_unread(fair), name)])
    assert honest.result.outcome is Outcome.SUCCESS
    assert unread.result.outcome is not Outcome.SUCCESS
    verdict = verdict_of(unread)
    assert [check.id for check in verdict.checks if not check.passed] == ["checklist_known"]
    assert verdict.primary_failure == "checklist_known"
