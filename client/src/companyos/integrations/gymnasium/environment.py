"""Gymnasium environments with tool calls and results as JSON text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Unpack, cast

import gymnasium
from gymnasium.vector import SyncVectorEnv

from companyos.contract import MAX_SEED, Outcome
from companyos.integrations.enterprise_connection import EnterpriseConnection
from companyos.integrations.gymnasium.text_spaces import (
    action_space,
    encode_observation,
    observation_space,
    parse_action,
    step_payload,
)
from companyos.integrations.session import Ending, Session
from companyos.options import ResetArguments

_TASK_OPTIONS = frozenset({"split", "index", "task_id", "injected_state"})
"""Reset options that determine the seed of the episode."""


class CompanyOSGym(gymnasium.Env[str, str]):
    """Plays episodes on the server at `url`, or on a local one that is started here and stopped by `close`.

    `options` apply to every reset; `reset(options=...)` overrides them. The seed of a reset is the seed of the episode.
    Without a seed it is drawn from `np_random`, and so is the index of a `split` without an index. An action is
    `{"tool_name": ..., "arguments": {...}}`; an unreadable one is a step at the cost of an invalid call. An episode
    with an infrastructure error is truncated; every other end terminates, including the step limit. Raises
    EpisodeOverError for a step after the end, ApiError for options that the server rejects, and ConnectionError.

    After `step_limit` steps the episode is abandoned: the reward of the last step includes the loss. Gymnasium's
    TimeLimit does not notify the environment when it truncates an episode. Such an episode is abandoned by the next
    `reset`, whose `info` contains its result as `previous`, or by `close`; `result` is that of the last episode that
    ended.
    """

    metadata = {  # noqa: RUF012  # like in Gymnasium
        "render_modes": ["ansi"],
        "render_fps": 1,
    }

    def __init__(
        self,
        url: str | None = None,
        *,
        token: str | None = None,
        render_mode: str | None = None,
        step_limit: int | None = None,
        **options: Unpack[ResetArguments],
    ) -> None:
        if step_limit is not None and step_limit < 1:
            raise ValueError(f"step_limit must be at least 1; got {step_limit}")
        self.observation_space = observation_space()
        self.action_space = action_space()
        self.render_mode = render_mode
        self._enterprise = EnterpriseConnection(url)
        self._token = token
        self._options = options
        self._session: Session | None = None
        self._last = ""
        self._step_limit = step_limit
        self._steps = 0
        self.result: dict[str, Any] | None = None

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        """Start an episode; the observation is the brief, and `info` lists the tools with their schemas.

        If the previous episode was cut off, `info["previous"]` is its result.
        """
        super().reset(seed=seed)
        reset_arguments = self._reset_arguments(seed, {**self._options, **(options or {})})
        if self._session is None:
            self._session = Session(self._enterprise.url, token=self._token)
        previous = self._abandon(self._session)
        first = self._session.reset(**reset_arguments)
        self._steps = 0
        info: dict[str, Any] = {"tools": [tool.model_dump() for tool in self._session.tools()]}
        if previous is not None:
            info["previous"] = previous
        shown = first.model_dump(mode="json", include={"brief", "company", "acting_as", "now", "steps_left"})
        return self._record_observation(shown), info

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Take one step; after the last one `info` contains the outcome."""
        if self._session is None:
            raise gymnasium.error.ResetNeeded("no episode was started; call reset")
        tool, arguments, fault = parse_action(action)
        view = self._session.call(tool, arguments)
        self._steps += 1
        observation = self._record_observation(step_payload(view, fault))
        if not view.done and self._steps != self._step_limit:
            return observation, view.reward, False, False, {}
        end = self._session.end()
        self.result = _result(end)
        is_broken = end.outcome is Outcome.INFRA_ERROR
        return observation, view.reward + end.abandon_reward, not is_broken, is_broken, dict(self.result)

    def render(self) -> str | None:
        """Return the last observation if the render mode is `ansi`, else None."""
        return self._last if self.render_mode == "ansi" else None

    def close(self) -> None:
        """Close the connection, and stop the local server if it was started here."""
        session, self._session = self._session, None
        if session is not None:
            self._abandon(session)
            session.close()
        self._enterprise.close()

    def _abandon(self, session: Session) -> dict[str, Any] | None:
        """Abandon an episode that was cut off, and return its result; None if there was none."""
        end = session.abandon()
        if end is None:
            return None
        self.result = _result(end)
        return dict(self.result)

    def _reset_arguments(self, seed: int | None, reset_arguments: dict[str, Any]) -> ResetArguments:
        if "split" in reset_arguments and "index" not in reset_arguments:
            reset_arguments["index"] = int(self.np_random.integers(self._split_size(str(reset_arguments["split"]))))
        elif not _TASK_OPTIONS & set(reset_arguments) and "seed" not in reset_arguments:
            reset_arguments["seed"] = int(self.np_random.integers(MAX_SEED + 1)) if seed is None else seed
        return cast(ResetArguments, reset_arguments)

    def _split_size(self, split: str) -> int:
        from companyos.client import CompanyOSEnv

        with CompanyOSEnv(base_url=self._enterprise.url, token=self._token).sync() as env:
            return env.num_tasks(split)

    def _record_observation(self, payload: dict[str, Any]) -> str:
        self._last = encode_observation(payload)
        return self._last


class CompanyOSVectorGym(SyncVectorEnv):
    """Several CompanyOSGym on one server, stepped sequentially; `close` stops a local server.

    `gymnasium.make_vec` passes its `max_episode_steps`, which is the `step_limit` of each environment.
    """

    def __init__(
        self, num_envs: int = 1, *, url: str | None = None, max_episode_steps: int | None = None, **options: Any
    ) -> None:
        if max_episode_steps is not None:
            options["step_limit"] = max_episode_steps
        self._enterprise = EnterpriseConnection(url)

        def make_env() -> gymnasium.Env[str, str]:
            return CompanyOSGym(self._enterprise.url, **options)

        super().__init__(cast("list[Callable[[], gymnasium.Env[Any, Any]]]", [make_env] * num_envs))

    def close_extras(self, **options: Any) -> None:
        """Close every episode, and stop the local server if it was started here."""
        super().close_extras(**options)
        self._enterprise.close()


def _result(end: Ending) -> dict[str, Any]:
    return {"outcome": end.outcome.value, "success": end.success, "return": end.return_, "steps": end.steps}
