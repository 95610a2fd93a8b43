"""A person at the terminal in an episode: what is typed becomes calls of tools, and answers are shown."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from rich.padding import Padding

from companyos.cli.answers import answer
from companyos.cli.asking import ask
from companyos.cli.lines import Lines
from companyos.cli.results import signed
from companyos.cli.terminal import OUT, print_json, shown
from companyos.cli.tools import print_tool, print_tools
from companyos.cli.typed import Unreadable, arguments_of

if TYPE_CHECKING:
    from datetime import datetime

    from companyos.cli.desk import Desk
    from companyos.cli.seat import Begun, Seat
    from companyos.contract import ToolSpec
    from companyos.policies import StepView

HELP = """
  [cyan]NAME[/]                       call a tool: what it needs is asked for. A part of the name is enough
  [cyan]NAME value name=value[/]      call it with these: [dim]add_comment OPS-7 body="Done."[/]
  [cyan]NAME {"name": value}[/]       call it with JSON
  [cyan]NAME ?[/]                     be asked for every argument, also those that are seldom of use
  [cyan]tools[/], [cyan]tools NAME[/]          what there is to call, and what one takes
  [cyan]brief[/]                      what you are asked to do
  [cyan]last[/]                       the last answer as JSON
  [cyan]pages[/]                      the company in a browser: where it is, and open it
  [cyan]wait[/], [cyan]finish[/]               let time pass; declare how it went, which ends the episode
  [cyan]quit[/]                       give up
"""


class Sitting:
    """One episode, played from the terminal."""

    def __init__(self, begun: Begun, seat: Seat, desk: Desk) -> None:
        self._task, self._seat, self._desk = begun.task, seat, desk
        self._begun = begun.state
        self._tools = {tool.name: tool for tool in begun.task.tools}
        self._last: Any = None
        self._seen: set[str] = set()
        self._number = begun.state.step_count
        self._return = begun.state.return_
        self._lines = Lines(self._words)

    def play(self) -> None:
        """Take steps until the episode is over or the person leaves. Raises what a broken step raises."""
        now, left, done = self._task.now, self._task.steps_left, False
        while not done:
            self._print_clock(now, left)
            try:
                line = self._lines.command("> ")
            except EOFError:
                OUT.print("[dim]nobody types any more: the episode is given up[/]")
                return
            if line in ("quit", "exit"):
                return
            step = self._obeyed(line)
            if step is not None:
                now, left, done = step.now, step.steps_left, step.done
            elif done := self._was_played_elsewhere():
                OUT.print("[dim]the episode was ended at its desk[/]")

    def tell_task(self) -> None:
        """Print the day and the brief, and how to begin."""
        task = self._task
        OUT.print(
            f"[bold]{shown(task.company)}[/], {task.now:%A %d %B %Y, %H:%M}  "
            f"[dim]{shown(task.scenario)}, seed {self._begun.seed}, chaos {self._begun.chaos}; "
            f"you are {shown(task.acting_as)}, {task.steps_left} steps, {len(task.tools)} tools[/]"
        )
        OUT.print(Padding(shown(task.brief), (1, 2), expand=False))
        OUT.print(f"[dim]Its pages:[/] {shown(self._desk.address)}", soft_wrap=True)
        OUT.print("[dim]A step there counts as one here.[/] [cyan]help[/] [dim]says what to type.[/]")

    def _obeyed(self, line: str) -> StepView | None:
        """Do what a line says; return what a step brought, None where none was taken."""
        word, _, rest = line.partition(" ")
        rest = rest.strip()
        match word:
            case "help" | "?":
                OUT.print(HELP)
            case "tools":
                self._tell_tools(rest)
            case "brief":
                OUT.print(Padding(shown(self._task.brief), (1, 2), expand=False))
            case "last":
                print_json(self._last)
            case "pages":
                self._desk.open()
            case _:
                return self._called(word, rest)
        return None

    def _called(self, word: str, rest: str) -> StepView | None:
        tool = self._tool(word)
        if tool is None:
            return None
        try:
            given = {} if rest == "?" else arguments_of(tool.input_schema, rest)
            is_whole = rest.startswith("{")
            arguments = given if is_whole else ask(self._lines, tool, given, everything=rest == "?")
        except Unreadable as misfit:
            OUT.print(f"[yellow]{shown(str(misfit))}[/]", soft_wrap=True)
            return None
        except KeyboardInterrupt:
            OUT.print("\n[dim]not called[/]")
            return None
        return self._taken(tool.name, arguments)

    def _taken(self, tool: str, arguments: dict[str, Any]) -> StepView | None:
        from companyos.refusal import ServerRefusal

        if self._was_played_elsewhere():
            return None
        try:
            step = self._seat.step(tool, arguments)
        except ServerRefusal as refusal:  # a call that nobody can read is no step
            OUT.print(f"[red]not sent:[/] {shown(refusal.message)}", soft_wrap=True)
            return None
        self._number += 1
        self._return += step.reward
        self._last = step.result
        self._seen.update(_words_of(step.result))
        OUT.print(Padding(answer(step), (0, 0, 0, 2), expand=False))
        told = shown(json.dumps(arguments, ensure_ascii=False))
        OUT.print(
            f"  [dim]step {self._number}: {shown(tool)} {told}, reward[/] {signed(step.reward, 2)}", soft_wrap=True
        )
        return step

    def _tool(self, word: str) -> ToolSpec | None:
        """Return the tool that is meant; say so where it is none, or several."""
        found = [word] if word in self._tools else [name for name in self._tools if name.endswith(f"_{word}")]
        found = found or [name for name in self._tools if word in name]
        if len(found) == 1:
            return self._tools[found[0]]
        several = f"is a part of {', '.join(found)}" if found else "is no tool; [cyan]help[/] says what to type"
        OUT.print(f"[yellow]{shown(repr(word))} {several}[/]", soft_wrap=True)
        return None

    def _tell_tools(self, name: str) -> None:
        if not name:
            print_tools(self._task.tools)
        elif (tool := self._tool(name)) is not None:
            print_tool(tool)

    def _was_played_elsewhere(self) -> bool:
        """Count the steps that were taken at the desk, and say whether the episode is over."""
        state = self._seat.state()
        if state.step_count > self._number:
            OUT.print(f"[dim]{state.step_count - self._number} steps were taken at the desk[/]")
        self._number, self._return = state.step_count, state.return_
        return state.done

    def _print_clock(self, now: datetime, left: int) -> None:
        OUT.print(
            f"\n[bold]{now:%a %d %b %H:%M}[/] [dim]· {left} steps left · return[/] {signed(self._return, 2)}",
        )

    def _words(self) -> Iterable[str]:
        short = (name.partition("_")[2] for name in self._tools)
        arguments = {name for tool in self._tools.values() for name in tool.input_schema.get("properties", {})}
        return [
            *self._tools,
            *filter(None, short),
            *arguments,
            *self._seen,
            "help",
            "tools",
            "brief",
            "last",
            "pages",
            "quit",
        ]


def _words_of(value: Any) -> set[str]:
    """Return the ids that an answer names, for completion."""
    from companyos.policies.arguments import ids_in

    return set(ids_in(json.dumps(value, ensure_ascii=False)))
