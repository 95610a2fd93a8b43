"""The players of a scenario for tests and the proof: both oracles and the adversaries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from companyos_players.player import Player
from companyos_players.registry import adversaries_of, fair_player
from verification.privileged.registry import PrivilegedPlayer, privileged_player


@dataclass(frozen=True)
class Solutions:
    """The players of a scenario: oracles must succeed, adversaries must not.

    `required_chaos` maps an adversary to the chaos kind without which its work is complete.
    """

    fair: Player
    privileged: PrivilegedPlayer
    adversaries: Mapping[str, Player]
    required_chaos: Mapping[str, str]


def solutions_for(scenario: str) -> Solutions:
    """Return the players of a scenario."""
    adversaries = adversaries_of(scenario)
    return Solutions(
        fair=fair_player(scenario),
        privileged=privileged_player(scenario),
        adversaries=adversaries.players,
        required_chaos=adversaries.required_chaos,
    )
