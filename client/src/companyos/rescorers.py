"""Rescorers of stored evidence, found by the entry-point group `companyos.judges`."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import entry_points
from typing import Any, Protocol, cast

from companyos.contract import EpisodeVerdict
from companyos.extras import install_command

GROUP = "companyos.judges"
NAME = "companyos"


class RescorerUnavailableError(LookupError):
    """Raised if no installed package can rescore."""

    def __init__(self) -> None:
        super().__init__(f"rescoring requires the server: {install_command('server')}")


class InvalidEvidenceError(ValueError):
    """Raised for evidence that cannot be rescored: it is damaged, modified or unsigned, or its task has changed."""


class Rescorer(Protocol):
    """Function that rescores stored evidence. Raises InvalidEvidenceError."""

    def __call__(self, stored: Mapping[str, Any], /) -> EpisodeVerdict:
        """Return the current verdict of the rubric; with `is_over: false` in `stored`, of an episode that goes on."""
        ...


def load_rescorer() -> Rescorer:
    """Return the installed rescorer. Raises RescorerUnavailableError if the server is not installed."""
    matching = entry_points(group=GROUP, name=NAME)
    if not matching:
        raise RescorerUnavailableError
    return cast(Rescorer, next(iter(matching)).load())
