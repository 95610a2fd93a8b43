"""`companyos view`: its output, the files it writes, the pages it serves, and its errors."""

from __future__ import annotations

import socket
import subprocess
import sys
from pathlib import Path

import httpx
import pytest
from typer.testing import CliRunner

from companyos import rescorers
from companyos.cli.main import app
from tests.client.stored_runs import CHANGES, LINES, a_line, evidence, judge, write_episode

RUNNER = CliRunner()


@pytest.fixture(autouse=True)
def judged(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the command's judge be ours."""
    monkeypatch.setattr(rescorers, "load_rescorer", lambda: judge)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    folder = tmp_path / "run"
    write_episode(folder)
    write_episode(folder, policy="noop", lines=LINES[:2], stored=evidence(changes=CHANGES[:0]))
    return folder


def message(*arguments: object) -> tuple[int, str]:
    answer = RUNNER.invoke(app, ["view", *map(str, arguments)])
    return answer.exit_code, answer.output


def test_the_terminal_lists_the_episodes(run: Path) -> None:
    code, reported = message(run, "--terminal")
    assert code == 0
    assert "tiny-0-c1-oracle" in reported
    assert "ticket_closed" in reported


def test_the_terminal_shows_an_episode_step_by_step(run: Path) -> None:
    code, reported = message(run, "--terminal", "--episode", "oracle")
    assert code == 0
    assert "Close T-1." in reported
    assert "503 unavailable injected: unavailable" in reported
    assert "409 ticket-locked" in reported
    assert "desk_close_ticket T-1 " in reported
    assert "tool_not_found" in reported
    assert "✓ ticket_closed" in reported
    assert "rescored: success" in reported
    assert "rescored" not in message(run, "--terminal", "--episode", "oracle", "--no-rescore")[1]


def test_an_episode_shows_how_the_agent_declared_its_end(tmp_path: Path) -> None:
    finish = {"outcome": "impossible", "summary": "The ticket is locked."}
    write_episode(tmp_path / "solved", stored=evidence(finish=finish))
    assert "declared: impossible: The ticket is locked." in message(tmp_path / "solved", "--terminal")[1]


def test_a_failed_episode_shows_the_reason_before_its_steps(tmp_path: Path) -> None:
    write_episode(tmp_path, stored=evidence(changes=CHANGES[:2]))
    shown, _, steps = message(tmp_path, "--terminal")[1].partition("simulated")
    assert "Step 6, desk_close_ticket, closed the task." in shown
    assert "ticket_closed desk.tickets[T-1]" in shown
    assert "status: closed" in shown
    assert "T-1 never shown" in shown
    assert "3 desk_close_ticket key=T-1 409 ticket-locked" in shown
    assert "tool_not_found" in steps


def test_a_long_response_is_truncated_unless_the_full_one_is_requested(tmp_path: Path) -> None:
    rows = [{"row": number} for number in range(100)]
    write_episode(tmp_path, lines=[a_line(1, result={"rows": rows, "text": "one\ntwo", "path": "C:\\new"})])
    cut, full = (
        message(tmp_path, "--terminal", "--episode", "tiny", "--step", 1, *more)[1] for more in ((), ("--full",))
    )
    assert "more lines; --full prints all" in cut
    assert '"row": 99' not in cut
    assert '"row": 99' in full
    assert "one\n" in full
    assert r"C:\\new" in full


def test_the_terminal_shows_a_step_with_its_rows(run: Path) -> None:
    code, reported = message(run, "--terminal", "--episode", "oracle", "--step", 6)
    assert code == 0
    assert "open → closed" in reported
    assert "+2 milestones, +14.9 end and cost of the step" in reported
    assert "- L-1" in message(run, "--terminal", "--episode", "oracle", "--step", 5)[1]


def test_the_terminal_compares_two_episodes(run: Path) -> None:
    code, reported = message(run, "--terminal", "--compare", "oracle", "noop")
    assert code == 0
    assert "First difference in row 3: only in the first." in reported


def test_an_export_is_written(run: Path, tmp_path: Path) -> None:
    code, reported = message(run, "--export", tmp_path / "run.html")
    assert (code, "2 episodes" in reported) == (0, True)
    page = (tmp_path / "run.html").read_text()
    assert page.count('class="viewer-episode"') == 2
    assert message(run, "--export", tmp_path / "one.html", "--episode", "noop")[0] == 0
    assert (tmp_path / "one.html").read_text().count('class="viewer-episode"') == 1


def test_an_unreadable_line_is_named_and_the_rest_is_shown(run: Path, tmp_path: Path) -> None:
    with (run / "trajectories" / "tiny-0-c1-noop.jsonl").open("a") as lines:
        lines.write("{torn\n")
    code, reported = message(run, "--export", tmp_path / "run.html")
    assert code == 2
    assert "not read: trajectories/tiny-0-c1-noop.jsonl, line 3: invalid JSON" in reported
    assert (tmp_path / "run.html").exists()


def test_an_episode_whose_name_contains_the_text_as_whole_parts_is_preferred(run: Path) -> None:
    for seed in (3, 13, 30):
        write_episode(run, seed=seed)
    code, reported = message(run, "--terminal", "--episode", "3-c1", "--step", "1")
    assert code == 0, reported
    code, reported = message(run, "--terminal", "--episode", "c1-o")
    assert (code, "4 episode names contain 'c1-o'" in reported) == (2, True)


@pytest.mark.parametrize(
    ("arguments", "reported"),
    [
        (["--step", "1"], "--step needs --episode NAME"),
        (["--terminal", "--episode", "tiny"], "2 episode names contain 'tiny'"),
        (["--terminal", "--episode", "nobody"], "no episode name contains 'nobody': tiny-0-c1-oracle"),
        (["--terminal", "--episode", "noop", "--step", "9"], "step must be between 1 and 2"),
        (["--terminal", "--export", "x.html"], "--export and --terminal cannot be combined"),
        (["--episode", "noop", "--compare", "noop", "oracle"], "--compare and --episode cannot be combined"),
        (["--export", "/nowhere/x.html"], "/nowhere/x.html"),
    ],
)
def test_a_usage_error_is_reported_in_one_line(run: Path, arguments: list[str], reported: str) -> None:
    code, output = message(run, *arguments)
    assert code == 2
    assert reported in output
    assert "Traceback" not in output


def test_a_missing_run_is_reported(tmp_path: Path) -> None:
    code, reported = message(tmp_path / "nowhere", "--terminal")
    assert (code, "no such file or folder" in reported) == (2, True)


def test_a_port_in_use_is_reported(run: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        code, reported = message(run, "--no-browser", "--port", taken.getsockname()[1])
    assert (code, "cannot listen on" in reported) == (1, True)


def test_the_command_serves_the_run_and_prints_the_address(run: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "companyos",
        "view",
        str(run),
        "--no-browser",
        "--episode",
        "oracle",
        "--step",
        "6",
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as served:
        assert served.stdout is not None
        try:
            url, _, fragment = served.stdout.readline().split()[-1].partition("#")
            assert fragment == "episode=tiny-0-c1-oracle&step=6"
            assert len(httpx.get(f"{url}run.json").json()["episodes"]) == 2
        finally:
            served.terminate()
