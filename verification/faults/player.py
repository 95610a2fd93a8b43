"""A player of one episode that repeats unanswered requests and records the responses."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from verification.faults.deployment import Deployment
from verification.faults.findings import Findings
from verification.faults.gateway_client import DEADLINE_S, Kind, Response
from verification.faults.step_script import MAX_STEPS, RESET, Action, Reference, action_of, canary_of, normalize

PAUSE_S = 0.05
FORKS_AT_ONCE = 2
MIN_WAIT_S = 5.0
RETRYABLE_CODES = frozenset(
    {"services-unavailable", "shutting-down", "unanswered", "too-many-waiting", "at-capacity", "storage-full"}
)
"""Error codes that a retry may resolve."""

INFRA_ERROR = "infra-error"


@dataclass
class Player:
    """One episode from its player's view. `actions` are the acknowledged steps since the start of the episode."""

    deployment: Deployment
    name: str
    reference: Reference
    findings: Findings
    seed: int
    actions: list[Action] = field(default_factory=list)
    snapshots: dict[str, list[Action]] = field(default_factory=dict)
    replay_number: int = 0
    ended: bool = False
    retries_requests: bool = True
    is_open: bool = False
    pending: Action | None = None
    first_observation: str = ""
    unacknowledged_forks: int = 0
    unacknowledged_snapshots: int = 0
    on_done: Callable[[], None] = lambda: None

    @property
    def step_count(self) -> int:
        """Number of acknowledged steps."""
        return len(self.actions)

    async def open(self) -> None:
        """Reset to a new episode with the player's own id."""
        body = RESET | {"seed": self.seed, "episode_id": self.name, "prefetch": self.seed % 3}
        response, tries = await self._send_until_answered("/reset", body)
        if response.is_done:
            self.first_observation = normalize(response.body)
            if self.reference.first:
                self._check_equal(0, self.first_observation, self.reference.first)
        self.is_open = response.is_done or (tries > 1 and response.code == "episode-exists")
        if not self.is_open:
            self._note_refusal("reset", response)

    async def step(self) -> bool:
        """Take the next step; return whether another may follow."""
        number = self.step_count + 1
        if number > MAX_STEPS or self.ended or not self.is_open:
            return False
        response, _ = await self._send_until_answered("/step", self.next_request())
        if not response.is_done:
            self._note_refusal(f"step {number}", response)
            return False
        return self.acknowledge(response.body)

    def plan(self) -> Action:
        """Return the next action; it is the same until acknowledged."""
        number = self.step_count + 1
        if self.pending is None:
            self.pending = action_of(self.reference.entities, number, canary_of(self.name, self.replay_number, number))
        return self.pending

    def next_request(self) -> dict[str, Any]:
        """Return the body of the next step request; it is the same until acknowledged."""
        return {"episode_id": self.name, "action": self.plan().body, "step": self.step_count + 1}

    def acknowledge(self, actual: dict[str, Any]) -> bool:
        """Record the response of the pending step; return whether another step may follow."""
        assert self.pending is not None, "no step is pending"
        if INFRA_ERROR in str((actual["observation"].get("error") or {}).get("message")):
            self.ended = True
            self.findings.ended += 1
            return False
        self.actions.append(self.pending)
        self.pending = None
        self._check_equal(self.step_count, normalize(actual), self.reference.answers[self.step_count - 1])
        return True

    async def snapshot(self) -> str | None:
        """Take a snapshot and return its id."""
        response, tries = await self._send_until_answered(f"/v1/episodes/{self.name}/snapshots")
        self.unacknowledged_snapshots += tries - response.is_done
        if not response.is_done:
            self._note_refusal("snapshot", response)
            return None
        snapshot = str(response.body["id"])
        self.snapshots[snapshot] = list(self.actions)
        if response.body["step"] != self.step_count:
            self.findings.torn.append(
                f"{self.name}: a snapshot after step {self.step_count} contains step {response.body['step']}"
            )
        return snapshot

    async def restore(self, snapshot: str) -> bool:
        """Restore a snapshot; return whether it succeeded."""
        response, _ = await self._send_until_answered(f"/v1/episodes/{self.name}/restore", {"snapshot": snapshot})
        if not response.is_done:
            self._note_refusal("restore", response)
            return False
        self.actions = list(self.snapshots[snapshot])
        self.pending = None
        self.replay_number += 1
        return True

    async def fork(self, snapshot: str, count: int = FORKS_AT_ONCE) -> list[Player]:
        """Open forks of a snapshot and return their players."""
        response, tries = await self._send_until_answered(f"/v1/snapshots/{snapshot}/fork", {"count": count})
        self.unacknowledged_forks += count * (tries - response.is_done)
        if not response.is_done:
            self._note_refusal("fork", response)
            return []
        if len(response.body) != count:
            self.findings.torn.append(f"{self.name}: requested {count} forks, {len(response.body)} were opened")
        return [self.forked_player(opened["episode_id"], snapshot) for opened in response.body]

    def forked_player(self, name: str, snapshot: str) -> Player:
        """Return the player of an episode forked from this one."""
        return Player(
            self.deployment,
            name,
            self.reference,
            self.findings,
            self.seed,
            actions=list(self.snapshots[snapshot]),
            is_open=True,
            replay_number=self.replay_number + 1,
            on_done=self.on_done,
        )

    async def resolve_pending_step(self) -> None:
        """Clear the pending step; add it to the acknowledged ones if the episode's state counts it."""
        state = await self.deployment.client.request("GET", f"/v1/episodes/{self.name}")
        if state.is_done and self.pending is not None and state.body["step_count"] > self.step_count:
            self.actions.append(self.pending)
        self.pending = None
        self.replay_number += 1

    def load_reference(self, reference: Reference) -> None:
        """Load a reference recorded after the reset, and compare the first observation with it."""
        self.reference = reference
        if self.first_observation:
            self._check_equal(0, self.first_observation, reference.first)

    async def close(self) -> None:
        """Free the episode."""
        if self.is_open:
            await self.deployment.client.request("DELETE", f"/v1/episodes/{self.name}")
            self.is_open = False

    async def _send_until_answered(self, path: str, body: Any = None) -> tuple[Response, int]:
        """Send a POST request until it is answered or too late; return the response and the number of attempts."""
        clock = asyncio.get_running_loop().time
        began, tries, slow_starts_s = clock(), 0, self.deployment.slow_starts_s

        def left_s() -> float:
            """Return the remaining time; it grows when a slow start ends, which may be during a request."""
            return began + DEADLINE_S + self.deployment.slow_starts_s - slow_starts_s - clock()

        while True:
            response = await self.deployment.client.request("POST", path, body, deadline_s=max(MIN_WAIT_S, left_s()))
            tries += 1
            took_s = clock() - began
            self.findings.slowest_s = max(self.findings.slowest_s, took_s)
            if response.kind is Kind.UNCLEAR:
                self.findings.unclear.append(f"{self.name}: POST {path}: {response.why}")
            if response.is_done:
                self.on_done()
            is_unanswered = response.kind is Kind.BROKEN or response.code == "unanswered"
            if is_unanswered and not self.retries_requests:
                return response, tries
            if response.is_done or (response.kind is Kind.REFUSED and response.code not in RETRYABLE_CODES):
                return response, tries
            if left_s() <= PAUSE_S and not self.deployment.is_starting:
                self.findings.unclear.append(f"{self.name}: POST {path}: still {response} after {took_s:.1f} s")
                return response, tries
            await asyncio.sleep(PAUSE_S)

    def _note_refusal(self, what: str, response: Response) -> None:
        if response.kind is Kind.REFUSED and response.code not in RETRYABLE_CODES:
            self.findings.lost.append(f"{self.name}: {what} got {response}")

    def _check_equal(self, number: int, actual: str, expected: str) -> None:
        if actual != expected:
            place = next((at for at, (one, other) in enumerate(zip(actual, expected, strict=False)) if one != other), 0)
            shown = slice(max(0, place - 60), place + 60)
            self.findings.torn.append(
                f"{self.name}: step {number} differs: ...{actual[shown]}... instead of ...{expected[shown]}..."
            )
