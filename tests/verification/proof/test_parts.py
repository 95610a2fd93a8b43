"""Parts of the proof in isolation: sampling, mutations and tallies."""

from __future__ import annotations

import multiprocessing
import queue
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from companyos.contract import ToolSpec
from companyos.policies import Call, EpisodeOverError, StepView, TaskView, load_policy
from companyos_gateway.chaos import Group, Kind
from companyos_gateway.evaluation import Evidence
from companyos_gateway.evaluation.evidence import NetChange
from companyos_gateway.scenarios import catalogue
from companyos_gateway.scenarios.blocks.declared_scenario import inapplicable_kinds
from companyos_players.player import Player, Step, is_write, replay_of
from companyos_players.registry import fair_player
from companyos_players.task_agnostic import Fabricator, trace_imitators
from companyos_players.tool_matching import match_tools_by_description
from companyos_shared.streams import Stream
from tests.client.builders import a_step, a_task
from tests.scenarios.engine import EpisodeSpec, initial_rows, open_player
from verification.proof import execution
from verification.proof.final_states.mutations import near_values
from verification.proof.final_states.row_mutations import _row_mutations
from verification.proof.players.oracles import FEASIBLE, REFUSED, undisturbed_seed
from verification.proof.players.variations import detouring, permuted_steps, repeating
from verification.proof.rows import ROWS, Scope, difficulty
from verification.proof.rows.adversaries import ASKED, BY_CHANCE, GUESSED
from verification.proof.rows.base import Tally
from verification.proof.rows.determinism import ONE_DIGEST
from verification.proof.rows.leaks import Canaries, CanaryScenario
from verification.proof.rows.splits import COLLISIONS
from verification.proof.sizes import FULL, SMOKE
from verification.proof.statistics import most_successes


class Calls:
    """Records every call and returns the same response."""

    def __init__(self, answer: StepView) -> None:
        self.answer = answer
        self.made: list[tuple[str, dict[str, Any]]] = []

    async def __call__(self, tool: str, arguments: dict[str, Any], /) -> StepView:
        self.made.append((tool, arguments))
        return self.answer


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        (85, [None, 86, 85.5, "85", True]),
        (True, [None, False, "true"]),
        ("POL-1", [None, " POL-1", "pol-1", ""]),
        ("2026-03-02", [None, " 2026-03-02", "2026-03-02X", "2026-03-02T00:01:00"]),
    ],
)
def test_values_near_a_right_one_are_wrong(right: object, wrong: list[object]) -> None:
    assert [value for _, value in near_values(right)] == wrong


async def test_an_agent_that_leaves_the_work_unfinished_never_finishes_while_farming() -> None:
    steps = [(f"ticketdesk_{verb}_ticket", {"key": "OPS-1"}) for verb in ("update", "verify", "comment", "transition")]
    for seed in range(20):
        player = trace_imitators([*steps, ("finish", {})], [], Stream("test", seed))["most of the work, then farms"]
        calls = Calls(a_step())
        await player(a_task(), calls)
        assert len(calls.made) > 1
        assert not {"ticketdesk_transition_ticket", "finish"} & {tool for tool, _ in calls.made}


@pytest.mark.parametrize("letter", sorted(ROWS))
@pytest.mark.parametrize("size", [SMOKE, FULL], ids=lambda size: str(size.name))
def test_a_row_has_each_job_for_every_scenario_once(letter: str, size: Any) -> None:
    scope = Scope(scenarios=("bug_escalation", "vendor_onboarding"), size=size, first=0)
    jobs = list(ROWS[letter].jobs(scope))
    assert len(set(jobs)) == len(jobs) > 0
    assert {job.row for job in jobs} == {letter}
    named = {job.scenario for job in jobs} - {""}
    assert named in (set(), set(scope.scenarios))


@pytest.mark.parametrize("outcome", [FEASIBLE, REFUSED])
def test_an_undisturbed_seed_is_the_first_with_its_outcome(outcome: str) -> None:
    seed = undisturbed_seed("bug_escalation", 3, outcome)
    assert seed >= 3
    assert undisturbed_seed("bug_escalation", seed, outcome) == seed
    assert "bug_escalation" in catalogue()


def test_a_permutation_keeps_every_step_and_the_others_in_their_places() -> None:
    steps: list[tuple[str, dict[str, Any]]] = [
        ("ticketdesk_get_ticket", {}),
        *(("ticketdesk_complete_checklist_item", {"item_id": f"I-{n}"}) for n in range(4)),
        ("ticketdesk_verify_ticket", {}),
    ]
    permuted = permuted_steps(steps, Stream("a", "permutation"))
    assert permuted != steps
    assert sorted(map(repr, permuted)) == sorted(map(repr, steps))
    assert (permuted[0], permuted[-1]) == (steps[0], steps[-1])


