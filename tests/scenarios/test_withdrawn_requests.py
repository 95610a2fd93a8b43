"""Wrong requests that an agent withdraws before the decision: one is harmless, but a search is not."""

from __future__ import annotations

from typing import Any

import pytest

from companyos.contract import Outcome
from companyos.policies import Call
from companyos_gateway.evaluation.guessing import MAX_GUESSES
from companyos_players.registry import fair_player
from tests.scenarios.engine import EpisodeSpec, PlayAll, verdict_of
from verification.proof.players.variations import SUBMIT, detouring

pytestmark = pytest.mark.matrix


@pytest.mark.parametrize("count", [1, MAX_GUESSES, MAX_GUESSES + 1])
def test_an_agent_may_withdraw_wrong_requests_but_not_search_with_them(play_all: PlayAll, count: int) -> None:
    async def take_back(call: Call, arguments: dict[str, Any]) -> None:
        for number in range(1, count + 1):
            fields = arguments["fields"] | {"amount_cents": arguments["fields"]["amount_cents"] + number}
            made = await call(SUBMIT, arguments | {"fields": fields})
            await call("approvalflow_withdraw_approval", {"request_id": made.result["id"]})

    player = detouring(fair_player("vendor_onboarding"), SUBMIT, before=take_back)
    (kept,) = play_all([EpisodeSpec(player=player, seed=3, chaos=0)])
    assert (kept.result.outcome is Outcome.SUCCESS) is (count <= MAX_GUESSES)
    verdict = verdict_of(kept)
    failed = [check.id for check in verdict.checks if not check.passed]
    assert failed == ([] if count <= MAX_GUESSES else ["not_guessed"])
    withdrawn = [one for one in kept.evidence.submitted_requests(kept.instance.acting_as) if one.status == "withdrawn"]
    assert len(withdrawn) == count
