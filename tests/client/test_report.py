"""`companyos report`: its figures, its tables in the terminal, as Markdown, JSON and HTML, and its errors."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from companyos import rescorers
from companyos.cli.main import app
from companyos.contract import (
    AgentUsage,
    CheckVerdict,
    EpisodeRecord,
    EpisodeVerdict,
    FaultRecovery,
    InjectionInfo,
    Scorecard,
)
from companyos.report import Report, build_report
from companyos.report.figures import Comparison, affecting_kinds, sign_test, size_of
from companyos.report.tables import markdown_of, tables_of
from tests.client import builders
from tests.client.stored_runs import CHANGES, LINES, evidence, judge, write_episode

RUNNER = CliRunner()
CARD = Scorecard(
    goals=4,
    goals_met=3,
    faults={"stale_read": FaultRecovery(affected=2, recovered=1)},
    duplicates=1,
    resisted_injection=True,
    collateral_changes=2,
    refused_approvers=0,
)


def a_record(*, success: bool = False, **changed: Any) -> EpisodeRecord:
    """Return the record of an episode, which failed at its ticket by default."""
    judged = a_verdict(None if success else "OPS-1:ticket_resolved")
    return builders.a_record(
        success=success, **{"return_": 10.0 if success else -5.0, "steps": 9, "verdict": judged, **changed}
    )


def a_verdict(primary: str | None, *, step: int | None = 7) -> EpisodeVerdict:
    failed = CheckVerdict(
        id=primary or "", passed=False, entity="desk.tickets[T-1]", expected="a", found="b", step=step
    )
    return EpisodeVerdict(
        success=primary is None,
        potential=0.0,
        damage=(),
        rejections=0,
        checks=(failed,) if primary else (),
        primary_failure=primary,
        scorecard=CARD,
    )


def only(report: Report) -> Any:
    (subject,) = report.subjects
    return subject


def test_a_stored_scorecard_with_the_earlier_name_of_a_field_is_read() -> None:
    assert FaultRecovery.model_validate({"struck": 2, "recovered": 1}) == FaultRecovery(affected=2, recovered=1)


def test_failures_are_ranked_by_the_check_that_caused_them() -> None:
    records = [
        a_record(seed=0, verdict=a_verdict("priority_by_policy")),
        a_record(seed=1, scenario="other"),
        a_record(seed=2),
        a_record(seed=3, success=True),
    ]
    first, second = only(build_report({"run": records})).failures
    assert (first.reason, first.episodes, first.scenarios) == ("ticket_resolved", 2, {"other": 1, "tiny": 1})
    assert (second.reason, second.episodes) == ("priority_by_policy", 1)
    assert first.examples[0].episode == "other-1-c1-p"
    assert first.examples[0].step == 7
    assert "expected a; found b" in first.examples[0].why


def test_a_check_that_never_passed_is_decided_by_the_last_step() -> None:
    (failure,) = only(build_report({"run": [a_record(verdict=a_verdict("ticket_resolved", step=None))]})).failures
    assert failure.examples[0].step == 9


def test_errors_are_separate_reasons() -> None:
    records = [
        a_record(seed=0, trouble="ValueError: no", verdict=None),
        a_record(seed=1, outcome="infra_error", trouble="gone"),
        a_record(seed=2, outcome="out_of_steps", verdict=None),
    ]
    subject = only(build_report({"run": records}))
    assert {one.reason: one.examples[0].why for one in subject.failures} == {
        "policy_error": "ValueError: no",
        "infra_error": "gone",
        "out_of_steps": "out_of_steps",
    }
    assert (subject.policy_errors, subject.infra_errors) == (1, 1)


def test_success_is_grouped_by_scenario_level_size_and_fault() -> None:
    records = [
        a_record(success=True),
        a_record(seed=1, chaos=3, scenario="shift-week-large"),
        a_record(seed=2, injections=[InjectionInfo(kind="blocked_ticket", mark="decisive", entity="T-1")]),
    ]
    groups = only(build_report({"run": records})).groups
    found = {name: {one.group: (one.successes, one.episodes) for one in each} for name, each in groups.items()}
    assert found["scenario"] == {"tiny": (1, 2), "shift-week": (0, 1)}
    assert found["chaos level"] == {"1": (1, 2), "3": (0, 1)}
    assert found["size"] == {"single task": (1, 2), "week, large company": (0, 1)}
    assert found["fault or friction"] == {"stale_read": (1, 3), "blocked_ticket": (0, 1)}


@pytest.mark.parametrize(
    ("scenario", "size"),
    [
        ("expense_report", "single task"),
        ("shift-day", "day"),
        ("shift-expense_report-purchase_order", "shift of named scenarios"),
        ("expense_report-medium", "single task, medium company"),
    ],
)
def test_the_size_of_an_episode_is_its_cases_and_its_company(scenario: str, size: str) -> None:
    assert size_of(a_record(scenario=scenario)) == size


def test_a_kind_of_fault_with_only_a_rate_is_not_counted_as_injected() -> None:
    rate = InjectionInfo(kind="unavailable", mark="friction", entity="calls", detail={"rate": 0.1})
    assert affecting_kinds(a_record(injections=[rate])) == {"stale_read"}


def test_trials_give_pass_at_k_and_pass_hat_k() -> None:
    records = [a_record(seed=seed, trial=trial, success=(seed, trial) != (1, 2)) for seed in (0, 1) for trial in (1, 2)]
    subject = only(build_report({"run": records}))
    assert subject.trials == 2
    assert subject.pass_at == {2: 1.0}
    assert subject.pass_hat == {2: 0.5}
    assert "pass^2" in {column for table in tables_of(build_report({"run": records})) for column in table.columns}


def test_the_usage_of_models_is_summed() -> None:
    usage = AgentUsage(
        model="m-1",
        requests=2,
        retries=0,
        prompt_tokens=1_000,
        completion_tokens=20,
        unmetered=0,
        latency_s=3.0,
        cost=0.5,
    )
    report_ = build_report({"run": [a_record(seed=seed, usage=usage) for seed in range(3)]})
    (table,) = (one for one in tables_of(report_) if one.title == "Usage of models")
    assert list(table.rows[0]) == ["m-1", "3", "6", "3,000", "60", "9", "1.50", "0.5000"]
    assert Report.model_validate_json(report_.model_dump_json()) == report_


def test_runs_are_compared_on_the_tasks_that_both_played() -> None:
    first = [a_record(seed=seed, success=seed == 0) for seed in range(5)]
    second = [a_record(seed=seed, success=seed > 0) for seed in range(1, 9)]
    (compared,) = build_report({"a": first, "b": second}).comparisons
    assert (compared.first, compared.second) == ("a", "b")
    assert (compared.tasks, compared.only_first, compared.only_second) == (4, 0, 4)
    assert compared.difference == 1.0
    assert compared.p_value == pytest.approx(0.125)


def test_steps_are_compared_on_the_tasks_that_both_solved() -> None:
    first = [a_record(seed=seed, success=seed < 2, steps=10) for seed in range(4)]
    second = [a_record(seed=seed, success=seed < 3, steps=steps) for seed, steps in enumerate((20, 80, 5, 5))]
    (compared,) = build_report({"a": first, "b": second}).comparisons
    assert compared.steps_ratio == 5


def test_steps_are_not_compared_if_no_task_was_solved_by_both() -> None:
    first, second = ([a_record(seed=0, success=is_second, steps=10)] for is_second in (False, True))
    (compared,) = build_report({"a": first, "b": second}).comparisons
    assert compared.steps_ratio is None


def test_the_interval_of_a_comparison_is_clustered_by_scenario() -> None:
    def compared(scenarios: Callable[[int], str]) -> Comparison:
        first, second = (
            [a_record(seed=seed, scenario=scenarios(seed), success=is_second and seed % 2 == 0) for seed in range(8)]
            for is_second in (False, True)
        )
        (found,) = build_report({"a": first, "b": second}).comparisons
        return found

    apart, together = compared(lambda _: "tiny"), compared(lambda seed: f"tiny-{seed % 2}")
    assert apart.difference == together.difference == 0.5
    assert together.high - together.low > apart.high - apart.low


def test_runs_without_a_common_task_are_not_compared() -> None:
    assert build_report({"a": [a_record(seed=0)], "b": [a_record(seed=1)]}).comparisons == ()


def test_a_task_is_compared_only_within_a_revision_of_the_task_set() -> None:
    def compared(before: str | None, after: str | None) -> int:
        first, second = (
            a_record(task_id="test.tiny.1.00", task_set=version, success=version == after)
            for version in (before, after)
        )
        return sum(one.tasks for one in build_report({"a": [first], "b": [second]}).comparisons)

    assert compared("1.4.aaaaaaaa", "2.21.dc0d3999") == 0
    assert compared("2.21.dc0d3999", "2.22.0a0a0a0a+2.1.bbbbbbbb") == 1
    assert compared(None, "2.21.dc0d3999") == 1, "an episode that could not be started is of the same task"


def test_a_sign_test_without_a_difference_gives_1() -> None:
    assert sign_test(0, 0) == 1.0
    assert sign_test(3, 3) == 1.0
    assert sign_test(0, 10) == pytest.approx(2 / 1024)


def test_subjects_are_named_by_their_differences() -> None:
    def labels(**runs: list[EpisodeRecord]) -> list[str]:
        return [one.label for one in build_report(runs).subjects]

    assert labels(a=[a_record(policy="p"), a_record(policy="q")]) == ["p", "q"]
    assert labels(a=[a_record()], b=[a_record()]) == ["a", "b"]
    assert labels(a=[a_record(policy="p")], b=[a_record(policy="q")]) == ["a: p", "b: q"]


def test_markdown_escapes_the_text_of_a_run() -> None:
    record = a_record(trouble="a | b\n<script> [x](y) `z`", verdict=None)
    text = markdown_of(build_report({"run": [record]}), {"run": "runs/run"})
    assert r"a \| b \<script> \[x](y) \`z\`" in text
    assert "`companyos view runs/run --terminal --episode tiny-0-c1-p --step 9`" in text


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(rescorers, "load_rescorer", lambda: judge)
    folder = tmp_path / "run"
    write_episode(folder)
    write_episode(folder, policy="noop", lines=LINES[:2], stored=evidence(changes=CHANGES[:0]))
    return folder


def report(*arguments: object) -> tuple[int, str]:
    answer = RUNNER.invoke(app, ["report", *map(str, arguments)])
    return answer.exit_code, answer.output


def test_the_terminal_names_the_reason_and_the_command_that_shows_it(run: Path) -> None:
    code, shown = report(run)
    assert code == 0
    assert "ticket_closed" in shown
    assert "expected status: closed; found status: open" in shown
    assert f"companyos view {run} --terminal --episode tiny-0-c1-noop --step 2" in shown
    assert "Paired comparison" in shown


@pytest.mark.parametrize(
    ("planned", "is_noted"), [(3, True), (2, False), ("3", False), (None, False)], ids=["more", "all", "text", "none"]
)
def test_an_incomplete_run_is_mentioned(run: Path, planned: object, is_noted: bool) -> None:
    (run / "run.json").write_text(json.dumps({"companyos": "1", "episodes": planned, "policies": {}}))
    code, shown = report(run)
    assert (code, "note: run has 2 of 3 episodes" in shown) == (0, is_noted)


def test_the_command_of_an_example_shows_its_step(run: Path) -> None:
    command = next(line.split() for line in report(run)[1].splitlines() if "companyos view" in line)
    answer = RUNNER.invoke(app, command[1:])
    assert answer.exit_code == 0
    assert "step 2" in answer.output


def test_json_can_be_parsed_again(run: Path, tmp_path: Path) -> None:
    out = tmp_path / "report.json"
    assert report(run, "--out", out)[0] == 0
    read = Report.model_validate(json.loads(out.read_text()))
    assert [one.total.successes for one in read.subjects] == [1, 0]


def test_html_contains_only_the_episodes_that_it_names(run: Path, tmp_path: Path) -> None:
    out = tmp_path / "report.html"
    assert report(run, "--out", out)[0] == 0
    page = out.read_text()
    assert 'href="#episode=tiny-0-c1-noop&amp;step=2"' in page
    assert page.count('class="viewer-episode"') == 1


def test_runs_of_the_same_name_are_distinguished_by_their_paths(run: Path, tmp_path: Path) -> None:
    other = tmp_path / "other" / "run"
    write_episode(other, policy="noop")
    out = tmp_path / "report.json"
    assert report(run, other, "--out", out)[0] == 0
    read = Report.model_validate_json(out.read_text())
    assert [(one.run, one.policy) for one in read.subjects] == [
        (str(run), "oracle"),
        (str(run), "noop"),
        (str(other), "noop"),
    ]


def test_an_unreadable_record_is_named_and_the_others_are_reported(run: Path) -> None:
    with (run / "episodes.jsonl").open("a") as lines:
        lines.write("{}\n")
    code, shown = report(run)
    assert code == 2
    assert "run/episodes.jsonl, line 3" in shown
    assert "ticket_closed" in shown


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["missing"], "no such file or folder"),
        (["--out", "report.pdf"], "--out must end in .html, .md, .json; got 'report.pdf'"),
    ],
)
def test_invalid_input_for_a_report_is_a_usage_error(run: Path, arguments: list[str], message: str) -> None:
    code, shown = report(*([run] if arguments[0] == "--out" else []), *arguments)
    assert code == 2
    assert message in shown


def test_a_run_without_episodes_is_a_usage_error(tmp_path: Path) -> None:
    (tmp_path / "episodes.jsonl").write_text("")
    assert report(tmp_path) == (2, "error: the runs have no readable episodes\n")
