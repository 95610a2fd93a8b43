"""A step in one line starts with the most important facts, whatever the width of the terminal."""

from __future__ import annotations

from io import StringIO
from typing import Any

import pytest
from rich.console import Console

from companyos.cli import demo
from companyos.cli.milestones import Milestone, MilestoneEvent
from companyos.cli.results import format_reward
from companyos.cli.step_log import step_line, step_log_header
from companyos.cli.terminal import OUT
from companyos.runner import StepLine
from tests.client.builders import a_step


def rendered(tool: str, *, width: int = 100, **step: Any) -> str:
    view = a_step(**step)
    line = StepLine(
        step=7, tool=tool, arguments={}, result=view.result, error=None, reward=view.reward, done=False, now=""
    )
    out = StringIO()
    console = Console(file=out, width=width)
    console.print(step_log_header(width))
    console.print(step_line(line, view, 1.9, width))
    assert all(len(each.rstrip()) <= width for each in out.getvalue().splitlines())
    return out.getvalue().splitlines()[1]


@pytest.mark.parametrize(
    ("tool", "result", "output"),
    [
        ("wait", {"waited_minutes": 1035}, "waited 17 h 15 min"),
        ("wait", {"waited_minutes": 4320}, "waited 3 d"),
        ("ticketdesk_list_tickets", {"items": [{}, {}], "total": 34, "next_cursor": None}, "34 found"),
        ("ticketdesk_get_ticket", {"key": "OPS-1", "status": "in_progress", "priority": "high"}, "OPS-1, in progress"),
        ("datahub_get_vendor", {"id": "VEN-2", "name": "Nordwind"}, "VEN-2, Nordwind"),
        ("ticketdesk_verify_ticket", {"code": "not-ready", "title": "No", "status": 409}, "409 not-ready"),
        (
            "datahub_query_metric",
            {"readings": [{"value": 82.0, "unit": "points", "is_stale": True}]},
            "82 points, stale",
        ),
        (
            "datahub_get_approver",
            {"holders": [{"person": {"name": "Mara"}, "out_of_office": True}]},
            "Mara (out of office)",
        ),
        ("datahub_get_policy", None, "none"),
    ],
)
def test_the_response_is_summarized_in_a_few_words(tool: str, result: Any, output: str) -> None:
    line = rendered(tool, result=result)
    assert output in line
    assert line.split()[:5] == ["7", "Mon", "02", "09:15", tool]


def test_reward_and_return_are_at_the_end_of_the_line() -> None:
    assert rendered("finish", reward=14.9, result={}).split()[-2:] == ["+14.9", "+1.9"]


def test_an_invalid_call_is_shown_by_its_kind() -> None:
    assert "invalid_args" in rendered("wait", error="invalid_args")


def test_a_step_fits_on_one_line_of_a_narrow_terminal() -> None:
    assert "409" in rendered("ticketdesk_get_ticket", width=80, result={"code": "x" * 60, "title": "", "status": 409})


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.04, "[dim]+0.0[/]"), (-0.04, "[dim]+0.0[/]"), (-5.0, "[red]-5.0[/]"), (2.0, "[green]+2.0[/]")],
)
def test_a_reward_has_its_sign_and_colour(value: float, text: str) -> None:
    assert format_reward(value) == text


@pytest.mark.parametrize("width", [80, 120])
def test_a_long_milestone_is_wrapped(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], width: int
) -> None:
    monkeypatch.setattr(OUT, "width", width)
    fact = "CFO Katarina Okonkwo is out of office, back on 2027-10-22"
    demo._print_milestone(MilestoneEvent(Milestone.APPROVER, False, fact))
    lines = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
    name = "     ▶ 4 approver out of office, with a delegate:"
    assert lines == ([name, f"         {fact}"] if width == 80 else [f"{name} {fact}"])
