"""Graders that OpenEnv's severity policy names but its validator does not implement yet, run against a live server.

The checks have the policy's names, so that OpenEnv's graders can replace them.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import httpx
from openenv.core.client_types import StepResult
from openenv.core.generic_client import GenericEnvClient
from openenv.validation.manifest import NormalizedManifestV2
from openenv.validation.runtime.contracts import RuntimePlan

from companyos.contract import ENVIRONMENT
from companyos.runner import EpisodePlan, play_all
from verification.openenv.manifest import Canary
from verification.openenv.validator import CheckLine, check_line

PART = "project graders"
FLOOR_POLICIES = ("noop", "random")
FLOOR_SEEDS = (1, 2, 3)
CONCURRENCY = 6
_COMMENT = "Written by another episode."


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


class Graders:
    """All graders for one running server; each returns one line."""

    def __init__(self, url: str, manifest: NormalizedManifestV2, plan: RuntimePlan, canaries: list[Canary]) -> None:
        self._url = url
        self._manifest = manifest
        self._plan = plan
        self._canaries = canaries
        self._greatest = manifest.reward.range[1]

    async def lines(self) -> AsyncIterator[CheckLine]:
        """Yield one line per check."""
        oracle = await self._oracle()
        yield await self._reward_well_formed(oracle)
        yield await self._seed_control(oracle)
        yield await self._episode_determinism(oracle)
        yield await self._episode_isolation(oracle)
        yield await self._tool_declaration_accuracy()
        yield await self._task_declaration_accuracy()
        yield self._oracle_max(oracle)
        yield await self._floor_gap()
        yield await self._canary_floor()

    def _reset(self, **more: Any) -> dict[str, Any]:
        return {**self._plan.reset.options, "seed": self._plan.reset.seed, **more}

    async def _oracle(self) -> Transcript:
        return await play_episode(self._url, self._reset(), self._plan.actions)

    async def _reward_well_formed(self, oracle: Transcript) -> CheckLine:
        low, high = self._manifest.reward.range
        listing = await play_episode(self._url, self._reset(), [{"type": "list_tools"}])
        reported = [*oracle.rewards, *listing.rewards]
        wrong = [reward for reward in reported if not _is_number(reward) or not low <= reward <= high]
        details = f"{len(reported)} rewards, including resets and a listing; {len(wrong)} outside [{low:g}, {high:g}]"
        return check_line(PART, "runtime.reward_well_formed", holds=not wrong, details=details)

    async def _seed_control(self, oracle: Transcript) -> CheckLine:
        seeds = [self._plan.reset.seed + more for more in range(1, CONCURRENCY)]
        others = [await play_episode(self._url, self._reset(seed=seed), ()) for seed in seeds]
        drawn = await play_episode(self._url, {"seed": None}, ())
        firsts = {str(item.answers[0]) for item in [oracle, *others]}
        is_drawn = isinstance(drawn.state["seed"], int)
        reported = [episode.state["seed"] for episode in others] == seeds and is_drawn
        details = f"{len(firsts)} first observations of {CONCURRENCY} seeds; the state reports the seed: {reported}"
        return check_line(PART, "runtime.seed_control", holds=len(firsts) == CONCURRENCY and reported, details=details)

    async def _episode_determinism(self, oracle: Transcript) -> CheckLine:
        again = [await self._oracle(), *await asyncio.gather(*(self._oracle() for _ in range(CONCURRENCY)))]
        same = sum(episode.answers == oracle.answers for episode in again)
        details = f"{same} of {len(again)} repetitions, {CONCURRENCY} of them at once, are byte-identical to the first"
        return check_line(PART, "runtime.episode_determinism", holds=same == len(again), details=details)

    async def _episode_isolation(self, oracle: Transcript) -> CheckLine:
        """Take the steps of one session while another session writes to the same task before each step."""
        between = Transcript()
        key = next(action["arguments"]["key"] for action in self._plan.actions if "key" in action["arguments"])
        comment = {"tool_name": "ticketdesk_add_comment", "arguments": {"key": key, "body": _COMMENT}}
        async with GenericEnvClient(base_url=self._url) as one, GenericEnvClient(base_url=self._url) as other:
            await other.reset(**self._reset())
            between.add(await one.reset(**self._reset()))
            for action in self._plan.actions:
                await other.step({"type": "call_tool", **comment})
                between.add(await one.step(action))
            counted = (await other.state())["step_count"]
        is_apart = between.answers == oracle.answers and counted == len(self._plan.actions)
        details = f"{counted} writes to the same ticket by another session changed nothing: {is_apart}"
        return check_line(PART, "runtime.episode_isolation", holds=is_apart, details=details)

    async def _tool_declaration_accuracy(self) -> CheckLine:
        declared = set(self._manifest.capabilities.declared_tools)
        async with GenericEnvClient(base_url=self._url) as client, httpx.AsyncClient(trust_env=False) as http:
            listed = (await client.step({"type": "list_tools"})).observation["tools"]
            rpc = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
            mcp_tools = (await http.post(f"{self._url}/mcp", json=rpc)).json()["result"]["tools"]
        found = [{tool["name"] for tool in tools} for tools in (listed, mcp_tools)]
        differ = sorted((declared ^ found[0]) | (declared ^ found[1]))
        details = (
            f"{len(declared)} declared, {len(found[0])} listed, {len(found[1])} over /mcp; differing: {differ or 0}"
        )
        return check_line(PART, "runtime.tool_declaration_accuracy", holds=not differ, details=details)

    async def _task_declaration_accuracy(self) -> CheckLine:
        declared = self._manifest.capabilities.declared_task_count
        pinned = self._manifest.task_distribution and self._manifest.task_distribution.dataset_version
        async with httpx.AsyncClient(base_url=f"{self._url}/{ENVIRONMENT}/", trust_env=False) as http:
            splits = (await http.get("splits")).json()
            found = {
                split["name"]: (await http.post("num_tasks", json={"split": split["name"]})).json() for split in splits
            }
        counted = {name: answer["num_tasks"] for name, answer in found.items()}
        versions = {split["version"] for split in splits}
        details = f"declared {declared}, found {counted}; task set {pinned} pinned, {', '.join(versions)} found"
        return check_line(
            PART,
            "runtime.task_declaration_accuracy",
            holds=counted == declared and versions == {pinned},
            details=details,
        )

    def _oracle_max(self, oracle: Transcript) -> CheckLine:
        least = self._greatest - self._manifest.reward.oracle_tolerance
        reached = oracle.done and bool(oracle.state["success"]) and oracle.last_reward >= least
        details = f"the oracle's last step pays {oracle.last_reward:g} after {len(oracle.rewards) - 1} steps"
        return check_line(
            PART, "semantic.oracle_max", holds=reached, details=f"{details}; the maximum is {self._greatest:g}"
        )

    async def _floor_gap(self) -> CheckLine:
        plans = [
            EpisodePlan(scenario=self._plan.reset.options["scenario"], seed=seed, chaos=1, policy=policy)
            for policy in FLOOR_POLICIES
            for seed in FLOOR_SEEDS
        ]
        successes = sum(item.record.success for item in await play_all(self._url, plans))
        nothing = next(item for item in self._canaries if item.name == "nothing")
        floors = [
            (await play_episode(self._url, {**nothing.reset, "seed": seed}, nothing.actions)).last_reward
            for seed in FLOOR_SEEDS
        ]
        gap, margin = self._greatest - max(floors), self._manifest.reward.floor_margin
        details = f"floor {max(floors):g}, gap {gap:g}, margin {margin:g}; {', '.join(FLOOR_POLICIES)} succeed"
        details = f"{details} in {successes} of {len(plans)} episodes"
        return check_line(PART, "semantic.floor_gap", holds=gap >= margin and not successes, details=details)

    async def _canary_floor(self) -> CheckLine:
        limit = self._greatest - self._manifest.reward.floor_margin
        rewards: dict[str, float] = {}
        for canary in self._canaries:
            transcript = await play_episode(self._url, canary.reset, canary.actions)
            rewards[canary.name] = transcript.last_reward if not transcript.state["success"] else self._greatest
        details = ", ".join(f"{name} {reward:g}" for name, reward in rewards.items())
        return check_line(
            PART, "semantic.canary_floor", holds=max(rewards.values()) <= limit, details=f"{details}; at most {limit:g}"
        )


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


async def play_episode(url: str, reset: dict[str, Any], actions: Sequence[dict[str, Any]]) -> Transcript:
    """Play actions in a new session until none are left or the episode ends."""
    transcript = Transcript()
    async with GenericEnvClient(base_url=url) as client:
        transcript.add(await client.reset(**reset))
        for action in actions:
            if transcript.done:
                break
            transcript.add(await client.step(action))
        transcript.state = await client.state()
    return transcript