def test_reads_are_distinguished_from_writes() -> None:
    assert is_write("ticketdesk_update_ticket")
    assert not any(map(is_write, ("ticketdesk_get_ticket", "datahub_query_metric", "wait", "finish")))


async def test_a_fabricator_changes_only_values() -> None:
    fields = {"amount_cents": 100, "ready": True, "as_of": "2026-03-02T09:00:00+00:00", "name": "Ada"}
    fabricator = Fabricator(replay_of([("approvalflow_submit_approval", {"subject": "VEN-1", "fields": fields})]))
    calls = Calls(a_step())
    await fabricator.play(a_task(), calls)
    [(tool, arguments)] = calls.made
    assert (tool, arguments["subject"], fabricator.invented) == ("approvalflow_submit_approval", "VEN-1", 1)
    assert arguments["fields"] == {
        "amount_cents": 107,
        "ready": False,
        "as_of": "2026-03-05T09:00:00+00:00",
        "name": "Ada",
    }


async def test_a_call_with_an_idempotency_key_is_sent_twice() -> None:
    calls = Calls(a_step())
    await repeating(replay_of([("a_make", {"idempotency_key": "k"}), ("a_get", {})]))(a_task(), calls)
    assert [tool for tool, _ in calls.made] == ["a_make", "a_make", "a_get"]


async def test_a_detour_is_taken_once_at_the_first_call_of_its_tool() -> None:
    calls = Calls(a_step())

    async def look(call: Call, arguments: dict[str, Any]) -> None:
        await call("a_look", arguments)

    steps: list[Step] = [("a_get", {}), ("a_make", {"n": 1, "idempotency_key": "k"}), ("a_make", {"n": 2})]
    await detouring(replay_of(steps), "a_make", before=look, after=look)(a_task(), calls)
    assert [tool for tool, _ in calls.made] == ["a_get", "a_look", "a_make", "a_look", "a_make"]
    assert calls.made[1] == ("a_look", {"n": 1})


def test_leaked_canaries_are_found() -> None:
    canaries = Canaries.of("tiny", 1)
    assert canaries.found_in("nothing") == []
    assert canaries.found_in(f"{canaries.seed} {canaries.words['finding']}") == ["finding", "seed"]
    assert all(len(word) == 32 for word in canaries.words.values())
    assert len({*canaries.words.values()}) == len(canaries.words)


def test_a_scenario_with_canaries_has_the_same_verdicts_and_contains_them() -> None:
    scenario, canaries = catalogue()["bug_escalation"], Canaries.of("bug_escalation", 1)
    usual, with_canaries = scenario.plan(1, 4), CanaryScenario(scenario, canaries).plan(1, 4)
    evidence = Evidence(initial_rows(usual.documents))
    verdict, was = with_canaries.rubric.judge(evidence, None), usual.rubric.judge(evidence, None)
    assert [one.passed for one in verdict.checks] == [one.passed for one in was.checks]
    assert all(one.mismatch is None or canaries.words["finding"] in one.mismatch.found for one in verdict.checks)
    assert with_canaries.source_ids == usual.source_ids


LADDER_SCOPE = Scope(scenarios=("tiny",), size=SMOKE, first=0)


def _worked(who: str, *won: float) -> Tally:
    notes = {str(level): value for level, value in enumerate(won)}
    return Tally(promise=difficulty.LADDER, n=5, scenario="tiny", who=who, notes=notes)


@pytest.mark.parametrize(
    ("weakest", "oracle", "holds"),
    [
        ((1, 1, 0, 0, 0), (1, 1, 1, 1, 1), True),
        ((1, 1, 1, 1, 1), (1,) * 5, False),
        ((1, 0, 0, 0, 0), (1, 1, 1, 1, 0), False),
    ],
)
def test_the_weakest_worker_must_fail_and_the_oracle_must_not(
    weakest: tuple[float, ...], oracle: tuple[float, ...], holds: bool
) -> None:
    tallies = [_worked(who, *weakest) for who in difficulty.WORKERS] + [_worked("oracle", *oracle)]
    lines = {line.promise: line for line in ROWS["G"].lines(LADDER_SCOPE, tallies)}
    assert lines[difficulty.LOSS].holds is holds
    assert lines[difficulty.LADDER].holds


