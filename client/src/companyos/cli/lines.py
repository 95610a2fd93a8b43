"""Lines that a person types, or that a script pipes in: with history and completion where there is a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from contextlib import suppress

from companyos.cli.terminal import OUT

Words = Callable[[], Iterable[str]]


class Lines:
    """Reads standard input line by line; `words` is asked for what a line may be completed with.

    Of a script empty lines and lines that begin with # are passed over, and the others are shown as they are read.
    """

    def __init__(self, words: Words) -> None:
        self.is_typed = sys.stdin.isatty() and sys.stdout.isatty()
        self._words = words
        if self.is_typed:
            with suppress(ImportError):
                self._complete()

    def command(self, prompt: str) -> str:
        """Return the next line with something on it. Raises EOFError at the end, KeyboardInterrupt on Ctrl-C."""
        while True:
            line = self.line(prompt).strip()
            if line and not line.startswith("#"):
                return line

    def line(self, prompt: str) -> str:
        """Return the next line, whatever it holds; raises as `command` does."""
        if self.is_typed:
            return input(prompt)
        line = sys.stdin.readline()
        if not line:
            raise EOFError
        told = line.rstrip("\r\n")
        OUT.print(prompt + told, style="dim", markup=False, soft_wrap=True)
        return told

    def _complete(self) -> None:
        import readline

        readline.set_completer(self._candidate)
        readline.set_completer_delims(" =,")
        readline.parse_and_bind("tab: complete")

    def _candidate(self, begun: str, number: int) -> str | None:
        found = sorted({word for word in self._words() if word.startswith(begun)})
        return found[number] if number < len(found) else None
