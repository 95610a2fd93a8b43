"""The command line: instructive help, clear one-line errors with exit codes, tables and files."""

from __future__ import annotations

import inspect
import json
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from companyos.cli import connection
from companyos.cli.eval_runs import balanced_sample
from companyos.cli.main import app
from companyos.contract import MAX_SEED, Split, TaskInfo

RUNNER = CliRunner()
COMMANDS = [
    "up",
    "demo",
    "play",
    "tasks",
    "tools",
    "eval",
    "rescore",
    "submit",
    "leaderboard",
    "episodes",
    "snapshot",
    "restore",
    "fork",
    "diff",
    "db",
]
DRY_RUN = ["--policy", "llm", "--model", "m-1", "--dry-run"]
LARGEST_SEED = str(connection.LARGEST_SEED)


def test_help_names_every_command_and_the_first_steps() -> None:
    message = RUNNER.invoke(app, ["--help"]).stdout
    assert all(command in message for command in [*COMMANDS, "companyos demo", "no Docker"])


@pytest.mark.parametrize("command", COMMANDS)
def test_the_help_of_a_command_has_examples_that_fit_on_one_line_of_a_narrow_terminal(command: str) -> None:
    written = inspect.getdoc(get_command(app).commands[command].callback)  # type: ignore[attr-defined]
    marked = [line for line in str(written).splitlines() if "[cyan]" in line]
    examples = [re.sub(r"\[/?\w+\]|\[/\]", "", line).replace("\\", "").strip() for line in marked]
    answer = RUNNER.invoke(app, [command, "--help"], env={"COLUMNS": "80"})
    lines = [line.strip() for line in answer.stdout.splitlines()]
    assert [example for example in examples if example not in lines] == []
    assert answer.exit_code == 0
    assert answer.stdout.count(f"companyos {command}") >= 3


def test_the_last_seed_is_that_of_the_contract() -> None:
    assert connection.LARGEST_SEED == MAX_SEED


def test_help_imports_neither_openenv_nor_pydantic() -> None:
    code = (
        "import sys\nfrom companyos.cli.main import app\n"
        "try: app(['--help'])\n"
        "except SystemExit: print(sorted({'openenv', 'pydantic', 'httpx'} & set(sys.modules)), file=sys.stderr)"
    )
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert answer.stderr.strip() == "[]"


def test_the_version_is_that_of_the_package() -> None:
    assert RUNNER.invoke(app, ["--version"]).stdout.strip() == "companyos 0.1.0"


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["eval"], 2, "--policy is required; installed policies"),
        (["eval", "--policy", "clever"], 2, "policy must be one of grounded"),
        (["eval", "--policy", "noop", "--override", "freeze"], 2, "must be NAME=RATE"),
        (["eval", "--policy", "noop", "--split", "test", "--override", "freeze=0"], 2, "cannot be combined"),
        (["eval", "--policy", "noop", "--seed", LARGEST_SEED], 2, f"exceeds the largest seed {LARGEST_SEED}"),
        (["eval", "--policy", "noop", "--seed", str(2**60), "-n", "1"], 2, f"exceeds the largest seed {LARGEST_SEED}"),
        (["tasks", "any", "--seed", LARGEST_SEED, "-n", "2"], 2, f"exceeds the largest seed {LARGEST_SEED}"),
        (["demo", "--seed", LARGEST_SEED], 2, f"exceeds the largest seed {LARGEST_SEED}"),
        (["up", "--keep-databases"], 2, "--keep-databases needs --data-dir"),
        (["up", "--episode", "main"], 2, "--episode needs --keep"),
        (["eval", "--chaos", "9"], 2, "'--chaos': must be at most 8; got 9"),
        (["eval", "--seed", "-1"], 2, "'--seed': must be at least 0; got -1"),
        (["eval", "--seed", "1.5"], 2, "'--seed': must be a whole number; got '1.5'"),
        (["eval", "-n", "0"], 2, "'--episodes' / '-n': must be at least 1; got 0"),
        (["eval", "--temperature", "hot"], 2, "'--temperature': must be a number; got 'hot'"),
        (["fork", "3f9c2a", "--count", "100"], 2, "'--count' / '-n': must be at most 64; got 100"),
        (["up", "--port", "99999"], 2, "'--port': must be at most 65535; got 99999"),
        (["eval", "--seed", "9" * 5000], 2, "'--seed': must have at most 4,300 digits; got"),
        (["tasks", "export", "--out", "x", "--format", "csv"], 2, "'--format': 'csv' is not one of 'parquet',"),
        (["tasks", "--scenario", "tiny"], 2, "--scenario needs --split"),
        (["tasks", "--seed", "4"], 2, "--seed needs the name of a scenario"),
        (["tasks", "test.tiny.2.00", "--seed", "4"], 2, "--seed needs the name of a scenario"),
        (["tasks", "--split", "test", "--seed", "3"], 2, "--split and --seed cannot be combined"),
        (["tasks", "-n", "5"], 2, "--count needs --split or the name of a scenario"),
        (["tasks", "--chaos", "3"], 2, "--chaos needs --split or the name of a scenario"),
        (["tasks", "test.tiny.2.00", "--chaos", "3"], 2, "--chaos needs --split or the name of a scenario"),
        (["rescore", "no-run"], 2, "no-run is not the folder of a run: episodes.jsonl is missing"),
        (["submit", "--check", "no-run"], 2, "no-run is not the folder of a submission: card.toml is missing"),
        (["submit", "no-run", "--out", "new"], 2, "error: --card FILE is missing"),
        (["eval", "--policy", "noop", "--plot", "x.txt"], 2, "--plot must end in .png; got 'x.txt'"),
        (["eval", "--policy", "noop", "--plot", "none/x.png"], 2, "the folder of --plot does not exist: 'none'"),
        (["eval", "--policy", "no_module:Agent"], 2, "policy no_module:Agent: ModuleNotFoundError"),
        (["eval", "--policy", "json:loads"], 2, "policy json:loads: TypeError"),
        (["eval", "--policy", "json:JSONDecoder"], 2, "a name and a method play; JSONDecoder has no name"),
        (["eval", "--policy", "threading:Thread"], 2, "a name and a method play; Thread has no method play"),
        (["eval", "--policy", "companyos.policies.noop:NoopPolicy"], 2, "an installed policy is also named 'noop'"),
        (["fly"], 2, "fly"),
    ],
)
def test_a_usage_error_is_one_line_and_an_exit_code(arguments: list[str], code: int, words: str) -> None:
    answer = RUNNER.invoke(app, arguments)
    assert answer.exit_code == code
    assert words in answer.stderr
    assert "Traceback" not in answer.output


