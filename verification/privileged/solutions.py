"""The players of a scenario for tests and the proof: both oracles and the adversaries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from companyos_gateway.scenarios import catalogue
from companyos_gateway.scenarios.blocks.ticket_scenario import TicketScenario
from companyos_players.adversaries.base import ANSWER_WITH_FILLER
from companyos_players.player import Player
from companyos_players.registry import adversaries_of, fair_player
from verification.privileged.registry import PrivilegedPlayer, privileged_player


@dataclass(frozen=True)
class Solutions:
    """The players of a scenario: oracles must succeed, adversaries must not.

    `required_chaos` holds, by adversary, the kind of chaos without which it omits nothing.
    """

    fair: Player
    clairvoyant: PrivilegedPlayer
    adversaries: Mapping[str, Player]
    required_chaos: Mapping[str, str]


def solutions_for(scenario: str) -> Solutions:
    """Return the players of a scenario."""
    adversaries = adversaries_of(scenario)
    dropped = set() if asks_for_facts(scenario) else {ANSWER_WITH_FILLER}
    return Solutions(
        fair=fair_player(scenario),
        clairvoyant=privileged_player(scenario),
        adversaries={name: player for name, player in adversaries.players.items() if name not in dropped},
        required_chaos={name: kind for name, kind in adversaries.required_chaos.items() if name not in dropped},
    )


def asks_for_facts(scenario: str) -> bool:
    """Return whether every question of the scenario's approvers has an accepted answer."""
    found = catalogue()[scenario]
    words = found.texts().get("decisions", {}) if isinstance(found, TicketScenario) else {}
    questions = words.get("questions", [])
    return bool(questions) and all("answer" in question for question in questions)
