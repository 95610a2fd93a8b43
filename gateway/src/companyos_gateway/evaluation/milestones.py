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
    """Points that all milestones of a kind pay together in a task, and the condition as text."""

    points: float
    text: str


MILESTONE_KINDS: Mapping[str, MilestoneKind] = MappingProxyType(
    {
        "priority": MilestoneKind(1.0, "The ticket has the priority that the policy requires."),
        "unblocked": MilestoneKind(1.0, "The blocking ticket no longer blocks, and was handled correctly."),
        "verified": MilestoneKind(1.5, "The ticket is complete and verified."),
        "refreshed": MilestoneKind(1.0, "A stale metric was refreshed."),
        "fresh_value": MilestoneKind(0.5, "An active request states true and fresh values."),
        "submitted": MilestoneKind(2.0, "The requests that the task needs are valid."),
        "approved": MilestoneKind(3.0, "The requests that the task needs are approved."),
        "recorded": MilestoneKind(0.5, "The records were updated after the approval."),
        "entities": MilestoneKind(5.0, "Each of several entities has reached its goal."),
        "prepared": MilestoneKind(1.0, "The prerequisites of the request are met."),
        "figures_refreshed": MilestoneKind(3.0, "Each stale figure of a report was refreshed."),
        "reason_recorded": MilestoneKind(2.0, "The reason against a report is recorded, and was read before."),
        "declined": MilestoneKind(2.0, "The ticket is cancelled for a reason that was read before."),
        "quarter_declined": MilestoneKind(4.0, "A quarter is left open for a reason that was read before."),
        "stopped": MilestoneKind(1.0, "The invoice is stopped for a reason that was read before."),
        "reported": MilestoneKind(1.0, "The reason is reported, and was read before."),
    }
)


@dataclass(frozen=True, slots=True)
class Milestone:
    """Progress that pays `points` while it holds."""

    id: str
    points: float
    is_reached: IsReached


def milestone(kind: str, is_reached: IsReached) -> Milestone:
    """Return the only milestone of a kind. Raises KeyError for a kind that is not in the table."""
    return Milestone(kind, MILESTONE_KINDS[kind].points, is_reached)


def shared_milestones(kind: str, parts: Mapping[str, IsReached]) -> Iterator[Milestone]:
    """Yield a milestone for each part, by its id. The parts share the points of the kind equally."""
    for milestone_id, is_reached in parts.items():
        yield Milestone(milestone_id, MILESTONE_KINDS[kind].points / len(parts), is_reached)


def scale_milestones(milestones: Iterable[Milestone]) -> tuple[Milestone, ...]:
    """Return the milestones with points that sum to at most MAX_MILESTONE_POINTS.

    If they pay more together, all are scaled by the same factor. Points are rounded down to thousandths.
    """
    unscaled = tuple(milestones)
    factor = MAX_MILESTONE_POINTS / max(sum(one.points for one in unscaled), MAX_MILESTONE_POINTS)
    return tuple(replace(one, points=math.floor(round(one.points * factor * 1000, 6)) / 1000) for one in unscaled)
