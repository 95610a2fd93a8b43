"""`make baselines` plays missing runs, its page shows the stored runs, and another run can be added as a row."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from companyos.cli.main import app as companyos
from companyos.contract import CheckVerdict, EpisodeVerdict
from companyos.runner import read_records
from companyos.runner.run_reader import name_of
from tests.architecture.sources import ROOT
from tests.client.builders import a_record
from tests.client.conftest import TASK_SET
from tests.client.stored_runs import LINES, verdict
from verification.benchmarks.baselines import results
from verification.benchmarks.baselines.__main__ import app
from verification.benchmarks.baselines.formatting import NO_BREAK
from verification.benchmarks.baselines.learning_results import render_results
from verification.benchmarks.baselines.page import level_table, read_figures, table
from verification.benchmarks.baselines.results import InvalidRunError, row_of
from verification.benchmarks.baselines.runner import POLICIES, SESSIONS, TASKS, TRIALS

NOOP = ("--policy", "noop")


def baselines(folder: Path, *options: str) -> Result:
    """Run the command with all of its files in a folder."""
    return CliRunner().invoke(app, ["--runs", str(folder / "runs"), "--page", str(folder), *options])


def played(url: str, folder: Path, *options: str) -> Result:
    answer = baselines(folder, "--url", url, "-n", "3", *options)
    assert answer.exit_code == 0, answer.output
    return answer


def rows_of(folder: Path) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads((folder / "baselines.json").read_text())["rows"]
    return rows


def a_run(folder: Path, **changed: Any) -> Path:
    """Store a run of one episode of one task."""
    task = {"seed": 3, "chaos": 2, "task_id": "test.tiny.2.00", "task_set": TASK_SET, "policy": "mine"}
    result = {"return_": 16.9, "steps": len(LINES), "verdict": verdict()}
    record = a_record(success=True, **task | result | changed)
    (folder / "trajectories").mkdir(parents=True, exist_ok=True)
    with (folder / "episodes.jsonl").open("a") as lines:
        lines.write(record.model_dump_json(by_alias=True) + "\n")
    (folder / "trajectories" / f"{name_of(record)}.jsonl").write_text(
        "".join(json.dumps(line) + "\n" for line in LINES)
    )
    (folder / "run.json").write_text('{"companyos": "0.0.0", "policies": {}}')
    return folder


def test_every_policy_plays_the_same_tasks_and_has_a_row_with_its_command(tiny_url: str, tmp_path: Path) -> None:
    played(tiny_url, tmp_path, "-k", "2", *NOOP, "--policy", "random")
    rows = rows_of(tmp_path)
    assert [(row["name"], row["tasks"], row["trials"]) for row in rows] == [("noop", 3, 2), ("random", 3, 2)]
    assert rows[0]["tasks_digest"] == rows[1]["tasks_digest"]
    text = (tmp_path / "baselines.md").read_text()
    assert "`companyos eval --policy random --split test -n 3 --trials 2`" in text
    assert f"task set {TASK_SET}" in text
    assert (tmp_path / "baselines.png").read_bytes().startswith(b"\x89PNG")


def test_only_missing_episodes_are_played(tiny_url: str, tmp_path: Path) -> None:
    for trials in ("1", "2", "2"):
        played(tiny_url, tmp_path, "-k", trials, *NOOP)
    sessions = (tmp_path / "runs" / SESSIONS).read_text().splitlines()
    assert [json.loads(one)["episodes"] for one in sessions] == [3, 3]
    assert len(read_records(tmp_path / "runs" / "noop")) == 6


def test_the_command_below_a_row_plays_that_row(tiny_url: str, tmp_path: Path) -> None:
    played(tiny_url, tmp_path, "-k", "2", "--policy", "random")
    (row,) = rows_of(tmp_path)
    words = row["command"].split()[1:]
    answer = CliRunner().invoke(companyos, [*words, "--url", tiny_url, "--out", str(tmp_path / "again")])
    assert answer.exit_code == 0, answer.output
    assert read_records(tmp_path / "again") == read_records(tmp_path / "runs" / "random")


def test_an_added_run_becomes_a_row_without_playing(tiny_url: str, tmp_path: Path) -> None:
    played(tiny_url, tmp_path, "-k", "2", *NOOP)
    words = ["eval", "--policy", "random", "--split", "test", "-n", "3", "-k", "2", "--url", tiny_url]
    assert CliRunner().invoke(companyos, [*words, "--out", str(tmp_path / "mine")]).exit_code == 0
    assert baselines(tmp_path, "--no-play", "--add", str(tmp_path / "mine")).exit_code == 0
    assert [row["name"] for row in rows_of(tmp_path)] == ["noop", "random"]
    twice = baselines(tmp_path, "--no-play", "--add", str(tmp_path / "mine"))
    assert (twice.exit_code, "duplicate rows: random" in twice.output) == (2, True)


def test_a_run_of_other_tasks_is_rejected(tiny_url: str, tmp_path: Path) -> None:
    played(tiny_url, tmp_path, "-k", "1", *NOOP)
    before = (tmp_path / "baselines.md").read_text()
    answer = baselines(tmp_path, "--no-play", "--add", str(a_run(tmp_path / "mine")))
    assert answer.exit_code == 2
    assert "rows must have the same tasks" in " ".join(answer.output.split())
    assert (tmp_path / "baselines.md").read_text() == before


def test_a_missing_page_or_run_is_reported(tiny_url: str, tmp_path: Path) -> None:
    nothing = baselines(tmp_path, "--no-play")
    assert (nothing.exit_code, "contains no baselines.json" in " ".join(nothing.output.split())) == (2, True)
    played(tiny_url, tmp_path, "-k", "1", *NOOP)
    answer = baselines(tmp_path, "--no-play", "--add", str(tmp_path / "nowhere"))
    assert (answer.exit_code, "contains no run" in " ".join(answer.output.split())) == (2, True)


def test_an_unknown_policy_is_rejected_before_anything_starts(tmp_path: Path) -> None:
    answer = baselines(tmp_path, "--policy", "nobody")
    assert (answer.exit_code, "nobody" in answer.output) == (2, True)


def test_invalid_and_rejected_calls_are_counted_but_planned_outages_are_not(tmp_path: Path) -> None:
    row = row_of(a_run(tmp_path))
    assert [row.invalid, row.refused] == pytest.approx([1 / 6, 1 / 6])
    assert row.command == "companyos eval --policy mine --split test -n 1 --trials 1"


@pytest.mark.parametrize(("retry_after", "is_refused"), [({"retry_after_s": 60}, False), ({}, True)])
def test_an_outage_of_authorization_is_not_a_mistake(retry_after: dict[str, int], is_refused: bool) -> None:
    problem = {"title": "No", "status": 403, "code": "authorization-unavailable", **retry_after}
    assert results._is_refused(problem) is is_refused


def test_side_effects_are_taken_from_the_verdict(tmp_path: Path) -> None:
    check = CheckVerdict(
        id="nothing_else_changed", passed=False, entity="desk.tickets[T-2]", expected="unchanged", found="added"
    )
    failed = EpisodeVerdict(success=False, potential=0.0, damage=(), rejections=0, checks=(check,))
    damaged = failed.model_copy(update={"damage": ("vendor deleted",)})
    for trial, judged in enumerate((verdict(), verdict(), failed, damaged), start=1):
        a_run(tmp_path, trial=trial, verdict=judged)
    row = row_of(tmp_path)
    assert (row.side_effects, row.damage, row.trials) == (0.5, 0.25, 4)


def test_tasks_whose_trials_differ_are_counted(tmp_path: Path) -> None:
    for trial, (task, digest) in enumerate((("0", "a"), ("0", "b"), ("1", "a"), ("1", "a")), start=1):
        a_run(tmp_path, task_id=f"test.tiny.2.0{task}", trial=trial, digest=digest)
    assert row_of(tmp_path).differing == 1


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"policy": "other"}, "several policies"),
        ({"task_id": None}, "episodes outside a split"),
        ({"task_set": "1.2.other"}, "exactly one version"),
        ({"task_id": "test.tiny.2.01"}, "is incomplete"),
    ],
)
def test_a_run_that_is_incomplete_or_has_several_policies_is_rejected(
    tmp_path: Path, changed: dict[str, Any], why: str
) -> None:
    a_run(tmp_path)
    a_run(tmp_path, trial=2)
    a_run(tmp_path, **{"trial": 3, **changed})
    with pytest.raises(InvalidRunError, match=why):
        row_of(tmp_path)


def test_a_trained_model_has_a_row_for_each_stage() -> None:
    part = {"episodes": 100, "successes": 3, "success_low": 0.01, "success_high": 0.085, "mean_return": -5.5}
    part |= {"low": -5.6, "high": -5.4, "steps": 4.0, "invalid_share": 0.25}
    after = part | {"mean_return": 2.25, "successes": 40}
    text = render_results([{"seed": 11, "settings": {"steps": 20}, "untrained": part, "before": part, "after": after}])
    assert [line.split("<br>")[0] for line in text.splitlines() if "**<br>" in line] == [
        "| **untrained**",
        "| **after the warm start**",
        "| **after GRPO**",
    ]
    assert "-5.50<br>(-5.60 to -5.40)" in text.replace(NO_BREAK, " ")
    assert f"40.0{NO_BREAK}%" in text
    assert "**is not comparable with them**" in " ".join(text.split())


def test_the_published_tables_match_the_published_figures() -> None:
    rows, _ = read_figures(ROOT / "results")
    shown = (ROOT / "results" / "baselines.md").read_text()
    assert table(rows) in shown, '`make baselines ARGS="--no-play"` regenerates it'
    assert level_table(rows) in shown


def test_the_published_rows_are_complete_and_span_the_scale() -> None:
    rows, _ = read_figures(ROOT / "results")
    assert [row.name for row in rows] == list(POLICIES)
    assert {(row.tasks, row.trials, row.infra_errors) for row in rows} == {(TASKS, TRIALS, 0)}
    assert (rows[0].success.mean, rows[1].success.mean, rows[-1].success.mean) == (0.0, 0.0, 1.0)