@pytest.mark.parametrize(
    "command", [["tasks", "none"], ["eval", "--policy", "noop", "--scenario", "none"]], ids=" ".join
)
def test_an_unknown_scenario_is_reported_with_the_error_of_the_server(tiny_url: str, command: list[str]) -> None:
    answer = RUNNER.invoke(app, [*command, "--url", tiny_url])
    assert answer.exit_code == 2
    assert answer.stderr.strip().endswith("error: unknown-scenario: No scenario is called that.")


def test_eval_prints_a_row_for_each_policy_and_keeps_the_episodes(tiny_url: str, tmp_path: Path) -> None:
    out = tmp_path / "run"
    options = ["--scenario", "tiny", "--episodes", "6", "--seed", "4", "--chaos", "2", "--url", tiny_url]
    answer = RUNNER.invoke(app, ["eval", "--policy", "noop", "--policy", "random", *options, "--out", str(out)])
    assert answer.exit_code == 0, answer.output
    assert "tiny, chaos 2, seeds 4 to 9" in answer.stdout
    rows = [line.split() for line in answer.stdout.splitlines() if line.startswith(("noop", "random"))]
    assert [row[0] for row in rows] == ["noop", "random"]
    assert rows[0][:4] == ["noop", "6", "-5.00", "0.0%"]
    lines = [json.loads(line) for line in (out / "episodes.jsonl").read_text().splitlines()]
    assert [(line["policy"], line["seed"]) for line in lines] == [
        (policy, seed) for policy in ("noop", "random") for seed in range(4, 10)
    ]
    assert f"12 episodes in {out}" in answer.stdout


AGENTS = """
class Adds:
    name = "adds"

    async def play(self, task, call):
        await call("add", {"amount": 3})
        await call("finish", {"outcome": "done", "summary": "Added."})


class Crashes:
    name = "crashes"

    async def play(self, task, call):
        {}["missing"]


class Waits:
    name = "waits"

    def play(self, task, call):
        pass


class AddsAsWell(Adds):
    pass


class Misnamed(Adds):
    name = "my agent/v2"
"""


