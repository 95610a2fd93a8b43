"""Runs judged again: what differs is told, what cannot be judged is named with its line and the reason."""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from companyos import rescorers
from companyos.cli.main import app
from companyos.contract import CheckVerdict, EpisodeRecord, EpisodeVerdict
from companyos.rescorers import InvalidEvidenceError
from companyos.runner import Rescored, rescore

RUNNER = CliRunner()


def verdict(*, passed: bool = True, potential: float = 9.0) -> EpisodeVerdict:
    checks = (CheckVerdict(id="ticket_resolved", passed=passed),)
    return EpisodeVerdict(success=passed, potential=potential, damage=(), rejections=0, checks=checks)


def a_run(folder: Path, *, outcome: str = "success", seeds: int = 2) -> Path:
    """Write a run as `eval --out` does."""
    (folder / "evidence").mkdir(parents=True)
    with (folder / "episodes.jsonl").open("w") as lines:
        for seed in range(seeds):
            record = EpisodeRecord.model_validate(
                {
                    "scenario": "tiny",
                    "seed": seed,
                    "chaos": 1,
                    "policy": "oracle",
                    "success": outcome == "success",
                    "return": 12.0,
                    "steps": 3,
                    "outcome": outcome,
                    "digest": "d",
                    "verdict": None if outcome == "infra_error" else verdict().model_dump(mode="json"),
                }
            )
            lines.write(record.model_dump_json(by_alias=True) + "\n")
            stored = gzip.compress(json.dumps({"seed": seed}).encode())
            (folder / "evidence" / f"tiny-{seed}-c1-oracle.json.gz").write_bytes(stored)
    return folder


def strict_on_1(stored: Mapping[str, Any], /) -> EpisodeVerdict:
    """Judge as before, but for seed 1."""
    return verdict(passed=stored["seed"] != 1)


def lines_of(folder: Path) -> list[Rescored]:
    return list(rescore(folder, strict_on_1))


@pytest.fixture
def judged(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the command's judge be ours."""
    monkeypatch.setattr(rescorers, "load_rescorer", lambda: strict_on_1)


def message(*folders: Path) -> tuple[int, str]:
    answer = RUNNER.invoke(app, ["rescore", *map(str, folders)])
    return answer.exit_code, answer.output


def test_a_verdict_that_is_another_now_differs(tmp_path: Path) -> None:
    assert [one.differs for one in lines_of(a_run(tmp_path / "run"))] == [False, True]


def test_other_words_are_no_other_verdict() -> None:
    other = verdict().model_copy(update={"checks": (CheckVerdict(id="ticket_resolved", passed=True, found="!"),)})
    assert verdict().agrees_with(other)
    assert not verdict().agrees_with(verdict(potential=8.5))


def test_every_way_in_which_a_file_is_bad_is_told_with_its_line(tmp_path: Path) -> None:
    run = a_run(tmp_path / "run", seeds=5)
    kept = run / "evidence"
    (kept / "tiny-0-c1-oracle.json.gz").unlink()
    (kept / "tiny-2-c1-oracle.json.gz").write_bytes(b"not packed")
    (kept / "tiny-3-c1-oracle.json.gz").write_bytes(gzip.compress(b"[1]"))
    lines = (run / "episodes.jsonl").read_text().splitlines()
    lines[4] = lines[4].replace('"seed":4', '"seed":"four"')
    (run / "episodes.jsonl").write_text("\n".join([*lines, "{torn"]) + "\n")
    faults = {one.location.rpartition(" ")[2]: one.fault for one in lines_of(run) if one.fault is not None}
    assert faults.keys() == {"1", "3", "4", "5", "6"}
    assert faults["1"] == "evidence/tiny-0-c1-oracle.json.gz: missing"
    assert "Not a gzipped file" in str(faults["3"])
    assert str(faults["4"]).endswith("is not a JSON object")
    assert str(faults["5"]).startswith("seed: ")
    assert "JSON" in str(faults["6"])


def test_evidence_that_does_not_fit_is_told(tmp_path: Path) -> None:
    def unfit(_stored: Mapping[str, Any], /) -> EpisodeVerdict:
        raise InvalidEvidenceError("the task is another one now")

    found = list(rescore(a_run(tmp_path / "run", seeds=1), unfit))
    assert [one.fault for one in found] == ["the task is another one now"]


def test_what_the_house_broke_is_counted_and_not_judged(tmp_path: Path) -> None:
    found = lines_of(a_run(tmp_path / "run", outcome="infra_error"))
    assert all(one.is_infra_error and one.new is None and one.fault is None for one in found)


@pytest.mark.usefixtures("judged")
def test_the_command_shows_old_beside_new_and_says_that_they_differ(tmp_path: Path) -> None:
    code, reported = message(a_run(tmp_path / "one"))
    assert code == 1
    assert "tiny, seed 1, chaos 1, oracle" in reported
    assert "ticket_resolved fails, did not before" in reported
    assert "2 of 2 episodes rescored: 1 verdicts differ" in reported
    assert message(a_run(tmp_path / "two", seeds=1))[0] == 0


@pytest.mark.usefixtures("judged")
def test_the_command_fails_as_misused_where_a_line_cannot_be_judged(tmp_path: Path) -> None:
    run = a_run(tmp_path / "run", seeds=1)
    (run / "evidence" / "tiny-0-c1-oracle.json.gz").unlink()
    code, reported = message(run)
    assert code == 2
    assert "line 1: evidence/tiny-0-c1-oracle.json.gz: missing" in reported


@pytest.mark.usefixtures("judged")
def test_a_folder_without_a_run_is_named(tmp_path: Path) -> None:
    code, reported = message(tmp_path / "nowhere")
    assert code == 2
    assert "nowhere" in reported
