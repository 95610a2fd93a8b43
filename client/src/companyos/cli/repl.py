"""Interactive session of `companyos play`: reads commands, calls tools and prints their results."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from rich.padding import Padding

from companyos.cli.parse_args import InvalidInputError, parse_arguments
from companyos.cli.prompts import LineReader, prompt_arguments
from companyos.cli.results import format_reward
from companyos.cli.terminal import OUT, has_display, print_json, sanitize
from companyos.cli.tool_output import render_step_result
from companyos.cli.tools import print_tool, print_tools

if TYPE_CHECKING:
    from datetime import datetime

    from companyos.cli.human_policy import HumanPolicy
    from companyos.contract import ToolSpec
    from companyos.policies import StepView


@dataclass(frozen=True)
class EpisodePages:
    """Addresses of an episode's web pages."""

    url: str
    episode_id: str
    token: str | None = field(repr=False)

    @property
    def address(self) -> str:
        """URL that signs the browser in; the browser keeps the token."""
        query = "" if self.token is None else f"?token={quote(self.token, safe='')}"
        return f"{self.url}/v1/episodes/{quote(self.episode_id, safe='')}/apps{query}"

    def open(self) -> None:
        """Print the URL, and open it if there is a display."""
        OUT.print(sanitize(self.address), soft_wrap=True)
        if has_display():
            import webbrowser

            webbrowser.open(self.address)


HELP = """
  [cyan]NAME[/]                       call a tool; a terminal prompts for its arguments. A part of the name is enough
  [cyan]NAME value name=value[/]      call it with these arguments: [dim]add_comment OPS-7 body="Done."[/]
  [cyan]NAME {"name": value}[/]       call it with JSON
  [cyan]NAME ?[/]                     prompt for every argument; Ctrl-D cancels the call
  [cyan]tools[/], [cyan]tools NAME[/]          list the tools, or describe one
  [cyan]brief[/]                      show the task
  [cyan]last[/]                       show the last response as JSON
  [cyan]pages[/]                      open the company's web pages in a browser
  [cyan]wait[/], [cyan]finish[/]               let time pass; declare the outcome and end the episode
  [cyan]quit[/]                       abandon the episode
"""


