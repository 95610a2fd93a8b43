"""What a run says, policy by policy and level by level; every figure is the runner's own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from companyos.contract import EpisodeRecord
from companyos.runner.statistics import Summary, has_side_effects, summarise


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One line of the table: a policy at one level, or at all of them."""

    policy: str
    level: int | None
    summary: Summary
    side_effects: int | None
    """Episodes with some; None where no episode kept its verdict."""
    judged: int
    """Episodes that kept their verdict."""


def rows_of(records: Sequence[EpisodeRecord]) -> list[Row]:
    """Return for each policy a line of all its episodes, and one of each level where there are several."""
    rows = []
    for policy in dict.fromkeys(record.policy for record in records):
        own = [record for record in records if record.policy == policy]
        levels = sorted({record.chaos for record in own})
        rows.append(_row(policy, None if len(levels) > 1 else levels[0], own))
        if len(levels) > 1:
            rows += [_row(policy, level, [one for one in own if one.chaos == level]) for level in levels]
    return rows


def _row(policy: str, level: int | None, records: Sequence[EpisodeRecord]) -> Row:
    told = [found for found in map(has_side_effects, records) if found is not None]
    return Row(
        policy=policy,
        level=level,
        summary=summarise(records),
        side_effects=sum(told) if told else None,
        judged=len(told),
    )
