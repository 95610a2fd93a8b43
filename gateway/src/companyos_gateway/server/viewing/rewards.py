"""A reward by part: what the balances before and after a step say that it was paid for."""

from __future__ import annotations

from companyos.contract import RewardScale, Shaping
from companyos.viewer import RewardPart
from companyos_gateway.episode.outcome import DAMAGE_COST, MOST_DAMAGE, REWARD_BOUND, Balance

_DIGITS = 6
_ROUNDED = 1e-5
"""What is left of a reward by rounding alone."""


def reward_parts(
    reward: float, before: Balance, after: Balance, *, shaping: Shaping, scale: RewardScale
) -> list[RewardPart]:
    """Return the parts of a reward; they sum to it, and what is neither milestone, cost nor damage is the end's."""
    if shaping is Shaping.NONE:
        return [RewardPart(part="end", paid=reward)] if reward else []
    unit = 1 / REWARD_BOUND if scale is RewardScale.UNIT else 1.0
    is_rejected = after.rejections > before.rejections
    paid = {
        "milestones": after.potential - before.potential,
        "rejection and cost of the step" if is_rejected else "cost of the step": before.costs - after.costs,
        "damage": _damage(before) - _damage(after),
    }
    parts = {part: round(value * unit, _DIGITS) for part, value in paid.items()}
    rest = round(reward - sum(parts.values()), _DIGITS)
    parts["end"] = rest if abs(rest) > _ROUNDED else 0.0
    return [RewardPart(part=part, paid=value) for part, value in parts.items() if value]


def _damage(balance: Balance) -> float:
    return min(MOST_DAMAGE, DAMAGE_COST * len(balance.damaged))
