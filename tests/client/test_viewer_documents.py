"""The viewer's documents: the content for a stored run, messages about damaged files, and aligned episodes."""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from companyos.rescorers import InvalidEvidenceError
from companyos.signed_evidence import EvidenceSigner
from companyos.viewer import EpisodeDocument, StepKind
from companyos.viewer.alignment import align, describe_difference
from companyos.viewer.document import Step
from companyos.viewer.stored_run import NotARunError, StoredRun, UnknownEpisodeError
from tests.client.stored_runs import CHANGES, LINES, a_change, a_line, evidence, judge, verdict, write_episode

NAME = "tiny-0-c1-oracle"


def the_episode(folder: Path, **options: Any) -> EpisodeDocument:
    name = write_episode(folder, **options)
    return StoredRun(folder).episode(name)


def test_a_step_shows_its_result(tmp_path: Path) -> None:
    steps = the_episode(tmp_path).steps
    assert [(step.kind, step.status, step.problem, step.fault) for step in steps] == [
        (StepKind.PLANNED_FAULT, 503, "unavailable", "unavailable"),
        (StepKind.CARRIED_OUT, 200, None, "stale_read"),
        (StepKind.PROBLEM, 409, "ticket-locked", None),
        (StepKind.INVALID_CALL, None, None, None),
        (StepKind.CARRIED_OUT, None, None, None),
        (StepKind.CARRIED_OUT, 200, None, None),
    ]
    assert [step.service for step in steps] == ["desk", "desk", "desk", "desk", None, "desk"]


def test_changed_rows_are_shown_by_column(tmp_path: Path) -> None:
    steps = the_episode(tmp_path).steps
    comment, lock = steps[4].changes
    (ticket,) = steps[5].changes
    assert (comment.kind, comment.actor, comment.caused_by, comment.label) == ("added", "clock", None, "Unlocked it.")
    assert (lock.kind, lock.caused_by) == ("deleted", 3)
    assert (ticket.kind, ticket.label, ticket.same_columns) == ("changed", "Broken", 2)
    assert [(one.column, one.before, one.after) for one in ticket.columns] == [("status", "open", "closed")]


def test_facts_and_task_are_shown_with_the_steps(tmp_path: Path) -> None:
    found = the_episode(tmp_path)
    assert (found.brief, found.company, found.acting_as, found.max_steps) == ("Close T-1.", "Tiny", "E-1", 20)
    assert (found.facts.name, found.facts.outcome, found.facts.return_) == (NAME, "success", 15.1)
    assert found.verdict == verdict()
    assert [one.kind for one in found.injections] == ["ticket_locked"]
    assert found.faults == []
    assert found.model_dump(mode="json")["facts"]["return"] == 15.1


def test_facts_contain_tokens_and_cost_of_a_model(tmp_path: Path) -> None:
    used = {"model": "m", "requests": 3, "retries": 0, "unmetered": 0, "latency_s": 1.5, "cost": 0.5}
    tokens = {"prompt_tokens": 12000, "completion_tokens": 345}
    unreported = {"prompt_tokens": 0, "completion_tokens": 0, "unmetered": 3, "cost": None}
    for seed, usage in enumerate(({**used, **tokens}, {**used, **unreported}, None)):
        write_episode(tmp_path, seed=seed, usage=usage)
    facts = StoredRun(tmp_path).document().episodes
    assert [(one.tokens, one.cost) for one in facts] == [(12345, 0.5), (None, None), (None, None)]


def test_an_older_run_without_a_brief_is_shown(tmp_path: Path) -> None:
    stored = {name: value for name, value in evidence().items() if name not in ("brief", "company", "started_at")}
    found = the_episode(tmp_path, stored=stored)
    assert (found.brief, found.started_at) == (None, None)


def test_rescoring_shows_which_step_changed_which_check_and_the_reward_parts(tmp_path: Path) -> None:
    write_episode(tmp_path)
    found = StoredRun(tmp_path).episode(NAME, judge)
    assert found.judged is not None
    assert found.judged.verdict == verdict()
    assert [(step.number, one.id, one.passed) for step in found.steps for one in step.turned] == [
        (6, "ticket_closed", True)
    ]
    last = found.steps[-1].parts
    assert last is not None
    assert [(part.part, part.paid) for part in last] == [("milestones", 2.0), ("end and cost of the step", 14.9)]
    for step in found.steps:
        assert sum(part.paid for part in step.parts or ()) == pytest.approx(step.reward)


