"""Hill climbing on the return: mutates call sequences and keeps each mutation whose return is not lower."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from companyos.contract import ToolSpec
from companyos.policies import Call, TaskView
from companyos.policies.arguments import SamplingContext, ids_in, sample_arguments
from companyos_gateway.engine.engine import EpisodeEngine
from companyos_players.player import Step, replay_of
from companyos_shared.streams import Stream
from verification.proof.episode_runner import EpisodeResult, play

MAX_CALLS = 40
_BORROW_CHANCE = 0.3
"""Probability that a new call is taken from another episode's trace."""


class HillClimber:
    """Climbs on one instance, with calls of any tool using seen ids, and calls from another instance's trace."""

    def __init__(self, engine: EpisodeEngine, scenario: str, *, seed: int, chaos: int, foreign: Sequence[Step]) -> None:
        self._engine = engine
        self._scenario = scenario
        self._seed = seed
        self._chaos = chaos
        self._foreign = [step for step in foreign if step[0] != "finish"]
        self._tools: tuple[ToolSpec, ...] = ()
        self._surroundings: SamplingContext | None = None
        self._seen: dict[str, list[Any]] = {}

    async def climb(self, evaluations: int) -> list[EpisodeResult]:
        """Play that many episodes and return their results."""
        best: list[Step] = []
        best_return = float("-inf")
        played: list[EpisodeResult] = []
        for turn in range(evaluations):
            stream = Stream("proof", "climb", self._scenario, self._seed, turn)
            steps = self._mutated(best, stream) if turn else []
            one = await self._try(steps)
            played.append(one)
            if one.return_ >= best_return:
                best, best_return = steps, one.return_
        return played

    async def _try(self, steps: Sequence[Step]) -> EpisodeResult:
        async def player(task: TaskView, call: Call) -> None:
            if self._surroundings is None:
                self._tools = tuple(tool for tool in task.tools if tool.name != "finish")
                self._surroundings = SamplingContext([*ids_in(task.brief), task.acting_as], task.now, self._seen)
            await replay_of(steps)(task, call)

        return await play(self._engine, self._scenario, "climber", player, seed=self._seed, chaos=self._chaos)

    def _mutated(self, steps: Sequence[Step], stream: Stream) -> list[Step]:
        """Return the steps with one call added, replaced, removed or swapped."""
        changed = list(steps)
        mutation = stream.choice(["add", "add", "replace", "drop", "swap"])
        if mutation == "add" or not changed:
            if len(changed) < MAX_CALLS:
                changed.insert(stream.integer(0, len(changed)), self._draw_step(stream))
            return changed
        at = stream.integer(0, len(changed) - 1)
        if mutation == "replace":
            changed[at] = self._draw_step(stream)
        elif mutation == "drop":
            del changed[at]
        else:
            other = stream.integer(0, len(changed) - 1)
            changed[at], changed[other] = changed[other], changed[at]
        return changed

    def _draw_step(self, stream: Stream) -> Step:
        assert self._surroundings is not None
        if self._foreign and stream.chance(_BORROW_CHANCE):
            tool, arguments = stream.choice(self._foreign)
            key = self._surroundings.ids[0]
            return tool, {**arguments, "key": key} if "key" in arguments else arguments
        tool_spec = stream.choice(self._tools)
        return tool_spec.name, sample_arguments(tool_spec.input_schema, stream, self._surroundings)
