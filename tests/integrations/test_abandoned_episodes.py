"""An interrupted episode is abandoned: every integration scores it like `finish` with `impossible`."""

from __future__ import annotations

import ast
import asyncio
import json
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from typing import Any

import gymnasium
import pytest
from gymnasium.wrappers import TimeLimit

from companyos.client import CompanyOSEnv
from companyos.contract import Outcome
from companyos.integrations.gymnasium import CompanyOSGym
from companyos.integrations.harbor import TrialEpisode
from companyos.integrations.session import Session
from companyos.policies import Call, TaskView, load_policy
from companyos.runner import EpisodePlan, PlayedEpisode, play_episode
from companyos.runner.episode import GIVE_UP
from tests.architecture.sources import ROOT

TASK = "test.vendor_onboarding.0.00"
SCENARIO = "vendor_onboarding"
NAME = "companyos.integrations.gymnasium:CompanyOS-v1"
SUCCESS_OVER_FAILURE = 20.0
"""Difference between the rewards of success and of failure, 15 and -5; the rest is the same."""

Calls = Sequence[tuple[str, dict[str, Any]]]
Result = tuple[float, bool, str, int]
"""Return, success, outcome and steps."""


class Prefix:
    """Policy that makes the given calls, then returns or raises."""

    name = "prefix"

    def __init__(self, calls: Calls, failure: Exception | None = None) -> None:
        self._calls = calls
        self._failure = failure

    async def play(self, task: TaskView, call: Call) -> None:
        """Make the calls."""
        for tool, arguments in self._calls:
            await call(tool, dict(arguments))
        if self._failure is not None:
            raise self._failure


async def _play(url: str, policy: Any) -> PlayedEpisode:
    plan = EpisodePlan(scenario=SCENARIO, chaos=0, policy=policy.name, task_id=TASK)
    async with CompanyOSEnv(base_url=url) as env:
        return await play_episode(env, plan, policy)


@pytest.fixture(scope="module")
def solved(url: str) -> PlayedEpisode:
    """The oracle's episode."""
    played = asyncio.run(_play(url, load_policy("oracle")))
    assert played.record.success
    return played


@pytest.fixture(scope="module")
def calls(solved: PlayedEpisode) -> Calls:
    """Give the oracle's calls up to the one that ends the episode."""
    return [(line.tool, line.arguments) for line in solved.steps[:-1]]


def _action(tool: str, arguments: dict[str, Any]) -> str:
    return json.dumps({"tool_name": tool, "arguments": arguments})


def _through_session(url: str, calls: Calls) -> Result:
    with closing(Session(url)) as session:
        session.reset(task_id=TASK)
        for tool, arguments in calls:
            session.call(tool, dict(arguments))
        end = session.end()
        return end.return_, end.success, end.outcome.value, end.steps


def _through_step_limit(url: str, calls: Calls) -> Result:
    with closing(gymnasium.make(NAME, url=url, task_id=TASK, step_limit=len(calls))) as env:
        env.reset()
        *before, last = [env.step(_action(*call)) for call in calls]
        assert not any(terminated or truncated for _, _, terminated, truncated, _ in before)
        assert last[2:4] == (True, False)
        assert sum(float(reward) for _, reward, *_ in [*before, last]) == pytest.approx(last[4]["return"])
        return _of(last[4])


def _through_vectors(url: str, calls: Calls) -> Result:
    with closing(gymnasium.make_vec(NAME, num_envs=1, url=url, task_id=TASK, max_episode_steps=len(calls))) as envs:
        envs.reset()
        *_, last = [envs.step((_action(*call),)) for call in calls]
        assert list(last[2]) == [True]
        return _of({name: values[0] for name, values in last[4].items()})


def _through_time_limit_and_reset(url: str, calls: Calls) -> Result:
    with closing(TimeLimit(CompanyOSGym(url, task_id=TASK), len(calls))) as env:
        env.reset()
        *_, last = [env.step(_action(*call)) for call in calls]
        assert last[2:4] == (False, True)
        _, info = env.reset()
        return _of(info["previous"])


def _through_time_limit_and_close(url: str, calls: Calls) -> Result:
    inner = CompanyOSGym(url, task_id=TASK)
    env = TimeLimit(inner, len(calls))
    env.reset()
    for call in calls:
        env.step(_action(*call))
    env.close()
    assert inner.result is not None
    return _of(inner.result)


def _of(info: dict[str, Any]) -> Result:
    return float(info["return"]), bool(info["success"]), str(info["outcome"]), int(info["steps"])


def _through_runner(url: str, calls: Calls, failure: Exception | None = None) -> Result:
    record = asyncio.run(_play(url, Prefix(calls, failure))).record
    return record.return_, record.success, record.outcome.value, record.steps


def _through_failing_policy(url: str, calls: Calls) -> Result:
    return _through_runner(url, calls, RuntimeError("out of tokens"))


def _through_harbor(url: str, calls: Calls) -> Result:
    with closing(TrialEpisode(url, TASK)) as trial:
        for tool, arguments in calls:
            params = {"name": tool, "arguments": arguments}
            message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
            headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
            assert trial.forward(json.dumps(message).encode(), headers)[0] == 200
        verdict = trial.fetch_verdict()
        return verdict.return_, bool(verdict.reward), Outcome.FAILED.value, verdict.steps


INTEGRATIONS: dict[str, Callable[[str, Calls], Result]] = {
    "Session, which TRL uses": _through_session,
    "Gymnasium, step limit": _through_step_limit,
    "Gymnasium, vectors": _through_vectors,
    "Gymnasium, TimeLimit and reset": _through_time_limit_and_reset,
    "Gymnasium, TimeLimit and close": _through_time_limit_and_close,
    "eval, policy returns": _through_runner,
    "eval, policy fails": _through_failing_policy,
    "Harbor": _through_harbor,
}


@pytest.mark.integration
@pytest.mark.parametrize("integration", INTEGRATIONS)
def test_an_abandoned_episode_has_the_reward_of_a_finish_with_impossible(
    url: str, calls: Calls, solved: PlayedEpisode, integration: str
) -> None:
    return_, *rest = INTEGRATIONS[integration](url, calls)
    assert return_ == pytest.approx(solved.record.return_ - SUCCESS_OVER_FAILURE)
    assert rest == [False, "failed", len(calls) + 1]


@pytest.mark.integration
def test_an_episode_that_ends_at_the_step_limit_is_not_abandoned(url: str, solved: PlayedEpisode) -> None:
    with closing(gymnasium.make(NAME, url=url, task_id=TASK, step_limit=len(solved.steps))) as env:
        env.reset()
        *_, last = [env.step(_action(line.tool, line.arguments)) for line in solved.steps]
        assert last[2:4] == (True, False)
        assert (last[4]["success"], last[4]["steps"]) == (True, len(solved.steps))
        _, info = env.reset()
        assert "previous" not in info


STANDALONE = (
    "integrations/nemo-gym/resources_servers/companyos/app.py",
    "integrations/verifiers/src/companyos_verifiers/__init__.py",
    "examples/skyrl_environment.py",
)
"""Modules that do not import the client; `make harnesses` plays them."""


@pytest.mark.parametrize("path", STANDALONE)
def test_standalone_integrations_give_up_with_the_same_arguments(path: str) -> None:
    found = []
    for node in ast.parse((ROOT / path).read_text()).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "GIVE_UP":
            with suppress(ValueError):
                found.append(ast.literal_eval(node.value))
    assert found == [GIVE_UP]
