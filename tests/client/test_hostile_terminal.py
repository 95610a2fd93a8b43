"""Hostile text in episodes is shown as text in the terminal; no control sequence takes effect."""

from __future__ import annotations

from io import StringIO
from pathlib import Path
from typing import Any

import pytest
import typer
from rich.console import Console
from typer.testing import CliRunner

from companyos import rescorers
from companyos.cli import demo
from companyos.cli.main import app
from companyos.cli.milestones import Milestone, MilestoneEvent
from companyos.cli.step_log import step_line
from companyos.cli.terminal import fail
from companyos.cli.tool_output import render_step_result
from companyos.contract import CheckVerdict, EpisodeVerdict, InjectionInfo
from companyos.runner import StepLine
from tests.client.builders import a_step
from tests.client.stored_runs import CHANGES, a_change, a_line, a_problem, evidence, judge, write_episode
from tests.payloads import CONTROL_SIGNS, PAYLOADS

RUNNER = CliRunner()
TURNING = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f")
EVERYTHING = " ".join(PAYLOADS.values())
SHARES = [" ".join([*PAYLOADS.values()][first::4]) for first in range(4)]


def check_is_text(reported: str) -> None:
    """Check that the text contains no control sequence for a terminal."""
    assert not set(reported) & (CONTROL_SIGNS | TURNING), [sign for sign in reported if sign in CONTROL_SIGNS | TURNING]
    assert "<script>alert(1)</script>" in reported or "[bold red]x[/]" in reported or "�" in reported


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(rescorers, "load_rescorer", lambda: judge)
    for number, text in enumerate(SHARES):
        lines = [
            a_line(1, tool=f"desk_{text}", arguments={text: text}, result={text: [text]}),
            a_line(2, result=a_problem(409, text) | {"detail": text}),
            a_line(3, error={"error_type": text, "message": text}, result=None),
            a_line(4),
        ]
        changes = [
            a_change(1, before=None, after={"key": text, "title": text, text: text}, key=text, table=text, actor=text),
            {**CHANGES[2], "step": 4},
        ]
        checks = (CheckVerdict(id=text, passed=False, entity=text, expected=text, found=text),)
        write_episode(
            tmp_path,
            seed=number,
            lines=lines,
            stored=evidence(changes=changes, audits=[], brief=text, company=text, acting_as=text),
            trouble=text,
            verdict=EpisodeVerdict(success=False, potential=0, damage=(text,), rejections=0, checks=checks),
            injections=[InjectionInfo(kind=text, mark="decisive", entity=text, detail={text: text})],
        )
    return tmp_path


def test_the_terminal_viewer_prints_no_control_characters(run: Path) -> None:
    check_is_text(RUNNER.invoke(app, ["view", str(run), "--terminal"]).output)
    for number in range(len(SHARES)):
        named = ["view", str(run), "--terminal", "--episode", f"tiny-{number}-c1-oracle"]
        reported = "".join(
            RUNNER.invoke(app, [*named, *step]).output for step in ([], ["--step", "1"], ["--step", "3"])
        )
        assert "Traceback" not in reported
        assert not set(reported) & (CONTROL_SIGNS | TURNING)
    both = RUNNER.invoke(app, ["view", str(run), "--terminal", "--compare", "tiny-0-c1-oracle", "tiny-1-c1-oracle"])
    check_is_text(both.output)


def test_a_response_and_a_step_line_print_no_control_characters() -> None:
    shapes: list[Any] = [EVERYTHING, {EVERYTHING: EVERYTHING}, [EVERYTHING], {"items": [{"id": EVERYTHING}]}]
    shapes += [
        {"status": 409, "title": EVERYTHING, "code": EVERYTHING, "detail": EVERYTHING, "errors": [{"m": EVERYTHING}]}
    ]
    for result in shapes:
        out = StringIO()
        console = Console(file=out, width=4000)
        step = a_step(result=result)
        line = StepLine(step=1, tool=EVERYTHING, arguments={}, result=result, error=None, reward=0, done=False, now="")
        console.print(render_step_result(step))
        check_is_text(out.getvalue())
        console.print(step_line(line, step, 0, 4000))
        assert not set(out.getvalue()) & (CONTROL_SIGNS | TURNING)


def test_the_demo_and_an_error_print_no_control_characters(capsys: pytest.CaptureFixture[str]) -> None:
    demo._print_milestone(MilestoneEvent(Milestone.PRIORITY, True, EVERYTHING))
    with pytest.raises(typer.Exit):
        fail(f"{EVERYTHING}\n{EVERYTHING}")
    reported = capsys.readouterr()
    check_is_text(reported.out)
    check_is_text(reported.err)


def test_a_task_in_the_terminal_prints_no_control_characters(
    tiny_url: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from tests.client import conftest

    begin = conftest.TinyEnvironment.reset_async

    async def hostile(self: Any, *arguments: Any, **options: Any) -> Any:
        first = await begin(self, *arguments, **options)
        return first.model_copy(update={"brief": EVERYTHING, "company": EVERYTHING, "acting_as": EVERYTHING})

    monkeypatch.setattr(conftest.TinyEnvironment, "reset_async", hostile)
    request = ["play", "--scenario", "tiny", "--url", tiny_url, "--out", str(tmp_path)]
    check_is_text(RUNNER.invoke(app, request, input="brief\nquit\n").output)
    check_is_text(RUNNER.invoke(app, ["tasks", "tiny", "-n", "1", "--url", tiny_url]).output)
