"""Worker processes of the proof: they exit when their parent has gone."""

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


def test_a_worker_waits_while_its_parent_is_alive(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(multiprocessing, "parent_process", lambda: SimpleNamespace(is_alive=lambda: True))
    found: Any = process_pool._next_job(_Jobs(3, "a job"))
    assert found == "a job"
    assert process_pool._next_job(_Jobs(0, None)) is None


def test_a_worker_exits_when_its_parent_was_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    lives = iter([True, True, False])
    monkeypatch.setattr(multiprocessing, "parent_process", lambda: SimpleNamespace(is_alive=lambda: next(lives)))
    assert process_pool._next_job(_Jobs(1_000, "a job")) is None
