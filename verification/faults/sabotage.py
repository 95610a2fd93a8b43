"""Runs a process with one guarantee disabled: `python -m verification.faults.sabotage NAME MODULE ARGUMENTS...`.

The suite must detect each sabotage. Only the process that implements the guarantee is changed.
`verification.faults.sabotage_trials` maps each sabotage to a cell and to the columns that must not all be 0.
"""

from __future__ import annotations

import runpy
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any

GATEWAY = "companyos_gateway"


def no_stored_answer() -> None:
    """Forget the last applied step in a service: a repeated call is applied again."""
    episodes: Any = import_module("companyos_shared.framework.episodes")
    begin = episodes.Episodes.begin

    def begin_without_memory(self: Any, session: Any, context: Any) -> None:
        begin(self, session, context)
        session.applied_step = 0

    episodes.Episodes.begin = begin_without_memory


def forgotten_intents() -> None:
    """Ignore open steps at a gateway restart."""
    recovery: Any = import_module("companyos_gateway.engine.recovery")
    replay = recovery.replay

    def begin_without_memory(*arguments: Any) -> None:
        replay(*arguments)

    recovery.replay = begin_without_memory


def lost_outcomes() -> None:
    """Respond to steps without journaling them."""
    journal: Any = import_module("companyos_gateway.engine.journal")
    journal.Journal.record_step = lambda *_arguments: None


def half_a_snapshot() -> None:
    """Omit one touched service from the gateway's snapshots."""
    snapshots: Any = import_module("companyos_gateway.engine.snapshots")
    keep_databases = snapshots.Snapshots._keep_databases

    async def snapshot_without_one_service(self: Any, episode: Any) -> dict[str, str]:
        left_out = max(episode.progress.touched, default="")
        return {**await keep_databases(self, episode), left_out: episode.task.sources[left_out]} if left_out else {}

    snapshots.Snapshots._keep_databases = snapshot_without_one_service


def bare_refusals() -> None:
    """Refuse requests without a problem code."""
    problems: Any = import_module("companyos_gateway.middleware.error_responses")
    responses: Any = import_module("starlette.responses")

    async def respond_without_code(_request: Any, error: Any) -> Any:
        return responses.PlainTextResponse("no", status_code=error.status)

    problems._on_gateway_error = respond_without_code


SABOTAGES: dict[str, tuple[str, Callable[[], None]]] = {
    "no-stored-answer": ("uvicorn", no_stored_answer),
    "forgotten-intents": (GATEWAY, forgotten_intents),
    "lost-outcomes": (GATEWAY, lost_outcomes),
    "half-a-snapshot": (GATEWAY, half_a_snapshot),
    "bare-refusals": (GATEWAY, bare_refusals),
}
"""Each sabotage by name: the module whose process it applies to, and the patch."""


def main(name: str, module: str, *arguments: str) -> None:
    """Run a module as `python -m` does; apply the sabotage if the module is its target."""
    target, sabotage = SABOTAGES[name]
    if module == target:
        if module == GATEWAY:
            import_module("companyos.openenv_preload").preload_openenv()
        sabotage()
    sys.argv = [module, *arguments]
    runpy.run_module(module, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
