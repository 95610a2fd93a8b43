"""In-memory log for tests, and restoration of the logging configuration."""

from __future__ import annotations

import io
import json
import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from companyos_shared.telemetry.logs import TelemetrySettings, configure_logging

_NAMED = ("", "uvicorn", "uvicorn.access", "uvicorn.asgi", "uvicorn.error")


class Log:
    """A configured log and its output."""

    def __init__(self, **settings: Any) -> None:
        self.stream = io.StringIO()
        configure_logging("desk", TelemetrySettings(**settings), stream=self.stream)

    @property
    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.stream.getvalue().splitlines()]


@contextmanager
def keeping_logging() -> Iterator[None]:
    """Restore the logging configuration on exit."""
    named = [logging.getLogger(name) for name in _NAMED]
    before = [(logger, logger.handlers[:], logger.level, logger.propagate) for logger in named]
    hook = sys.excepthook
    try:
        yield
    finally:
        for logger, handlers, level, propagate in before:
            logger.handlers[:] = handlers
            logger.setLevel(level)
            logger.propagate = propagate
        logging.captureWarnings(False)
        sys.excepthook = hook
