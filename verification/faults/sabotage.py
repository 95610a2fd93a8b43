"""Processes that break a promise on purpose: `python -m verification.faults.sabotage NAME MODULE ARGUMENTS...`.

A suite that finds nothing is worth what it would have found. Each name takes one promise away from the process that
keeps it and leaves the other processes as they are; `verification.faults.sabotage_trials` holds a cell against it and
the column that must not be 0.
"""

from __future__ import annotations

import runpy
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any

GATEWAY = "companyos_gateway"


def no_stored_answer() -> None:
    """Let a service forget which step it applied: a call that is sent again happens again."""
    episodes: Any = import_module("companyos_shared.framework.episodes")
    begin = episodes.Episodes.begin

    def begin_without_memory(self: Any, session: Any, context: Any) -> None:
        begin(self, session, context)
        session.applied_step = 0

    episodes.Episodes.begin = begin_without_memory


def forgotten_intents() -> None:
    """Let a gateway that starts again leave an open step alone, as if nothing had been sent."""
    recovery: Any = import_module("companyos_gateway.engine.recovery")
    replay = recovery.replay

    def begin_without_memory(*arguments: Any) -> None:
        replay(*arguments)

    recovery.replay = begin_without_memory


def lost_outcomes() -> None:
    """Let the gateway answer steps that it has not written down."""
    journal: Any = import_module("companyos_gateway.engine.journal")
    journal.Journal.record_step = lambda *_arguments: None


def half_a_snapshot() -> None:
    """Let the gateway take snapshots of one service fewer than were touched."""
    snapshots: Any = import_module("companyos_gateway.engine.snapshots")
    keep_databases = snapshots.Snapshots._keep_databases

    async def snapshot_without_one_service(self: Any, episode: Any) -> dict[str, str]:
        left_out = max(episode.progress.touched, default="")
        return {**await keep_databases(self, episode), left_out: episode.task.sources[left_out]} if left_out else {}

    snapshots.Snapshots._keep_databases = snapshot_without_one_service


def bare_refusals() -> None:
    """Let the gateway refuse without saying why."""
    problems: Any = import_module("companyos_gateway.middleware.error_responses")
    responses: Any = import_module("starlette.responses")

    async def respond_without_code(_request: Any, error: Any) -> Any:
        return responses.PlainTextResponse("no", status_code=error.status)

    problems._on_problem = respond_without_code


SABOTAGES: dict[str, tuple[str, Callable[[], None]]] = {
    "no-stored-answer": ("uvicorn", no_stored_answer),
    "forgotten-intents": (GATEWAY, forgotten_intents),
    "lost-outcomes": (GATEWAY, lost_outcomes),
    "half-a-snapshot": (GATEWAY, half_a_snapshot),
    "bare-refusals": (GATEWAY, bare_refusals),
}
"""Each sabotage by name: the module that a process must run for it, and what is done to it."""


def main(name: str, module: str, *arguments: str) -> None:
    """Run a module as `python -m` does, without a promise if it is the one that keeps it."""
    target, sabotage = SABOTAGES[name]
    if module == target:
        if module == GATEWAY:
            import_module("companyos.openenv_preload").preload_openenv()
        sabotage()
    sys.argv = [module, *arguments]
    runpy.run_module(module, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
