"""The command line, the scripted players and the examples against a real enterprise."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import fastjsonschema
import httpx
import pytest
from typer.testing import CliRunner

from companyos.cli.connection import Server
from companyos.cli.human_policy import PERSON, HumanPolicy, play_as_human
from companyos.cli.main import app
from companyos.cli.repl import EpisodePages
from companyos.client import CompanyOSEnv
from companyos.contract import EpisodeRecord, EpisodeVerdict, Outcome
from companyos.enterprise import Enterprise
from companyos.policies import load_policy
from companyos.policies.arguments import SamplingContext, sample_arguments
from companyos.policies.llm import LlmPolicy
from companyos.policies.llm.apis import APIS
from companyos.policies.llm.policy_backed_stub import PolicyBackedStub
from companyos.policies.llm.stub import StubServer
from companyos.rescorers import InvalidEvidenceError
from companyos.runner import EpisodePlan, play_all, read_records
from companyos.runner.run_reader import read_evidence
from companyos.viewer import StepKind
from companyos.viewer.stored_run import StoredRun
from companyos_gateway.engine.reward import INVALID_CALL_COST, MAX_COSTS, PROBLEM_COST, STEP_COST
from companyos_gateway.scenarios.rescoring import rescore_evidence
from companyos_shared.streams import Stream
from tests.architecture.sources import ROOT
from tests.client.builders import NOW
from tests.client.llm_scripts import EVERY_API, a_model

pytestmark = pytest.mark.integration

RUNNER = CliRunner()
FINISH = ("finish", {"outcome": "impossible", "summary": "Nothing can be read."})
COSTS = {
    StepKind.CARRIED_OUT: STEP_COST,
    StepKind.PROBLEM: STEP_COST + PROBLEM_COST,
    StepKind.INVALID_CALL: STEP_COST + INVALID_CALL_COST,
    StepKind.PLANNED_FAULT: STEP_COST,
}
MILESTONES = [
    "missing priority",
    "unverified ticket",
    "expired compliance score",
    "approver out of office, with a delegate",
    "approval decided",
]


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with Enterprise() as enterprise:
        yield enterprise.url


def run(*arguments: str) -> str:
    answer = RUNNER.invoke(app, arguments)
    assert answer.exit_code == 0, answer.output
    return answer.stdout


def lines(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "episodes.jsonl").read_text().splitlines()]


def test_the_demo_passes_the_five_milestones_and_compares_three_policies(url: str) -> None:
    message = run("demo", "-n", "3", "--url", url)
    for number, milestone in enumerate(MILESTONES, start=1):
        assert f"▶ {number} {milestone}:" in message
        assert f"✔ {number} {milestone}:" in message
    assert "5 of 5 milestones passed" in message
    assert "success after" in message
    rows = {line.split()[0]: line for line in message.splitlines() if line.startswith(("oracle", "random", "noop"))}
    assert "100.0%" in rows["oracle"]
    assert "random tools" in rows["random"]
    assert "-5.10" in rows["noop"]


def test_every_step_and_all_evidence_of_a_run_are_stored(url: str, tmp_path: Path) -> None:
    run("eval", "--policy", "oracle", "-n", "1", "--seed", "5", "--url", url, "--out", str(tmp_path / "run"))
    [record] = lines(tmp_path / "run")
    name = "vendor_onboarding-5-c1-oracle"
    steps = [
        json.loads(line) for line in (tmp_path / "run" / "trajectories" / f"{name}.jsonl").read_text().splitlines()
    ]
    assert [step["step"] for step in steps] == list(range(1, record["steps"] + 1))
    assert sum(step["reward"] for step in steps) == pytest.approx(record["return"])
    assert [step["done"] for step in steps] == [False] * (len(steps) - 1) + [True]
    kinds = {injection["kind"]: injection for injection in record["injections"]}
    assert {"missing_priority", "stale_metric", "approver_out_of_office"} <= set(kinds)
    assert kinds["stale_metric"]["mark"] == "decisive"
    assert kinds["stale_metric"]["entity"].startswith("MET-")
    evidence = read_evidence(tmp_path / "run", EpisodeRecord.model_validate(record))
    assert evidence["state"]["return"] == record["return"]
    assert set(evidence["initial"]) == {"ticketdesk", "datahub", "approvalflow"}
    called = sum(len(calls) for calls in evidence["audits"].values())
    assert called == sum(step["tool"] not in ("wait", "finish") for step in steps)


def test_stored_evidence_is_rescored_without_a_service(url: str, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    policies = ("--policy", "oracle", "--policy", "random")
    run("eval", *policies, "-n", "2", "--seed", "5", "--url", url, "--out", str(folder))
    assert "4 of 4 episodes rescored: 0 verdicts differ" in run("rescore", str(folder))
    [record, *_] = read_records(folder)
    assert record.verdict is not None
    assert (record.verdict.success, record.verdict.failed) == (True, ())
    stored = read_evidence(folder, record)
    assert EpisodeVerdict.model_validate(stored["verdict"]) == record.verdict
    stored["task"]["sources"]["datahub"] = "other"
    with pytest.raises(InvalidEvidenceError, match="planned by another version"):
        rescore_evidence(stored)


def test_the_viewer_shows_the_kind_and_the_reward_of_every_step(url: str, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    policies = ("--policy", "oracle", "--policy", "random", "--chaos", "4")
    run("eval", *policies, "-n", "2", "--seed", "5", "--url", url, "--out", str(folder))
    stored = StoredRun(folder)
    for name in stored.names:
        shown = stored.episode(name, rescore_evidence)
        assert (shown.faults, shown.verdict) == ([], shown.judged and shown.judged.verdict)
        assert shown.brief is not None
        left = MAX_COSTS
        for step in shown.steps:
            assert step.parts is not None
            assert sum(part.paid for part in step.parts) == pytest.approx(step.reward)
            if step.parts[-1].part == "cost of the step":
                assert -step.parts[-1].paid == pytest.approx(min(COSTS[step.kind], left))
            left += step.parts[-1].paid
    assert "step 1" in run("view", str(folder), "--terminal", "--episode", "5-c4-oracle", "--step", "1")
    run("view", str(folder), "--export", str(tmp_path / "run.html"))


def test_a_trajectory_names_the_injected_faults_without_its_evidence(url: str, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    message = run(
        "eval", "--policy", "oracle", "--chaos", "4", "-n", "2", "--seed", "5", "--url", url, "--out", str(folder)
    )
    assert "partial credit" in message
    stored = StoredRun(folder)
    with_evidence = {name: [step.fault for step in stored.episode(name).steps] for name in stored.names}
    assert any(fault for faults in with_evidence.values() for fault in faults)
    shutil.rmtree(folder / "evidence")
    without = StoredRun(folder)
    assert {name: [step.fault for step in without.episode(name).steps] for name in without.names} == with_evidence


@EVERY_API
async def test_an_episode_played_through_a_model_api_has_the_same_digest(url: str, api: str) -> None:
    plans = [EpisodePlan(scenario="bug_escalation", seed=seed, chaos=2, policy="llm") for seed in (1, 2)]
    own = [EpisodePlan(scenario="bug_escalation", seed=seed, chaos=2, policy="oracle") for seed in (1, 2)]
    with StubServer(PolicyBackedStub(lambda: load_policy("oracle"))) as stub:
        model = a_model(f"{stub.url}/bug_escalation", api=api)
        received = await play_all(url, plans, make_policy=lambda _name: LlmPolicy(model))
    alone = await play_all(url, own)
    assert [episode.record.success for episode in received] == [True, True]
    assert [episode.record.digest for episode in received] == [episode.record.digest for episode in alone]
    assert [episode.record.usage.requests for episode in received if episode.record.usage] == [
        len(episode.steps) for episode in alone
    ]


@EVERY_API
def test_a_dry_run_sends_no_request_and_shows_the_first_one(url: str, tmp_path: Path, api: str) -> None:
    options = ["--policy", "llm", "--model", "m-1", "--api", api, "--dry-run"]
    options += ["-n", "1", "--seed", "1", "--url", url]
    message = run("eval", *options, "--base-url", "https://models.invalid/v1", "--out", str(tmp_path / "run"))
    assert message.strip().startswith("dry run: vendor_onboarding, chaos 1")
    assert "dry run: no model was called. The policy oracle answered in its place" in message
    assert "The first request to https://models.invalid/v1 would be:" in message
    assert f"POST {APIS[api].PATH} " in message
    assert "say so with `finish`" in message
    with CompanyOSEnv(base_url=url).sync() as env:
        assert f"{len(env.list_tools())} tools, " in message
    [record] = lines(tmp_path / "run")
    assert (record["usage"]["model"], record["usage"]["requests"]) == ("m-1 (dry run)", record["steps"])
    assert json.loads((tmp_path / "run" / "run.json").read_text())["policies"]["llm-dry-run"]["dry_run"] is True


def test_the_tasks_are_listed_and_their_briefs_name_the_ticket(url: str) -> None:
    assert "vendor_onboarding" in run("tasks", "--url", url)
    assert "seed 42" in run("tasks", "vendor_onboarding", "--seed", "42", "-n", "1", "--url", url)


async def test_random_arguments_match_the_schema_of_every_tool(url: str) -> None:
    async with CompanyOSEnv(base_url=url) as env:
        tools = await env.list_tools()
    for tool in tools:
        check = fastjsonschema.compile(tool.input_schema)
        for n in range(50):
            check(sample_arguments(tool.input_schema, Stream(tool.name, n), SamplingContext(["OPS-1"], NOW)))


def test_a_task_of_a_split_is_listed_read_and_played(url: str) -> None:
    with CompanyOSEnv(base_url=url).sync() as env:
        everything = len(env.list_tools())
        task = env.get_task("test", 12)
        first = env.reset(split="test", index=12, toolset="task")
        assert first.observation.model_dump()["brief"] == task.brief
        assert len(env.list_tools()) < everything
        state = env.state()
    assert (state.task_id, state.task_set, state.scenario) == (task.id, task.version, task.scenario)
    assert task.brief is not None
    assert " ".join(task.brief.split())[:40] in " ".join(run("tasks", task.id, "--url", url).split())


async def test_the_policy_in_the_docs_plays(url: str) -> None:
    [code] = re.findall(
        r"^```python\n(.*?)^```$", (ROOT / "docs" / "evaluating.md").read_text(), re.MULTILINE | re.DOTALL
    )
    names: dict[str, Any] = {}
    exec(code, names)  # noqa: S102
    assert len([line for line in code.splitlines() if line.strip()]) <= 20
    plan = EpisodePlan(scenario="vendor_onboarding", seed=9, chaos=1, policy="triage")
    [played] = await play_all(url, [plan], make_policy=lambda _name: names["Triage"]())
    assert played.trouble is None
    assert played.record.outcome is Outcome.FAILED
    tools = ["ticketdesk_get_ticket", "ticketdesk_update_ticket", "finish"]
    assert [line.tool for line in played.steps] == tools


def test_steps_at_the_desk_are_in_the_trajectory_of_a_terminal_session(url: str, tmp_path: Path) -> None:
    def run_session(human: HumanPolicy) -> None:
        human.step("wait", {"minutes": 5})
        state = human.initial_state
        desk = EpisodePages(url, str(state.episode_id), state.token).address.partition("?")
        form = {"minutes:int": "7"}
        answered = httpx.post(f"{desk[0]}/-/wait", data=form, headers={"Origin": url}, params=desk[2])
        assert answered.status_code == 303
        human.step("finish", {"outcome": "done", "summary": "All is well."})

    plan = EpisodePlan(scenario="expense_report", seed=4, chaos=1, policy=PERSON)
    played, _ = play_as_human(Server(url, None), plan, tmp_path, run_session)
    assert [(line.step, line.tool, line.done) for line in played.steps] == [
        (1, "wait", False),
        (2, "wait", False),
        (3, "finish", True),
    ]
    assert played.steps[1].arguments == {"minutes": 7}
    assert set(vars(played.steps[1])) == set(vars(played.steps[0]))
    assert type(played.steps[1].result) is type(played.steps[0].result)
    times = [datetime.fromisoformat(line.now) for line in played.steps]
    assert times[1] - times[0] == timedelta(minutes=7)
    assert sum(line.reward for line in played.steps) == pytest.approx(played.record.return_)
    assert StoredRun(tmp_path).episode(plan.name).facts.steps == 3
