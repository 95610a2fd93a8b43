"""Rescored runs: differences are reported, and episodes that cannot be judged are named with line and reason."""

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
from companyos.contract import CheckVerdict, EpisodeVerdict
from companyos.rescorers import InvalidEvidenceError
from companyos.runner import Rescored, rescore, run_reader
from companyos.signed_evidence import EvidenceSigner, canonical_json
from tests.client.builders import a_record

RUNNER = CliRunner()
SIGNER = EvidenceSigner(bytes(range(32)))


def verdict(*, passed: bool = True, potential: float = 9.0) -> EpisodeVerdict:
    checks = (CheckVerdict(id="ticket_resolved", passed=passed),)
    return EpisodeVerdict(success=passed, potential=potential, damage=(), rejections=0, checks=checks)


def evidence(seed: int, outcome: str = "success") -> dict[str, Any]:
    """Return signed evidence of an episode as the gateway returns it."""
    judged = verdict()
    state = {"success": outcome == "success", "return": 12.0, "step_count": 3, "outcome": outcome}
    state |= {"task_id": None, "task_set": "1"}
    task = {"scenario": "tiny", "seed": seed, "chaos": 1}
    document = {"seed": seed, "task": task, "verdict": judged.model_dump(mode="json"), "injections": [], "state": state}
    return SIGNER.sign({**document, "changes": {"desk": [{"seq": 1}, {"seq": 2}]}})


def write_evidence(folder: Path, seed: int, stored: Mapping[str, Any]) -> None:
    packed = gzip.compress(canonical_json(stored) + b"\n")
    (folder / "evidence" / f"tiny-{seed}-c1-oracle.json.gz").write_bytes(packed)


def edit_record(folder: Path, **changed: Any) -> None:
    """Change the first line of `episodes.jsonl`."""
    first, *others = (folder / "episodes.jsonl").read_text().splitlines()
    edited = json.dumps({**json.loads(first), **changed})
    (folder / "episodes.jsonl").write_text("\n".join([edited, *others]) + "\n")


def a_run(folder: Path, *, outcome: str = "success", seeds: int = 2) -> Path:
    """Write a run in the format of `eval --out`."""
    (folder / "evidence").mkdir(parents=True)
    with (folder / "episodes.jsonl").open("w") as lines:
        for seed in range(seeds):
            judged = None if outcome == "infra_error" else verdict()
            figures = {"policy": "oracle", "return_": 12.0, "steps": 3, "outcome": outcome, "verdict": judged}
            record = a_record(seed=seed, success=outcome == "success", **figures, injections=[], task_set="1")
            lines.write(record.model_dump_json(by_alias=True) + "\n")
            write_evidence(folder, seed, evidence(seed, outcome))
    return folder


def strict_on_1(stored: Mapping[str, Any], /) -> EpisodeVerdict:
    """Judge every seed as before except seed 1, which fails."""
    return verdict(passed=stored["seed"] != 1)


def lines_of(folder: Path) -> list[Rescored]:
    return list(rescore(folder, strict_on_1))


@pytest.fixture
def judged(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace the command's judge by `strict_on_1`."""
    monkeypatch.setattr(rescorers, "load_rescorer", lambda: strict_on_1)


def message(*arguments: Path | str) -> tuple[int, str]:
    answer = RUNNER.invoke(app, ["rescore", *map(str, arguments)])
    return answer.exit_code, answer.output


def test_a_changed_verdict_differs(tmp_path: Path) -> None:
    assert [one.differs for one in lines_of(a_run(tmp_path / "run"))] == [False, True]


def test_verdicts_that_differ_only_in_wording_agree() -> None:
    other = verdict().model_copy(update={"checks": (CheckVerdict(id="ticket_resolved", passed=True, found="!"),)})
    assert verdict().agrees_with(other)
    assert not verdict().agrees_with(verdict(potential=8.5))


def test_every_fault_of_a_file_is_reported_with_its_line(tmp_path: Path) -> None:
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


def test_evidence_over_the_unpacked_size_limit_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_reader, "MAX_EVIDENCE_BYTES", 10)
    [line] = lines_of(a_run(tmp_path / "run", seeds=1))
    assert line.fault == "evidence/tiny-0-c1-oracle.json.gz: has more than 10 bytes"


def test_invalid_evidence_is_reported(tmp_path: Path) -> None:
    def unfit(_stored: Mapping[str, Any], /) -> EpisodeVerdict:
        raise InvalidEvidenceError("the task is another one now")

    found = list(rescore(a_run(tmp_path / "run", seeds=1), unfit))
    assert [one.fault for one in found] == ["the task is another one now"]


def test_infra_errors_are_counted_and_not_rescored(tmp_path: Path) -> None:
    found = lines_of(a_run(tmp_path / "run", outcome="infra_error"))
    assert all(one.is_infra_error and one.new is None and one.fault is None for one in found)