def test_success_that_increases_with_the_level_is_reported() -> None:
    tallies = [_worked("worker2", 0, 1, 1, 1, 1), _worked("worker1", 1, 0, 0, 0, 0), _worked("oracle", *(1,) * 5)]
    [ladder, _] = ROWS["G"].lines(LADDER_SCOPE, tallies)
    assert (ladder.holds, ladder.result) == (False, "1 violations: worker2 from 0 to 1")


@pytest.mark.parametrize(
    ("costs", "holds"), [((0.5, 0.4, 0.6), True), ((0.0, 0.0, 0.0), False), ((0.5, -0.6, 0.4), False)]
)
def test_a_friction_kind_must_have_a_significant_cost(costs: tuple[float, ...], holds: bool) -> None:
    tallies = [Tally(promise=difficulty.COSTS, n=1, who="slow_answer", values=(cost,)) for cost in costs]
    [line] = ROWS["G"].lines(LADDER_SCOPE, tallies)
    assert (line.n, line.holds) == (3, holds)


@pytest.mark.parametrize(("misses", "holds"), [(0, True), (1, True), (2, False)])
def test_a_kind_that_is_often_not_injected_is_reported(misses: int, holds: bool) -> None:
    fired = Tally(promise=difficulty.FIRES, n=1, who="new_tickets")
    missed = replace(fired, faults=("tiny seed 0: new_tickets",))
    others = [replace(fired, who="forbidden")] * 900
    [line] = ROWS["G"].lines(LADDER_SCOPE, [*others, *[fired] * (100 - misses), *[missed] * misses])
    assert (line.n, line.holds) == (1000, holds)
    assert line.result.startswith(f"lowest {100 - misses:.1f}% (")


@pytest.mark.parametrize("name", ["bug_escalation", "data_discrepancy"])
def test_every_applicable_kind_is_injected_on_request(name: str) -> None:
    scenario = catalogue()[name]
    may = [kind for kind in Kind if kind not in inapplicable_kinds(scenario) and kind.group is not Group.TRANSPORT]
    affected = {kind for kind in may for one in scenario.plan(0, 1, {kind.value: 1.0}).injections if one.kind is kind}
    assert affected == set(may)


def test_paired_episodes_differ_in_one_kind() -> None:
    alike = difficulty._paired_overrides(Kind.FAILED_PIPELINE)
    assert alike[Kind.STALE_METRIC] == 1.0
    assert alike[Kind.SLOW_ANSWER] == 0.0
    assert Kind.SLOW_ANSWER not in difficulty._paired_overrides(Kind.SLOW_ANSWER)


async def test_description_matching_tries_similar_tools_until_one_responds() -> None:
    known = ToolSpec(name="a_get", description="Return the first row.", input_schema={})
    other = known.model_copy(update={"name": "b_get", "description": "Return the first row of b."})
    reworded = known.model_copy(update={"description": "Show one."})
    task = replace(a_task(), tools=(reworded, other))
    refused = Calls(a_step(result={"title": "No", "status": 404, "code": "not-found"}))
    player = match_tools_by_description(replay_of([("a_get", {})]), [known, other])
    await player(task, refused)
    await player(replace(task, tools=(known, other)), refused)
    assert [tool for tool, _ in refused.made] == ["b_get", "a_get", "a_get"]


@pytest.mark.parametrize(("won", "holds"), [(2, True), (3, False)])
def test_two_successes_in_a_hundred_tasks_may_be_chance(won: int, holds: bool) -> None:
    tallies = [
        Tally(promise=BY_CHANCE, n=1, values=(-10.0 - nth % 2,), notes={"successes": float(nth < won)})
        for nth in range(100)
    ]
    [line] = ROWS["B"].lines(LADDER_SCOPE, tallies)
    assert (line.n, line.holds) == (100, holds)
    assert "mean return -10.50 (95 % interval -10.60 to -10.40)" in line.result


@pytest.mark.parametrize(
    ("chances", "most"), [((), 0), ((0.0,) * 9, 0), ((1.0,) * 3, 3), ((0.25,) * 100, 35), ((0.005,) * 2, 0)]
)
def test_successes_by_chance_are_bounded(chances: tuple[float, ...], most: int) -> None:
    assert most_successes(chances, 0.99) == most


@pytest.mark.parametrize("promise", [GUESSED, ASKED])
@pytest.mark.parametrize(("won", "holds"), [(9, True), (10, False)])
def test_a_search_may_succeed_as_often_as_chance(promise: str, won: int, holds: bool) -> None:
    tallies = [
        Tally(promise=promise, n=1, values=(0.25,), faults=("tiny: success",) if nth < won else ()) for nth in range(17)
    ]
    [line] = ROWS["B"].lines(LADDER_SCOPE, tallies)
    assert (line.n, line.holds) == (17, holds)
    assert line.result == f"{won} successes, 4.2 expected by chance, at most 9"


