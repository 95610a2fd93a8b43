"""Commands that manage live episodes, against a real enterprise that requires a token."""

from __future__ import annotations

import asyncio
import json
import re
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from typer.testing import CliRunner

from companyos.cli.main import app
from companyos.trainer import Trainer, bearer
from tests.client.conftest import SecuredEnterprise

pytestmark = pytest.mark.integration

RUNNER = CliRunner()
LABEL = "watched"


@pytest.fixture(autouse=True)
def _quiet(guarded: SecuredEnterprise, monkeypatch: pytest.MonkeyPatch) -> None:
    """Begin with no episode and no snapshot, and with the token where the commands look for it."""
    monkeypatch.setenv("COMPANYOS_TOKEN", guarded.token)

    async def clear() -> None:
        async with Trainer(guarded.url, headers=bearer(guarded.token)) as trainer:
            for episode in await trainer.episodes():
                await trainer.drop(str(episode.episode_id))
            for kept in await trainer.snapshots():
                await trainer.delete_snapshot(kept.id)

    asyncio.run(clear())


def test_without_a_token_the_error_names_the_option(
    guarded: SecuredEnterprise, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("COMPANYOS_TOKEN")
    answer = RUNNER.invoke(app, ["episodes", "--url", guarded.url])
    assert answer.exit_code == 1
    assert answer.stderr == (
        "error: token-required: The header `Authorization: Bearer TOKEN` is missing. "
        "Pass --token or set COMPANYOS_TOKEN.\n"
    )


class CommandRunner:
    """Runs commands and plain HTTP requests against one server."""

    def __init__(self, url: str, http: httpx.Client) -> None:
        self._url = url
        self._http = http

    def run(self, *arguments: str, code: int = 0, stdin: str | None = None) -> str:
        """Run a command and return its output, or its error output if a failure is expected."""
        answer = RUNNER.invoke(app, [*arguments, "--url", self._url], input=stdin)
        assert answer.exit_code == code, answer.output
        assert "Traceback" not in answer.output
        return answer.stdout if code == 0 else answer.stderr

    def begin(self, label: str = LABEL) -> str:
        """Start an episode, create a ticket in one step, and return its key."""
        self._post("/reset", {"episode_id": label, "seed": 7, "chaos": 0})
        ticket = {"title": "Odd \x1b[31m[bold]ink", "type": "request", "team_id": "security"}
        return str(self.step(label, "ticketdesk_create_ticket", ticket)["result"]["key"])

    def step(self, label: str, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        action = {"tool_name": tool, "arguments": arguments}
        observation: dict[str, Any] = self._post("/step", {"episode_id": label, "action": action})
        return observation

    def _post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        answer = self._http.post(path, json=body)
        answer.raise_for_status()
        observation: dict[str, Any] = answer.json()["observation"]
        return observation


@pytest.fixture
def commands(guarded: SecuredEnterprise) -> Iterator[CommandRunner]:
    with httpx.Client(base_url=guarded.url, headers=bearer(guarded.token), trust_env=False) as http:
        yield CommandRunner(guarded.url, http)


def test_live_episodes_are_a_table_or_json(commands: CommandRunner) -> None:
    assert commands.run("episodes").strip() == "no episode is live"
    commands.begin()
    head, row = commands.run("episodes").splitlines()
    assert head.split() == ["episode", "scenario", "seed", "chaos", "step", "return", "now"]
    assert row.split()[:6] == [LABEL, "vendor_onboarding", "7", "0", "1", "-0.1"]
    [state] = json.loads(commands.run("episodes", "--json"))
    assert (state["episode_id"], state["step_count"], state["return"]) == (LABEL, 1, -0.1)


def test_snapshots_are_taken_listed_restored_and_deleted_by_a_prefix_of_the_id(commands: CommandRunner) -> None:
    commands.begin()
    taken = commands.run("snapshot").strip()
    assert re.fullmatch("[0-9a-f]{32}", taken)
    commands.step(LABEL, "wait", {"minutes": 30})
    assert json.loads(commands.run("episodes", "--json"))[0]["step_count"] == 2
    assert f"{taken[:12]}  {LABEL}" in commands.run("snapshot", "--list")
    assert commands.run("snapshot", "--list", "somebody-else").strip() == "no snapshots of somebody-else"
    assert commands.run("restore", taken[:8]).startswith(f"{LABEL} is at step 1 again")
    assert json.loads(commands.run("episodes", "--json"))[0]["step_count"] == 1
    commands.run("restore", LABEL, taken)
    commands.run("snapshot", "--delete", taken[:6])
    assert json.loads(commands.run("snapshot", "--list", "--json")) == []
    assert "no snapshots begin with" in commands.run("restore", taken[:8], code=2)
    assert commands.run("restore", taken, code=2).startswith("error: unknown-snapshot: ")


def test_forks_are_printed_with_their_tokens_and_can_be_stepped(commands: CommandRunner) -> None:
    key = commands.begin()
    taken = json.loads(commands.run("snapshot", LABEL, "--json"))
    opened = json.loads(commands.run("fork", taken["id"], "--count", "2", "--json"))
    assert len({fork["token"] for fork in opened}) == 2
    for fork in opened:
        assert commands.step(fork["episode_id"], "ticketdesk_get_ticket", {"key": key})["result"]["key"] == key
    [line] = commands.run("fork", taken["id"][:10]).splitlines()[1:]
    episode_id, token = line.split()
    assert re.fullmatch("[0-9a-f]{24}", episode_id)
    assert re.fullmatch("[A-Za-z0-9_-]{43}", token)


def test_a_diff_is_printed_row_by_row_without_control_characters(commands: CommandRunner) -> None:
    key = commands.begin()
    commands.step(LABEL, "ticketdesk_transition_ticket", {"key": key, "to": "open"})
    message = commands.run("diff")
    assert f"+ {key}" in message
    assert "Odd \N{REPLACEMENT CHARACTER}[31m[bold]ink" in message
    assert "\x1b" not in message
    assert message.splitlines()[-1].startswith("steps 0 to 2: 2 new")
    last = commands.run("diff", LABEL, "--from", "1", "--to", "2")
    assert f"~ {key}" in last
    assert re.search(r"status +null → open", last)
    assert last.splitlines()[-1] == "steps 1 to 2: 1 new, 1 changed"
    reported = json.loads(commands.run("diff", "--from", "1", "--json"))
    assert reported["services"]["ticketdesk"]["tickets"][key]["after"]["status"] == "open"
    assert commands.run("diff", "--from", "1", "--to", "1").strip() == "steps 1 to 1: no rows differ"
    assert "invalid-step" in commands.run("diff", "--to", "9", code=2)


def test_databases_are_queried_joined_and_stored(commands: CommandRunner, tmp_path: Path) -> None:
    key = commands.begin()
    query = f"select key, type from tickets where key = '{key}'"  # noqa: S608
    assert [line.split() for line in commands.run("db", "--sql", query).splitlines()] == [
        ["key", "type"],
        [key, "request"],
    ]
    joined = "select count(*) n from ticketdesk.tickets t join datahub.vendors v on t.title like '%' || v.name || '%'"
    assert json.loads(commands.run("db", "--sql", joined, "--json"))[0]["n"] > 0
    kept = commands.run("db", LABEL, "--service", "ticketdesk", "--out", str(tmp_path / "copies")).split()
    assert kept == [str(tmp_path / "copies" / "ticketdesk.sqlite3")]
    with sqlite3.connect(kept[0]) as copy:
        assert copy.execute(query).fetchall() == [(key, "request")]
        copy.execute("delete from tickets")
    copy.close()
    assert key in commands.run("db", LABEL, "--sql", query)
    assert commands.run("db", "--sql", "selct 1", code=2).strip() == 'error: near "selct": syntax error'
    assert "unknown-service" in commands.run("db", "--service", "payroll", code=2)


@pytest.mark.parametrize("is_installed", [True, False])
def test_without_a_query_a_shell_opens_on_the_copies(
    commands: CommandRunner,
    guarded: SecuredEnterprise,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    is_installed: bool,
) -> None:
    key = commands.begin()
    request = f"select key from ticketdesk.tickets\n where key = '{key}';\nselct 1;\n.tables\n.quit\n"  # noqa: S608
    if not is_installed:
        monkeypatch.setenv("PATH", str(tmp_path))
    ended = subprocess.run(
        [sys.executable, "-m", "companyos", "db", "--url", guarded.url],
        input=request,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert key in ended.stdout
    assert "vendors" in ended.stdout
    assert 'near "selct": syntax error' in ended.stderr
    assert "Traceback" not in ended.stderr


def test_an_episode_must_be_named_if_several_are_live(commands: CommandRunner) -> None:
    commands.begin("monday")
    commands.begin("tuesday")
    for command in ("snapshot", "diff", "db"):
        message = commands.run(command, code=2)
        assert message.strip() == "error: 2 episodes are live; name one of monday, tuesday"
    finish = {"outcome": "done", "summary": "Enough."}
    commands.step("monday", "finish", finish)
    assert "steps 0 to 1" in commands.run("diff")
    commands.begin("wednesday")
    assert "error: 2 episodes are live; name one of tuesday, wednesday" in commands.run("diff", code=2)
    for label in ("tuesday", "wednesday"):
        commands.step(label, "finish", finish)
    assert "error: no episode is live, 3 have ended; name one of monday, tuesday" in commands.run("diff", code=2)


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["snapshot"], 1, "error: no episode is live"),
        (["snapshot", "nobody"], 2, "error: unknown-episode: "),
        (["snapshot", "nobody", "--delete", "abcd"], 2, "error: --delete cannot be combined"),
        (["snapshot", "--delete", "xyz"], 2, "a snapshot id has 4 to 32 characters"),
        (["snapshot", "--token", "guessed"], 1, "error: unknown-token: "),
        (["restore"], 2, "error: SNAPSHOT is required"),
        (["restore", "latest"], 2, "got 'latest'"),
        (["fork", "0" * 32], 2, "error: unknown-snapshot: "),
        (["diff", "nobody"], 2, "error: unknown-episode: "),
        (["diff", "--from", "-1"], 2, "--from"),
        (["db", "--json"], 2, "--json needs --sql"),
        (["quarantine", "show", "nobody"], 2, "error: 0 items in quarantine match 'nobody'"),
        (["tasks", "nowhere"], 2, "error: unknown-scenario: "),
        (["tasks", "--split", "test", "--scenario", "nowhere"], 2, "error: unknown-task: "),
        (["tasks", "test.nowhere.3.05"], 2, "error: unknown task 'test.nowhere.3.05': no scenario or shift is named"),
        (
            ["eval", "--policy", "noop", "--task", "test.bug_escalation.7.05"],
            2,
            "error: unknown task 'test.bug_escalation.7.05': the level must be one of 0, 1, 2, 3, 4; got '7'",
        ),
        (
            ["eval", "--policy", "noop", "--task", "test.bug_escalation.3.08"],
            2,
            "unknown task 'test.bug_escalation.3.08'; test.bug_escalation.3 has 8 tasks, numbered from 00",
        ),
        (["tasks", "vendor_onboarding", "--chaos", "8"], 2, "error: invalid-reset: chaos must be one of "),
        (["tasks", "export", "--out", "tasks", "--scenario", "nowhere"], 2, "error: unknown-task: "),
        (["tasks", "export", "--out", "tasks", "--chaos", "8"], 2, "error: no tasks at chaos 8"),
    ],
)
def test_a_usage_error_is_one_line(commands: CommandRunner, arguments: list[str], code: int, words: str) -> None:
    assert words in commands.run(*arguments, code=code)