class Repl:
    """Terminal session of one episode."""

    def __init__(self, human: HumanPolicy, pages: EpisodePages) -> None:
        self._task, self._human, self._pages = human.task, human, pages
        self._tools = {tool.name: tool for tool in human.task.tools}
        self._last_result: Any = None
        self._seen_ids: set[str] = set()
        self._step_count = human.initial_state.step_count
        self._return = human.initial_state.return_
        self._reader = LineReader(self._completions)

    def play(self) -> None:
        """Take steps until the episode ends or the player leaves. Raises the errors of a failed step."""
        now, left, done = self._task.now, self._task.steps_left, False
        while not done:
            self._print_clock(now, left)
            try:
                line = self._read_command()
                if line in ("quit", "exit"):
                    return
                step = self._run_command(line)
            except EOFError:
                OUT.print("[dim]end of input: the episode is abandoned[/]")
                return
            if step is not None:
                now, left, done = step.now, step.steps_left, step.done
            elif done := self._sync_browser_steps():
                OUT.print("[dim]the episode was ended in the browser[/]")

    def _read_command(self) -> str:
        """Return the next command. Raises EOFError at the end, KeyboardInterrupt on a second Ctrl-C in a row."""
        try:
            return self._reader.command("> ")
        except KeyboardInterrupt:
            OUT.print("\n[dim]Ctrl-C again abandons the episode[/]")
            return self._reader.command("> ")

    def print_task(self) -> None:
        """Print the date, the brief and a hint."""
        task, state = self._task, self._human.initial_state
        OUT.print(
            f"[bold]{sanitize(task.company)}[/], {task.now:%A %d %B %Y, %H:%M}  "
            f"[dim]{sanitize(task.scenario)}, seed {state.seed}, chaos {state.chaos}; "
            f"you are {sanitize(task.acting_as)}, {task.steps_left} steps, {len(task.tools)} tools[/]"
        )
        OUT.print(Padding(sanitize(task.brief), (1, 2), expand=False))
        OUT.print(f"[dim]Web pages:[/] {sanitize(self._pages.address)}", soft_wrap=True)
        OUT.print("[dim]Steps in the browser count as well.[/] [cyan]help[/] [dim]lists the commands.[/]")

    def _run_command(self, line: str) -> StepView | None:
        """Run a command line; return the result of its step, or None without a step."""
        word, _, rest = line.partition(" ")
        rest = rest.strip()
        match word:
            case "help" | "?":
                OUT.print(HELP)
            case "tools":
                self._print_tools(rest)
            case "brief":
                OUT.print(Padding(sanitize(self._task.brief), (1, 2), expand=False))
            case "last":
                print_json(self._last_result)
            case "pages":
                self._pages.open()
            case _:
                return self._run_tool(word, rest)
        return None

    def _run_tool(self, word: str, rest: str) -> StepView | None:
        tool = self._find_tool(word)
        if tool is None:
            return None
        try:
            provided = {} if rest == "?" else parse_arguments(tool.input_schema, rest)
            is_whole = rest.startswith("{")
            arguments = provided if is_whole else prompt_arguments(self._reader, tool, provided, everything=rest == "?")
        except InvalidInputError as error:
            OUT.print(f"[yellow]{sanitize(str(error))}[/]", soft_wrap=True)
            return None
        except (EOFError, KeyboardInterrupt):
            OUT.print("\n[dim]not called[/]")
            return None
        return self._take_step(tool.name, arguments)

    def _take_step(self, tool: str, arguments: dict[str, Any]) -> StepView | None:
        from companyos.errors import ApiError

        if self._sync_browser_steps():
            return None
        try:
            step = self._human.step(tool, arguments)
        except ApiError as error:  # an unparsable call is not a step
            OUT.print(f"[red]not sent:[/] {sanitize(error.message)}", soft_wrap=True)
            return None
        self._step_count += 1
        self._return += step.reward
        self._last_result = step.result
        self._seen_ids.update(_ids_of(step.result))
        OUT.print(Padding(render_step_result(step), (0, 0, 0, 2), expand=False))
        arguments_text = sanitize(json.dumps(arguments, ensure_ascii=False))
        OUT.print(
            f"  [dim]step {self._step_count}: {sanitize(tool)} {arguments_text}, reward[/] "
            f"{format_reward(step.reward, 2)}",
            soft_wrap=True,
        )
        return step

    def _find_tool(self, word: str) -> ToolSpec | None:
        """Return the tool with this name; print a message if there is none or several match."""
        matches = [word] if word in self._tools else [name for name in self._tools if name.endswith(f"_{word}")]
        matches = matches or [name for name in self._tools if word in name]
        if len(matches) == 1:
            return self._tools[matches[0]]
        reason = f"matches {', '.join(matches)}" if matches else "matches no tool; [cyan]help[/] lists the commands"
        OUT.print(f"[yellow]{sanitize(repr(word))} {reason}[/]", soft_wrap=True)
        return None

    def _print_tools(self, name: str) -> None:
        if not name:
            print_tools(self._task.tools)
        elif (tool := self._find_tool(name)) is not None:
            print_tool(tool)

    def _sync_browser_steps(self) -> bool:
        """Count the steps taken in the browser; return whether the episode is over."""
        state = self._human.state()
        if state.step_count > self._step_count:
            OUT.print(f"[dim]{state.step_count - self._step_count} steps were taken in the browser[/]")
        self._step_count, self._return = state.step_count, state.return_
        return state.done

    def _print_clock(self, now: datetime, left: int) -> None:
        OUT.print(
            f"\n[bold]{now:%a %d %b %H:%M}[/] [dim]· {left} steps left · return[/] {format_reward(self._return, 2)}",
        )

    def _completions(self) -> Iterable[str]:
        short = (name.partition("_")[2] for name in self._tools)
        arguments = {name for tool in self._tools.values() for name in tool.input_schema.get("properties", {})}
        return [
            *self._tools,
            *filter(None, short),
            *arguments,
            *self._seen_ids,
            "help",
            "tools",
            "brief",
            "last",
            "pages",
            "quit",
        ]


def _ids_of(value: Any) -> set[str]:
    """Return the ids in a response, for completion."""
    from companyos.policies.arguments import ids_in

    return set(ids_in(json.dumps(value, ensure_ascii=False)))