def test_a_missing_python_is_reported() -> None:
    [line] = ROWS["E"].lines(LADDER_SCOPE, [Tally(promise=ONE_DIGEST, n=1, who="a"), Tally(promise=ONE_DIGEST, n=0)])
    assert (line.n, line.holds) == (1, True)
    assert "with the packages found" in line.result


@pytest.mark.parametrize(("digests", "holds"), [(("a", "a"), True), (("a", "b"), False)])
def test_processes_must_have_the_same_digest(digests: tuple[str, str], holds: bool) -> None:
    tallies = [Tally(promise="one", n=1, who=one) for one in digests]
    [line] = ROWS["E"].lines(LADDER_SCOPE, tallies)
    assert line.holds is holds


def test_a_collision_is_counted_within_a_scenario() -> None:
    tallies = [
        Tally(promise=COLLISIONS, n=2, scenario=name, values=values)
        for name, values in (("a", (1.0, 2.0)), ("a", (2.0, 3.0)), ("b", (1.0, 3.0)))
    ]
    lines = {line.promise: line for line in ROWS["H"].lines(LADDER_SCOPE, tallies)}
    assert (lines[COLLISIONS].result, lines[COLLISIONS].holds) == ("1 collisions", False)


@pytest.mark.parametrize("skill", [1, 2, 3])
async def test_a_naive_worker_gives_up_a_task_that_it_cannot_parse(skill: int) -> None:
    calls = Calls(a_step(result={"title": "No", "status": 404, "code": "not-found"}))
    task = replace(a_task(), scenario="bug_escalation")
    with pytest.raises(EpisodeOverError):
        await load_policy(f"worker{skill}").play(task, calls)
    assert calls.made[0][0] == "ticketdesk_get_ticket"


@pytest.mark.parametrize(("columns", "can_be_undone"), [({"version"}, False), ({"version", "risk_tier"}, True)])
def test_a_row_with_only_a_new_version_has_nothing_to_undo(columns: set[str], can_be_undone: bool) -> None:
    row = {"id": "VEN-1", "risk_tier": "low", "version": 2}
    net = NetChange(
        service="datahub",
        table="vendors",
        key="VEN-1",
        added=False,
        deleted=False,
        columns=frozenset(columns),
        before={**row, "version": 1},
        after=row,
    )
    assert ("vendors VEN-1: undone" in dict(_row_mutations(net, row))) is can_be_undone


class _Jobs:
    """A queue that is empty for a while."""

    def __init__(self, empty: int, then: Any) -> None:
        self._empty = empty
        self._then = then

    def get(self, timeout: float) -> Any:
        assert timeout > 0
        self._empty -= 1
        if self._empty >= 0:
            raise queue.Empty
        return self._then


def test_a_worker_waits_while_its_parent_is_alive(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(multiprocessing, "parent_process", lambda: SimpleNamespace(is_alive=lambda: True))
    found: Any = execution._next_job(_Jobs(3, "a job"))
    assert found == "a job"
    assert execution._next_job(_Jobs(0, None)) is None


def test_a_worker_exits_when_its_parent_was_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    lives = iter([True, True, False])
    monkeypatch.setattr(multiprocessing, "parent_process", lambda: SimpleNamespace(is_alive=lambda: next(lives)))
    assert execution._next_job(_Jobs(1_000, "a job")) is None


async def stop(_task: TaskView, _call: Call) -> None:
    """Raise the error of a broken player."""
    raise LookupError("no such record")


@pytest.mark.parametrize(
    ("player", "result"),
    [
        (fair_player("bug_escalation"), "success"),
        (stop, "failed, LookupError: no such record"),
        (
            replay_of([("finish", {"outcome": "impossible", "summary": ""})]),
            "failed, declared: finish: expected outcome: done, found outcome: impossible, no reason",
        ),
    ],
    ids=["solved", "stopped", "given-up"],
)
def test_a_failed_episode_is_described_with_its_primary_failure(player: Player, result: str, tmp_path: Path) -> None:
    with open_player(tmp_path / "data") as play_all:
        (kept,) = play_all([EpisodeSpec(scenario="bug_escalation", player=player, seed=0)])
    assert kept.result.place.partition(", seed 0, chaos 1: ")[2] == result