def test_the_message_of_a_model_is_shown_with_the_steps_that_it_called(tmp_path: Path) -> None:
    write_episode(tmp_path)
    (tmp_path / "messages").mkdir()
    calls = [{"id": str(number)} for number in range(2)]
    lines: list[Any] = [
        {"kind": "settings", "model": "m", "tools": []},
        {"kind": "message", "message": {"role": "system", "content": "You act through tools."}},
        {
            "kind": "answer",
            "message": {"content": "First I look.", "tool_calls": calls},
            "completion_tokens": 9,
            "latency_s": 0.5,
        },
        {"kind": "message", "message": {"role": "tool", "content": "an answer"}},
        {"kind": "dropped", "results": 3, "turns": 1},
        {
            "kind": "answer",
            "message": {"content": [{"type": "text", "text": "Then"}], "reasoning": "Hm.", "tool_calls": calls[:1]},
        },
        {"kind": "answer", "message": {"content": None}},
        {"kind": "stopped", "why": "three in a row"},
    ]
    text = "\n".join(map(json.dumps, lines)) + "\n[1]\n{\n"
    (tmp_path / "messages" / f"{NAME}.jsonl").write_text(text)
    found = StoredRun(tmp_path).episode(NAME)
    assert [(one.role, one.text, one.step, one.calls) for one in found.messages] == [
        ("system", "You act through tools.", None, 0),
        ("model", "First I look.", 1, 2),
        ("note", "3 tool results and 1 turns were dropped to save context", None, 0),
        ("model", "Then", 3, 1),
        ("model", "", None, 0),
        ("note", "stopped: three in a row", None, 0),
    ]
    assert (found.messages[1].tokens, found.messages[1].seconds, found.messages[3].thought) == (9, 0.5, "Hm.")
    assert [fault.partition(":")[0] for fault in found.faults] == [
        f"messages/{NAME}.jsonl, line 9",
        f"messages/{NAME}.jsonl, line 10",
    ]


def test_a_changed_verdict_is_shown_with_the_stored_one_without_reward_parts(tmp_path: Path) -> None:
    def stricter(_stored: Mapping[str, Any], /) -> Any:
        return verdict(closed=False)

    write_episode(tmp_path)
    found = StoredRun(tmp_path).episode(NAME, stricter)
    assert found.judged is not None
    assert found.judged.verdict is not None
    assert found.verdict is not None
    assert (found.verdict.success, found.judged.verdict.success) == (True, False)
    assert all(step.parts is None for step in found.steps)


def test_a_reward_of_other_rules_has_no_parts(tmp_path: Path) -> None:
    lines = [*LINES[:-1], a_line(6, "desk_close_ticket", reward=3.0), a_line(7, reward=1.0, done=True)]
    write_episode(tmp_path, lines=lines)
    assert all(step.parts is None for step in StoredRun(tmp_path).episode(NAME, judge).steps)


def test_invalid_evidence_is_reported(tmp_path: Path) -> None:
    def unfit(_stored: Mapping[str, Any], /) -> Any:
        raise InvalidEvidenceError("the task is another one now")

    write_episode(tmp_path)
    found = StoredRun(tmp_path).episode(NAME, unfit)
    assert found.judged is not None
    assert found.judged.fault == "the task is another one now"


def test_a_malformed_line_is_named_with_the_reason_and_the_rest_is_shown(tmp_path: Path) -> None:
    lines = [
        LINES[0],
        '{"step": 2, "tool": ',
        json.dumps({**a_line(3), "tool": 7}),
        "[1]",
        json.dumps(a_line(1)),
        '{"step": 5, "reward": NaN}',
        json.dumps({"step": 6}),
        "",
        json.dumps(a_line(7)),
    ]
    found = the_episode(tmp_path, lines=lines)
    place = f"trajectories/{NAME}.jsonl, line"
    assert [step.number for step in found.steps] == [1, 7]
    assert found.faults == [
        f"{place} 2: invalid JSON: Expecting value at character 21",
        f"{place} 3: tool: Input should be a valid string",
        f"{place} 4: not a JSON object",
        f"{place} 5: duplicate step 1",
        f"{place} 6: invalid JSON: NaN is not a number",
        f"{place} 7: tool: Field required",
    ]


def test_bytes_that_are_not_text_are_reported(tmp_path: Path) -> None:
    write_episode(tmp_path)
    (tmp_path / "trajectories" / f"{NAME}.jsonl").write_bytes(b'{"step": 1}\n\xff\xfe\n' + b"[" * 100_000)
    first, second, third = StoredRun(tmp_path).episode(NAME).faults
    assert "line 1: tool: Field required" in first
    assert second.endswith("line 2: invalid UTF-8 at byte 1")
    assert third.endswith("line 3: nested too deeply")


def test_modified_signed_evidence_is_not_shown_or_rescored(tmp_path: Path) -> None:
    signed = copy.deepcopy(EvidenceSigner(bytes(32)).sign(evidence()))
    write_episode(tmp_path, stored=signed)
    found = StoredRun(tmp_path).episode(NAME, judge)
    assert found.faults == []
    assert found.judged is not None
    signed["audits"]["desk"][0]["status"] = 200
    write_episode(tmp_path, stored=signed, seed=1)
    run, name = StoredRun(tmp_path), NAME.replace("0", "1", 1)
    found = run.episode(name, judge)
    assert found.faults == [f"evidence/{name}.json.gz: audits.desk[0] does not match the signed chain"]
    assert (found.judged, found.steps[5].changes) == (None, [])
    assert run.judged(name, judge).verdict is None


