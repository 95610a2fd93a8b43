"""Episodes in tests of other code."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Unpack, cast

from openenv.core.client_types import StepResult

from companyos.client import CompanyOSEnv, CompanyOSSyncEnv
from companyos.contract import CompanyOSObservation, CompanyOSResetObservation, EpisodeVerdict
from companyos.options import ResetArguments

DEFAULT_SEED = 0
_TASK_OPTIONS = frozenset({"seed", "split", "index", "task_id", "resume", "injected_state"})
"""Options that select a task. Without any of them the seed is DEFAULT_SEED: a test plays the same task every time."""


@dataclass(frozen=True)
class Episode:
    """An open episode. `env` is the client's session, `first` the observation of the reset."""

    env: CompanyOSSyncEnv
    first: CompanyOSResetObservation

    def call_tool(self, tool: str, /, **arguments: Any) -> StepResult[CompanyOSObservation]:
        """Take one step: call a tool by its name with the arguments of its schema."""
        return self.env.call_tool(tool, **arguments)

    def verdict(self) -> EpisodeVerdict:
        """Return the verdict on the episode so far, with each check."""
        return self.env.verdict()


@contextmanager
def open_episode(url: str, *, token: str | None = None, **options: Unpack[ResetArguments]) -> Iterator[Episode]:
    """Open an episode for the duration of a `with` block, then drop it. Raises ApiError for invalid options."""
    if not _TASK_OPTIONS & options.keys():
        options["seed"] = DEFAULT_SEED
    with CompanyOSEnv(base_url=url, token=token).sync() as env:
        episode = Episode(env, cast("CompanyOSResetObservation", env.reset(**options).observation))
        try:
            yield episode
        finally:
            env.drop()
