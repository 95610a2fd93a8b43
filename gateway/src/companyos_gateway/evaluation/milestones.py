"""Milestones: intermediate progress that pays reward. `MILESTONE_KINDS` contains the points of each kind."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import NamedTuple

from companyos_gateway.evaluation.evidence import Evidence

MAX_MILESTONE_POINTS = 9.0
"""Maximum sum of the points of a task's milestones."""

IsReached = Callable[[Evidence], bool]


class MilestoneKind(NamedTuple):
    """Points that all milestones of a kind pay together in a task, and the condition as text.

    `at_end` is true if they are paid when the episode ends. This applies to states that an agent can undo: paid at
    once, the reward would tell it which of several values is right.
    """

    points: float
    text: str
    at_end: bool = False


MILESTONE_KINDS: Mapping[str, MilestoneKind] = MappingProxyType(
    {
        "priority": MilestoneKind(1.0, "The ticket has the priority that the policy requires.", at_end=True),
        "unblocked": MilestoneKind(
            1.0, "The blocking ticket no longer blocks, and was handled correctly.", at_end=True
        ),
        "verified": MilestoneKind(1.5, "The ticket is complete and verified."),
        "refreshed": MilestoneKind(1.0, "A stale metric was refreshed."),
        "fresh_value": MilestoneKind(0.5, "An active request states true and fresh values.", at_end=True),
        "submitted": MilestoneKind(2.0, "The requests that the task needs are valid.", at_end=True),
        "approved": MilestoneKind(3.0, "The requests that the task needs are approved."),
        "recorded": MilestoneKind(0.5, "The records were updated after the approval.", at_end=True),
        "entities": MilestoneKind(5.0, "Each of several entities has reached its goal.", at_end=True),
        "prepared": MilestoneKind(1.0, "The prerequisites of the request are met.", at_end=True),
        "figures_refreshed": MilestoneKind(3.0, "Each stale figure of a report was refreshed."),
        "reason_recorded": MilestoneKind(2.0, "The reason against a report is recorded, and was read before."),
        "declined": MilestoneKind(2.0, "The ticket is cancelled for a reason that was read before."),
        "quarter_declined": MilestoneKind(4.0, "A quarter is left open for a reason that was read before."),
        "stopped": MilestoneKind(1.0, "The invoice is stopped for a reason that was read before.", at_end=True),
        "reported": MilestoneKind(1.0, "The reason is reported, and was read before."),
    }
)


@dataclass(frozen=True, slots=True)
class Milestone:
    """Progress that pays `points` while it holds, or if it holds at the end of the episode."""

    id: str
    points: float
    is_reached: IsReached
    at_end: bool = False


def milestone(kind: str, is_reached: IsReached) -> Milestone:
    """Return the only milestone of a kind. Raises KeyError for a kind that is not in the table."""
    return Milestone(kind, MILESTONE_KINDS[kind].points, is_reached, MILESTONE_KINDS[kind].at_end)


def shared_milestones(kind: str, parts: Mapping[str, IsReached]) -> Iterator[Milestone]:
    """Yield a milestone for each part, by its id. The parts share the points of the kind equally."""
    points, _, at_end = MILESTONE_KINDS[kind]
    for milestone_id, is_reached in parts.items():
        yield Milestone(milestone_id, points / len(parts), is_reached, at_end)


def scale_milestones(milestones: Iterable[Milestone]) -> tuple[Milestone, ...]:
    """Return the milestones with points that sum to at most MAX_MILESTONE_POINTS.

    If they pay more together, all are scaled by the same factor. Points are rounded down to thousandths.
    """
    unscaled = tuple(milestones)
    factor = MAX_MILESTONE_POINTS / max(sum(one.points for one in unscaled), MAX_MILESTONE_POINTS)
    return tuple(replace(one, points=math.floor(round(one.points * factor * 1000, 6)) / 1000) for one in unscaled)
