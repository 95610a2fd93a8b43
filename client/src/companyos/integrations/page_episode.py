"""Episodes that an agent plays on web pages; the trainer starts, reads and ends them over HTTP."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Final, cast

import httpx
from pydantic import TypeAdapter

from companyos.contract import ENVIRONMENT, CompanyOSState, Outcome, ScenarioInfo, TaskInfo
from companyos.errors import ApiError
from companyos.options import ResetArguments
from companyos.runner.episode import EnvironmentFailureError
from companyos.trainer import bearer, error_from_response

TIMEOUT_S = 120.0
"""Timeout of a request; the reset of a busy server takes the longest."""

MAX_SUMMARY_CHARACTERS: Final = 2000
"""Maximum length of the summary of a `finish`; longer messages are truncated."""

DECLARED_OUTCOMES: Final = {"assistant": "done", "infeasible": "impossible"}
"""Outcome declared by a message to the user, by the role of the message in BrowserGym's chat."""

_EPISODE_OPTIONS: Final = frozenset({"index", "task_id", "resume", "injected_state"})
_STATIC_FILES: Final = "/static/pages"
_SCENARIOS = TypeAdapter(list[ScenarioInfo])
_TASKS = TypeAdapter(dict[str, list[TaskInfo]])


class HttpTrainer:
    """Synchronous client of the trainer API. Raises ApiError if the server rejects a request, and ConnectionError."""

    def __init__(self, url: str, token: str | None = None) -> None:
        self.url = str(httpx.URL(url)).rstrip("/")
        self._http = httpx.Client(headers=bearer(token), timeout=TIMEOUT_S, trust_env=False)

    def request(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> bytes:
        """Return the body of a successful response."""
        try:
            response = self._http.request(method, f"{self.url}{path}", json=body)
        except httpx.HTTPError as error:
            raise ConnectionError(f"Failed to connect to {self.url}: {str(error) or type(error).__name__}") from None
        if not response.is_success:
            raise error_from_response(self.url + path, response.status_code, response.content)
        return response.content

    def scenarios(self) -> list[str]:
        """Return the names of the scenarios."""
        return [scenario.name for scenario in _SCENARIOS.validate_json(self.request("GET", "/v1/scenarios"))]

    def tasks(self, split: str, *, scenario: str | None = None, chaos: int | None = None) -> list[str]:
        """Return the ids of a split's tasks, of one scenario or level if given. Raises ValueError if there are none."""
        name = split if scenario is None else f"{split}.{scenario}"
        body = self.request("POST", f"/{ENVIRONMENT}/task_range", {"split": name})
        ids = [task.id for task in _TASKS.validate_json(body)["tasks"] if chaos in (None, task.chaos)]
        if not ids:
            raise ValueError(f"split {split} has no task with scenario={scenario} and chaos={chaos}")
        return ids

    def close(self) -> None:
        """Close the connections."""
        self._http.close()


def seeded_options(trainer: HttpTrainer, options: ResetArguments, seed: int) -> ResetArguments:
    """Return the reset options for a seed. With a `split`, the seed modulo the number of tasks selects the task.

    Options that determine the episode are returned unchanged.
    """
    if _EPISODE_OPTIONS & set(options):
        return options
    if "split" not in options:
        return {**options, "seed": seed}
    tasks = trainer.tasks(options["split"], scenario=options.get("scenario"), chaos=options.get("chaos"))
    remaining = {name: value for name, value in options.items() if name not in ("split", "scenario", "chaos")}
    return cast(ResetArguments, {**remaining, "task_id": tasks[seed % len(tasks)]})


class PageEpisode:
    """One episode. The agent's browser needs only `start_url`, which contains the episode's token.

    Raises the errors of HttpTrainer, and EnvironmentFailureError after an infrastructure error.
    """

    def __init__(self, trainer: HttpTrainer, options: ResetArguments) -> None:
        self._trainer = trainer
        first = httpx.Response(200, content=trainer.request("POST", "/reset", options)).json()
        self.id: str = first["episode_id"]
        self.brief: str = first["observation"]["brief"]
        self._path = f"/v1/episodes/{self.id}"
        self._pages = f"{trainer.url}{self._path}/apps"
        self.start_url = f"{self._pages}?token={first['token']}"
        self._return = 0.0
        self._messages_read = 0

    @property
    def foreign_addresses(self) -> re.Pattern[str]:
        """Pattern of all URLs except those of the episode's pages and their static files."""
        pages, files = re.escape(self._pages), re.escape(f"{self._trainer.url}{_STATIC_FILES}")
        return re.compile(rf"^(?!{pages}(?:[/?#]|$)|{files}/)")

    def advance(self, chat_messages: Sequence[Mapping[str, Any]]) -> tuple[float, CompanyOSState]:
        """Return the reward since the last call, and the state.

        A new last message by the agent ends the episode like a `finish`.
        """
        state = self._state()
        declared = self._declared(chat_messages)
        if declared is not None and not state.done:
            action = {"type": "call_tool", "tool_name": "finish", "arguments": declared}
            self._trainer.request("POST", f"{self._path}/step", {"action": action})
            state = self._state()
        if state.outcome is Outcome.INFRA_ERROR:
            raise EnvironmentFailureError("the episode ended with an infrastructure error")
        reward, self._return = state.return_ - self._return, state.return_
        return reward, state

    def close(self) -> None:
        """End the episode and free its resources. A live episode counts as failed; errors of the server are ignored."""
        with suppress(ApiError, ConnectionError):
            self._trainer.request("DELETE", self._path)

    def _declared(self, chat_messages: Sequence[Mapping[str, Any]]) -> dict[str, str] | None:
        """Return the arguments of the `finish` that a new last message represents, or None."""
        is_new, self._messages_read = len(chat_messages) > self._messages_read, len(chat_messages)
        outcome = DECLARED_OUTCOMES.get(chat_messages[-1]["role"]) if is_new else None
        if outcome is None:
            return None
        text = str(chat_messages[-1]["message"])[:MAX_SUMMARY_CHARACTERS]
        return {"outcome": outcome, "summary": text.encode("utf-8", "replace").decode()}

    def _state(self) -> CompanyOSState:
        return CompanyOSState.model_validate_json(self._trainer.request("GET", f"{self._path}/state"))
