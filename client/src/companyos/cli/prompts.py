"""Reads input lines from a terminal, with history and completion, or from a pipe."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from companyos.cli.parse_args import InvalidInputError, parse_value
from companyos.cli.terminal import OUT, sanitize
from companyos.cli.tools import describe_type

if TYPE_CHECKING:
    from companyos.contract import ToolSpec


CompletionSource = Callable[[], Iterable[str]]


class LineReader:
    """Reader of standard input lines; `words` returns the completions of a line.

    Empty lines and lines that begin with # are skipped in piped input; other lines are echoed.
    """

    def __init__(self, completions: CompletionSource) -> None:
        self.can_prompt = sys.stdin.isatty()
        self.is_interactive = self.can_prompt and sys.stdout.isatty()
        self._completions = completions
        if self.is_interactive:
            with suppress(ImportError):
                self._enable_completion()

    def command(self, prompt: str) -> str:
        """Return the next line that is not empty. Raises EOFError at the end, KeyboardInterrupt on Ctrl-C."""
        while True:
            line = self.line(prompt).strip()
            if line and not line.startswith("#"):
                return line

    def line(self, prompt: str) -> str:
        """Return the next line, empty or not; raises like `command`."""
        if self.is_interactive:
            return input(prompt)
        line = sys.stdin.readline()
        if not line:
            raise EOFError
        text = line.rstrip("\r\n")
        OUT.print(prompt + text, style="dim", markup=False, soft_wrap=True)
        return text

    def _enable_completion(self) -> None:
        import readline

        readline.set_completer(self._complete_word)
        readline.set_completer_delims(" =,")
        readline.parse_and_bind("tab: complete")

    def _complete_word(self, prefix: str, number: int) -> str | None:
        matches = sorted({word for word in self._completions() if word.startswith(prefix)})
        return matches[number] if number < len(matches) else None


_RARE_ARGUMENTS = frozenset({"if_match", "idempotency_key", "limit", "cursor"})
"""Optional arguments that are prompted for only in full prompts."""


def prompt_arguments(
    lines: LineReader, tool: ToolSpec, provided: Mapping[str, Any], *, everything: bool = False
) -> dict[str, Any]:
    """Return the arguments of a call: those of the line, and those entered at prompts.

    Raises the errors of `LineReader.line`, and InvalidInputError if a required argument is left empty, or is missing
    without a terminal. Invalid input is prompted for again.
    """
    schema, arguments = tool.input_schema, dict(provided)
    if not lines.can_prompt:
        _check_complete(tool, provided, everything=everything)
        return arguments
    for name in _arguments_to_prompt(schema, provided, everything=everything):
        is_provided, value = _prompt_argument(lines, name, schema)
        if is_provided:
            arguments[name] = value
        if len(arguments) >= schema.get("maxProperties", len(schema.get("properties", {})) or 1):
            break
    return arguments


def _check_complete(tool: ToolSpec, provided: Mapping[str, Any], *, everything: bool) -> None:
    """Raise InvalidInputError if the call needs a prompt."""
    schema = tool.input_schema
    missing = [name for name in schema.get("required", ()) if name not in provided]
    if everything:
        raise InvalidInputError(f"{tool.name} ? prompts for the arguments, which needs a terminal")
    if missing:
        raise InvalidInputError(f"{tool.name} needs {', '.join(missing)}; without a terminal, nothing is prompted for")
    if len(provided) < schema.get("minProperties", 0):
        accepted = ", ".join(schema.get("properties", {}))
        raise InvalidInputError(f"{tool.name} needs one of {accepted}; without a terminal, nothing is prompted for")


def _arguments_to_prompt(schema: Mapping[str, Any], provided: Mapping[str, Any], *, everything: bool) -> Iterator[str]:
    """Yield the arguments to prompt for, the required ones first.

    If the line has arguments, only required ones are prompted for. Otherwise common optional ones follow, unless the
    tool needs no arguments.
    """
    required = schema.get("required", ())
    yield from (name for name in required if name not in provided)
    if everything or (not provided and (required or schema.get("minProperties"))):
        optional = [name for name in schema.get("properties", {}) if name not in required and name not in provided]
        yield from (name for name in optional if everything or name not in _RARE_ARGUMENTS)


def _prompt_argument(lines: LineReader, name: str, schema: Mapping[str, Any]) -> tuple[bool, Any]:
    """Prompt for one argument until it is valid; an empty line skips an optional argument.

    Raises InvalidInputError for an empty line instead of a required argument.
    """
    argument_schema, is_required = schema["properties"][name], name in schema.get("required", ())
    described = f"  [dim]{sanitize(argument_schema['description'])}[/]" if argument_schema.get("description") else ""
    default = f", default {argument_schema['default']}" if "default" in argument_schema else ""
    on_enter = "Enter cancels the call" if is_required else f"Enter skips it{sanitize(default)}"
    OUT.print(
        f"  [cyan]{name}[/] [dim]{sanitize(describe_type(argument_schema))}[/]{described} [dim]{on_enter}[/]",
        soft_wrap=True,
    )
    while True:
        typed = lines.line(f"  {name}: ")
        if not typed.strip():
            if is_required:
                raise InvalidInputError(f"not called: {name} is required")
            return False, None
        try:
            return True, parse_value(argument_schema, typed)
        except InvalidInputError as error:
            OUT.print(f"  [yellow]{sanitize(str(error))}[/]", soft_wrap=True)
