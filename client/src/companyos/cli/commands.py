"""Commands that installed packages add: entry points of the group `companyos.commands`, each a Typer command."""

from __future__ import annotations

from collections.abc import Callable, Collection
from importlib.metadata import EntryPoint, entry_points
from typing import Any, NoReturn

import typer

from companyos.cli.terminal import USAGE_ERROR, fail
from companyos.entry_points import EntryPointError, load_entry_point
from companyos.extras import install_package_command

GROUP = "companyos.commands"
PACKAGES = {"check": "companyos-verification"}
"""The package of each command that is listed before its package is installed."""

Command = Callable[..., Any]

_ANY_ARGUMENTS = {"allow_extra_args": True, "ignore_unknown_options": True}


def add_installed_commands(app: typer.Typer, panel: str) -> None:
    """Add the commands of installed packages; one that cannot be used says why when it is called."""
    taken = {info.name for info in app.registered_commands} | {info.name for info in app.registered_groups}
    found: dict[str, Command | EntryPointError] = {}
    for point in sorted(entry_points(group=GROUP), key=lambda point: (point.name, point.value)):
        found[point.name] = _load(point, taken | found.keys())
    for name, command in found.items():
        if isinstance(command, EntryPointError):
            _add_failing(app, name, panel, f"Not available: {command}", str(command))
        else:
            app.command(name, rich_help_panel=panel)(command)
    for name, package in PACKAGES.items():
        if name not in found:
            install = install_package_command(package)
            _add_failing(app, name, panel, f"Requires the package {package}.", f"requires {package}: {install}")


def _load(point: EntryPoint, taken: Collection[str | None]) -> Command | EntryPointError:
    try:
        if point.name in taken:
            raise EntryPointError(point, "another command has this name")
        command: Command = load_entry_point(point)
        if not callable(command):
            raise EntryPointError(point, f"must be a function; got {type(command).__name__}")
    except EntryPointError as error:
        return error
    return command


def _add_failing(app: typer.Typer, name: str, panel: str, help_text: str, reason: str) -> None:
    @app.command(name, help=help_text, rich_help_panel=panel, context_settings=_ANY_ARGUMENTS)
    def command() -> NoReturn:
        fail(reason, USAGE_ERROR)
