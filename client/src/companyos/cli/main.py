"""Entry point of the command line: the app, its commands and its help."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from companyos.cli.commands import add_installed_commands
from companyos.cli.db import db
from companyos.cli.demo import demo
from companyos.cli.episodes import diff, episodes
from companyos.cli.evaluate import evaluate
from companyos.cli.export import TasksCommand
from companyos.cli.leaderboard import leaderboard
from companyos.cli.new import new_app
from companyos.cli.play import play
from companyos.cli.quarantine import quarantine_app
from companyos.cli.report import report
from companyos.cli.rescore import rescore
from companyos.cli.snapshots import fork, restore, snapshot
from companyos.cli.submit import submit
from companyos.cli.tasks import tasks
from companyos.cli.tools import tools
from companyos.cli.up import up
from companyos.cli.view import view

HELP = """
A simulated enterprise for AI agents: three business services, colleagues with calendars, and tasks across all of them.

Start here:

  [cyan]companyos demo[/]                  watch a scripted solver onboard a vendor
  [cyan]companyos play[/]                  play an episode yourself
  [cyan]companyos up[/]                    start the server on port 8000
  [cyan]companyos tasks[/]                 list scenarios and tasks
  [cyan]companyos tools[/]                 list the tools of an agent
  [cyan]companyos eval --policy random[/]  evaluate a policy
  [cyan]companyos report RUN[/]            see how often it succeeds, and why it fails
  [cyan]companyos view RUN[/]              inspect stored episodes step by step
  [cyan]companyos snapshot[/]              save an episode, to restore or fork it
  [cyan]companyos new scenario NAME[/]     write a package with a scenario of your own

Requires only Python: no Docker, no network.
"""

_TEXTS = {
    "less_than_equal": "must be at most {le}; got {value}",
    "greater_than_equal": "must be at least {ge}; got {value}",
    "int_parsing": "must be a whole number; got {value!r}",
    "int_parsing_size": "must have at most 4,300 digits; got {value:.12}...",
    "float_parsing": "must be a number; got {value!r}",
}
"""Texts by the type of Pydantic's error."""


class CommandGroup(TyperGroup):
    """Commands whose errors of invalid values state the value and what is accepted."""

    def invoke(self, ctx: Any) -> Any:
        """Invoke a command. Raises BadParameter for an invalid value."""
        try:
            return super().invoke(ctx)
        except typer.BadParameter as error:
            error.message = _text(error)
            raise


def _text(error: typer.BadParameter) -> str:
    """Return the text of an error; Typer's own omits the value if Pydantic rejected it."""
    from pydantic import ValidationError

    if not isinstance(error.__cause__, ValidationError):
        return error.message
    first = error.__cause__.errors(include_url=False)[0]
    context = first.get("ctx", {})
    if "error" in context:
        return str(context["error"])
    text = _TEXTS.get(first["type"])
    return f"{first['msg']}; got {first['input']!r}" if text is None else text.format(value=first["input"], **context)


app = typer.Typer(
    name="companyos",
    cls=CommandGroup,
    help=HELP,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_show_locals=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
START, LIVE, DEVELOP = "Play", "Manage live episodes", "Develop scenarios"

app.command("up", rich_help_panel=START)(up)
app.command("demo", rich_help_panel=START)(demo)
app.command("play", rich_help_panel=START)(play)
app.command("tasks", cls=TasksCommand, rich_help_panel=START)(tasks)
app.command("tools", rich_help_panel=START)(tools)
app.command("eval", rich_help_panel=START)(evaluate)
app.command("report", rich_help_panel=START)(report)
app.command("rescore", rich_help_panel=START)(rescore)
app.command("submit", rich_help_panel=START)(submit)
app.command("leaderboard", rich_help_panel=START)(leaderboard)
app.command("view", rich_help_panel=START)(view)
app.command("episodes", rich_help_panel=LIVE)(episodes)
app.command("snapshot", rich_help_panel=LIVE)(snapshot)
app.command("restore", rich_help_panel=LIVE)(restore)
app.command("fork", rich_help_panel=LIVE)(fork)
app.command("diff", rich_help_panel=LIVE)(diff)
app.command("db", rich_help_panel=LIVE)(db)
app.add_typer(quarantine_app, name="quarantine", rich_help_panel=LIVE)
app.add_typer(new_app, name="new", rich_help_panel=DEVELOP)
add_installed_commands(app, DEVELOP)


def _print_version(is_requested: bool) -> None:
    if is_requested:
        from importlib.metadata import version

        typer.echo(f"companyos {version('companyos')}")
        raise typer.Exit


@app.callback()
def companyos(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Define the global options."""
