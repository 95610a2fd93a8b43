"""Synchronous episodes over one connection, which is restored if it is lost."""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Unpack, cast

from openenv.core.client_types import StepResult
from websockets.exceptions import WebSocketException

from companyos.client import ApiError, CompanyOSEnv
from companyos.contract import CompanyOSResetObservation, CompanyOSState, Outcome, ToolSpec
from companyos.options import ResetArguments
from companyos.policies import EpisodeOverError, StepView
from companyos.runner.episode import GIVE_UP, UNREADABLE_CODES, step_view

RECONNECT_WITHIN_S = 30.0
_PAUSE_S = 0.5
_CALL_ATTEMPTS = 5
_CONNECTION_ERRORS = (OSError, TimeoutError, WebSocketException)
"""Exceptions of a call that are caused by the connection."""

_EPISODE_OVER_MESSAGE = "the episode is over"


@dataclass(frozen=True, kw_only=True)
class Ending:
    """Result of an episode with counts of its calls."""

    return_: float
    success: bool
    outcome: Outcome
    steps: int
    invalid: int
    """Calls that the environment rejected: unknown tool, invalid or unreadable arguments."""
    refused: int
    """Calls that a service rejected."""
    milestones: int
    """Calls with a positive reward."""
    abandon_reward: float = 0.0
    """Reward of the `finish` that `end` added to an abandoned episode."""


class Session:
    """Plays episodes on a server.

    Raises ApiError, and ConnectionError if the server is unreachable for `within_s` seconds, or if the connection is
    lost during each of five attempts at a call. If the response to a call is lost, the session reconnects and repeats
    the call only if the server did not execute it.
    """

    def __init__(self, url: str, *, token: str | None = None, within_s: float = RECONNECT_WITHIN_S) -> None:
        self._env = CompanyOSEnv(base_url=url, token=token).sync()
        self._within_s = within_s
        self._views: list[StepView] = []
        self._state: CompanyOSState | None = None
        self._is_started = False
        self._unreadable_calls = 0
        self._abandon_reward = 0.0

    @property
    def is_over(self) -> bool:
        """Return whether the episode has ended, or none was started."""
        return not self._is_started or bool(self._views and self._views[-1].done)

    @property
    def is_cut_off(self) -> bool:
        """Return whether the episode has steps and has not ended."""
        return bool(self._views) and not self.is_over

    def reset(self, **options: Unpack[ResetArguments]) -> CompanyOSResetObservation:
        """Start an episode; the server closes a live one."""
        self._views, self._state, self._is_started, self._unreadable_calls = [], None, False, 0
        self._abandon_reward = 0.0
        deadline = time.monotonic() + self._within_s
        while True:
            try:
                first = self._env.reset(**options)
                break
            except _CONNECTION_ERRORS:
                if time.monotonic() + _PAUSE_S > deadline:
                    raise
            time.sleep(_PAUSE_S)
        self._is_started = True
        return cast(CompanyOSResetObservation, first.observation)

    def tools(self) -> list[ToolSpec]:
        """Return the tools of the episode."""
        return self._env.list_tools()

    def call(self, tool: str, arguments: dict[str, Any]) -> StepView:
        """Take one step. Raises EpisodeOverError once the episode has ended."""
        if self.is_over:
            raise EpisodeOverError(_EPISODE_OVER_MESSAGE)
        try:
            view = step_view(self._call(tool, arguments))
        except ApiError as error:
            self._unreadable_calls += error.code in UNREADABLE_CODES
            raise
        self._views.append(view)
        return view

    def end(self) -> Ending:
        """Return the result of the episode; abandon it first if it is live."""
        if not self._is_started:
            raise EpisodeOverError("no episode was started")
        if not self.is_over:
            self._abandon_reward = self.call("finish", dict(GIVE_UP)).reward
        state = self._state = self._state or self._fetch_state()
        return Ending(
            return_=state.return_,
            success=bool(state.success),
            outcome=state.outcome or Outcome.INFRA_ERROR,
            steps=state.step_count,
            invalid=self._unreadable_calls + sum(view.error is not None for view in self._views),
            refused=sum(view.problem is not None for view in self._views),
            milestones=sum(view.reward > 0 for view in self._views),
            abandon_reward=self._abandon_reward,
        )

    def abandon(self) -> Ending | None:
        """Abandon an episode that was cut off; return its result, or None if it was not or the server lost it."""
        if self.is_cut_off:
            with suppress(*_CONNECTION_ERRORS, ApiError):
                return self.end()
        return None

    def close(self) -> None:
        """Close the connection; a live episode ends with it."""
        with suppress(*_CONNECTION_ERRORS, ApiError):
            self._env.close()

    def _call(self, tool: str, arguments: dict[str, Any]) -> StepResult[Any]:
        for _ in range(_CALL_ATTEMPTS):
            try:
                return self._env.call_tool(tool, **arguments)
            except _CONNECTION_ERRORS:
                last = self._env.resume(within_s=self._within_s)
                if self._env.state().step_count > len(self._views):
                    return last
        raise ConnectionError(f"The connection was lost in each of {_CALL_ATTEMPTS} attempts to call {tool!r}.")

    def _fetch_state(self) -> CompanyOSState:
        """Return the state of the episode; reconnect if the connection is lost."""
        try:
            return self._env.state()
        except _CONNECTION_ERRORS:
            self._env.resume(within_s=self._within_s)
            return self._env.state()
