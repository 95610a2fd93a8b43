"""The command line of the proof: printed lines, written pages and exit status."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from companyos_gateway.engine.engine import EpisodeEngine
from tests.architecture.sources import ROOT
from verification.proof import __main__ as cli
from verification.proof import execution, worklog
from verification.proof.rows import ROWS, Job, Row, Scope, Tally
from verification.proof.rows.base import JOB_FAILED
from verification.proof.sizes import FULL, SIZES, SMOKE

SNOW = "it never snows"
SCENARIOS = ROOT / "gateway/src/companyos_gateway/scenarios"
TINY = replace(
    SMOKE,
    levels=(1,),
    oracle_seeds=1,
    climbs=5,
    most_climbs=5,
    mutants=10,
    code_seeds=1,
    random_traces=50,
    crowd=4,
    random_episodes=5,
    hashes=2,
    plausible_instances=10,
)
"""Enough for one job of each kind."""


class Weather(Row):
    letter = "A"
    title = "The weather"

    def jobs(self, scope: Scope) -> Iterable[Job]:
        for scenario in scope.scenarios[:2]:
            yield Job(row="A", part="looks", scope=scope, scenario=scenario, seed=scope.first)

    async def work(self, engine: EpisodeEngine, job: Job) -> list[Tally]:
        raise NotImplementedError


class Tides(Weather):
    letter = "B"
    title = "Tides"

    def applies(self, scope: Scope) -> bool:
        return False


def _pool(*faults: str, promise: str = SNOW) -> object:
    def done(jobs: Sequence[Job], _processes: int) -> Iterator[tuple[Job, list[Tally]]]:
        for job in reversed(jobs):
            yield job, [Tally(promise=promise, n=2, scenario=job.scenario, faults=faults)]

    return done


@pytest.fixture
def weather(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    for letter in list(ROWS):
        monkeypatch.delitem(ROWS, letter)
    monkeypatch.setitem(ROWS, "A", Weather())
    monkeypatch.setitem(ROWS, "B", Tides())
    return monkeypatch


def test_a_promise_that_holds_is_one_line_with_exit_status_0(
    weather: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    weather.setattr(execution, "run_in_pool", _pool())
    assert cli.main(["--seed", "7", "--seeds", "3"]) == 0
    printed = capsys.readouterr().out
    assert f"yes A {SNOW}" in printed
    assert "4  0 violations  [seed 7-9]" in printed
    assert re.search(r"-   B Tides +0  not run", printed)


def test_a_broken_promise_is_named_with_exit_status_1(
    weather: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    weather.setattr(execution, "run_in_pool", _pool("on Monday", "on Tuesday"))
    assert cli.main([]) == 1
    assert f"NO  A {SNOW}" in (printed := capsys.readouterr().out)
    assert "4 violations: on Monday; on Tuesday; on Monday; 1 more" in printed


def test_a_failed_job_breaks_its_promise(weather: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    weather.setattr(execution, "run_in_pool", _pool("lightning", promise=JOB_FAILED))
    assert cli.main([]) == 1
    assert f"NO  A {JOB_FAILED}" in capsys.readouterr().out


def test_the_page_names_the_command_that_created_it(weather: pytest.MonkeyPatch, tmp_path: Path) -> None:
    weather.setattr(execution, "run_in_pool", _pool())
    page = tmp_path / "proof.md"
    assert cli.main(["--out", str(page), "--seed", "3", "--seeds", "1"]) == 0
    text = page.read_text()
    assert text.startswith("# The proof, smoke size\n")
    assert "by `python -m verification.proof --seed 3 --seeds 1`" in text
    assert f"| A | {SNOW} | 4 | 0 violations | 3 | yes |" in text
    assert "| B | Tides | 0 | not run |  | not run |" in text


def test_the_size_is_read_from_the_environment_and_overridden_by_options(weather: pytest.MonkeyPatch) -> None:
    sizes = []

    def pool(jobs: Sequence[Job], _processes: int) -> Iterator[tuple[Job, list[Tally]]]:
        sizes.append(jobs[0].scope.size)
        return iter([(job, [Tally(promise=SNOW, n=1)]) for job in jobs])

    weather.setattr(execution, "run_in_pool", pool)
    cli.main([])
    weather.setenv("PROOF", "full")
    cli.main([])
    cli.main(["--seeds", "3", "--levels", "0,4", "--cheat-seeds", "1"])
    assert sizes[:2] == [SMOKE, FULL]
    assert (sizes[2].oracle_seeds, sizes[2].levels, sizes[2].cheat_seeds) == (3, (0, 4), 1)


def test_an_interrupted_proof_is_resumed_from_its_work_log(
    weather: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "runs" / "log.jsonl"
    done: list[Job] = []

    def stopped(jobs: Sequence[Job], _processes: int) -> Iterator[tuple[Job, list[Tally]]]:
        done.append(jobs[0])
        yield (
            jobs[0],
            [Tally(promise=SNOW, n=5, scenario=jobs[0].scenario, values=(1.5,), notes={"low": float("-inf")})],
        )
        raise KeyboardInterrupt

    def going_on(jobs: Sequence[Job], _processes: int) -> Iterator[tuple[Job, list[Tally]]]:
        assert done[0] not in jobs
        yield from ((job, [Tally(promise=SNOW, n=2, scenario=job.scenario)]) for job in jobs)

    weather.setattr(execution, "run_in_pool", stopped)
    assert cli.main(["--worklog", str(log)]) == cli.INTERRUPTED
    assert f"the next run resumes from {log}" in capsys.readouterr().err
    with log.open("a") as file:
        file.write('{"job": "half a li')
    weather.setattr(execution, "run_in_pool", going_on)
    assert cli.main(["--worklog", str(log)]) == 0
    assert f"yes A {SNOW}        7  0 violations" in capsys.readouterr().out


def test_results_of_other_code_are_computed_again(weather: pytest.MonkeyPatch, tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    weather.setattr(execution, "run_in_pool", _pool())
    assert cli.main(["--worklog", str(log)]) == 0
    lines = len(log.read_text().splitlines())
    assert cli.main(["--worklog", str(log)]) == 0
    assert len(log.read_text().splitlines()) == lines
    weather.setattr(worklog, "code_digest", lambda: "of tomorrow")
    assert cli.main(["--worklog", str(log)]) == 0
    assert len(log.read_text().splitlines()) == 2 * lines


def test_the_digest_of_the_code_changes_with_a_byte(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    module = tmp_path / "module.py"
    monkeypatch.setattr(worklog, "_root", lambda _: tmp_path)
    digests = []
    for text in ("x = 1\n", "x = 2\n", "x = 1\n"):
        module.write_text(text)
        digests.append(worklog.code_digest.__wrapped__())
    assert digests[0] == digests[2] != digests[1]


def test_a_file_that_is_not_a_work_log_is_named_and_not_changed(
    weather: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "notes.txt"
    log.write_text("Dear diary\n")
    assert cli.main(["--worklog", str(log)]) == cli.MISUSED
    assert "notes.txt, line 1: invalid work log entry" in capsys.readouterr().err
    assert log.read_text() == "Dear diary\n"


def test_a_failed_job_is_not_stored(weather: pytest.MonkeyPatch, tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    weather.setattr(execution, "run_in_pool", _pool("lightning", promise=JOB_FAILED))
    assert cli.main(["--worklog", str(log)]) == 1
    assert log.read_text() == ""


@pytest.mark.matrix
@pytest.mark.timeout(600)
def test_every_row_finishes_its_jobs_on_a_scenario(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(SIZES, SMOKE.name, TINY)
    cli.main(["--scenario", "vendor_onboarding", "--size", SMOKE.name])
    printed = capsys.readouterr().out
    assert JOB_FAILED not in printed
    scope = Scope(scenarios=("vendor_onboarding",), size=TINY, first=0)
    applying = {letter for letter, row in ROWS.items() if row.applies(scope)}
    assert {line[4] for line in printed.splitlines() if line.startswith(("yes", "NO "))} == applying
