"""The files of the leaderboard without a server: cards, archives, usage, ranks and pages."""

from __future__ import annotations

import io
import json
import tarfile
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from companyos.cli.main import app
from companyos.contract import EpisodeRecord
from companyos.leaderboard.archive import ARCHIVE, ArchiveError, pack, unpack
from companyos.leaderboard.card import CardError, read_card
from companyos.leaderboard.tracks import TRACKS, Track
from companyos.leaderboard.usage import usage_faults
from companyos.runner.episode import GIVE_UP
from companyos.schemas import AgentUsage
from tests.architecture.sources import ROOT
from tests.client.test_report import a_record

RUNNER = CliRunner()
CARD: dict[str, str] = {
    "track": '"single"',
    "agent": '"Desk"',
    "version": '"1.2"',
    "organisation": '"Example"',
    "link": '"https://example.org/desk"',
    "license": '"MIT"',
    "date": "2026-11-26",
}


def a_card(file: Path, **changed: str) -> Path:
    file.write_text("".join(f"{name} = {value}\n" for name, value in {**CARD, **changed}.items()))
    return file


def a_submission(folder: Path, records: list[EpisodeRecord], **card: str) -> Path:
    run = folder.with_name(f"{folder.name}-run")
    run.mkdir(parents=True)
    (run / "episodes.jsonl").write_text("".join(f"{record.model_dump_json()}\n" for record in records))
    pack(run, a_card(folder.with_name(f"{folder.name}.toml"), **card), folder)
    return folder


@pytest.fixture
def four_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(TRACKS, "single", Track(name="single", summary="small tasks", tasks=4, trials=2))


@pytest.mark.parametrize(
    ("changed", "fault"),
    [
        ({"weights": '"half"', "model": '"m"'}, "card.toml: weights: Input should be 'open' or 'closed'; got 'half'"),
        ({"model": '"m"'}, "card.toml: model and weights must be set together"),
        ({"track": '"double"'}, "card.toml: track: must be one of single, month-storm; got 'double'"),
        ({"link": '"javascript:alert(1)"'}, "card.toml: link: URL scheme should be 'http' or 'https'"),
        ({"agent": '"a\\nb"'}, "card.toml: agent: must be one line of printable characters"),
        ({"organisation": '""'}, "card.toml: organisation: String should have at least 1 character"),
        ({"success": "1.0"}, "card.toml: success: Extra inputs are not permitted; got 1.0"),
        ({"date": '"yesterday"'}, "card.toml: date: "),
        ({"reference": '"yes"'}, "card.toml: reference: Input should be a valid boolean"),
        ({"license": "MIT"}, "card.toml: Invalid value"),
    ],
)
def test_an_invalid_card_is_rejected_with_its_field(tmp_path: Path, changed: dict[str, str], fault: str) -> None:
    with pytest.raises(CardError) as refused:
        read_card(a_card(tmp_path / "card.toml", **changed))
    assert any(one.startswith(fault) for one in refused.value.faults), refused.value.faults


def test_every_missing_field_of_a_card_is_named(tmp_path: Path) -> None:
    (tmp_path / "card.toml").write_text("")
    with pytest.raises(CardError) as refused:
        read_card(tmp_path / "card.toml")
    assert {fault.split(": ")[1] for fault in refused.value.faults} == set(CARD) - {"link"}


def test_the_same_run_gives_the_same_archive_and_can_be_unpacked(tmp_path: Path) -> None:
    one, two = (a_submission(tmp_path / name, [a_record()]) for name in ("one", "two"))
    assert (one / ARCHIVE).read_bytes() == (two / ARCHIVE).read_bytes()
    (tmp_path / "back").mkdir()
    unpack(one / ARCHIVE, tmp_path / "back")
    assert (tmp_path / "back/episodes.jsonl").read_text() == (tmp_path / "one-run/episodes.jsonl").read_text()


def test_a_submission_is_never_overwritten(tmp_path: Path) -> None:
    folder = a_submission(tmp_path / "one", [a_record()])
    with pytest.raises(FileExistsError):
        pack(tmp_path / "one-run", tmp_path / "one.toml", folder)


@pytest.mark.parametrize("name", ["../evil", "/evil", "evidence/../../evil", "notes.txt", "evidence/.x", "a/b", "link"])
def test_an_archive_with_other_files_than_a_run_is_rejected(tmp_path: Path, name: str) -> None:
    with tarfile.open(tmp_path / ARCHIVE, "w:xz") as archive:
        member = tarfile.TarInfo("episodes.jsonl" if name == "link" else name)
        if name == "link":
            member.type, member.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(member, io.BytesIO())
    (tmp_path / "run").mkdir()
    with pytest.raises(ArchiveError, match="accepted are files named"):
        unpack(tmp_path / ARCHIVE, tmp_path / "run")
    assert not [*(tmp_path / "run").iterdir()]


@pytest.mark.parametrize("content", [b"", b"not packed", b"\xfd7zXZ\x00\x00\x04\xe6\xd6\xb4F"])
def test_a_damaged_archive_is_rejected(tmp_path: Path, content: bytes) -> None:
    (tmp_path / ARCHIVE).write_bytes(content)
    with pytest.raises(ArchiveError, match=ARCHIVE):
        unpack(tmp_path / ARCHIVE, tmp_path)


