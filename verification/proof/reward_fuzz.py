"""Random reward traces: the payments of generated episodes."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from companyos.contract import Completion, Outcome, RewardScale, Shaping
from companyos_gateway.engine.reward import RewardLedger, StepKind, determine_outcome, is_ended_by_agent
from companyos_gateway.evaluation import Standing, Verdict
from companyos_gateway.evaluation.milestones import MAX_MILESTONE_POINTS
from companyos_shared.streams import Stream

MAX_STEPS = 150
_KINDS = tuple(StepKind)
_POTENTIALS = (0.0, 0.5, 1.0, 1.5, 2.5, 4.5, 6.0, MAX_MILESTONE_POINTS)
_STARTS = (0.0, 1.0, 1 / 3)
_SHARES = (0.0, 0.5, 1.0)
_BOTH = (False, True)


def trace_of(stream: Stream) -> str:
    """Return the payments per step and the outcome of a random episode, as text.

    The format preserves the sign of zeros.
    """
    ledger = RewardLedger(
        stream.choice(list(Shaping)),
        stream.choice(list(RewardScale)),
        potential=stream.choice(_STARTS),
        at_end=stream.choice(_STARTS),
    )
    cases = {"A-1": stream.chance(0.5), "A-2": stream.chance(0.5)} if stream.chance(0.3) else {}
    rewards, end = enter_drawn_steps(ledger, stream, cases=cases)
    rewards.append(ledger.add_close() if stream.chance(0.5) else ledger.add_infrastructure_error())
    return repr((ledger.shaping.value, rewards, ledger.balance, end.value))


def outcome_cases() -> list[Outcome | None]:
    """Return the outcome after a step for every combination of conditions."""
    standings = [Standing(potential=0.0, damage=(), rejections=0, closed=closed) for closed in _BOTH]
    return [
        determine_outcome(
            met if is_ended_by_agent(standing, completion, finished=finished) else None, steps_left=steps_left
        )
        for standing in standings
        for met in _BOTH
        for completion in Completion
        for finished in _BOTH
        for steps_left in range(3)
    ]


def enter_drawn_steps(
    ledger: RewardLedger, stream: Stream, *, cases: Mapping[str, bool] = MappingProxyType({})
) -> tuple[list[float], Outcome]:
    """Add random steps to a ledger until the episode ends. `cases` are those of a shift."""
    rewards = []
    most = stream.integer(1, MAX_STEPS)
    rejections, damaged = 0, 0
    for step in range(most):
        own = stream.child("step", step)
        rejections += own.chance(0.1)
        damaged += own.chance(0.02)
        is_last = step == most - 1
        met = is_last and own.chance(0.5)
        damage = tuple(f"entity-{number}" for number in range(damaged))
        potential = own.choice(_POTENTIALS)
        at_end = potential * own.choice(_SHARES)
        verdict = Verdict(
            potential=potential - at_end,
            at_end=at_end,
            damage=damage,
            rejections=rejections,
            success=met and not damage,
            checks=(),
            cases=dict(cases),
        )
        finished = is_last and own.chance(0.8)
        end = determine_outcome(verdict.success if finished else None, steps_left=most - step - 1)
        share = verdict.solved_share if finished else 0.0
        rewards.append(ledger.add_step(own.choice(_KINDS), verdict, end, solved_share=share))
    assert end is not None
    return rewards, end
