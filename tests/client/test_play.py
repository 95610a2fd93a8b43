"""`companyos play`: typed input becomes steps, output is readable, and the run is stored like any other."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from typer.testing import CliRunner

from companyos.cli.main import app
from companyos.cli.parse_args import InvalidInputError, parse_arguments, parse_value
from companyos.cli.terminal import INTERRUPTED, OUT
from companyos.cli.tool_output import render_step_result
from companyos.runner import read_records
from tests.client.builders import a_step
from tests.client.test_up import signal_enabled

pytestmark = pytest.mark.integration

RUNNER = CliRunner()
WAIT_S = 30
AGAIN_S = 5
SCHEMA = {
    "type": "object",
    "required": ["key", "to"],
    "properties": {
        "key": {"type": "string"},
        "to": {"type": "string", "enum": ["open", "in_progress", "in_review", "closed"]},
        "version": {"type": "integer"},
        "days": {"type": "number"},
        "urgent": {"type": "boolean"},
        "tags": {"type": "array", "items": {"type": "string"}},
        "fields": {"type": "object"},
    },
}


def played(url: str, out: Path, *lines: str, code: int = 0) -> str:
    """Play with typed lines and return the output."""
    request = ["play", "--scenario", "tiny", "--seed", "3", "--url", url, "--out", str(out)]
    answered = RUNNER.invoke(app, request, input="\n".join(lines) + "\n")
    assert answered.exit_code == code, answered.output
    assert "Traceback" not in answered.output
    return answered.output


def test_an_episode_is_played_to_its_end_and_scored(tiny_url: str, tmp_path: Path) -> None:
    reported = played(tiny_url, tmp_path, "# a script", "", "add 1", 'add {"amount": 2}', "add 1")
    assert "Add up to the number of T-1." in reported
    assert "success after 2 steps, return +14.90" in reported
    assert "18 steps left" not in reported
    [record] = read_records(tmp_path)
    assert (record.policy, record.success, record.steps) == ("person", True, 2)


def test_the_run_opens_in_the_viewer(tiny_url: str, tmp_path: Path) -> None:
    played(tiny_url, tmp_path, "add 3")
    shown = RUNNER.invoke(app, ["view", str(tmp_path), "--terminal", "--episode", "person", "--step", "1"])
    assert shown.exit_code == 0, shown.output
    assert '"amount": 3' in shown.output


def test_without_a_terminal_an_incomplete_line_is_an_error_and_no_step(tiny_url: str, tmp_path: Path) -> None:
    reported = played(tiny_url, tmp_path, "add", "2", "add ?", "add 3")
    assert "'2' matches no tool" in reported
    assert "add needs amount; without a terminal, nothing is prompted for" in reported
    assert "add ? prompts for the arguments, which needs a terminal" in reported
    assert "success after 1 step," in reported


def test_a_prompt_at_a_terminal_repeats_until_the_value_is_valid_and_can_be_cancelled(
    tiny_url: str, tmp_path: Path
) -> None:
    request = ["play", "--scenario", "tiny", "--seed", "3", "--url", tiny_url, "--out", str(tmp_path)]
    terminal = Terminal(sys.executable, "-m", "companyos", *request)
    try:
        for keys, answer in [("", "not called: amount is required"), ("\x04", "not called"), ("many", "got 'many'")]:
            terminal.wait_for("> ")
            terminal.type("add\r")
            terminal.wait_for("Enter cancels the call")
            terminal.wait_for("amount: ")
            terminal.type(keys if keys == "\x04" else f"{keys}\r")
            terminal.wait_for(answer)
        terminal.wait_for("amount: ")
        terminal.type("3\r")
        terminal.wait_for("companyos view")
    except BaseException:
        terminal.process.kill()
        raise
    finally:
        terminal.close()
    assert [(record.steps, record.success) for record in read_records(tmp_path)] == [(1, True)]


def test_the_end_of_the_input_gives_up_the_episode(tiny_url: str, tmp_path: Path) -> None:
    reported = played(
        tiny_url, tmp_path, "tools", "tools add", "help", "brief", "nothing", "add x", "add 1 2", "last", "pages"
    )
    assert "the episode is abandoned" in reported
    assert "'nothing' matches no tool" in reported
    assert "must be a whole number; got 'x'" in reported
    assert "too many arguments: '2'" in reported
    assert "/v1/episodes/tiny-3-1/apps" in reported
    assert "failed after 1 step," in reported


def test_a_cancelled_episode_is_stored_and_a_rejected_reset_is_reported(tiny_url: str, tmp_path: Path) -> None:
    answered = RUNNER.invoke(
        app, ["play", "--scenario", "tiny", "--url", tiny_url, "--out", str(tmp_path)], input="add 1\nquit\n"
    )
    assert answered.exit_code == 0
    assert read_records(tmp_path)[0].outcome == "failed"
    refused = RUNNER.invoke(app, ["play", "--scenario", "none", "--url", tiny_url, "--out", str(tmp_path / "b")])
    assert refused.exit_code == 2
    assert "unknown-scenario" in refused.output
    assert not (tmp_path / "b").exists()


def test_a_task_determines_its_scenario(tiny_url: str, tmp_path: Path) -> None:
    request = ["play", "--task", "test.tiny.2.00", "--url", tiny_url, "--out", str(tmp_path)]
    assert RUNNER.invoke(app, request, input="add 3\n").exit_code == 0
    assert read_records(tmp_path)[0].task_id == "test.tiny.2.00"
    assert RUNNER.invoke(app, [*request, "--seed", "3"]).exit_code == 2
    assert RUNNER.invoke(app, ["play", "--task", "tiny"]).exit_code == 2


def test_a_stored_run_is_not_overwritten_and_the_error_names_a_supported_option(tiny_url: str, tmp_path: Path) -> None:
    played(tiny_url, tmp_path, "add 3")
    kept = (tmp_path / "episodes.jsonl").read_bytes()
    reported = played("http://127.0.0.1:9", tmp_path, "add 1", code=2)
    assert "already contains a run of 1 episode: choose another folder with --out" in " ".join(reported.split())
    assert (tmp_path / "episodes.jsonl").read_bytes() == kept


class Terminal:
    """A pseudo-terminal that runs a command."""

    def __init__(self, *command: str) -> None:
        self._ours, theirs = pty.openpty()
        environment = {**os.environ, "TERM": "xterm", "COLUMNS": "100"}
        with signal_enabled(signal.SIGINT):
            self.process = subprocess.Popen(
                command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment, start_new_session=True
            )
        os.close(theirs)
        self._poll = select.poll()  # `select.select` accepts no descriptors above 1023
        self._poll.register(self._ours, select.POLLIN)
        self.reported = ""
        self._read = 0

    def type(self, keys: str) -> None:
        os.write(self._ours, keys.encode())

    def wait_for(self, expected: str) -> None:
        """Read until the expected text appears after the text that was already matched."""
        while (found := self.reported.find(expected, self._read)) < 0:
            assert self._poll.poll(1000 * WAIT_S), self.reported
            self.reported += os.read(self._ours, 65536).decode()
        self._read = found + len(expected)

    def interrupt(self) -> None:
        """Press Ctrl-C, and again if there is no reaction: readline loses one between its prompt and its wait."""
        for _ in range(WAIT_S // AGAIN_S):
            self.process.send_signal(signal.SIGINT)
            while self._poll.poll(1000 * AGAIN_S):
                self.reported += os.read(self._ours, 65536).decode()
                if _has_words(self.reported[self._read :]):
                    return

    def close(self) -> int:
        """Wait until the command ends and return its exit status."""
        status = self.process.wait(WAIT_S)
        os.close(self._ours)
        return status


def _has_words(reported: str) -> bool:
    """Return whether the terminal shows more than cursor positions and the pressed key."""
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|\^C|\s", "", reported) != ""


def test_ctrl_c_twice_at_a_terminal_gives_up_the_episode_and_stores_it(tiny_url: str, tmp_path: Path) -> None:
    request = ["play", "--scenario", "tiny", "--url", tiny_url, "--out", str(tmp_path)]
    terminal = Terminal(sys.executable, "-m", "companyos", *request)
    try:
        terminal.wait_for("> ")
        terminal.type("ad")
        terminal.wait_for("ad")
        terminal.interrupt()
        terminal.wait_for("Ctrl-C again abandons the episode")
        terminal.wait_for("> ")
        terminal.type("ad\t 1\r")
        terminal.wait_for("19 steps left")
        terminal.wait_for("> ")
        terminal.interrupt()
        terminal.wait_for("Ctrl-C again abandons the episode")
        terminal.wait_for("> ")
        terminal.interrupt()
        terminal.wait_for("companyos view")
    except BaseException:
        terminal.process.kill()
        raise
    finally:
        status = terminal.close()
    assert status == INTERRUPTED
    assert "Traceback" not in terminal.reported
    assert read_records(tmp_path)[0].steps == 2


@pytest.mark.parametrize(
    ("typed", "read"),
    [
        ("", {}),
        ("OPS-1 closed", {"key": "OPS-1", "to": "closed"}),
        ('to=op key="OPS 1"', {"to": "open", "key": "OPS 1"}),
        ("version=2 days=1.5 urgent=y", {"version": 2, "days": 1.5, "urgent": True}),
        ("tags=a,b", {"tags": ["a", "b"]}),
        ("fields.cost=12 fields.deep.name=x", {"fields": {"cost": 12, "deep": {"name": "x"}}}),
        ("fields=cost=12", {"fields": {"cost": 12}}),
        ('{"anything": [1]}', {"anything": [1]}),
        ("it's", {"key": "it's"}),
        ('"other=1"', {"key": "other=1"}),
    ],
)
def test_typed_text_is_parsed_as_arguments(typed: str, read: dict[str, Any]) -> None:
    assert parse_arguments(SCHEMA, typed) == read


@pytest.mark.parametrize(
    "typed",
    [
        "to=in_",
        "to=",
        "version=1.5",
        "urgent=maybe",
        'key="open',
        "{",
        "version=x",
        '{"a": 1',
        "a b c d e f g h",
        "tags=1 fields=x",
    ],
)
def test_invalid_input_is_rejected(typed: str) -> None:
    with pytest.raises(InvalidInputError):
        parse_arguments(SCHEMA, typed)


@pytest.mark.parametrize(
    ("typed", "reason"),
    [
        ("ky=OPS-8", "unknown argument ky; accepted: key, to, version, days, urgent, tags, fields"),
        ("OPS-8 to=gone", "to must be one of open, in_progress, in_review, closed; got 'gone'"),
        ("OPS-8 open many", "version must be a whole number; got 'many'"),
        ("fields=high", "fields must be name=value pairs or a JSON object; got 'high'"),
        ("{", "the arguments must be valid JSON: "),
    ],
)
def test_an_error_names_its_argument(typed: str, reason: str) -> None:
    with pytest.raises(InvalidInputError, match=re.escape(reason)):
        parse_arguments(SCHEMA, typed)


def test_a_quoted_word_and_the_fields_of_an_object_may_contain_other_names() -> None:
    assert parse_arguments(SCHEMA, ' "ky=OPS-8"  to=open') == {"key": "ky=OPS-8", "to": "open"}
    only_fields = {"properties": {"fields": {"type": "object"}}}
    assert parse_arguments(only_fields, "size=3") == {"fields": {"size": 3}}


def test_an_object_and_a_list_may_be_typed_as_json() -> None:
    assert parse_value({"type": "object"}, '{"a": 1}') == {"a": 1}
    assert parse_value({"type": "array", "items": {"type": "integer"}}, "[1, 2]") == [1, 2]
    with pytest.raises(InvalidInputError):
        parse_value({"type": "object"}, "[1]x")


def rendered(**step: Any) -> str:
    out = StringIO()
    Console(file=out, width=100).print(render_step_result(a_step(**step)))
    return out.getvalue()


def test_a_list_is_printed_as_a_table_with_nested_values() -> None:
    rows = [{"id": f"E-{n}", "person": {"name": "Ann"}, "nothing": None, "tags": ["a", "b"]} for n in range(2)]
    reported = rendered(result={"items": rows, "total": 9, "next_cursor": "abc"})
    assert "person.name" in reported
    assert "nothing" not in reported
    assert "a, b" in reported
    assert "2 of 9, next page with cursor=abc" in reported


def test_rows_too_wide_for_a_table_are_printed_vertically() -> None:
    reported = rendered(result={"items": [{f"column_{n}": "x" * 30 for n in range(9)}]})
    assert all(f"column_{n}" in reported for n in range(9))
    reported = rendered(result={"items": [{f"column_{n}": "x" * 30 for n in range(9)}] * 60, "total": 60})
    assert "columns not shown: column_" in reported
    assert "... 10 more" in reported


def test_an_object_without_fields_among_wide_rows_is_an_empty_line() -> None:
    assert "column_8" in rendered(result=[{f"column_{n}": "x" * 30 for n in range(9)}, {}])


def test_a_nested_list_that_is_too_wide_beside_its_name_is_printed_vertically(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(OUT, "width", 100)
    items = [{"id": f"item-{n}", "text": "x" * 40, "note": "y" * 39} for n in range(3)]
    assert "item-0  xxx" in rendered(result={"items": items})
    assert "item-0  xxx" not in (nested := rendered(result={"key": "OPS-1", "checklist": items}))
    assert all(value in nested for item in items for value in item.values())


def test_an_error_response_is_printed_in_full_without_control_characters() -> None:
    problem = {
        "title": "Locked",
        "status": 409,
        "code": "ticket-locked",
        "detail": "Since \x1b[31mnoon[bold].",
        "errors": [{"loc": "body.title", "msg": "too long"}],
    }
    reported = rendered(result=problem)
    assert "409 Locked ticket-locked" in reported
    assert "[bold]" in reported
    assert "\x1b" not in reported
    assert "too long" in reported
    assert "invalid_args" in rendered(result=None, error="invalid_args")


def test_responses_of_every_shape_are_printed() -> None:
    shapes: list[Any] = [None, [], {}, "text", 3, True, [1, 2], {"items": []}, {"a": {"b": {"c": {"d": {"e": [1]}}}}}]
    assert all(rendered(result=json.loads(json.dumps(shape))).strip() for shape in shapes)
