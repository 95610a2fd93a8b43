"""Environments of pinned packages in `.venv-clients`, created by uv and reused until their pins change."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

from verification.clients.catalogue import PACKAGES, REQUIREMENTS, WORKSPACE

ROOT = Path(__file__).resolve().parents[2]
ENVIRONMENTS = ROOT / ".venv-clients"

_UV = ROOT / ".venv-tools" / "bin" / "uv"
_LOCKED_ENVIRONMENTS = {
    WORKSPACE: ("--package", "openenv-companyos"),
    "inspect": ("--package", "companyos", "--extra", "inspect"),
}
"""Environments pinned by the workspace's lock: the extras to install."""

_MEMBERS = {
    WORKSPACE: ("shared", "client", "integrations/openenv-companyos"),
    "inspect": ("shared", "client"),
    "verifiers": ("integrations/verifiers",),
}
"""Workspace members to install."""

_OLDEST_PYTHON = {"harbor": "3.12", "nemo-gym": "3.12"}
_PYTHON_VERSION = "3.11"
_STAMP = ".requirements"


class EnvironmentUnavailableError(Exception):
    """Raised for an environment that cannot be created; the message states the reason in one line."""


def environment_python(environment: str) -> Path:
    """Return the environment's Python, recreated if its pins changed. Raises EnvironmentUnavailableError.

    Workspace members are installed editable.
    """
    pins = _pins(environment)
    folder = ENVIRONMENTS / environment
    stamp, digest = folder / _STAMP, sha256(pins.encode()).hexdigest()
    python = folder / "bin" / "python"
    if stamp.is_file() and stamp.read_text() == digest:
        return python
    shutil.rmtree(folder, ignore_errors=True)
    _uv("venv", "--python", _interpreter(_OLDEST_PYTHON.get(environment)), str(folder))
    _uv("pip", "sync", "--python", str(python), "-", stdin=pins)
    if members := [f"--editable={ROOT / member}" for member in _MEMBERS.get(environment, ())]:
        _uv("pip", "install", "--python", str(python), "--no-deps", *members)
    stamp.write_text(digest)
    return python


def lock() -> None:
    """Lock the newest versions. Raises EnvironmentUnavailableError."""
    for environment, packages in PACKAGES.items():
        written = REQUIREMENTS / f"{environment}.txt"
        oldest = _OLDEST_PYTHON.get(environment, _PYTHON_VERSION)
        command = ("pip", "compile", "--universal", "--no-annotate", "--python-version", oldest)
        note = ("--custom-compile-command", "python -m verification.clients --lock")
        _uv(*command, *note, "--upgrade", "--output-file", str(written), "-", stdin="\n".join(packages))


def _interpreter(oldest: str | None) -> str:
    """Return a recent enough Python: this one, uv's or pyenv's. Raises EnvironmentUnavailableError."""
    minimum = _version_of(oldest or _PYTHON_VERSION)
    if sys.version_info[: len(minimum)] >= minimum:
        return sys.executable
    with suppress(EnvironmentUnavailableError):
        return _uv("python", "find", f">={oldest}").strip()
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv") / "versions"
    candidates = [
        (_version_of(folder.name), folder / "bin" / "python")
        for folder in pyenv.glob("3.*")
        if folder.name.replace(".", "").isdecimal() and _version_of(folder.name) >= minimum
    ]
    if not candidates:
        raise EnvironmentUnavailableError(f"Python {oldest} or newer is required and was not found")
    return str(min(candidates)[1])


def _version_of(text: str) -> tuple[int, ...]:
    return tuple(map(int, text.split(".")))


def _pins(environment: str) -> str:
    if environment not in _LOCKED_ENVIRONMENTS:
        return (REQUIREMENTS / f"{environment}.txt").read_text()
    command_line = (
        "export",
        "--frozen",
        *_LOCKED_ENVIRONMENTS[environment],
        "--no-dev",
        "--no-emit-workspace",
        "--no-hashes",
    )
    return _uv(*command_line, "--no-header", "--no-annotate")


def _uv(*arguments: str, stdin: str | None = None) -> str:
    command = [str(_UV), "--quiet", "--project", str(ROOT), *arguments]
    environment_variables = os.environ | {"UV_PYTHON_DOWNLOADS": "never"}
    completed = subprocess.run(
        command, input=stdin, env=environment_variables, capture_output=True, text=True, check=False
    )
    if completed.returncode:
        raise EnvironmentUnavailableError((completed.stderr.strip().splitlines() or ["uv printed no error"])[-1])
    return completed.stdout
