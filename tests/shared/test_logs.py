"""Logging: fields of each line and removal of secrets."""

from __future__ import annotations

import io
import json
import logging
import subprocess
import sys
from collections.abc import Iterator

import pytest
from pydantic import ValidationError

from companyos_shared.telemetry.logs import TelemetrySettings, configure_logging
from companyos_shared.telemetry.operation import Operation, OperationScope, current_op
from tests.shared.captured_log import Log, keeping_logging

log = logging.getLogger("companyos.test")


@pytest.fixture(autouse=True)
def logging_as_it_was() -> Iterator[None]:
    with keeping_logging():
        yield


def test_without_a_terminal_a_log_line_is_json() -> None:
    written = Log()
    log.warning("the window of %s is open", "room 3", extra={"room": 3})
    (line,) = written.lines
    assert (line["event"], line["room"]) == ("the window of room 3 is open", 3)
    assert (line["process"], line["level"], line["logger"]) == ("desk", "warning", "companyos.test")
    assert line["at"].endswith("Z")


def test_a_log_line_inside_an_operation_names_episode_step_and_trace() -> None:
    written = Log()
    with OperationScope("n1-ab", 2, 7):
        log.info("inside")
    log.info("outside")
    inside, outside = written.lines
    assert (inside["episode"], inside["epoch"], inside["step"]) == ("n1-ab", 2, 7)
    assert inside["trace"] == Operation("n1-ab", 2, 7).trace_id
    assert not {"episode", "step", "trace"} & set(outside)


def test_the_trace_id_of_a_step_is_unique_and_reproducible() -> None:
    ids = {Operation(episode, epoch, step).trace_id for episode in "ab" for epoch in (1, 2) for step in (0, 1)}
    assert len(ids) == 8
    assert all(len(trace) == 32 and int(trace, 16) for trace in ids)
    assert Operation("a", 1, 0).trace_id == Operation("a", 1, 0).trace_id


def test_operations_can_be_nested() -> None:
    with OperationScope("a", 1, 1):
        with OperationScope("b", 1, 2) as inner:
            assert current_op() == inner
        assert current_op() == Operation("a", 1, 1)
    assert current_op() is None


def test_an_error_is_one_line_of_json_with_its_traceback() -> None:
    written = Log()
    try:
        raise ValueError("no window")
    except ValueError:
        log.exception("failed")
    (line,) = written.lines
    assert (line["event"], line["level"]) == ("failed", "error")
    assert "ValueError: no window" in line["exception"]


@pytest.mark.parametrize("form", ["json", "console"])
def test_a_traceback_does_not_show_values_of_variables(form: str) -> None:
    written = Log(log_format=form)
    password = "sesame" * 3
    try:
        raise ValueError(len(password))
    except ValueError:
        log.exception("failed")
    assert "ValueError: 18" in written.stream.getvalue()
    assert password not in written.stream.getvalue()


def test_secrets_are_not_logged() -> None:
    written = Log()
    log.warning("came with Authorization: Bearer abc.def-123", extra={"trainer_token": "abc.def-123", "client": "x"})
    assert "abc.def-123" not in written.stream.getvalue()
    assert written.lines[0]["client"] == "x"


def test_the_console_format_is_readable() -> None:
    written = Log(log_format="console")
    log.info("the window is open", extra={"room": 3})
    assert "the window is open" in written.stream.getvalue()
    assert "room=3" in written.stream.getvalue()
    assert not written.stream.getvalue().startswith("{")


def test_the_log_level_applies_to_all_loggers() -> None:
    written = Log(log_level="WARNING")
    log.info("small talk")
    logging.getLogger("uvicorn.error").info("Started server process [1]")
    logging.getLogger("uvicorn.error").warning("a header that is none")
    assert [line["event"] for line in written.lines] == ["a header that is none"]


def test_debug_level_applies_to_our_loggers_only() -> None:
    written = Log(log_level="debug")
    log.debug("ours")
    logging.getLogger("websockets").debug("> TEXT with everything that was sent")
    assert [line["event"] for line in written.lines] == ["ours"]


def test_websocket_handshakes_are_not_logged() -> None:
    written = Log()
    server = logging.getLogger("uvicorn.error")
    server.info('%s - "WebSocket %s" [accepted]', "127.0.0.1:1", "/ws?token=abc")
    server.info("Started server process [%d]", 1, extra={"color_message": "Started [\x1b[36m%d]"})
    (line,) = written.lines
    assert line["event"] == "Started server process [1]"
    assert "color_message" not in line


def test_a_quiet_server_logs_no_startup_messages() -> None:
    stream = io.StringIO()
    configure_logging("desk", TelemetrySettings(), stream=stream, quiet_server=True)
    logging.getLogger("uvicorn.error").info("Application startup complete.")
    log.info("ours")
    assert [json.loads(line)["event"] for line in stream.getvalue().splitlines()] == ["ours"]


@pytest.mark.parametrize("setting", [{"log_level": "loud"}, {"log_format": "xml"}])
def test_an_invalid_setting_is_rejected(setting: dict[str, str]) -> None:
    with pytest.raises(ValidationError):
        TelemetrySettings(**setting)  # type: ignore[arg-type]


def test_uncaught_exceptions_and_warnings_are_logged() -> None:
    program = (
        "import warnings; from companyos_shared.telemetry.logs import configure_logging; configure_logging('desk');"
        "warnings.warn('old'); raise RuntimeError('the end')"
    )
    ended = subprocess.run(
        [sys.executable, "-W", "default", "-c", program], capture_output=True, text=True, check=False
    )
    lines = [json.loads(line) for line in ended.stderr.splitlines()]
    assert [line["level"] for line in lines] == ["warning", "critical"]
    assert "RuntimeError: the end" in lines[1]["exception"]
    assert ended.returncode == 1