def test_eval_imports_a_policy_from_the_current_folder_and_fails_if_it_always_raises(
    tiny_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "tiny_agents.py").write_text(AGENTS)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    options = ["--scenario", "tiny", "-n", "2", "--url", tiny_url]
    answer = RUNNER.invoke(app, ["eval", "--policy", "tiny_agents:Adds", *options])
    assert (answer.exit_code, "adds" in answer.stdout) == (0, True)
    failed = RUNNER.invoke(app, ["eval", "--policy", "tiny_agents:Adds", "--policy", "tiny_agents:Crashes", *options])
    assert failed.exit_code == 1
    assert "the policy raised KeyError: 'missing' (tiny_agents.py, line 14)" in failed.stderr
    waited = RUNNER.invoke(app, ["eval", "--policy", "tiny_agents:Waits", *options])
    assert "play of the policy must be asynchronous: async def play(self, task, call)" in waited.stderr
    for names, reason in (
        (["tiny_agents:Adds", "tiny_agents:AddsAsWell"], "policies must have different names; 'adds' is that of two"),
        (["tiny_agents:Misnamed"], "name must consist of letters, digits, '-', '_' and '.'; got 'my agent/v2'"),
        (["tiny_agents:x:Star"], "policy tiny_agents:x:Star: "),
    ):
        refused = RUNNER.invoke(app, ["eval", *[one for name in names for one in ("--policy", name)], *options])
        assert (refused.exit_code, reason in refused.stderr) == (2, True), refused.stderr


def test_eval_prints_and_stores_overridden_rates(tiny_url: str, tmp_path: Path) -> None:
    out, names = tmp_path / "run", ("freeze", "stale_read")
    arguments = ["eval", "--policy", "noop", "--scenario", "tiny", "-n", "1", "--url", tiny_url, "--out", str(out)]
    overrides = [word for name in names for word in ("--override", f"{name}=0.5")]
    answer = RUNNER.invoke(app, [*arguments, *overrides])
    assert "tiny, chaos 1, freeze=0.5, stale_read=0.5, seed 0" in answer.stdout
    assert json.loads((out / "episodes.jsonl").read_text())["chaos_overrides"] == dict.fromkeys(names, 0.5)
    other = RUNNER.invoke(app, [*arguments, "--override", "freeze=1", "--resume"])
    assert other.exit_code == 2
    reason = "contains 1 episode of another run: override freeze=0.5, stale_read=0.5 is not part of this one"
    assert f"{reason}, which has 1 episode" in " ".join(other.stderr.split())


