"""The explanation of a failed episode in the viewer's document."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from companyos.contract import CheckVerdict, EpisodeVerdict
from companyos.viewer.document import EpisodeDocument, Explanation
from companyos.viewer.explanation import MAX_STEPS
from companyos.viewer.stored_run import StoredRun
from tests.client.stored_runs import CHANGES, LINES, a_change, a_line, a_problem, evidence, judge, write_episode


def an_episode(folder: Path, **options: Any) -> EpisodeDocument:
    name = write_episode(folder, **options)
    return StoredRun(folder).episode(name)


def the_reasons(folder: Path, **options: Any) -> Explanation:
    why = an_episode(folder, **options).why
    assert why is not None
    return why


def a_failure(name: str, *, caused_by: tuple[str, ...] = (), **more: Any) -> CheckVerdict:
    return CheckVerdict(
        id=name, passed=False, expected="status: closed", found="status: open", caused_by=caused_by, **more
    )


def failed(*checks: CheckVerdict) -> EpisodeVerdict:
    primary = next(check.id for check in checks if not check.caused_by)
    return EpisodeVerdict(success=False, potential=0, damage=(), rejections=0, checks=checks, primary_failure=primary)


OPEN: dict[str, Any] = {"stored": evidence(changes=CHANGES[:2]), "outcome": "failed"}


def test_a_success_has_no_failure_reasons(tmp_path: Path) -> None:
    assert an_episode(tmp_path).why is None


def test_causes_are_listed_without_their_consequences(tmp_path: Path) -> None:
    checks = (a_failure("late", caused_by=("open",)), a_failure("open", entity="desk.tickets[T-1]"))
    why = the_reasons(tmp_path, **OPEN, verdict=failed(*checks))
    assert [cause.check for cause in why.causes] == ["open"]
    assert why.consequences == ["late"]


def test_rejected_calls_that_name_the_row_are_relevant_steps(tmp_path: Path) -> None:
    why = the_reasons(tmp_path, **OPEN, verdict=failed(a_failure("open", entity="desk.tickets[T-1]")))
    assert why.causes[0].steps == [3, 4]
    other = the_reasons(tmp_path / "other", **OPEN, verdict=failed(a_failure("open", entity="desk.tickets[T-2]")))
    assert other.causes[0].steps == []


def test_steps_that_changed_the_column_come_before_other_steps_of_the_row(tmp_path: Path) -> None:
    rows = [{"key": "T-1", "status": "open", "title": title} for title in ("a", "b")]
    reopened = {**rows[1], "status": "new"}
    changes = [a_change(5, before=rows[0], after=rows[1]), a_change(6, before=rows[1], after=reopened, seq=2)]
    verdict = failed(a_failure("open", entity="desk.tickets[T-1]"))
    why = the_reasons(tmp_path, stored=evidence(changes=changes), verdict=verdict)
    assert why.causes[0].steps == [6]


def test_a_check_on_a_table_refers_to_the_rows_that_the_agent_changed(tmp_path: Path) -> None:
    verdict = failed(a_failure("lock", entity="desk.locks"), a_failure("comment", entity="desk.comments"))
    own = [a_change(2, before=None, after={"key": "L-2"}, table="locks", key="L-2"), *CHANGES[:2]]
    why = the_reasons(tmp_path, stored=evidence(changes=own), verdict=verdict)
    assert [cause.steps for cause in why.causes] == [[2, 3, 4], [3, 4]]


def test_the_deciding_step_and_the_last_steps_are_listed(tmp_path: Path) -> None:
    lines = [a_line(step, result=a_problem(409, "ticket-locked")) for step in range(1, 11)]
    verdict = failed(a_failure("open", entity="desk.tickets[T-1]"), a_failure("declared", entity="finish", step=10))
    opened, declared = the_reasons(
        tmp_path, lines=lines, stored=evidence(changes=[], audits=[]), verdict=verdict
    ).causes
    assert opened.steps == [*range(11 - MAX_STEPS, 11)]
    assert opened.more == 10 - MAX_STEPS
    assert declared.steps == [10]


def test_the_outcome_is_described(tmp_path: Path) -> None:
    finish = {"outcome": "impossible", "summary": "The ticket is locked."}
    closed = a_line(1, "desk_close_ticket", done=True)
    cases: dict[str, dict[str, Any]] = {
        'The agent declared "impossible" after 6 steps without a change, and wrote: "The ticket is locked."': {
            "stored": evidence(changes=[], finish=finish)
        },
        "No steps were left after 6 steps without a change.": {"outcome": "out_of_steps"},
        "The client closed the episode after 6 steps without a change.": {"outcome": "closed"},
        "An error stopped the episode after 6 steps without a change: no answer": {"trouble": "no answer"},
        "Step 1, desk_close_ticket, closed the task.": {"lines": [closed]},
    }
    for at, (ended, options) in enumerate(cases.items()):
        assert the_reasons(tmp_path / str(at), **{**OPEN, **options}).ended == ended


def test_rescoring_explains_the_new_verdict(tmp_path: Path) -> None:
    name = write_episode(tmp_path, **OPEN, verdict=failed(a_failure("old")))
    why = StoredRun(tmp_path).episode(name, judge).why
    assert why is not None
    assert [cause.check for cause in why.causes] == ["ticket_closed"]


def test_a_relevant_policy_that_was_read_is_named(tmp_path: Path) -> None:
    line = a_line(1, "desk_get_policy", arguments={"policy_id": "POL-1"})
    audit = {**evidence()["audits"]["desk"][1], "step": 1}
    assert the_reasons(
        tmp_path, **{**OPEN, "lines": [line], "stored": evidence(changes=[], audits=[audit])}
    ).policies == [1]
    assert the_reasons(tmp_path / "none", **{**OPEN, "lines": LINES}).policies == []
