"""Clean environments outside the repository, with packages from wheels only."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from verification.uv import UvError, pyenv_pythons, uv

DEADLINE_S = 600.0
_OWN_VARIABLES = ("COMPANYOS_", "OTEL_", "PYTHON", "VIRTUAL_ENV", "UV_PROJECT_ENVIRONMENT")


class CommandError(Exception):
    """Raised if a command fails; the message is the end of its output."""


class CleanEnvironment:
    """A virtual environment, and an empty folder next to it as the working directory of its commands."""

    def __init__(self, folder: Path, python: Path | str = sys.executable) -> None:
        """Create the environment. Raises UvError."""
        self.root = folder / "venv"
        self.work = folder / "work"
        self.work.mkdir(parents=True)
        uv("venv", "--python", python, self.root)

    @property
    def python(self) -> Path:
        """The environment's Python."""
        return self.root / "bin" / "python"

    @property
    def variables(self) -> Mapping[str, str]:
        """The environment variables of its commands: those of this process without settings of CompanyOS and Python."""
        inherited = {name: value for name, value in os.environ.items() if not name.startswith(_OWN_VARIABLES)}
        return inherited | {"PATH": os.pathsep.join([str(self.root / "bin"), os.environ["PATH"]])}

    def install(self, *arguments: str | Path) -> None:
        """Install distributions, from uv's cache if possible. Raises UvError."""
        command = ("pip", "install", "--python", self.python, *arguments)
        with suppress(UvError):
            uv(*command, "--offline", folder=self.work)
            return
        uv(*command, folder=self.work)

    def run(self, *command: str, deadline_s: float = DEADLINE_S) -> str:
        """Run a command in the working directory and return its output. Raises CommandError."""
        try:
            done = subprocess.run(
                [self._program(command[0]), *command[1:]],
                cwd=self.work,
                env=self.variables,
                capture_output=True,
                text=True,
                timeout=deadline_s,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise CommandError(f"{command[0]} ran for more than {deadline_s:.0f} s") from None
        if done.returncode != 0:
            raise CommandError((done.stdout + done.stderr).strip() or f"{command[0]} ended with {done.returncode}")
        return done.stdout

    def packages(self) -> int:
        """Return the number of installed distributions."""
        return sum(1 for _ in self.root.glob("lib/python*/site-packages/*.dist-info"))

    def size_mb(self) -> float:
        """Return the size of its files in megabytes, without bytecode, which Python writes later."""
        files = (path for path in self.root.rglob("*") if path.is_file() and not path.is_symlink())
        return sum(path.stat().st_size for path in files if path.suffix != ".pyc") / 1e6

    def _program(self, name: str) -> str:
        return shutil.which(name, path=self.variables["PATH"]) or name


def find_pythons(versions: Sequence[str]) -> dict[str, Path | None]:
    """Return an interpreter of each version, such as 3.12, or None: this one, pyenv's or one on the path."""
    return {version: _find_python(version) for version in versions}


def _find_python(version: str) -> Path | None:
    on_path = shutil.which(f"python{version}")
    pyenv = [python for _, python in pyenv_pythons()]
    candidates = [Path(sys.executable), *pyenv, *([Path(on_path)] if on_path else [])]
    return next((python for python in candidates if _minor_version(python) == version), None)


def _minor_version(python: Path) -> str | None:
    """Return an interpreter's version, such as 3.12; None if it does not run."""
    command = [str(python), "-c", "import sys; print('%d.%d' % sys.version_info[:2])"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return None
