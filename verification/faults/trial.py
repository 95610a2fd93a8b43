"""One trial: a deployment, episodes with a known history, one fault, and the verdict. A cell has many trials."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from random import Random
from typing import Any

from companyos.policies.arguments import ids_in
from verification.faults.deployment import Deployment
from verification.faults.findings import Findings
from verification.faults.player import Player
from verification.faults.step_script import (
    MAX_STEPS,
    RESET,
    SEEDS,
    EpisodeEntities,
    Reference,
    action_of,
    canary_of,
    normalize,
)
from verification.faults.verdict import check_leftovers, judge

JUDGED_SNAPSHOTS = 2
MAX_OPENING_STEPS = 6
LONGEST_WAIT_S = 1.0
LATEST = 12
"""The fault is injected shortly after the first to the twelfth completed request."""

JITTER_S = 0.003


class Progress:
    """Counts completed requests, and wakes tasks that wait for a count."""

    def __init__(self) -> None:
        self._count = 0
        self._waiting: list[tuple[int, asyncio.Event]] = []

    def tick(self) -> None:
        """Count one request."""
        self._count += 1
        for number, reached in self._waiting:
            if self._count >= number:
                reached.set()

    async def more(self, count: int) -> None:
        """Wait until `count` more requests are completed, or for a time limit."""
        reached = asyncio.Event()
        self._waiting.append((self._count + count, reached))
        with suppress(TimeoutError):
            await asyncio.wait_for(reached.wait(), LONGEST_WAIT_S)


@dataclass
class Trial:
    """The state of one trial. Its players are judged at its end."""

    deployment: Deployment
    references: dict[int, Reference]
    rng: Random
    number: int
    findings: Findings = field(default_factory=Findings)
    players: list[Player] = field(default_factory=list)
    progress: Progress = field(default_factory=Progress)
    exceeds_deadline: bool = False
    """True if the fault may outlast a step's deadline, so that an episode may end as infra_error."""

    async def wait_for_random_moment(self) -> None:
        """Wait for a random moment during the players' work."""
        await self.progress.more(self.rng.randint(1, LATEST))
        await asyncio.sleep(self.rng.uniform(0.0, JITTER_S))

    def player(self, seed: int | None = None) -> Player:
        """Return a player whose episode is not open yet; a new seed has no reference yet."""
        seed = seed or self.rng.choice(SEEDS)
        name = f"t{self.number % 100_000:05d}p{len(self.players):03d}"
        found = Player(self.deployment, name, self.references.get(seed, Reference.unknown()), self.findings, seed)
        found.on_done = self.progress.tick
        self.players.append(found)
        return found

    async def load_reference(self, seed: int) -> Reference:
        """Return the reference of a seed, which is recorded once per deployment."""
        if seed not in self.references:
            self.references[seed] = await play_reference(self.deployment, seed)
        return self.references[seed]

    async def open_players(self, count: int = 3, *, snapshot: bool = False, least: int = 1) -> list[Player]:
        """Return players after `least` to six steps, optionally with a snapshot and up to four further steps."""
        found = [self.player() for _ in range(count)]
        for player in found:
            await player.open()
            for _ in range(self.rng.randint(least, MAX_OPENING_STEPS)):
                await player.step()
            if snapshot:
                await player.snapshot()
                for _ in range(self.rng.randint(0, 4)):
                    await player.step()
        return found

    async def judge(self) -> None:
        """Check every episode and its snapshots."""
        for player in list(self.players):
            await self._judge_snapshots(player)
        ended = self.findings.ended
        if ended and not self.exceeds_deadline:
            self.findings.lost.append(f"{ended} episodes ended as infra_error, though the fault was over in time")
        for player in self.players:
            await judge(player)
        await check_leftovers(self.deployment, self.players, self.findings)

    async def _judge_snapshots(self, player: Player) -> None:
        if not player.snapshots:
            return
        listed = await self.deployment.client.request("GET", "/v1/snapshots")
        there = {info["id"] for info in listed.body} if listed.is_done else set()
        for snapshot in sorted(player.snapshots):
            if snapshot not in there:
                self.findings.lost.append(f"{player.name}: snapshot {snapshot} is not listed")
        for snapshot in sorted(set(player.snapshots) & there)[:JUDGED_SNAPSHOTS]:
            for forked_player in await player.fork(snapshot, 1):
                await judge(forked_player)
        for snapshot in player.snapshots:
            await self.deployment.client.request("DELETE", f"/v1/snapshots/{snapshot}")


Run = Callable[[Trial], Awaitable[None]]


@dataclass(frozen=True)
class Cell:
    """One kind of fault at one kind of moment. `full` is the number of trials for a release; CI runs a tenth."""

    name: str
    run: Run
    full: int = 8
    deployment: type[Deployment] = Deployment


async def gather_all(work: Iterable[Awaitable[object]]) -> None:
    """Wait for all awaitables; raise the first exception once all have ended."""
    for outcome in await asyncio.gather(*work, return_exceptions=True):
        if isinstance(outcome, BaseException):
            raise outcome


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
