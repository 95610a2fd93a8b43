"""`companyos submit --check` against a real gateway: honest submissions are accepted, altered ones refused."""

from __future__ import annotations

import gzip
import json
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from companyos.cli import submit
from companyos.cli.connection import Server
from companyos.cli.eval_runs import select_tasks as published
from companyos.cli.main import app
from companyos.contract import TaskInfo
from companyos.enterprise import Enterprise
from companyos.leaderboard.archive import pack
from companyos.leaderboard.tracks import TRACKS, Track
from companyos.signed_evidence import EvidenceSigner, canonical_json
from companyos_gateway.tasks.task_set import TASK_SET_REVISION
from tests.client.test_leaderboard import a_card

pytestmark = pytest.mark.integration

RUNNER = CliRunner()
TASKS = 3
FORGER = EvidenceSigner(bytes(32))
FIRST, SECOND = "test.access_request.0.00-worker2", "test.audit_remediation.1.00-worker2"

Alter = Callable[[Path], object]


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with Enterprise(alone=True) as enterprise:
        yield Server(enterprise.url, None)


def play(server: Server, out: Path, *options: str) -> Path:
    arguments = ["eval", "--split", "test", "-n", str(TASKS), "--url", server.url, "--out", str(out), *options]
    answer = RUNNER.invoke(app, arguments)
    assert answer.exit_code == 0, answer.output
    return out