def test_a_missing_trajectory_and_damaged_evidence_are_reported(tmp_path: Path) -> None:
    write_episode(tmp_path)
    (tmp_path / "trajectories" / f"{NAME}.jsonl").unlink()
    (tmp_path / "evidence" / f"{NAME}.json.gz").write_bytes(b"not packed")
    found = StoredRun(tmp_path).episode(NAME)
    assert len(found.faults) == 2
    assert found.faults[0].startswith(f"evidence/{NAME}.json.gz: Not a gzipped file")
    assert found.faults[1] == f"trajectories/{NAME}.jsonl: No such file or directory"


def test_evidence_with_an_invalid_value_is_reported_with_the_location(tmp_path: Path) -> None:
    change = a_change(1, before=None, after={}) | {"at": "noon"}
    found = the_episode(tmp_path, stored=evidence(changes=[change]))
    (fault,) = found.faults
    assert fault.startswith(f"evidence/{NAME}.json.gz: changes.desk.0.at: Input should be a valid datetime")
    assert len(found.steps) == len(LINES)


def test_an_invalid_record_is_reported_and_the_others_are_listed(tmp_path: Path) -> None:
    write_episode(tmp_path)
    with (tmp_path / "episodes.jsonl").open("a") as records:
        records.write('{"scenario": "tiny"}\n')
    write_episode(tmp_path, seed=1, scenario="../../etc")
    run = StoredRun(tmp_path)
    assert run.names == [NAME]
    assert run.faults[0].startswith("episodes.jsonl, line 2: seed: Field required")
    assert run.faults[1] == "episodes.jsonl, line 3: '../../etc-1-c1-oracle' is not a valid file name"


def test_a_trajectory_opens_alone_and_with_its_run(tmp_path: Path) -> None:
    write_episode(tmp_path)
    write_episode(tmp_path, seed=1)
    in_run = tmp_path / "trajectories" / f"{NAME}.jsonl"
    assert StoredRun(in_run).names == [NAME]
    assert StoredRun(in_run).episode(NAME).brief == "Close T-1."
    alone = tmp_path / "somewhere.jsonl"
    alone.write_bytes(in_run.read_bytes())
    found = StoredRun(alone).episode("somewhere")
    assert (found.facts.scenario, found.facts.return_, len(found.steps)) == (None, 15.1, 6)
    assert [facts.name for facts in StoredRun(alone).document().episodes] == ["somewhere"]


@pytest.mark.parametrize(
    ("made", "output"), [("", "episodes.jsonl is missing"), ("x.txt", "neither the folder"), ("?", "no such file")]
)
def test_a_path_without_a_run_is_rejected_with_the_reason(tmp_path: Path, made: str, output: str) -> None:
    if made == "x.txt":
        (tmp_path / made).write_text("x")
    with pytest.raises(NotARunError, match=output):
        StoredRun(tmp_path / made)


def test_an_unknown_episode_is_rejected(tmp_path: Path) -> None:
    write_episode(tmp_path)
    with pytest.raises(UnknownEpisodeError, match="nobody"):
        StoredRun(tmp_path).episode("nobody")


def test_changes_of_one_step_keep_their_order(tmp_path: Path) -> None:
    first, second, _ = CHANGES
    found = the_episode(tmp_path, stored=evidence(changes=[first, second]))
    assert [change.key for change in found.steps[4].changes] == ["C-1", "L-1"]


def _step(tool: str, *, result: Any = None, **arguments: Any) -> Step:
    return _step_with(tool, arguments, result)


def _step_with(tool: str, arguments: Any, result: Any = None) -> Step:
    now = datetime(2026, 3, 2, 9, tzinfo=UTC)
    return Step(number=1, tool=tool, arguments=arguments, result=result, kind="carried_out", reward=0, now=now)


def _tools(left: list[Step], right: list[Step]) -> list[tuple[str | None, str | None]]:
    return [(one.tool if one else None, other.tool if other else None) for one, other in align(left, right)]


def test_calls_after_an_additional_one_are_aligned() -> None:
    left = [_step("get", key="A-1"), _step("wait", minutes=5), _step("close", key="A-1")]
    right = [_step("get", key="A-1"), _step("close", key="A-1"), _step("finish")]
    assert _tools(left, right) == [("get", "get"), ("wait", None), ("close", "close"), (None, "finish")]


def test_calls_on_different_entities_are_not_aligned() -> None:
    assert _tools([_step("get", key="A-1")], [_step("get", key="A-2")]) == [("get", None), (None, "get")]


def test_calls_with_invalid_arguments_or_without_an_entity_are_aligned() -> None:
    [(left, right)] = align([_step("wait", minutes=5)], [_step("wait", minutes=6)])
    assert describe_difference(left, right) == "different arguments"
    assert _tools([_step_with("get", ["A-1"])], [_step("get")]) == [("get", "get")]


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        (None, _step("get"), "only in the second"),
        (_step("get"), None, "only in the first"),
        (_step("get", result={"a": 1}), _step("get", result={"a": 2}), "different response"),
        (_step("get", key="A-1"), _step("get", key="A-1"), ""),
    ],
)
def test_a_pair_has_one_kind_of_difference(left: Step | None, right: Step | None, expected: str) -> None:
    assert describe_difference(left, right) == expected
