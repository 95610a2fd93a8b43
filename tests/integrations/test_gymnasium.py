"""The environment as Gymnasium's users use it: created by name, and checked by Gymnasium's own checker."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator

import gymnasium
import pytest
from gymnasium.utils.env_checker import check_env

from companyos.errors import ApiError
from companyos.extras import install_command
from companyos.integrations.gymnasium import CompanyOSGym
from companyos.policies import EpisodeOverError
from tests.architecture.sources import ROOT

pytestmark = pytest.mark.integration

NAME = "companyos.integrations.gymnasium:CompanyOS-v1"
FINISH = '{"tool_name": "finish", "arguments": {"outcome": "done", "summary": "Done."}}'
LIST = '{"tool_name": "ticketdesk_list_tickets"}'


@pytest.fixture
def env(url: str) -> Iterator[gymnasium.Env[str, str]]:
    made = gymnasium.make(NAME, url=url)
    yield made
    made.close()


def test_the_environment_passes_gymnasiums_checker(url: str) -> None:
    made = gymnasium.make(NAME, url=url, scenario="bug_escalation", chaos=2)
    check_env(made.unwrapped)
    made.close()


def test_an_action_of_maximum_length_is_accepted_and_an_invalid_one_costs_a_step(env: gymnasium.Env[str, str]) -> None:
    env.reset(seed=7)
    output, reward, *_ = env.step("\N{EURO SIGN}" * env.action_space.max_length)  # type: ignore[attr-defined]
    assert "error" in json.loads(output)
    assert float(reward) < 0


def test_a_seed_determines_an_episode_and_the_following_ones(env: gymnasium.Env[str, str]) -> None:
    first, info = env.reset(seed=7)
    second, _ = env.reset()
    assert set(json.loads(first)) == {"brief", "company", "acting_as", "now", "steps_left"}
    assert {"name", "description", "input_schema"} == set(info["tools"][0])
    assert env.reset(seed=7)[0] == first != second
    assert env.reset()[0] == second


def test_the_last_step_reports_how_the_episode_ended(env: gymnasium.Env[str, str]) -> None:
    env.reset(seed=7)
    output, reward, terminated, truncated, info = env.step(LIST)
    assert set(json.loads(output)) == {"result", "now", "steps_left"}
    assert (reward, terminated, truncated, info) == (-0.1, False, False, {})
    *_, terminated, truncated, info = env.step(FINISH)
    assert (terminated, truncated) == (True, False)
    assert info == {"outcome": "failed", "success": False, "return": pytest.approx(-5.2), "steps": 2}
    with pytest.raises(EpisodeOverError):
        env.step(LIST)


def test_other_keys_of_a_readable_action_are_ignored(env: gymnasium.Env[str, str]) -> None:
    env.reset(seed=7)
    action = {"type": "call_tool", "tool_name": "wait", "arguments": {"minutes": 5}, "metadata": {}, "thought": "x"}
    output, *_ = env.step(json.dumps(action))
    assert json.loads(output)["result"] == {"waited_minutes": 5}


@pytest.mark.parametrize(
    ("action", "fault"),
    [
        ("", "tool_name is missing"),
        (
            "hello",
            "The arguments must be a JSON object: Expecting value: line 1 column 1 (char 0). The call was not made.",
        ),
        ("[]", "it is a JSON array"),
        ('{"tool_name": 3}', "tool_name must be a string; got 3"),
        ('{"tool_name": "finish", "arguments": 1}', "arguments must be an object; got 1"),
        ('{"tool": "finish"}', 'unknown key "tool"; tool_name is missing'),
        ('{"tool_name": "finish", "args": {}}', 'unknown key "args"'),
    ],
)
def test_an_unparsable_action_is_an_invalid_step_with_the_reason(
    env: gymnasium.Env[str, str], action: str, fault: str
) -> None:
    env.reset(seed=7)
    output, reward, *_ = env.step(action)
    payload = json.loads(output)
    assert payload["error"] == "invalid_args"
    assert payload["message"].startswith("An action is ")
    assert fault in payload["message"]
    assert reward == pytest.approx(-1.1)


def test_text_outside_of_the_charset_is_escaped_within_the_space(env: gymnasium.Env[str, str]) -> None:
    env.reset(seed=7, options={"chaos": 0})
    key = json.loads(env.step(LIST)[0])["result"]["items"][0]["key"]
    text = "\N{SNOWMAN} \N{GRINNING FACE} \N{LATIN SMALL LETTER E WITH ACUTE}"
    output = env.step(json.dumps({"tool_name": "ticketdesk_add_comment", "arguments": {"key": key, "body": text}}))[0]
    assert output in env.observation_space
    assert json.loads(output)["result"]["body"] == text


def test_options_of_a_reset_override_those_of_the_environment(url: str) -> None:
    env = gymnasium.make(NAME, url=url, scenario="bug_escalation", toolset="task", render_mode="ansi")
    offered = len(env.reset(seed=7)[1]["tools"])
    output, info = env.reset(seed=7, options={"scenario": "vendor_onboarding", "toolset": "all"})
    assert len(info["tools"]) > offered
    assert env.render() == output
    with pytest.raises(ApiError, match="colour"):
        env.reset(options={"colour": "blue"})
    env.close()


def test_a_split_is_sampled_and_its_tasks_determine_their_seeds(url: str) -> None:
    env = gymnasium.make(NAME, url=url, split="validation")
    drawn = [env.reset(seed=seed)[0] for seed in (1, 2, 1)]
    assert drawn[0] == drawn[2] != drawn[1]
    assert env.reset(options={"index": 3})[0] == env.reset(options={"index": 3})[0]
    env.close()


def test_vectorized_environments_share_a_gateway(url: str) -> None:
    envs = gymnasium.make_vec(NAME, num_envs=2, url=url)
    first, _ = envs.reset(seed=7)
    again, _ = envs.reset(seed=[7, 8])  # type: ignore[arg-type]  # it takes a list as well
    assert first == again
    assert first[0] != first[1]
    _, rewards, terminated, truncated, _ = envs.step((LIST, FINISH))
    assert (list(terminated), list(truncated)) == ([False, True], [False, False])
    assert rewards[0] > rewards[1]
    envs.close()


def test_without_a_url_a_gateway_is_started_and_stopped_by_close() -> None:
    env = CompanyOSGym(scenario="vendor_onboarding")
    env.reset(seed=7)
    pid = env._enterprise._owned.pid if env._enterprise._owned is not None else None
    assert pid is not None
    env.close()
    assert env._enterprise._owned is None
    env.close()


def test_without_gymnasium_the_error_names_the_install_command(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if "gymnasium" in name]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "gymnasium", None)
    with pytest.raises(ImportError, match=re.escape(install_command("gymnasium"))):
        __import__("companyos.integrations.gymnasium")


PAGE = (ROOT / "docs" / "integrations.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


@pytest.mark.integration
def test_the_example_for_gymnasium_runs(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    block = next(block for block in BLOCKS if "import gymnasium" in block)
    exec(block.replace('CompanyOS-v1",', f'CompanyOS-v1", url={url!r},'), {})  # noqa: S102
    assert capsys.readouterr().out.rstrip().endswith("-0.1")