def test_eval_rejects_a_folder_with_other_files(tiny_url: str, tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").touch()
    options = ["--scenario", "tiny", "--url", tiny_url, "--out", str(tmp_path)]
    answer = RUNNER.invoke(app, ["eval", "--policy", "noop", *options])
    assert answer.exit_code == 2
    assert "thesis.tex" in answer.stderr


def test_eval_reports_in_one_line_that_a_folder_cannot_be_created(tiny_url: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    answer = RUNNER.invoke(
        app, ["eval", "--policy", "noop", "--url", tiny_url, "--out", str(tmp_path / "file" / "run")]
    )
    assert answer.exit_code == 2
    assert answer.stderr.strip().startswith("error:")
    assert len(answer.stderr.strip().splitlines()) == 1


def test_a_url_may_omit_its_scheme(tiny_url: str) -> None:
    answer = RUNNER.invoke(app, ["tasks", "--url", tiny_url.removeprefix("http://")])
    assert answer.exit_code == 0, answer.stderr


def test_tools_lists_explains_and_prints_json(tiny_url: str) -> None:
    listed = RUNNER.invoke(app, ["tools", "--url", tiny_url])
    assert "add" in listed.stdout
    assert "2 tools, about" in listed.stdout
    one = RUNNER.invoke(app, ["tools", "add", "--url", tiny_url]).stdout
    assert "integer (from 0, to 3)" in one
    assert "description" not in one
    specs = json.loads(RUNNER.invoke(app, ["tools", "--json", "--url", tiny_url]).stdout)
    assert [spec["name"] for spec in specs] == ["add", "finish"]


@pytest.mark.parametrize(("name", "hint"), [("fly", "`companyos tools` lists the tools"), ("ad", "did you mean add?")])
def test_an_unknown_tool_is_a_usage_error_with_a_hint(tiny_url: str, name: str, hint: str) -> None:
    answer = RUNNER.invoke(app, ["tools", name, "--url", tiny_url])
    assert (answer.exit_code, answer.stderr) == (2, f"error: unknown tool '{name}'; {hint}\n")


def test_tasks_lists_scenarios_and_prints_briefs(tiny_url: str) -> None:
    listed = RUNNER.invoke(app, ["tasks", "--url", tiny_url])
    assert "Add up to a number." in listed.stdout
    briefs = RUNNER.invoke(app, ["tasks", "tiny", "--url", tiny_url, "--seed", "5", "-n", "2"]).stdout
    assert ["seed 5" in briefs, "seed 6" in briefs, "seed 7" in briefs] == [True, True, False]
    assert "Monday 02 March 2026, 09:15, acting as E-1, 20 steps" in briefs


def test_tasks_lists_the_splits_and_the_tasks_of_one(tiny_url: str) -> None:
    assert "task set 1.1.tiny" in RUNNER.invoke(app, ["tasks", "--url", tiny_url]).stdout
    browsed = RUNNER.invoke(app, ["tasks", "--split", "test", "-n", "2", "--url", tiny_url]).stdout
    assert [number for number in range(3) if f"test.tiny.2.0{number}" in browsed] == [0, 1]
    assert "2 of 3 tasks; 1 more with -n" in browsed
    assert browsed.count("only here") == browsed.count("as in train") == 1
    listed = json.loads(RUNNER.invoke(app, ["tasks", "--split", "test", "--json", "--url", tiny_url]).stdout)
    assert [task["index"] for task in listed] == [0, 1, 2]


def test_tasks_prints_one_task(tiny_url: str) -> None:
    read = RUNNER.invoke(app, ["tasks", "test.tiny.2.01", "--url", tiny_url]).stdout
    assert "Add up to the number of T-1." in read
    assert 'env.reset(task_id="test.tiny.2.01")' in read
    reported = json.loads(RUNNER.invoke(app, ["tasks", "test.tiny.2.01", "--json", "--url", tiny_url]).stdout)
    assert (reported["id"], reported["brief"]) == ("test.tiny.2.01", "Add up to the number of T-1.")


@pytest.mark.parametrize(
    ("arguments", "reported"),
    [
        (["tasks", "test.tiny.2.09"], "unknown task 'test.tiny.2.09'; test.tiny.2 has 3 tasks, numbered from 00"),
        (
            ["eval", "--policy", "noop", "--task", "test.tiny.2.00", "--task", "test.tiny.2.09"],
            "unknown task 'test.tiny.2.09'; test.tiny.2 has 3 tasks, numbered from 00",
        ),
        (["tasks", "tiny", "--split", "test"], "--split cannot be combined"),
        (["tasks", "--split", "test", "--scenario", "huge"], "no tasks of scenario 'huge'"),
        (["tasks", "--split", "test", "--chaos", "7"], "error: no tasks at chaos 7"),
        (["eval", "--policy", "noop", "--split", "test", "--seed", "1"], "--split and --seed cannot be combined"),
    ],
)
def test_an_unknown_task_is_a_usage_error(tiny_url: str, arguments: list[str], reported: str) -> None:
    answer = RUNNER.invoke(app, [*arguments, "--url", tiny_url])
    assert (answer.exit_code, reported in answer.stderr) == (2, True), answer.stderr


def test_eval_plays_the_tasks_of_a_split(tiny_url: str, tmp_path: Path) -> None:
    out = tmp_path / "run"
    answer = RUNNER.invoke(
        app, ["eval", "--policy", "noop", "--split", "test", "-n", "2", "--out", str(out), "--url", tiny_url]
    )
    assert "split test: 2 tasks of task set 1.1.tiny" in answer.stdout, answer.stderr
    records = [json.loads(line) for line in (out / "episodes.jsonl").read_text().splitlines()]
    assert [(record["task_id"], record["task_set"]) for record in records] == [
        ("test.tiny.2.00", "1.1.tiny"),
        ("test.tiny.2.01", "1.1.tiny"),
    ]
    assert {(record["seed"], record["chaos"]) for record in records} == {(3, 2)}
    assert (out / "trajectories" / "test.tiny.2.00-noop.jsonl").is_file()


def test_eval_plays_the_tasks_that_are_named_once_each_and_resumes(tiny_url: str, tmp_path: Path) -> None:
    out, ids = tmp_path / "run", ("test.tiny.2.02", "test.tiny.2.00", "test.tiny.2.02")
    request = ["eval", "--policy", "noop", *[word for one in ids for word in ("--task", one)], "--url", tiny_url]
    answer = RUNNER.invoke(app, [*request, "--trials", "2", "--out", str(out)])
    assert "2 tasks of task set 1.1.tiny" in answer.stdout, answer.stderr
    records = [json.loads(line) for line in (out / "episodes.jsonl").read_text().splitlines()]
    assert [(record["task_id"], record["chaos"], record["trial"]) for record in records] == [
        (name, 2, trial) for name in ids[:2] for trial in (1, 2)
    ]
    resumed = RUNNER.invoke(app, [*request, "--task", "test.tiny.2.01", "--trials", "2", "--out", str(out), "--resume"])
    assert "6 episodes in" in resumed.stdout, resumed.stderr


def test_a_dry_run_of_a_scenario_without_players_fails_at_once_with_the_reason(tiny_url: str) -> None:
    answer = RUNNER.invoke(app, ["eval", "--task", "test.tiny.2.02", "--url", tiny_url, *DRY_RUN])
    assert answer.exit_code == 1
    assert "dry run: 1 task of task set 1.1.tiny" in answer.stdout
    assert "The scenario 'tiny' has no players" in answer.stderr.replace("\n", " ")
    assert "attempts" not in answer.stderr


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("--split", "test"),
        ("--scenario", "tiny"),
        ("--seed", "0"),
        ("--chaos", "2"),
        ("--episodes", "1"),
        ("--override", "freeze=0"),
    ],
)
def test_eval_rejects_a_task_with_an_option_that_selects_others(option: str, value: str) -> None:
    answer = RUNNER.invoke(app, ["eval", "--policy", "noop", "--task", "test.tiny.2.00", option, value])
    assert (answer.exit_code, answer.stderr) == (
        2,
        f"error: --task and {option} cannot be combined: a task id stands for one fixed task\n",
    )