def test_an_archive_over_the_size_limit_is_rejected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = a_submission(tmp_path / "one", [a_record()])
    monkeypatch.setattr("companyos.leaderboard.archive.MAX_BYTES", 10)
    with pytest.raises(ArchiveError, match="at most 10,000 files and 10 bytes"):
        unpack(folder / ARCHIVE, tmp_path)


USAGE = {
    "model": "m",
    "requests": 2,
    "retries": 0,
    "prompt_tokens": 30,
    "completion_tokens": 5,
    "unmetered": 0,
    "latency_s": 1.5,
    "cost": 0.00004,
}
STEPS = [{"tool": "look", "arguments": {"key": "T-1"}}, {"tool": "finish", "arguments": GIVE_UP}]
PRICES = {"price_in": 1.0, "price_out": 2.0}


def messages(file: Path, **changed: Any) -> Path:
    call = {"function": {"name": "look", "arguments": '{"key": "T-1"}'}}
    answer = {"kind": "answer", "message": {"tool_calls": [call]}, "prompt_tokens": 10, "completion_tokens": 5}
    stop = {"kind": "answer", "message": {}, "prompt_tokens": 20, "completion_tokens": 0, "latency_s": 0.7}
    lines = [{"kind": "message", "message": {}}, {**answer, "latency_s": 0.8, **changed}, stop]
    file.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    return file


def test_usage_that_matches_messages_steps_and_prices_is_accepted(tmp_path: Path) -> None:
    assert [*usage_faults(AgentUsage(**USAGE), messages(tmp_path / "m.jsonl"), STEPS, PRICES)] == []


@pytest.mark.parametrize(
    ("changed", "fault"),
    [
        ({"prompt_tokens": 3}, "usage.prompt_tokens is 3; the messages add up to 30"),
        ({"completion_tokens": 1}, "usage.completion_tokens is 1; the messages add up to 5"),
        ({"unmetered": 1}, "usage.unmetered is 1; the messages add up to 0"),
        ({"latency_s": 0.1}, "usage.latency_s is 0.1; the messages add up to 1.5"),
        ({"requests": 1}, "usage.requests is 1; the messages have 2 answers"),
        ({"cost": 0.00001}, "usage.cost is 1e-05; tokens and prices give 4e-05"),
        ({"cost": None}, "usage.cost is None; tokens and prices give 4e-05"),
    ],
)
def test_edited_usage_is_a_fault(tmp_path: Path, changed: dict[str, Any], fault: str) -> None:
    usage = AgentUsage.model_validate({**USAGE, **changed})
    assert fault in [*usage_faults(usage, messages(tmp_path / "m.jsonl"), STEPS, PRICES)]


def test_a_step_that_the_model_did_not_call_is_a_fault(tmp_path: Path) -> None:
    steps = [{"tool": "look", "arguments": {"key": "T-2"}}, *STEPS[1:]]
    faults = [*usage_faults(AgentUsage(**USAGE), messages(tmp_path / "m.jsonl"), steps, PRICES)]
    assert faults == ["step 1 is a call of look that the messages do not contain"]


@pytest.mark.parametrize("line", ["", "[]", '{"kind": "answer", "message": {}, "prompt_tokens": "9"}', "torn"])
def test_unreadable_messages_are_a_fault(tmp_path: Path, line: str) -> None:
    (tmp_path / "m.jsonl").write_text(f"{line}\n")
    assert [*usage_faults(AgentUsage(**USAGE), tmp_path / "m.jsonl", STEPS, PRICES)]
    assert [*usage_faults(AgentUsage(**USAGE), tmp_path / "absent.jsonl", STEPS, PRICES)] == [
        f"{tmp_path.name}/absent.jsonl: missing"
    ]


