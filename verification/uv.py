"""The workspace's uv, and the Pythons that pyenv installed."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
_SETTINGS = {"UV_PYTHON_DOWNLOADS": "never", "UV_NO_WRAP": "1"}
_UV = ROOT / ".venv-tools" / "bin" / "uv"


class UvError(Exception):
    """Raised for a command of uv that failed; the message is its output in one line."""


def uv(*arguments: str | Path, folder: Path = ROOT, stdin: str | None = None, **variables: str) -> str:
    """Run uv in a folder and return its output; variables of the environment are added. Raises UvError.

    It downloads no Python.
    """
    completed = subprocess.run(
        [str(_UV), "--quiet", *map(str, arguments)],
        cwd=folder,
        input=stdin,
        env=os.environ | _SETTINGS | variables,
        capture_output=True,
        text=True,
        check=False,
    )
    if completed.returncode:
        raise UvError(" ".join(completed.stderr.split()) or "uv printed no error")
    return completed.stdout


def pyenv_pythons() -> Iterator[tuple[tuple[int, ...], Path]]:
    """Yield the versions that pyenv installed, with the interpreter of each, the oldest first."""
    versions = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv") / "versions"
    numbered = [folder for folder in versions.glob("3.*") if folder.name.replace(".", "").isdecimal()]
    yield from sorted((version_of(folder.name), folder / "bin" / "python") for folder in numbered)


def version_of(text: str) -> tuple[int, ...]:
    """Return the numbers of a version such as 3.12.1."""
    return tuple(map(int, text.split(".")))
