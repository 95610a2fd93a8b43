"""Logging settings from the environment."""

from __future__ import annotations

import logging
import re
import sys
from types import TracebackType
from typing import Annotated, Literal, TextIO

import structlog
from pydantic import BeforeValidator, Field
from pydantic_settings import BaseSettings, SettingsConfigDict
from structlog.typing import EventDict, Processor, WrappedLogger

from companyos_shared.telemetry.operation import current_op
from companyos_shared.telemetry.tracing import current_trace_id

Level = Literal["debug", "info", "warning", "error"]


class TelemetrySettings(BaseSettings):
    """Settings from COMPANYOS_LOG_* environment variables. The standard OTEL_* variables enable tracing."""

    model_config = SettingsConfigDict(env_prefix="COMPANYOS_", env_ignore_empty=True, frozen=True)

    log_format: Literal["json", "console"] | None = Field(
        None,
        description="`json` or `console` (readable text). Default: `console` if stderr is a terminal, else `json`.",
    )
    log_level: Annotated[Level, BeforeValidator(lambda text: text.lower() if isinstance(text, str) else text)] = Field(
        "info", description="Minimum level of logged events."
    )


_SERVER_LOGGERS = ("uvicorn", "uvicorn.access", "uvicorn.asgi", "uvicorn.error")
_OURS = "companyos"
_SECRET = re.compile(r"token|secret|password|authorization|service_key|signature", re.IGNORECASE)
_BEARER = re.compile(r"(?i)(bearer\s+)\S+")
_HIDDEN = "***"
_NOISE = ("color_message",)
_FIRST = ("at", "level", "process", "event")
_HANDSHAKE = '%s - "WebSocket %s"'
"""Start of uvicorn's handshake messages, which contain full URLs and are logged for each connection."""


def configure_logging(
    process: str, settings: TelemetrySettings | None = None, *, stream: TextIO | None = None, quiet_server: bool = False
) -> None:
    """Write all log records of this process to `stream` (default: standard error) with process name and step.

    With `quiet_server` the web server does not log its start and shutdown.
    """
    settings = settings or TelemetrySettings()
    stream = stream or sys.stderr
    is_terminal = stream.isatty()
    as_json = settings.log_format == "json" or (settings.log_format is None and not is_terminal)
    handler = logging.StreamHandler(stream)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=_context_processors(process),
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                *(_json() if as_json else _console(colours=is_terminal)),
            ],
        )
    )
    handler.addFilter(_is_logged)
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(settings.log_level.upper())
    for name in _SERVER_LOGGERS:
        logger = logging.getLogger(name)
        logger.handlers.clear()
        logger.propagate = True
        logger.setLevel(logging.WARNING if quiet_server else max(logging.INFO, root.level))
    logging.captureWarnings(True)
    sys.excepthook = _log_uncaught


def _context_processors(process: str) -> list[Processor]:
    def add_process(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
        event["process"] = process
        return event

    return [
        add_process,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.stdlib.ExtraAdder(),
        _add_operation,
        _without_secrets,
        structlog.processors.TimeStamper(fmt="iso", utc=True, key="at"),
    ]


def _add_operation(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    op = current_op()
    trace = current_trace_id() or (op.trace_id if op else None)
    if op is not None:
        event.update(episode=op.episode, epoch=op.epoch, step=op.step)
    if trace is not None:
        event["trace"] = trace
    return event


def _without_secrets(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    for name in [name for name in event if _SECRET.search(name)]:
        event[name] = _HIDDEN
    for name in _NOISE:
        event.pop(name, None)
    event["event"] = _BEARER.sub(rf"\1{_HIDDEN}", str(event["event"]))
    return event


def _json() -> list[Processor]:
    return [structlog.processors.format_exc_info, _in_order, structlog.processors.JSONRenderer(default=str)]


def _in_order(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    return {name: event[name] for name in (*_FIRST, *event) if name in event}


def _console(*, colours: bool) -> list[Processor]:
    return [
        structlog.dev.ConsoleRenderer(
            colors=colours, timestamp_key="at", exception_formatter=structlog.dev.plain_traceback
        )
    ]


def _is_logged(record: logging.LogRecord) -> bool:
    """Return whether to log a record: drop third-party records below INFO and WebSocket handshakes."""
    if record.levelno < logging.INFO:
        return record.name.startswith(_OURS)
    return not (record.levelno == logging.INFO and str(record.msg).startswith(_HANDSHAKE))


def _log_uncaught(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    if issubclass(kind, KeyboardInterrupt):
        sys.__excepthook__(kind, error, trace)
    else:
        logging.getLogger(_OURS).critical("uncaught exception", exc_info=(kind, error, trace))
