"""Commands of installed packages are added; an unusable one reports the reason when it is called."""

from __future__ import annotations

import sys
from importlib import metadata
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from companyos.cli import commands
from companyos.cli.main import app as command_line

RUNNER = CliRunner()
HELLO = """
import typer


def hello(name: str) -> None:
    \"\"\"Greet somebody.\"\"\"
    typer.echo(f"Hello {name}")


LEVEL = 5
"""


@pytest.fixture
def app(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> typer.Typer:
    """Provide a command line with the command `play`, and an installed package with further commands."""
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "acme_hello.py").write_text(HELLO)
    info = tmp_path / "acme_hello-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-hello\nVersion: 1.0\n")
    lines = (
        "hello = acme_hello:hello",
        "level = acme_hello:LEVEL",
        "gone = acme_missing:gone",
        "play = acme_hello:hello",
    )
    (info / "entry_points.txt").write_text("\n".join(["[companyos.commands]", *lines]))
    monkeypatch.delitem(sys.modules, "acme_hello", raising=False)
    own = typer.Typer()
    own.command("play")(lambda: typer.echo("played"))
    commands.add_installed_commands(own, "Develop")
    return own


def test_a_command_of_a_package_is_listed_and_runs(app: typer.Typer) -> None:
    assert "Greet somebody." in RUNNER.invoke(app, ["--help"]).output
    assert RUNNER.invoke(app, ["hello", "Ada"]).output == "Hello Ada\n"


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        (["level"], "level = acme_hello:LEVEL of acme-hello 1.0: must be a function; got int"),
        (["gone", "--now"], "gone = acme_missing:gone of acme-hello 1.0: No module named 'acme_missing'"),
        (["play"], "play = acme_hello:hello of acme-hello 1.0: another command has this name"),
    ],
)
def test_an_invalid_added_command_is_rejected_with_the_reason(
    app: typer.Typer, arguments: list[str], fault: str
) -> None:
    answer = RUNNER.invoke(app, arguments)
    assert answer.exit_code == 2
    assert f"error: entry point {fault}" in answer.output


def test_a_command_names_the_missing_package_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commands, "entry_points", lambda **_: metadata.EntryPoints())
    own = typer.Typer()
    own.command("play")(lambda: None)
    commands.add_installed_commands(own, "Develop")
    answer = RUNNER.invoke(own, ["check", "./parking_permit", "--seeds", "3"])
    assert answer.exit_code == 2
    assert "error: requires companyos-verification: " in answer.output


def test_check_is_a_command_of_the_verification_package() -> None:
    assert "the package in this folder" in RUNNER.invoke(command_line, ["check", "--help"]).output
