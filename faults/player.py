"""Somebody who plays one episode, asks again with the same words where an answer is missing, and keeps a notebook."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from faults.answers import DEADLINE_S, Answer, Kind
from faults.findings import Findings
from faults.house import House
from faults.script import MOST_STEPS, RESET, Action, Reference, action_of, canary_of, normal

PAUSE_S = 0.05
FORKS_AT_ONCE = 2
LEAST_WAIT_S = 5.0
NOT_NOW = frozenset({"services-unavailable", "shutting-down", "too-many-waiting", "at-capacity", "storage-full"})
"""Refusals that another moment may undo."""

INFRA_ERROR = "infra-error"


@dataclass
class Player:
    """One episode as its player knows it. `actions` are the acknowledged steps from the first one on."""

    house: House
    name: str
    reference: Reference
    findings: Findings
    seed: int
    actions: list[Action] = field(default_factory=list)
    snapshots: dict[str, list[Action]] = field(default_factory=dict)
    lap: int = 0
    ended: bool = False
    insists: bool = True
    is_open: bool = False
    pending: Action | None = None
    first_told: str = ""
    unheard_forks: int = 0
    unheard_snapshots: int = 0
    on_done: Callable[[], None] = lambda: None

    @property
    def step_count(self) -> int:
        """How many steps were acknowledged."""
        return len(self.actions)

    async def open(self) -> None:
        """Reset to a fresh episode of the player's own name."""
        asked = RESET | {"seed": self.seed, "episode_id": self.name}
        answer, tries = await self._insist("POST", "/reset", asked)
        if answer.is_done:
            self.first_told = normal(answer.body)
            if self.reference.first:
                self._check_equal(0, self.first_told, self.reference.first)
        self.is_open = answer.is_done or (tries > 1 and answer.code == "episode-exists")
        if not self.is_open:
            self._note_refusal("reset", answer)

    async def step(self) -> bool:
        """Take the next step; say whether there may be another."""
        number = self.step_count + 1
        if number > MOST_STEPS or self.ended or not self.is_open:
            return False
        answer, _ = await self._insist("POST", "/step", self.next_request())
        if not answer.is_done:
            self._note_refusal(f"step {number}", answer)
            return False
        return self.acknowledge(answer.body)

    def plan(self) -> Action:
        """Return the next action; it stays the next one until it is acknowledged."""
        number = self.step_count + 1
        if self.pending is None:
            self.pending = action_of(self.reference.world, number, canary_of(self.name, self.lap, number))
        return self.pending

    def next_request(self) -> dict[str, Any]:
        """Return the body of the next step's request; it is the same one until it is answered."""
        return {"episode_id": self.name, "action": self.plan().body, "step": self.step_count + 1}

    def acknowledge(self, told: dict[str, Any]) -> bool:
        """Take down what the pending step was answered; say whether there may be another."""
        assert self.pending is not None, "nothing was asked"
        if INFRA_ERROR in str((told["observation"].get("error") or {}).get("message")):
            self.ended = True
            self.findings.ended += 1
            return False
        self.actions.append(self.pending)
        self.pending = None
        self._check_equal(self.step_count, normal(told), self.reference.answers[self.step_count - 1])
        return True

    async def snapshot(self) -> str | None:
        """Take a snapshot and return its id."""
        answer, tries = await self._insist("POST", f"/v1/episodes/{self.name}/snapshots")
        self.unheard_snapshots += tries - answer.is_done
        if not answer.is_done:
            self._note_refusal("snapshot", answer)
            return None
        snapshot = str(answer.body["id"])
        self.snapshots[snapshot] = list(self.actions)
        if answer.body["step"] != self.step_count:
            self.findings.torn.append(
                f"{self.name}: a snapshot behind step {self.step_count} is of step {answer.body['step']}"
            )
        return snapshot

    async def restore(self, snapshot: str) -> bool:
        """Go back to a snapshot; say whether it was done."""
        answer, _ = await self._insist("POST", f"/v1/episodes/{self.name}/restore", {"snapshot": snapshot})
        if not answer.is_done:
            self._note_refusal("restore", answer)
            return False
        self.actions = list(self.snapshots[snapshot])
        self.pending = None
        self.lap += 1
        return True

    async def fork(self, snapshot: str, count: int = FORKS_AT_ONCE) -> list[Player]:
        """Open forks of a snapshot and return who plays them."""
        answer, tries = await self._insist("POST", f"/v1/snapshots/{snapshot}/fork", {"count": count})
        self.unheard_forks += count * (tries - answer.is_done)
        if not answer.is_done:
            self._note_refusal("fork", answer)
            return []
        if len(answer.body) != count:
            self.findings.torn.append(f"{self.name}: {count} forks were asked for and {len(answer.body)} were opened")
        return [self.twin(opened["episode_id"], snapshot) for opened in answer.body]

    def twin(self, name: str, snapshot: str) -> Player:
        """Return the player of an episode that began as a snapshot of this one."""
        return Player(
            self.house,
            name,
            self.reference,
            self.findings,
            self.seed,
            actions=list(self.snapshots[snapshot]),
            is_open=True,
            lap=self.lap + 1,
            on_done=self.on_done,
        )

    async def leave_in_doubt(self) -> None:
        """Do not ask for the pending step again: take the state's word for whether it was taken."""
        state = await self.house.door.ask("GET", f"/v1/episodes/{self.name}")
        if state.is_done and self.pending is not None and state.body["step_count"] > self.step_count:
            self.actions.append(self.pending)
        self.pending = None
        self.lap += 1

    def learn(self, reference: Reference) -> None:
        """Take up a reference that was played later than the reset, and hold the first observation against it."""
        self.reference = reference
        if self.first_told:
            self._check_equal(0, self.first_told, reference.first)

    async def close(self) -> None:
        """Free the episode."""
        if self.is_open:
            await self.house.door.ask("DELETE", f"/v1/episodes/{self.name}")
            self.is_open = False

    async def _insist(self, method: str, path: str, body: Any = None) -> tuple[Answer, int]:
        """Send a request until it is answered for good or the deadline has passed; return how often it was sent."""
        clock = asyncio.get_running_loop().time
        began, tries, slow_starts_s = clock(), 0, self.house.slow_starts_s
        while True:
            waits_s = DEADLINE_S + self.house.slow_starts_s - slow_starts_s
            left_s = waits_s - (clock() - began)
            answer = await self.house.door.ask(method, path, body, deadline_s=max(LEAST_WAIT_S, left_s))
            tries += 1
            took_s = clock() - began
            self.findings.slowest_s = max(self.findings.slowest_s, took_s)
            if answer.kind is Kind.UNCLEAR:
                self.findings.unclear.append(f"{self.name}: {method} {path}: {answer.why}")
            if not answer.is_done:
                self.findings.felt[answer.code or answer.kind.name.lower()] += 1
            if answer.is_done:
                self.on_done()
            if answer.kind is Kind.BROKEN and not self.insists:
                return answer, tries
            if answer.is_done or (answer.kind is Kind.REFUSED and answer.code not in NOT_NOW):
                return answer, tries
            if took_s + PAUSE_S >= waits_s and not self.house.is_starting:
                self.findings.unclear.append(f"{self.name}: {method} {path}: nothing but {answer} in {took_s:.1f} s")
                return answer, tries
            await asyncio.sleep(PAUSE_S)

    def _note_refusal(self, what: str, answer: Answer) -> None:
        if answer.kind is Kind.REFUSED and answer.code not in NOT_NOW:
            self.findings.lost.append(f"{self.name}: {what} was answered {answer}")

    def _check_equal(self, number: int, told: str, wanted: str) -> None:
        if told != wanted:
            place = next((at for at, (one, other) in enumerate(zip(told, wanted, strict=False)) if one != other), 0)
            shown = slice(max(0, place - 60), place + 60)
            self.findings.torn.append(
                f"{self.name}: step {number} is told otherwise: ...{told[shown]}... for ...{wanted[shown]}..."
            )
