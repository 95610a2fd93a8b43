"""Creates the environment of `examples/skyrl_environment.py` with SkyRL Gym and plays as SkyRL's generator does."""

from __future__ import annotations

import json
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

import requests
import skyrl_gym

URL = sys.argv[1]
EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
TURNS = (
    'I look. <tool_call>{"name": "ticketdesk_list_tickets", "arguments": {"limit": 1}}</tool_call>',
    "Nothing is called here.",
    "<tool_call>no JSON</tool_call>",
)

sys.path.insert(0, str(EXAMPLES))
from skyrl_environment import write_rows  # noqa: E402

with tempfile.TemporaryDirectory() as out:
    file = Path(out) / "test.jsonl"
    count = write_rows(URL, "test", file)
    rows = [json.loads(line) for line in file.read_bytes().splitlines()]
assert len(rows) == count > 0
skyrl_gym.register(id="companyos", entry_point="skyrl_environment:CompanyOSText")


def live_episodes(task_id):
    """Return the live episodes of a task, which may include resumable ones of earlier players."""
    listed = requests.get(f"{URL}/v1/episodes", timeout=60).json()
    return {item["episode_id"] for item in listed if item["task_id"] == task_id}


def play_row(row, turns, max_turns):
    """Play the turns of a row; return the reward of each turn, the metrics, and the gateway's return."""
    extras = {name: value for name, value in row.items() if name not in ("prompt", "env_class")}
    env = skyrl_gym.make(row["env_class"], env_config={"url": URL}, extras=extras | {"max_turns": max_turns})
    before = live_episodes(row["task_id"])
    prompt, info = env.init(row["prompt"])
    assert [message["role"] for message in prompt] == ["system", "user"]
    (episode,) = live_episodes(info["task_id"]) - before
    results = [env.step(turn) for turn in turns]
    metrics = env.get_metrics()
    counted = requests.get(f"{URL}/v1/episodes/{episode}/state", timeout=60).json()["return"]
    env.close()
    assert requests.get(f"{URL}/v1/episodes/{episode}/state", timeout=60).status_code == 404
    return results, metrics, counted


results, metrics, counted = play_row(rows[0], TURNS, len(TURNS))
assert [result["done"] for result in results] == [False, False, True]
assert "<tool_response>" in results[0]["observations"][0]["content"]
assert "no tool call" in results[1]["observations"][0]["content"]
assert results[1]["reward"] == 0
assert abs(sum(result["reward"] for result in results) - counted) < 1e-9, (results, counted)
assert metrics == {"success": 0.0, "steps": 3}, metrics
print(json.dumps({"version": version("skyrl-gym"), "episodes": 1, "steps": metrics["steps"]}))
