"""One client's trial: compares its report with the episode's state."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

import httpx
from pydantic import BaseModel, ConfigDict, ValidationError

from verification.clients.catalogue import ThirdPartyClient

CALLS = 3
PLAY_DEADLINE_S = 120.0
SEED = 3


class ClientReport(BaseModel):
    """The report of a driver script: client version, number of listed tools, and steps left or taken."""

    model_config = ConfigDict(extra="forbid")

    version: str
    tools: int
    steps_left: int | None
    steps: int | None

    def taken(self, most: int) -> int:
        """Return the number of steps taken, given the episode's step limit."""
        return self.steps if self.steps is not None else most - (self.steps_left or 0)


@dataclass(frozen=True, slots=True)
class Trial:
    """The result of a trial. `steps` is the client's count; `reason` is empty if it matches the gateway's."""

    client: str
    version: str = ""
    tools: int = 0
    steps: int = 0
    reason: str = ""

    @property
    def is_ok(self) -> bool:
        """Return whether the client's report matches."""
        return not self.reason


def play(client: ThirdPartyClient, python: Path, url: str) -> Trial:
    """Run a client that lists the tools and makes three calls in its own episode, and compare its report."""
    episode = client.name.replace(" ", "-")
    with httpx.Client(base_url=url, trust_env=False) as http:
        if not client.resets_episode:
            http.post("/reset", json={"seed": SEED, "episode_id": episode}).raise_for_status()
        try:
            report = _run_client(client, python, url, episode)
        except (ValidationError, subprocess.SubprocessError) as error:
            return Trial(client.name, reason=_last_line(error))
        state = http.get("/state", params={"episode_id": episode}).raise_for_status().json()
        offered = len(http.get("/v1/tools", params={"episode_id": episode}).json())
    steps = report.taken(state["max_steps"])
    differences = [
        f"{name}: expected {expected}, client reported {found}"
        for name, expected, found in (("tools", offered, report.tools), ("steps", state["step_count"], steps))
        if expected != found
    ]
    if not differences and steps != CALLS:
        differences = [f"{steps} steps of {CALLS}"]
    return Trial(client.name, report.version, report.tools, steps, "; ".join(differences))


def _run_client(client: ThirdPartyClient, python: Path, url: str, episode: str) -> ClientReport:
    """Return the client's report; raises SubprocessError or ValidationError."""
    command = [str(python), str(client.script), url, episode]
    completed = subprocess.run(command, capture_output=True, text=True, check=True, timeout=PLAY_DEADLINE_S)
    return ClientReport.model_validate_json((completed.stdout.splitlines() or [""])[-1])


def _last_line(error: Exception) -> str:
    message = error.stderr if isinstance(error, subprocess.CalledProcessError) else str(error)
    return (str(message).strip().splitlines() or ["no output"])[-1]
