"""Environments of pinned packages in `.venv-clients`, made by uv and kept until their pins change."""

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
"""Environments that the workspace's own lock pins: what is asked of it."""

_MEMBERS = {
    WORKSPACE: ("shared", "client", "integrations/openenv-companyos"),
    "inspect": ("shared", "client"),
    "verifiers": ("integrations/verifiers",),
}
"""What of the repository is in an environment."""

_OLDEST_PYTHON = {"harbor": "3.12", "nemo-gym": "3.12"}
_PYTHON_VERSION = "3.11"
_STAMP = ".requirements"


class EnvironmentUnavailableError(Exception):
    """An environment that cannot be made here; the text says why in one line."""


def environment_python(environment: str) -> Path:
    """Return the Python of an environment, made anew where its pins have changed; raises NotInstalled.

    The house's own members are linked, not copied: what is edited is what runs.
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
    """Choose the newest versions anew and write them down; raises NotInstalled."""
    for environment, packages in PACKAGES.items():
        written = REQUIREMENTS / f"{environment}.txt"
        oldest = _OLDEST_PYTHON.get(environment, _PYTHON_VERSION)
        command = ("pip", "compile", "--universal", "--no-annotate", "--python-version", oldest)
        note = ("--custom-compile-command", "python -m verification.clients --lock")
        _uv(*command, *note, "--upgrade", "--output-file", str(written), "-", stdin="\n".join(packages))


def _interpreter(oldest: str | None) -> str:
    """Return a Python that is new enough: this one, one that uv finds, or one of pyenv's. Raises NotInstalled."""
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
        raise EnvironmentUnavailableError(f"it wants Python {oldest} or newer, and there is none here")
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
        raise EnvironmentUnavailableError((completed.stderr.strip().splitlines() or ["uv said nothing"])[-1])
    return completed.stdout