@pytest.mark.usefixtures("judged")
def test_the_command_shows_old_and_new_verdicts_and_reports_differences(tmp_path: Path) -> None:
    code, reported = message(a_run(tmp_path / "one"))
    assert code == 1
    assert "tiny, seed 1, chaos 1, oracle" in reported
    assert "ticket_resolved fails, did not before" in reported
    assert "2 of 2 episodes rescored: 1 verdicts differ" in reported
    assert message(a_run(tmp_path / "two", seeds=1))[0] == 0


@pytest.mark.usefixtures("judged")
def test_modified_evidence_is_not_rescored_and_its_first_invalid_part_is_named(tmp_path: Path) -> None:
    run = a_run(tmp_path / "run")
    stored = evidence(1)
    stored["changes"]["desk"][1]["seq"] = 3
    write_evidence(run, 1, stored)
    code, reported = message(run)
    assert code == 2
    assert "line 2: evidence/tiny-1-c1-oracle.json.gz: changes.desk[1] does not match the signed chain" in reported
    assert "1 of 2 episodes rescored: 0 verdicts differ" in reported
    assert message(run, "--unsigned")[0] == 2


@pytest.mark.usefixtures("judged")
def test_unsigned_evidence_is_rescored_only_on_request(tmp_path: Path) -> None:
    run = a_run(tmp_path / "run", seeds=1)
    write_evidence(run, 0, {"seed": 0})
    code, reported = message(run)
    assert code == 2
    assert "line 1: evidence/tiny-0-c1-oracle.json.gz: has no signature" in reported
    assert "--unsigned" in reported
    code, reported = message(run, "--unsigned")
    assert code == 0
    assert "1 episode without a signature" in reported


@pytest.mark.usefixtures("judged")
def test_only_a_pinned_key_is_accepted(tmp_path: Path) -> None:
    run, other = a_run(tmp_path / "run", seeds=1), EvidenceSigner(bytes(32)).public_key
    code, reported = message(run)
    assert code == 0
    assert f"1 episode signed with {SIGNER.public_key} (not pinned: no --public-key)" in reported
    code, reported = message(run, "--public-key", other, "--public-key", SIGNER.public_key)
    assert code == 0
    assert reported.rstrip().endswith(f"1 episode signed with {SIGNER.public_key}")
    code, reported = message(run, "--public-key", other)
    assert code == 2
    assert f"signature.public_key: signed with {SIGNER.public_key}; accepted is {other}" in reported


@pytest.mark.parametrize("options", [["--public-key", "AB"], ["--unsigned", "--public-key", "0" * 64]])
def test_unusable_options_are_usage_errors(tmp_path: Path, options: list[str]) -> None:
    code, reported = message(tmp_path, *options)
    assert code == 2
    assert "--public-key" in reported


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("return", 15.0),
        ("steps", 2),
        ("success", False),
        ("outcome", "failed"),
        ("verdict", verdict(passed=False).model_dump(mode="json")),
        ("task_set", "2"),
        ("injections", [{"kind": "x", "mark": "decisive", "entity": "T-1"}]),
    ],
)
def test_a_line_that_contradicts_its_signed_evidence_is_broken(tmp_path: Path, name: str, value: Any) -> None:
    run = a_run(tmp_path / "run")
    edit_record(run, **{name: value})
    first, second = lines_of(run)
    assert first.fault == f"episodes.jsonl states another {name} than the signed evidence/tiny-0-c1-oracle.json.gz"
    assert second.fault is None


def test_a_line_cannot_name_another_task(tmp_path: Path) -> None:
    run = a_run(tmp_path / "run", seeds=1)
    (run / "evidence" / "tiny-0-c1-oracle.json.gz").rename(run / "evidence" / "test-9-oracle.json.gz")
    edit_record(run, task_id="test-9")
    [line] = lines_of(run)
    assert line.fault == "episodes.jsonl states another task_id than the signed evidence/test-9-oracle.json.gz"


@pytest.mark.parametrize("part", ["task", "state", "verdict", "injections"])
def test_signed_evidence_in_another_format_is_invalid(tmp_path: Path, part: str) -> None:
    run = a_run(tmp_path / "run", seeds=1)
    stored = {name: value for name, value in evidence(0).items() if name != "signature"}
    values: tuple[Any, ...] = (None, [], 1)
    for value in values:
        if (part, value) != ("injections", []):
            write_evidence(run, 0, SIGNER.sign({**stored, part: value}))
            [line] = lines_of(run)
            assert line.fault is not None
            assert line.fault.startswith("evidence/tiny-0-c1-oracle.json.gz: invalid evidence: ")


def test_the_evidence_of_another_episode_is_rejected(tmp_path: Path) -> None:
    run = a_run(tmp_path / "run")
    write_evidence(run, 1, evidence(0))
    assert [result.fault for result in lines_of(run)] == [
        None,
        "episodes.jsonl states another seed than the signed evidence/tiny-1-c1-oracle.json.gz",
    ]
