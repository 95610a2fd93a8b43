"""Judges: what reads stored evidence again, found by the entry-point group `companyos.judges`."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import entry_points
from typing import Any, Protocol, cast

from companyos.contract import EpisodeVerdict
from companyos.extras import install_command

GROUP = "companyos.judges"
NAME = "companyos"


class RescorerUnavailableError(LookupError):
    """Raised where no installed package can judge."""

    def __init__(self) -> None:
        super().__init__(f"judging comes with the server: {install_command('server')}")


class InvalidEvidenceError(ValueError):
    """Raised for evidence that cannot be judged: it is damaged, or of a task that is another one now."""


class Rescorer(Protocol):
    """Judge stored evidence. Raises InvalidEvidenceError."""

    def __call__(self, stored: Mapping[str, Any], /) -> EpisodeVerdict:
        """Return what the rubric says now."""
        ...


def load_rescorer() -> Rescorer:
    """Return the judge of this release. Raises RescorerUnavailableError where the server is not installed."""
    matching = entry_points(group=GROUP, name=NAME)
    if not matching:
        raise RescorerUnavailableError
    return cast(Rescorer, next(iter(matching)).load())
