"""SkyRL Gym environment that plays CompanyOS episodes, and export of task rows.

Write the rows of a split, from a running server (`companyos up`):

    python examples/skyrl_environment.py http://127.0.0.1:8000 train train.jsonl

Register the environment in SkyRL's generator process, with this folder on the path:

    skyrl_gym.register(id="companyos", entry_point="skyrl_environment:CompanyOSText")

"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import requests
from skyrl_gym.envs.base_text_env import BaseTextEnv, BaseTextEnvStepOutput, ConversationType

GATEWAY = "http://127.0.0.1:8000"
TIMEOUT_S = 60.0
CALL = re.compile(r"<tool_call>(.*?)</tool_call>", re.DOTALL)
GIVE_UP = {"outcome": "impossible", "summary": "The policy gave up."}
REMINDER = "That message contains no tool call and had no effect. Continue by calling a tool; `finish` ends the work."
SYSTEM = """\
You work for {company} as the employee {acting_as}. You act through tools and through nothing else. When the work is
done, or when it must not or cannot be done, say so with `finish`. These are the tools, one per line:

<tools>
{tools}
</tools>

To call one write its name and arguments as JSON:
<tool_call>{{"name": "...", "arguments": {{...}}}}</tool_call>"""


class CompanyOSText(BaseTextEnv):  # type: ignore[misc]  # skyrl_gym is installed in a separate environment
    """One episode of the task in the row. The rewards of its steps sum to its return, between -1 and 1.

    `env_config` may contain `url` and `token`. Each tool call in the model's output is a step. SkyRL's last turn
    abandons a live episode.
    """

    def __init__(self, env_config: Mapping[str, Any] | None = None, extras: Mapping[str, Any] | None = None) -> None:
        super().__init__()
        settings, row = env_config or {}, extras or {}
        self.max_turns = int(row.get("max_turns", 100))
        self._task = str(row["task_id"])
        self._url = str(settings.get("url", GATEWAY))
        self._http = requests.Session()
        if token := settings.get("token"):
            self._http.headers["Authorization"] = f"Bearer {token}"
        self._episode: str | None = None

    def init(self, prompt: ConversationType) -> tuple[ConversationType, dict[str, Any]]:
        """Start the episode and return the prompt; the row's own prompt only contains the task id."""
        options = {"task_id": self._task, "toolset": "task", "reward_scale": "unit"}
        started = self._request("POST", "/reset", options)
        self._episode = started["episode_id"]
        observation = started["observation"]
        tools = self._request("GET", f"/v1/episodes/{self._episode}/tools?format=openai")
        system = SYSTEM.format(
            company=observation["company"],
            acting_as=observation["acting_as"],
            tools="\n".join(json.dumps(tool) for tool in tools),
        )
        task = f"{observation['brief']}\n\nNow: {observation['now']}\nSteps left: {observation['steps_left']}"
        return [{"role": "system", "content": system}, {"role": "user", "content": task}], {"task_id": self._task}

    def step(self, action: str) -> BaseTextEnvStepOutput:
        """Execute the tool calls of a message until the episode is over."""
        self.turns += 1
        reward, done, responses = 0.0, False, []
        for call in CALL.findall(action):
            if done:
                break
            answer = self._step(call)
            reward, done = reward + answer["reward"], answer["done"]
            observation = answer["observation"]
            outcome = (
                {"error": observation["error"]} if observation.get("error") else {"result": observation.get("result")}
            )
            responses.append(json.dumps(outcome | {"now": observation["now"], "steps_left": observation["steps_left"]}))
        if not done and self.turns >= self.max_turns:
            answer = self._step(json.dumps({"name": "finish", "arguments": GIVE_UP}))
            reward, done = reward + answer["reward"], True
        text = "\n".join(f"<tool_response>{response}</tool_response>" for response in responses) or REMINDER
        observations = [] if done else [{"role": "user", "content": text}]
        return BaseTextEnvStepOutput(
            observations=observations, reward=reward, done=done, metadata={"calls": len(responses)}
        )

    def get_metrics(self) -> dict[str, Any]:
        """Return the metrics of the episode."""
        state = self._request("GET", f"/v1/episodes/{self._episode}/state")
        return {"success": float(bool(state["success"])), "steps": state["step_count"]}

    def close(self) -> None:
        """End the episode."""
        if self._episode is not None:
            self._http.delete(f"{self._url}/v1/episodes/{self._episode}", timeout=TIMEOUT_S)
            self._episode = None
        self._http.close()

    def _step(self, call: str) -> dict[str, Any]:
        """Take one step; text that is not a valid tool call is an invalid step with its cost."""
        try:
            call_fields = json.loads(call)
            action = {"tool_name": str(call_fields["name"]), "arguments": dict(call_fields.get("arguments") or {})}
        except (ValueError, TypeError, KeyError):
            action = {"tool_name": "unreadable", "arguments": {}}
        body = {"action": {"type": "call_tool", **action}}
        answer: dict[str, Any] = self._request("POST", f"/v1/episodes/{self._episode}/step", body)
        return answer

    def _request(self, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
        """Return the server's response. Raises requests.HTTPError if the request is rejected."""
        answer = self._http.request(method, f"{self._url}{path}", json=body, timeout=TIMEOUT_S)
        answer.raise_for_status()
        return answer.json()


def write_rows(url: str, split: str, file: Path) -> int:
    """Write a row for each task of a split in SkyRL's dataset format; return the number of rows."""
    answer = requests.post(f"{url}/companyos/task_range", json={"split": split}, timeout=TIMEOUT_S)
    answer.raise_for_status()
    tasks = [task["id"] for task in answer.json()["tasks"]]
    rows = [
        {
            "data_source": "companyos",
            "prompt": [{"role": "user", "content": task}],
            "env_class": "companyos",
            "task_id": task,
        }
        for task in tasks
    ]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return len(rows)


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit("python examples/skyrl_environment.py URL SPLIT FILE")
    print(write_rows(sys.argv[1], sys.argv[2], Path(sys.argv[3])), "rows")
