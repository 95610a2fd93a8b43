"""An episode over plain HTTP, for tests: reset, step, state."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import requests

from companyos_shared.streams import digest


@dataclass
class HttpEpisode:
    """An episode and all of its observations."""

    url: str
    http: requests.Session
    id: str = ""
    observed: list[dict[str, Any]] = field(default_factory=list)

    def reset(self, **options: Any) -> dict[str, Any]:
        answer = self.http.post(f"{self.url}/reset", json=options)
        assert answer.status_code == 200, answer.text
        self.id = answer.json()["episode_id"]
        self.observed = [self._kept(answer.json())]
        return self.observed[0]

    def step(self, tool_name: str, **arguments: Any) -> dict[str, Any]:
        answer = self.post({"episode_id": self.id, "action": {"tool_name": tool_name, "arguments": arguments}})
        assert answer.status_code == 200, answer.text
        self.observed.append(self._kept(answer.json()))
        return self.observed[-1]

    def result(self, tool_name: str, **arguments: Any) -> Any:
        """Take a step that must succeed, and return its result."""
        answer = self.step(tool_name, **arguments)
        assert answer["observation"]["error"] is None, answer
        return answer["observation"]["result"]

    def post(self, body: Any) -> requests.Response:
        return self.http.post(f"{self.url}/step", json=body)

    def state(self) -> dict[str, Any]:
        answer = self.http.get(f"{self.url}/state", params={"episode_id": self.id})
        assert answer.status_code == 200, answer.text
        state: dict[str, Any] = answer.json()
        return state

    @property
    def digest(self) -> str:
        """The digest of all observations."""
        return digest(self.observed)

    def _kept(self, answer: dict[str, Any]) -> dict[str, Any]:
        return {name: value for name, value in answer.items() if name not in ("episode_id", "token")}
