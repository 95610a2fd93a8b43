"""`companyos new`: writes packages to start from."""

from __future__ import annotations

import keyword
import re
import sys
from collections.abc import Iterator
from importlib.metadata import distributions, entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from companyos.cli.terminal import OUT, USAGE_ERROR, check_empty_folder, fail, report_errors, sanitize

TEMPLATE = Path(__file__).parents[1] / "templates" / "scenario"
MODEL = "parking_permit"
"""The name in the template that is replaced, also where it is written `parking-permit` or `ParkingPermit`."""

_NAME = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")

new_app = typer.Typer(help="Write a package to start from.", no_args_is_help=True)


@new_app.command("scenario")
def scenario(
    name: Annotated[str, typer.Argument(help="Name of the scenario and of its Python package.")],
    folder: Annotated[
        Path | None, typer.Option("--dir", metavar="PATH", help="Folder to write. Default: ./NAME")
    ] = None,
) -> None:
    """Write an installable package with a working scenario, its players and a test.

    Examples:

      [cyan]companyos new scenario fleet_card[/]
      [cyan]companyos new scenario fleet_card --dir ~/src/fleet[/]

    The scenario is a parking permit that the HR lead approves. Change it
    step by step, and run `companyos check` after each one.
    """
    from companyos.extras import command_path, install_folder_command

    if problem := name_problem(name):
        fail(problem, USAGE_ERROR)
    if _is_installed(name):
        fail(f"a scenario {name} is already installed; choose another NAME", USAGE_ERROR)
    if is_package(name):
        fail(f"NAME must not be that of an installed package; got {name!r}", USAGE_ERROR)
    target = folder or Path(name)
    check_empty_folder(target)
    with report_errors():
        write_package(target, name)
    OUT.print(f"Wrote a package with the scenario {name} to {sanitize(str(target))}.\n\nInstall and check it:\n")
    for command in (install_folder_command(target), f"{command_path()} check {target}"):
        OUT.print(f"  {sanitize(command)}", style="cyan", soft_wrap=True)


def name_problem(name: str) -> str | None:
    """Return why a name cannot be that of a scenario, None if it can."""
    if _NAME.fullmatch(name) is None:
        return f"NAME must consist of lowercase words that are joined by underscores, such as fleet_card; got {name!r}"
    if keyword.iskeyword(name) or name in sys.stdlib_module_names:
        return f"NAME must not be a keyword or a module of Python; got {name!r}"
    return None


def _is_installed(name: str) -> bool:
    """Return whether the server or another package provides a scenario of this name."""
    server = find_spec("companyos_gateway")
    folders = (server.submodule_search_locations or ()) if server is not None else ()
    is_built_in = any((Path(folder) / "scenarios" / name / "scenario.py").is_file() for folder in folders)
    return is_built_in or bool(entry_points(group="companyos.scenarios", name=name))


def is_package(name: str) -> bool:
    """Return whether an installed module or distribution has this name."""
    spec = find_spec(name)
    names = {re.sub(r"[-_.]+", "_", one.name).lower() for one in distributions()}
    return name in names or (spec is not None and spec.origin is not None)


def write_package(target: Path, name: str) -> None:
    """Write the template's files with a name of its own."""
    replaced = {
        MODEL: name,
        MODEL.replace("_", "-"): name.replace("_", "-"),
        _camel_case(MODEL): _camel_case(name),
    }
    for source in _template_files():
        path = target / str(source.relative_to(TEMPLATE)).replace(MODEL, name)
        text = source.read_text(encoding="utf-8")
        for old, new in replaced.items():
            text = text.replace(old, new)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def _template_files() -> Iterator[Path]:
    return (path for path in sorted(TEMPLATE.rglob("*")) if path.is_file() and path.suffix in {".py", ".toml", ".md"})


def _camel_case(name: str) -> str:
    return "".join(word.capitalize() for word in name.split("_"))
