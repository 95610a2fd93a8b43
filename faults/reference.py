"""What undisturbed episodes are told, played once by each house before anything goes wrong."""

from __future__ import annotations

from typing import Any

from companyos.policies.arguments import ids_in
from faults.findings import Findings
from faults.house import House
from faults.player import Player
from faults.script import MOST_STEPS, RESET, Reference, World, action_of, canary_of, normal


class Undisturbed(Exception):
    """An episode did not go its way although nothing was done to it."""


async def play_reference(house: House, seed: int) -> Reference:
    """Play an episode of the seed to the last step of the script; raises Undisturbed."""
    world = await _look_around(house, seed)
    first = await _ask(house, "/reset", RESET | {"seed": seed, "episode_id": f"reference-{seed}"})
    reference = Reference(world, normal(first))
    for number in range(1, MOST_STEPS + 2):
        action = action_of(world, number, canary_of(f"ref{seed}", 0, number))
        asked = {"episode_id": f"reference-{seed}", "action": action.body, "step": number}
        answer = await _ask(house, "/step", asked)
        told = answer["observation"]
        if told["error"] is not None or "code" in (told["result"] or {}):
            raise Undisturbed(f"seed {seed}, step {number}: {action.tool} is answered {told}")
        reference.answers.append(normal(answer))
    await Player(house, f"reference-{seed}", reference, Findings(), seed, is_open=True).close()
    return reference


async def _look_around(house: House, seed: int) -> World:
    begun = await _ask(house, "/reset", RESET | {"seed": seed, "episode_id": f"scout-{seed}"})
    first = begun["observation"]
    action = {"tool_name": "approvalflow_list_approvals", "arguments": {}}
    listed = await _ask(house, "/step", {"episode_id": f"scout-{seed}", "action": action})
    await house.door.ask("DELETE", f"/v1/episodes/scout-{seed}")
    return World(
        ticket=ids_in(first["brief"])[0],
        person=first["acting_as"],
        approval=listed["observation"]["result"]["items"][0]["id"],
    )


async def _ask(house: House, path: str, body: dict[str, Any]) -> dict[str, Any]:
    answer = await house.door.ask("POST", path, body, deadline_s=30.0)
    if not answer.is_done:
        raise Undisturbed(f"{path} is answered {answer}: {answer.body}\n{house.last_words()}")
    return dict(answer.body)
