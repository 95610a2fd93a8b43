"""The tracks of the leaderboard: the test tasks that a submission plays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

SPLIT: Final = "test"


@dataclass(frozen=True, kw_only=True)
class Track:
    """A selection of tasks of the test split, each played `trials` times."""

    name: str
    summary: str
    tasks: int
    scenario: str | None = None
    levels: tuple[int, ...] = ()
    """Chaos levels; all if empty."""
    trials: int = 1


TRACKS: dict[str, Track] = {
    track.name: track
    for track in (
        Track(name="single", summary="single tasks of all scenarios at levels 0 to 4", tasks=200),
        Track(
            name="month-storm",
            summary="shifts of twelve cases at level 4",
            tasks=8,
            scenario="shift-month",
            levels=(4,),
        ),
    )
}