def records(successes: int, **changed: Any) -> list[EpisodeRecord]:
    return [
        a_record(seed=number // 2, success=number < successes, task_set="1", trial=number % 2 + 1, **changed)
        for number in range(8)
    ]


@pytest.fixture
def board(tmp_path: Path, four_tasks: None) -> Path:
    """Provide a folder with the archived submissions of three agents and a reference."""
    folder = tmp_path / "board"
    a_submission(folder / "good", records(8, usage=USAGE), agent='"<b>Good|"', model='"m"', weights='"open"')
    a_submission(folder / "fair", records(6), agent='"Fair"')
    a_submission(folder / "poor", records(0), agent='"Poor"')
    a_submission(folder / "best", records(8), agent='"Solver"', reference="true")
    for file in (*folder.glob("*.toml"), *folder.glob("*-run/*")):
        file.unlink()
    return folder


def written(board: Path, page: str) -> str:
    answer = RUNNER.invoke(app, ["leaderboard", str(board), "--out", str(board.parent / page)])
    assert answer.exit_code == 0, answer.output
    return (board.parent / page).read_text()


def test_rows_with_overlapping_intervals_share_a_rank_and_a_reference_has_none(board: Path) -> None:
    rows = [line.split(" | ")[:2] for line in written(board, "page.md").splitlines() if line.startswith("| ")][2:]
    assert [(rank.removeprefix("| "), agent.split("](")[0]) for rank, agent in rows] == [
        ("reference", "[Solver 1.2"),
        ("1", r"[\<b>Good\| 1.2"),
        ("1", "[Fair 1.2"),
        ("2", "[Poor 1.2"),
    ]


def test_markdown_links_to_the_cards_and_has_trials_tokens_and_cost(board: Path) -> None:
    page = written(board, "page.md")
    assert "(board/fair/card.toml)" in page
    assert (board / "fair/card.toml").exists()
    good = next(line for line in page.splitlines() if "Good" in line)
    assert good.count(" | ") == next(line for line in page.splitlines() if "rank" in line[:7]).count(" | ")
    assert "pass^2" in page
    assert "| 35 | 0.0000 | 1.5 |" in good


def test_the_page_is_one_file_without_scripts_and_escapes_text_of_authors(board: Path) -> None:
    page = written(board, "page.html")
    assert "&lt;b&gt;Good|" in page
    assert "<b>" not in page
    assert "<script" not in page
    assert " src=" not in page
    assert 'href="#good"' in page
    assert 'id="good"' in page
    assert "prefers-color-scheme: dark" in page


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        (["--out", "page.pdf"], "--out must end in .html or .md; got 'page.pdf'"),
        (["--out", "page.md"], "contains no submissions"),
    ],
)
def test_a_page_that_cannot_be_written_is_a_usage_error(tmp_path: Path, arguments: list[str], fault: str) -> None:
    answer = RUNNER.invoke(app, ["leaderboard", str(tmp_path), *arguments])
    assert answer.exit_code == 2
    assert fault in answer.output


def test_a_submission_without_all_episodes_is_rejected(tmp_path: Path, four_tasks: None) -> None:
    a_submission(tmp_path / "board" / "few", records(8)[:3])
    answer = RUNNER.invoke(app, ["leaderboard", str(tmp_path / "board" / "few"), "--out", str(tmp_path / "a.md")])
    assert answer.exit_code == 2
    assert "episodes.jsonl: must have 8 lines with verdicts; got 3" in answer.output


@pytest.mark.parametrize("page", ["leaderboard.html", "leaderboard.md"])
def test_the_published_pages_match_the_submissions(tmp_path: Path, page: str) -> None:
    results = tmp_path / "results"
    results.mkdir()
    (results / "leaderboard").symlink_to(ROOT / "results" / "leaderboard")
    assert written(results / "leaderboard", page) == (ROOT / "results" / page).read_text(), "run `make leaderboard`"


@pytest.mark.parametrize(
    "arguments",
    [
        ["--check", "--out", "x"],
        ["--out", "x"],
        ["--card", "x"],
        ["--check", "--public-key", "AB"],
        ["other", "--card", "x", "--out", "y"],
    ],
)
def test_incompatible_options_are_usage_errors(tmp_path: Path, arguments: list[str]) -> None:
    assert RUNNER.invoke(app, ["submit", str(tmp_path), *arguments]).exit_code == 2


def test_only_a_run_is_packed_and_only_into_a_new_folder(tmp_path: Path) -> None:
    card, run = str(a_card(tmp_path / "card.toml")), tmp_path / "run"
    run.mkdir()
    answer = RUNNER.invoke(app, ["submit", str(run), "--card", card, "--out", str(tmp_path / "new")])
    assert answer.exit_code == 2
    assert "is not the folder of a run: episodes.jsonl is missing" in answer.output
    (run / "episodes.jsonl").write_text("")
    answer = RUNNER.invoke(app, ["submit", str(run), "--card", card, "--out", str(run)])
    assert answer.exit_code == 2
    assert "--out must be a new folder" in answer.output
    answer = RUNNER.invoke(app, ["submit", str(run), "--card", "no-card", "--out", str(tmp_path / "new")])
    assert (answer.exit_code, answer.stderr) == (2, "error: no-card: No such file or directory\n")
    a_card(tmp_path / "card.toml", date="1")
    answer = RUNNER.invoke(app, ["submit", str(run), "--card", card, "--out", str(tmp_path / "new")])
    assert answer.exit_code == 2
    assert "card.toml: date: " in answer.output
    assert not (tmp_path / "new").exists()


def test_a_submission_with_an_unreadable_line_is_rejected(tmp_path: Path) -> None:
    folder = a_submission(tmp_path / "board" / "one", [a_record()])
    (tmp_path / "board" / "one-run" / "episodes.jsonl").write_text("{torn")
    (folder / ARCHIVE).unlink()
    with tarfile.open(folder / ARCHIVE, "w:xz") as archive:
        archive.add(tmp_path / "board" / "one-run" / "episodes.jsonl", "episodes.jsonl")
    answer = RUNNER.invoke(app, ["leaderboard", str(folder), "--out", str(tmp_path / "a.md")])
    assert answer.exit_code == 2
    assert "one/episodes.jsonl:1: Invalid JSON" in answer.output