def test_other_commands_send_the_token_too(commands: CommandRunner, tmp_path: Path) -> None:
    assert "vendor_onboarding" in commands.run("tasks")
    assert "ticketdesk" in commands.run("tools")
    message = commands.run("eval", "--policy", "noop", "-n", "2", "--out", str(tmp_path / "run"))
    assert "noop" in message
    assert len(list((tmp_path / "run" / "evidence").iterdir())) == 2


def test_eval_plays_every_scenario_that_is_named(commands: CommandRunner, tmp_path: Path) -> None:
    names = ["vendor_onboarding", "bug_escalation"]
    scenarios = [word for name in [*names, names[0]] for word in ("--scenario", name)]

    def played(*options: str) -> list[tuple[str, int, int]]:
        out = tmp_path / options[0]
        title = commands.run("eval", "--policy", "noop", *scenarios, "--out", str(out), *options).splitlines()[0]
        assert ", ".join(names) in title
        lines = [json.loads(line) for line in (out / "episodes.jsonl").read_text().splitlines()]
        return [(line["scenario"], line["chaos"], line["seed"]) for line in lines]

    assert played("-n", "2", "--seed", "4", "--chaos", "0") == [(name, 0, seed) for seed in (4, 5) for name in names]
    of_split = played("--split", "test", "-n", "4", "--chaos", "0", "--chaos", "1")
    assert sorted((name, level) for name, level, _ in of_split) == [
        (name, level) for name in sorted(names) for level in (0, 1)
    ]


@pytest.mark.parametrize(
    "command",
    [
        ["episodes"],
        ["play"],
        ["demo"],
        ["tools"],
        ["tasks"],
        ["tasks", "export", "--out", "tasks", "--format", "jsonl"],
        ["eval", "--policy", "noop"],
    ],
    ids=" ".join,
)
def test_every_command_with_a_url_reports_an_unreachable_server_with_a_hint(command: list[str]) -> None:
    answer = RUNNER.invoke(app, [*command, "--url", "127.0.0.1:9"])
    assert answer.exit_code == 1
    assert "error: Failed to connect to " in answer.stderr
    assert answer.stderr.count("is `companyos up` running there?") == 1


@pytest.mark.parametrize(
    "command", [["tasks"], ["tasks", "export", "--out", "tasks"], ["eval", "--policy", "noop"]], ids=" ".join
)
def test_an_unknown_split_is_a_usage_error_before_anything_starts(command: list[str]) -> None:
    answer = RUNNER.invoke(app, [*command, "--split", "tset"])
    assert (answer.exit_code, answer.stderr) == (
        2,
        "error: split must be one of train, validation, test; got 'tset'\n",
    )
