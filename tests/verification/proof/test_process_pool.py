"""The crew: whoever takes jobs leaves when nobody waits for them any more."""

from __future__ import annotations

import multiprocessing
import queue
from types import SimpleNamespace
from typing import Any

import pytest

from verification.proof import process_pool


class _Jobs:
    """A queue that is empty for a while."""

    def __init__(self, empty: int, then: Any) -> None:
        self._empty = empty
        self._then = then

    def get(self, timeout: float) -> Any:
        assert timeout > 0
        self._empty -= 1
        if self._empty >= 0:
            raise queue.Empty
        return self._then


def test_one_of_the_crew_waits_as_long_as_somebody_wants_its_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(multiprocessing, "parent_process", lambda: SimpleNamespace(is_alive=lambda: True))
    found: Any = process_pool._next_job(_Jobs(3, "a job"))
    assert found == "a job"
    assert process_pool._next_job(_Jobs(0, None)) is None


def test_one_of_the_crew_ends_when_who_started_it_was_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    lives = iter([True, True, False])
    monkeypatch.setattr(multiprocessing, "parent_process", lambda: SimpleNamespace(is_alive=lambda: next(lives)))
    assert process_pool._next_job(_Jobs(1_000, "a job")) is None
