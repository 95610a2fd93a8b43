"""Rewards and the end of an episode, as pure functions of its state and its verdict."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from companyos.contract import Completion, Outcome, RewardScale, Shaping
from companyos_gateway.engine.reward import REWARD_BOUND, RewardLedger, StepKind, determine_outcome, is_ended_by_agent
from companyos_gateway.evaluation import CheckResult, Standing, Verdict
from companyos_gateway.evaluation.mismatch import Mismatch
from companyos_gateway.viewer.serialize import reward_parts


def standing(
    potential: float = 0.0,
    *,
    at_end: float = 0.0,
    closed: bool = False,
    damage: tuple[str, ...] = (),
    rejections: int = 0,
) -> Standing:
    return Standing(potential=potential, at_end=at_end, damage=damage, rejections=rejections, closed=closed)


@pytest.mark.parametrize(
    ("kind", "reward"),
    [
        (StepKind.CARRIED_OUT, -0.1),
        (StepKind.PROBLEM, -0.4),
        (StepKind.INVALID_CALL, -1.1),
        (StepKind.PLANNED_FAULT, -0.1),
    ],
)
def test_the_cost_of_a_step_that_changes_nothing_depends_on_its_kind(kind: StepKind, reward: float) -> None:
    assert RewardLedger().add_step(kind, standing(), None) == reward


def test_a_milestone_is_paid_once_and_deducted_when_undone() -> None:
    ledger = RewardLedger()
    rewards = [ledger.add_step(StepKind.CARRIED_OUT, standing(potential), None) for potential in (1.0, 1.0, 0.0, 1.0)]
    assert rewards == [0.9, -0.1, -1.1, 0.9]


def test_a_milestone_that_is_paid_at_the_end_pays_nothing_before() -> None:
    ledger = RewardLedger()
    rewards = [ledger.add_step(StepKind.CARRIED_OUT, standing(at_end=points), None) for points in (1.0, 0.0, 1.0)]
    assert rewards == [-0.1, -0.1, -0.1]
    assert ledger.add_step(StepKind.CARRIED_OUT, standing(2.0, at_end=1.0), Outcome.SUCCESS, solved_share=1.0) == 17.9


@pytest.mark.parametrize(("left", "reward"), [(1.0, -5.1), (0.0, -6.1)])
def test_a_milestone_reached_at_the_start_is_only_deducted_if_it_is_undone_at_the_end(
    left: float, reward: float
) -> None:
    ledger = RewardLedger(at_end=1.0)
    assert ledger.add_step(StepKind.CARRIED_OUT, standing(at_end=0.0), None) == -0.1
    assert ledger.add_step(StepKind.CARRIED_OUT, standing(at_end=left), Outcome.FAILED) == reward


def test_the_four_costs_are_limited_to_eight() -> None:
    ledger = RewardLedger()
    for count in range(20):
        ledger.add_step(StepKind.INVALID_CALL, standing(rejections=count), None)
    assert ledger.return_ == -8.0
    assert ledger.add_step(StepKind.INVALID_CALL, standing(rejections=20), None) == 0.0


def test_each_rejection_is_charged_once() -> None:
    ledger = RewardLedger()
    assert ledger.add_step(StepKind.CARRIED_OUT, standing(rejections=2), None) == -1.1
    assert ledger.add_step(StepKind.CARRIED_OUT, standing(rejections=2), None) == -0.1


def test_damage_costs_two_per_entity_and_four_at_most() -> None:
    ledger = RewardLedger()
    assert ledger.add_step(StepKind.CARRIED_OUT, standing(damage=("a",)), None) == -2.1
    assert ledger.add_step(StepKind.CARRIED_OUT, standing(damage=("a", "b", "c")), None) == -2.1
    assert ledger.add_step(StepKind.CARRIED_OUT, standing(damage=("d",)), None) == -0.1


def test_success_pays_fifteen_and_any_other_end_costs_five() -> None:
    assert RewardLedger().add_step(StepKind.CARRIED_OUT, standing(), Outcome.SUCCESS, solved_share=1.0) == 14.9
    assert RewardLedger().add_step(StepKind.CARRIED_OUT, standing(), Outcome.FAILED) == -5.1
    assert RewardLedger().add_step(StepKind.CARRIED_OUT, standing(), Outcome.OUT_OF_STEPS) == -5.1
    assert RewardLedger().add_close() == -5.0
    assert RewardLedger().add_infrastructure_error() == 0.0


@pytest.mark.parametrize("end", [RewardLedger.add_close, RewardLedger.add_infrastructure_error])
def test_with_the_terminal_reward_only_every_end_pays_back_milestones(end: Callable[[RewardLedger], float]) -> None:
    ledger = RewardLedger(Shaping.POTENTIAL, potential=1.0)
    ledger.add_step(StepKind.CARRIED_OUT, standing(potential=4.0), None)
    assert ledger.return_ == pytest.approx(2.9)
    end(ledger)
    assert ledger.return_ == pytest.approx(-0.1 - (5.0 if end is RewardLedger.add_close else 0.0))


def test_on_the_unit_scale_the_terminal_reward_alone_is_one_or_the_failure_cost() -> None:
    ledger = RewardLedger(Shaping.NONE, RewardScale.UNIT)
    assert ledger.add_step(StepKind.INVALID_CALL, standing(3.0, damage=("a",)), None) == 0.0
    assert ledger.add_step(StepKind.CARRIED_OUT, standing(9.0), Outcome.SUCCESS, solved_share=1.0) == 1.0
    assert (
        RewardLedger(Shaping.NONE, RewardScale.UNIT).add_step(StepKind.CARRIED_OUT, standing(), Outcome.FAILED) == -0.2
    )


DRAWN = settings(derandomize=True, deadline=None, max_examples=100)
STEPS = st.lists(
    st.tuples(
        st.sampled_from(StepKind),
        st.floats(0, 9, width=16),
        st.integers(0, 3),
        st.integers(0, 40),
    ),
    min_size=1,
    max_size=40,
)


@DRAWN
@given(STEPS, st.sampled_from([Outcome.SUCCESS, Outcome.FAILED, Outcome.OUT_OF_STEPS]), st.floats(0, 9, width=16))
def test_paid_back_potential_gives_the_return_without_milestones(
    steps: list[tuple[StepKind, float, int, int]], end: Outcome, first: float
) -> None:
    shaped = RewardLedger(Shaping.POTENTIAL, potential=first)
    bare = RewardLedger(Shaping.POTENTIAL)
    for number, (kind, potential, damaged, rejections) in enumerate(steps):
        last = end if number == len(steps) - 1 else None
        damage = tuple(f"entity-{n}" for n in range(damaged))
        shaped.add_step(kind, standing(potential, damage=damage, rejections=rejections), last)
        bare.add_step(kind, standing(damage=damage, rejections=rejections), last)
    assert shaped.return_ == pytest.approx(bare.return_, abs=1e-4)


@DRAWN
@given(STEPS, st.sampled_from(Shaping), st.sampled_from(RewardScale), st.sampled_from([None, *Outcome]))
def test_every_reward_is_within_the_declared_range(
    steps: list[tuple[StepKind, float, int, int]], shaping: Shaping, scale: RewardScale, end: Outcome | None
) -> None:
    ledger = RewardLedger(shaping, scale)
    bound = 1.0 if scale is RewardScale.UNIT else REWARD_BOUND
    for kind, potential, damaged, rejections in steps:
        damage = tuple(f"entity-{n}" for n in range(damaged))
        assert -bound <= ledger.add_step(kind, standing(potential, damage=damage, rejections=rejections), end) <= bound


@DRAWN
@given(st.lists(st.floats(0, 9, width=16), min_size=1, max_size=20))
def test_a_cycle_of_states_never_pays(potentials: list[float]) -> None:
    ledger = RewardLedger(potential=potentials[-1])
    for potential in potentials:
        ledger.add_step(StepKind.CARRIED_OUT, standing(potential), None)
    assert ledger.return_ < 0


@pytest.mark.parametrize(
    ("met", "closed", "completion", "finished", "steps_left", "end"),
    [
        (False, False, Completion.AUTO, False, 5, None),
        (True, False, Completion.AUTO, False, 5, None),
        (True, True, Completion.AUTO, False, 5, Outcome.SUCCESS),
        (False, True, Completion.AUTO, False, 5, Outcome.FAILED),
        (True, True, Completion.AUTO, False, 0, Outcome.SUCCESS),
        (True, True, Completion.EXPLICIT, False, 5, None),
        (True, True, Completion.EXPLICIT, True, 5, Outcome.SUCCESS),
        (True, True, Completion.EXPLICIT, False, 0, Outcome.OUT_OF_STEPS),
        (False, False, Completion.AUTO, True, 5, Outcome.FAILED),
        (False, False, Completion.AUTO, False, 0, Outcome.OUT_OF_STEPS),
    ],
)
def test_the_closing_step_ends_an_episode_with_any_result(
    met: bool, closed: bool, completion: Completion, finished: bool, steps_left: int, end: Outcome | None
) -> None:
    is_ended = is_ended_by_agent(standing(closed=closed), completion, finished=finished)
    assert determine_outcome(met if is_ended else None, steps_left=steps_left) == end


@pytest.mark.parametrize(
    ("damage", "failed", "share", "reward"),
    [
        ((), "A-2:approved", 0.5, 4.9),
        (("a",), "A-2:approved", 0.0, -7.1),
        ((), "nothing_else_changed", 0.0, -5.1),
        ((), "A-3:left_to_its_team", 0.0, -5.1),
    ],
)
def test_the_terminal_reward_is_proportional_to_the_share_of_solved_cases(
    damage: tuple[str, ...], failed: str, share: float, reward: float
) -> None:
    check = CheckResult(failed, mismatch=Mismatch("a", "b", "c"))
    cases = {"A-1": True, "A-2": False}
    judged = Verdict(potential=0.0, damage=damage, rejections=0, success=False, checks=(check,), cases=cases)
    assert judged.solved_share == share
    paid = RewardLedger().add_step(StepKind.CARRIED_OUT, judged, Outcome.FAILED, solved_share=judged.solved_share)
    assert paid == pytest.approx(reward)


@pytest.mark.parametrize("scale", list(RewardScale))
@pytest.mark.parametrize("shaping", list(Shaping))
def test_the_parts_of_every_reward_sum_to_it(shaping: Shaping, scale: RewardScale) -> None:
    ledger = RewardLedger(shaping, scale)
    standings = [standing(potential=2.0), standing(potential=1.0, damage=("one", "two", "three"), rejections=2)]
    for kind in StepKind:
        for judged in standings:
            for end in (None, Outcome.FAILED, Outcome.SUCCESS):
                before = ledger.balance
                reward = ledger.add_step(kind, judged, end)
                parts = reward_parts(reward, before, ledger.balance, shaping=shaping, scale=scale)
                assert sum(part.paid for part in parts) == pytest.approx(reward, abs=1e-5)


def test_each_part_of_a_reward_is_named() -> None:
    ledger = RewardLedger()
    before = ledger.balance
    reward = ledger.add_step(
        StepKind.PROBLEM, standing(potential=3.0, damage=("harm",), rejections=1), Outcome.OUT_OF_STEPS
    )
    parts = reward_parts(reward, before, ledger.balance, shaping=Shaping.MILESTONES, scale=RewardScale.ORIGINAL)
    assert {part.part: part.paid for part in parts} == {
        "milestones": 3.0,
        "rejection and cost of the step": -0.9,
        "damage": -2.0,
        "end": -5.0,
    }
