"""Records episodes as received by OpenEnv's generic client."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from openenv.core.client_types import StepResult
from openenv.core.env_client import EnvClient
from openenv.core.generic_client import GenericEnvClient


@dataclass
class Transcript:
    """All responses of one episode, and its final state."""

    answers: list[Any] = field(default_factory=list)
    rewards: list[Any] = field(default_factory=list)
    done: bool = False
    state: dict[str, Any] = field(default_factory=dict)

    def add(self, step_result: StepResult[Any]) -> None:
        """Add a response."""
        self.answers.append([step_result.observation, step_result.reward, step_result.done])
        self.rewards.append(step_result.reward)
        self.done = step_result.done

    @property
    def last_reward(self) -> float:
        """The last step's reward."""
        return float(self.rewards[-1])


async def play(
    client: EnvClient[Any, Any, Any],
    reset: dict[str, Any],
    actions: Sequence[dict[str, Any]],
    transcript_so_far: Transcript | None = None,
) -> Transcript:
    """Play actions until none are left or the episode ends."""
    transcript = transcript_so_far or Transcript()
    transcript.add(await client.reset(**reset))
    for action in actions:
        if transcript.done:
            break
        transcript.add(await client.step(action))
    transcript.state = await client.state()
    return transcript


async def play_episode(url: str, reset: dict[str, Any], actions: Sequence[dict[str, Any]]) -> Transcript:
    """Play one episode in a new session."""
    async with GenericEnvClient(base_url=url) as client:
        return await play(client, reset, actions)
