"""Reference episodes: observations without faults, recorded once per deployment."""

from __future__ import annotations

from typing import Any

from companyos.policies.arguments import ids_in
from verification.faults.deployment import Deployment
from verification.faults.findings import Findings
from verification.faults.player import Player
from verification.faults.step_script import (
    MAX_STEPS,
    RESET,
    EpisodeEntities,
    Reference,
    action_of,
    canary_of,
    normalize,
)


class ReferenceEpisodeError(Exception):
    """Raised if an undisturbed episode does not follow the script."""


async def play_reference(deployment: Deployment, seed: int) -> Reference:
    """Play the seed's episode to the last step of the script; raises ReferenceEpisodeError."""
    entities = await _discover_entities(deployment, seed)
    first = await _post(deployment, "/reset", RESET | {"seed": seed, "episode_id": f"reference-{seed}"})
    reference = Reference(entities, normalize(first))
    for number in range(1, MAX_STEPS + 2):
        action = action_of(entities, number, canary_of(f"ref{seed}", 0, number))
        body = {"episode_id": f"reference-{seed}", "action": action.body, "step": number}
        response = await _post(deployment, "/step", body)
        observation = response["observation"]
        if observation["error"] is not None or "code" in (observation["result"] or {}):
            raise ReferenceEpisodeError(f"seed {seed}, step {number}: {action.tool} returned {observation}")
        reference.answers.append(normalize(response))
    await Player(deployment, f"reference-{seed}", reference, Findings(), seed, is_open=True).close()
    return reference


async def _discover_entities(deployment: Deployment, seed: int) -> EpisodeEntities:
    opened = await _post(deployment, "/reset", RESET | {"seed": seed, "episode_id": f"scout-{seed}"})
    first = opened["observation"]
    action = {"tool_name": "approvalflow_list_approvals", "arguments": {}}
    listed = await _post(deployment, "/step", {"episode_id": f"scout-{seed}", "action": action})
    await deployment.client.request("DELETE", f"/v1/episodes/scout-{seed}")
    return EpisodeEntities(
        ticket=ids_in(first["brief"])[0],
        person=first["acting_as"],
        approval=listed["observation"]["result"]["items"][0]["id"],
    )


async def _post(deployment: Deployment, path: str, body: dict[str, Any]) -> dict[str, Any]:
    response = await deployment.client.request("POST", path, body, deadline_s=30.0)
    if not response.is_done:
        raise ReferenceEpisodeError(f"{path} returned {response}: {response.body}\n{deployment.log_tail()}")
    return dict(response.body)