@pytest.mark.parametrize(
    "command", [["tasks"], ["play", "--task"], ["eval", "--policy", "noop", "--task"]], ids=" ".join
)
@pytest.mark.parametrize(
    "task",
    [
        "tset.tiny.2.00",
        "test.tiny.9.00",
        "test.tiny.2",
        "test.tiny.2.00.1",
        "test.tiny.\u0661.00",
        f"test.tiny.{'9' * 5000}.00",
    ],
)
def test_a_malformed_task_id_is_a_usage_error_before_anything_starts(command: list[str], task: str) -> None:
    answer = RUNNER.invoke(app, [*command, task])
    form = "split.scenario.level.number, such as test.bug_escalation.3.05"
    accepted = "the splits are train, validation, test, and the levels 0 to 8"
    assert answer.exit_code == 2
    assert answer.stderr == f"error: a task id has the form {form}; {accepted}; got {task!r}\n"


def test_a_port_in_use_is_reported_before_anything_starts(tiny_url: str) -> None:
    port = tiny_url.rpartition(":")[2]
    answer = RUNNER.invoke(app, ["up", "--port", port])
    assert answer.exit_code == 1
    assert f"error: port {port} cannot be used: Address already in use; --port " in answer.stderr


def a_task(index: int, scenario: str, chaos: int) -> TaskInfo:
    return TaskInfo(
        id=f"test.{scenario}.{chaos}.{index:02}",
        split=Split.TEST,
        index=index,
        difficulty="calm",
        group=scenario,
        scenario=scenario,
        chaos=chaos,
        held_out=False,
        version="1",
        canary="c",
    )


def test_a_part_of_a_split_is_balanced_over_levels_and_scenarios() -> None:
    names = [f"s{number}" for number in range(7)]
    tasks = [a_task(0, name, level) for name in names for level in range(5) for _ in range(2)]
    for count in (1, 5, 10, 35, 70, 99):
        part = balanced_sample(tasks, count)
        assert len(part) == min(count, len(tasks))
        for key in (lambda task: task.chaos, lambda task: task.scenario):
            counted = Counter(map(key, part))
            assert max(counted.values()) - min(counted.values()) <= 1 or len(counted) == 1
        assert part == balanced_sample(tasks, count + 1)[: len(part)]


def test_trials_show_pass_k_and_a_folder_with_a_run_is_not_overwritten(tiny_url: str, tmp_path: Path) -> None:
    out = tmp_path / "run"
    request = ["eval", "--policy", "random", "--scenario", "tiny", "-n", "2", "--url", tiny_url, "--out", str(out)]
    reported = RUNNER.invoke(app, [*request, "--trials", "4"])
    assert reported.exit_code == 0, reported.output
    assert all(word in reported.stdout for word in ("pass@1", "pass^2", "pass^4"))
    assert len((out / "episodes.jsonl").read_text().splitlines()) == 8
    refused = RUNNER.invoke(app, request)
    assert refused.exit_code == 2
    assert "--overwrite to replace it" in refused.stderr
    assert RUNNER.invoke(app, [*request, "--resume", "--overwrite"]).exit_code == 2
    assert RUNNER.invoke(app, [*request, "--overwrite"]).exit_code == 0
    assert len((out / "episodes.jsonl").read_text().splitlines()) == 2
