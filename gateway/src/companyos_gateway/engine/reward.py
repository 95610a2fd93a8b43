"""Rewards and outcome of an episode as pure functions of its standing and verdict."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from pydantic import ConfigDict

from companyos.contract import Completion, Outcome, RewardScale, Shaping
from companyos_gateway.evaluation import Standing

STEP_COST = 0.1
PROBLEM_COST = 0.3
INVALID_CALL_COST = 1.0
REJECTION_COST = 0.5
MAX_COSTS = 8.0
DAMAGE_COST = 2.0
MAX_DAMAGE = 4.0
SUCCESS_REWARD = 15.0
FAILURE_COST = 5.0
REWARD_BOUND = 25.0
"""Every reward is in [-REWARD_BOUND, REWARD_BOUND]; the unit scale divides by it."""

_DIGITS = 6


class StepKind(StrEnum):
    """Kind of a step, which determines its cost."""

    CARRIED_OUT = "carried_out"
    PROBLEM = "problem"
    INVALID_CALL = "invalid_call"
    PLANNED_FAULT = "planned_fault"


_EXTRA_COST = {
    StepKind.CARRIED_OUT: 0.0,
    StepKind.PROBLEM: PROBLEM_COST,
    StepKind.INVALID_CALL: INVALID_CALL_COST,
    StepKind.PLANNED_FAULT: 0.0,
}


def is_ended_by_agent(standing: Standing, completion: Completion, *, finished: bool) -> bool:
    """Return whether the agent has ended the episode.

    With automatic completion the closing act ends it, right or wrong. If the episode only ended when all checks
    pass, an agent could find the solution by trial and error.
    """
    return finished or (completion is Completion.AUTO and standing.closed)


def determine_outcome(success: bool | None, *, steps_left: int) -> Outcome | None:
    """Return the outcome after this step, or None if the episode continues.

    `success` is None unless the agent has ended the episode.
    """
    if success is not None:
        return Outcome.SUCCESS if success else Outcome.FAILED
    return Outcome.OUT_OF_STEPS if steps_left == 0 else None


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerBalance:
    """State of the reward ledger after a step."""

    __pydantic_config__ = ConfigDict(extra="forbid")

    potential: float
    costs: float
    damaged: tuple[str, ...]
    rejections: int
    return_: float


@dataclass(slots=True)
class RewardLedger:
    """Rewards paid so far; each step adds one entry.

    Costs are limited to MAX_COSTS and damage to MAX_DAMAGE per episode. Milestones are paid as differences of
    potential, so undoing one takes its reward back. `at_end` is the sum of the points of those milestones paid at the
    end that were reached at the start. With `shaping=potential` the last step returns the potential to
    its initial value, so milestones do not change the return (Ng, Harada and Russell 1999). With `shaping=none` only
    the last step has a reward, from -FAILURE_COST to REWARD_BOUND in proportion to the solved share.
    """

    shaping: Shaping = Shaping.MILESTONES
    scale: RewardScale = RewardScale.ORIGINAL
    potential: float = 0.0
    at_end: float = 0.0
    costs: float = 0.0
    damaged: frozenset[str] = frozenset()
    rejections: int = 0
    return_: float = 0.0
    _first_potential: float = field(init=False, default=0.0)

    def __post_init__(self) -> None:
        self.potential += self.at_end
        self._first_potential = self.potential

    @property
    def balance(self) -> LedgerBalance:
        """The current balance."""
        return LedgerBalance(
            potential=self.potential,
            costs=self.costs,
            damaged=tuple(sorted(self.damaged)),
            rejections=self.rejections,
            return_=self.return_,
        )

    def restore(self, balance: LedgerBalance) -> None:
        """Set the balance to a journaled one of the same episode."""
        self.potential = balance.potential
        self.costs = balance.costs
        self.damaged = frozenset(balance.damaged)
        self.rejections = balance.rejections
        self.return_ = balance.return_

    def add_step(self, kind: StepKind, standing: Standing, end: Outcome | None, *, solved_share: float = 0.0) -> float:
        """Add one step and return its reward in the ledger's scale.

        `solved_share` is the share of the task that is solved, in [0, 1]; 0 unless the agent has ended the episode.
        """
        if self.shaping is Shaping.NONE:
            return self._pay(0.0 if end is None else REWARD_BOUND * solved_share - FAILURE_COST * (1 - solved_share))
        value = -self._charge_cost(kind, standing) - self._charge_damage(standing) + self._gain_potential(standing, end)
        if end is not None:
            value += SUCCESS_REWARD * solved_share - FAILURE_COST * (1 - solved_share)
        return self._pay(value)

    def add_infrastructure_error(self) -> float:
        """Add a step that failed with an infrastructure error, which costs nothing, and return its reward."""
        return self._pay(self._refund_potential())

    def add_close(self) -> float:
        """Add the cost of an episode that is closed before its end, and return the reward."""
        return self._pay(self._refund_potential() - FAILURE_COST)

    def _refund_potential(self) -> float:
        if self.shaping is not Shaping.POTENTIAL:
            return 0.0
        owed, self.potential = self._first_potential - self.potential, self._first_potential
        return owed

    def _charge_cost(self, kind: StepKind, standing: Standing) -> float:
        cost = STEP_COST + _EXTRA_COST[kind] + REJECTION_COST * max(0, standing.rejections - self.rejections)
        self.rejections = max(self.rejections, standing.rejections)
        charged = min(cost, MAX_COSTS - self.costs)
        self.costs += charged
        return charged

    def _charge_damage(self, standing: Standing) -> float:
        before = min(MAX_DAMAGE, DAMAGE_COST * len(self.damaged))
        self.damaged |= frozenset(standing.damage)
        return min(MAX_DAMAGE, DAMAGE_COST * len(self.damaged)) - before

    def _gain_potential(self, standing: Standing, end: Outcome | None) -> float:
        is_refunded = end is not None and self.shaping is Shaping.POTENTIAL
        reached = standing.potential + (self.at_end if end is None else standing.at_end)
        after = self._first_potential if is_refunded else reached
        gained = after - self.potential
        self.potential = after
        return gained

    def _pay(self, value: float) -> float:
        bounded = max(-REWARD_BOUND, min(REWARD_BOUND, value))
        reward = bounded / REWARD_BOUND if self.scale is RewardScale.UNIT else bounded
        reward = round(reward, _DIGITS) + 0.0
        self.return_ = round(self.return_ + reward, _DIGITS)
        return reward