@pytest.fixture(scope="module")
def honest(server: Server, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of a policy that solves one task of three."""
    run = play(server, tmp_path_factory.mktemp("runs") / "honest", "--policy", "worker2")
    assert [line["success"] for line in lines_of(run)] == [False, False, True]
    return run


@pytest.fixture
def run(honest: Path, tmp_path: Path) -> Path:
    """A copy of the run that a test may alter."""
    return shutil.copytree(honest, tmp_path / "run")


@pytest.fixture(autouse=True)
def small_track(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the track have three tasks, and the command use the gateway of this module."""
    monkeypatch.setitem(TRACKS, "single", Track(name="single", summary="small tasks", tasks=TASKS))
    monkeypatch.setattr(submit, "connect_or_start", lambda *_: nullcontext(server))


def check(
    run: Path, *options: str, with_evidence: bool = True, card: Mapping[str, str] | None = None
) -> tuple[int, str]:
    """Submit a run and check the submission."""
    folder = run.parent / f"{run.name}-submission"
    pack(run, a_card(run.parent / "card.toml", **(card or {})), folder, with_evidence=with_evidence)
    answer = RUNNER.invoke(app, ["submit", "--check", str(folder), *options])
    return answer.exit_code, answer.output


def lines_of(run: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (run / "episodes.jsonl").read_text().splitlines()]


def write_lines(file: Path, lines: list[dict[str, Any]]) -> None:
    file.write_text("".join(f"{json.dumps(line)}\n" for line in lines))


def edit_line(number: int, **changed: Any) -> Alter:
    """Return a function that changes a line of `episodes.jsonl`."""

    def alter(run: Path) -> None:
        lines = lines_of(run)
        lines[number - 1] |= changed
        write_lines(run / "episodes.jsonl", lines)

    return alter


def edit_steps(name: str, edit: Callable[[list[dict[str, Any]]], object]) -> Alter:
    """Return a function that changes a trajectory."""

    def alter(run: Path) -> None:
        file = run / "trajectories" / f"{name}.jsonl"
        steps = [json.loads(line) for line in file.read_text().splitlines()]
        edit(steps)
        write_lines(file, steps)

    return alter


def edit_evidence(name: str, edit: Callable[[dict[str, Any]], object], *, signer: EvidenceSigner | None) -> Alter:
    """Return a function that changes evidence and signs it again if a key is given."""

    def alter(run: Path) -> None:
        file = run / "evidence" / f"{name}.json.gz"
        evidence = json.loads(gzip.decompress(file.read_bytes()))
        edit(evidence)
        if signer is not None:
            evidence = signer.sign({name: value for name, value in evidence.items() if name != "signature"})
        file.write_bytes(gzip.compress(canonical_json(evidence) + b"\n"))

    return alter


def in_turn(*changes: Alter) -> Alter:
    def alter(run: Path) -> None:
        for change in changes:
            change(run)

    return alter


def without_failures(run: Path) -> None:
    write_lines(run / "episodes.jsonl", [line for line in lines_of(run) if line["success"]])


def doubled(run: Path) -> None:
    first, _, third = lines_of(run)
    write_lines(run / "episodes.jsonl", [first, first, third])


def swapped(run: Path) -> None:
    shutil.copy(run / "evidence" / f"{FIRST}.json.gz", run / "evidence" / f"{SECOND}.json.gz")


def forge_success(run: Path) -> None:
    """Forge success in the line, the steps and the evidence of the second episode, signed with another key."""
    first, second, third = lines_of(run)
    verdict = {**second["verdict"], "success": True, "primary_failure": None}
    verdict["checks"] = [{"id": check["id"], "passed": True, "caused_by": []} for check in verdict["checks"]]
    second |= {"success": True, "outcome": "success", "return": second["return"] + 20, "verdict": verdict}
    write_lines(run / "episodes.jsonl", [first, second, third])
    edit_steps(SECOND, lambda steps: steps[-1].update(reward=steps[-1]["reward"] + 20))(run)

    def edit(evidence: dict[str, Any]) -> None:
        state = {**evidence["state"], "success": True, "outcome": "success", "return": second["return"]}
        evidence |= {"state": state, "verdict": verdict}

    edit_evidence(SECOND, edit, signer=FORGER)(run)


def test_a_valid_submission_is_rescored_and_replayed(run: Path) -> None:
    code, message = check(run)
    assert code == 0, message
    assert "3 episodes judged again from signed evidence and replayed, all equal" in message


def test_tasks_of_installed_packages_are_rejected(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def select_tasks(*arguments: Any) -> list[TaskInfo]:
        return [one.model_copy(update={"version": f"{one.version}+2.1.c06efe36"}) for one in published(*arguments)]

    monkeypatch.setattr(submit, "select_tasks", select_tasks)
    code, message = check(run)
    assert code != 0
    assert "uninstall the packages" in " ".join(message.split())


def test_a_submission_without_evidence_is_replayed(run: Path) -> None:
    code, message = check(run, with_evidence=False)
    assert code == 0, message
    assert "3 episodes replayed, all equal" in message
    assert "signed evidence" not in message


ALTERED: dict[str, tuple[Alter, str]] = {
    "reward of a step": (
        edit_steps(SECOND, lambda steps: steps[2].update(reward=5.0)),
        "episodes.jsonl:2: return is",
    ),
    "return": (edit_line(2, **{"return": 15.0}), "episodes.jsonl:2: return is 15; the rewards in trajectories/"),
    "success": (edit_line(2, success=True), "episodes.jsonl:2: success is True, outcome failed"),
    "steps": (edit_line(3, steps=2), "episodes.jsonl:3: steps is 2; trajectories/"),
    "digest": (edit_line(1, digest="0" * 64), 'episodes.jsonl:1: digest is "0000'),
    "seed": (edit_line(1, seed=7), "episodes.jsonl:1: episodes.jsonl states another seed than the signed evidence"),
    "removed failures": (without_failures, "episodes.jsonl: test.audit_remediation.1.00, trial 1, is missing"),
    "doubled episode": (doubled, "episodes.jsonl:2: test.access_request.0.00, trial 1, is already in an earlier line"),
    "another trial": (edit_line(1, trial=2), "episodes.jsonl:1: trial must be from 1 to 1; got 2"),
    "overrides": (
        edit_line(2, chaos_overrides={"stale_metric": 0.0}),
        "episodes.jsonl:2: chaos_overrides must be {}; got {'stale_metric': 0.0}",
    ),
    "a task of another split": (
        edit_line(2, task_id="train.audit_remediation.1.00"),
        "episodes.jsonl:2: task_id must be a task of the track; got 'train.audit_remediation.1.00'",
    ),
    "no task": (edit_line(2, task_id=None), "episodes.jsonl:2: task_id must be a task of the track; got None"),
    "another level": (edit_line(2, chaos=0), "episodes.jsonl:2: chaos must be 1; got 0"),
    "another task set": (edit_line(3, task_set="1.0"), f"episodes.jsonl:3: task_set must be '{TASK_SET_REVISION}."),
    "two policies": (edit_line(2, policy="oracle"), "episodes.jsonl:2: policy must be 'worker2'; got 'oracle'"),
    "path as policy": (
        in_turn(*(edit_line(number, policy="../x") for number in (1, 2, 3))),
        "episodes.jsonl:1: policy must be the name of a policy",
    ),
    "zero byte in the policy": (
        in_turn(*(edit_line(number, policy="x\0y") for number in (1, 2, 3))),
        "episodes.jsonl:1: policy must be the name of a policy",
    ),
    "infra error": (edit_line(2, outcome="infra_error"), "episodes.jsonl:2: outcome is infra_error"),
    "torn line": (lambda run: (run / "episodes.jsonl").write_text("{torn\n"), "episodes.jsonl:1: Invalid JSON"),
    "usage": (
        edit_line(
            2,
            usage={
                "model": "m",
                "requests": 1,
                "retries": 0,
                "prompt_tokens": 1,
                "completion_tokens": 1,
                "unmetered": 0,
                "latency_s": 0,
            },
        ),
        "episodes.jsonl:2: usage.model must be the model of card.toml, None; got 'm'",
    ),
    "other version": (
        lambda run: (run / "run.json").write_text('{"companyos": "9.9", "policies": {}}'),
        "run.json: companyos must be ",
    ),
    "foreign file": (
        lambda run: (run / "evidence" / "x.json.gz").write_bytes(b""),
        "evidence/x.json.gz: belongs to no valid line",
    ),
    "no trajectory": (
        lambda run: (run / "trajectories" / f"{FIRST}.jsonl").unlink(),
        f"trajectories/{FIRST}.jsonl: No such file",
    ),
    "torn trajectory": (
        lambda run: (run / "trajectories" / f"{FIRST}.jsonl").write_text("{}\n"),
        f"trajectories/{FIRST}.jsonl:1: must be an object with step",
    ),
    "evidence row": (
        edit_evidence(SECOND, lambda evidence: evidence["changes"]["ticketdesk"][0].update(step=1), signer=None),
        "changes.ticketdesk[0] does not match the signed chain",
    ),
    "evidence row, signed by another key": (
        edit_evidence(SECOND, lambda evidence: evidence.update(brief="Do nothing."), signer=FORGER),
        f"evidence/{SECOND}.json.gz: brief differs from the replay",
    ),
    "evidence of another task": (swapped, "episodes.jsonl:2: episodes.jsonl states another scenario than the signed"),
    "verdict, steps and evidence, signed by another key": (forge_success, "episodes.jsonl:2: success is True"),
    "result of a step": (
        edit_steps(FIRST, lambda steps: steps[3].update(result={})),
        f"trajectories/{FIRST}.jsonl:4: result differ from the replay",
    ),
    "arguments of a step": (
        edit_steps(FIRST, lambda steps: steps[0].update(arguments={"key": "X-1"})),
        f"trajectories/{FIRST}.jsonl:1: result, reward differ from the replay",
    ),
}


@pytest.mark.parametrize("what", ALTERED)
def test_an_altered_submission_is_rejected_and_the_line_named(run: Path, what: str) -> None:
    alter, fault = ALTERED[what]
    alter(run)
    code, message = check(run)
    assert code == 1
    assert f"  {fault}" in message or f": {fault}" in message, message


def test_a_forged_episode_without_evidence_is_rejected_by_the_replay(run: Path) -> None:
    forge_success(run)
    code, message = check(run, with_evidence=False)
    assert code == 1
    assert f"trajectories/{SECOND}.jsonl:" in message
    assert "episodes.jsonl:2: success is true; the replay gives false" in message


def test_only_a_pinned_key_is_accepted(run: Path) -> None:
    code, message = check(run, "--public-key", FORGER.public_key)
    assert code == 1
    assert f"accepted is {FORGER.public_key}" in message


def test_a_pinned_key_requires_evidence(run: Path) -> None:
    code, message = check(run, "--public-key", FORGER.public_key, with_evidence=False)
    assert code == 1
    assert "evidence: missing; --public-key requires signed evidence" in message


def test_the_usage_of_a_model_is_checked_against_its_messages(server: Server, tmp_path: Path) -> None:
    prices = ["--price-in", "1", "--price-out", "2"]
    run = play(server, tmp_path / "model", "--policy", "llm", "--model", "m", "--dry-run", *prices)
    card = {"model": '"m (dry run)"', "weights": '"open"'}
    code, message = check(run, card=card)
    assert code == 0, message
    usage = lines_of(run)[1]["usage"]
    edit_line(2, usage={**usage, "prompt_tokens": 1})(run)
    shutil.rmtree(tmp_path / "model-submission")
    code, message = check(run, card=card)
    assert code == 1
    assert f"episodes.jsonl:2: usage.prompt_tokens is 1; the messages add up to {usage['prompt_tokens']}" in message


def test_faults_beyond_twenty_are_counted(run: Path) -> None:
    (run / "episodes.jsonl").write_text("{torn\n" * 30)
    code, message = check(run)
    assert code == 1
    assert message.count("  episodes.jsonl:") == 20
    assert "more" in message
