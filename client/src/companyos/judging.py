"""Judges: what reads stored evidence again, found by the entry-point group `companyos.judges`."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import entry_points
from typing import Any, Protocol, cast

from companyos.contract import EpisodeVerdict
from companyos.extras import installing

GROUP = "companyos.judges"
NAME = "companyos"


class NoJudge(LookupError):
    """Raised where no installed package can judge."""

    def __init__(self) -> None:
        super().__init__(f"judging comes with the server: {installing('server')}")


class UnfitEvidence(ValueError):
    """Raised for evidence that cannot be judged: it is damaged, or of a task that is another one now."""


class Judge(Protocol):
    """Judge stored evidence. Raises UnfitEvidence."""

    def __call__(self, stored: Mapping[str, Any], /) -> EpisodeVerdict:
        """Return what the rubric says now."""
        ...


def load_judge() -> Judge:
    """Return the judge of this release. Raises NoJudge where the server is not installed."""
    found = entry_points(group=GROUP, name=NAME)
    if not found:
        raise NoJudge
    return cast(Judge, next(iter(found)).load())
