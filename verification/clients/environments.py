"""Environments of pinned packages in `.venv-clients`, created by uv and reused until their pins change."""

from __future__ import annotations

import shutil
import sys
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

from verification.clients.catalogue import PACKAGES, REQUIREMENTS, WORKSPACE
from verification.uv import ROOT, UvError, pyenv_pythons, uv, version_of

ENVIRONMENTS = ROOT / ".venv-clients"

_LOCKED_ENVIRONMENTS = {
    WORKSPACE: ("--package", "openenv-companyos"),
    "inspect": ("--package", "companyos", "--extra", "inspect"),
}
"""Environments pinned by the workspace's lock file, with the extras to install."""

_MEMBERS = {
    WORKSPACE: ("shared", "client", "integrations/openenv-companyos"),
    "inspect": ("shared", "client"),
    "browsergym": ("shared", "client"),
    "verifiers": ("integrations/verifiers",),
}
"""Workspace members to install."""

_OLDEST_PYTHON = {"harbor": "3.12", "nemo-gym": "3.12"}
_PYTHON_VERSION = "3.11"
_STAMP = ".requirements"


def environment_python(environment: str) -> Path:
    """Return the environment's Python, recreated if its pins changed. Raises UvError.

    Workspace members are installed editable.
    """
    pins = _pins(environment)
    folder = ENVIRONMENTS / environment
    stamp, digest = folder / _STAMP, sha256(pins.encode()).hexdigest()
    python = folder / "bin" / "python"
    if stamp.is_file() and stamp.read_text() == digest:
        return python
    shutil.rmtree(folder, ignore_errors=True)
    uv("venv", "--python", _interpreter(_OLDEST_PYTHON.get(environment)), str(folder))
    uv("pip", "sync", "--python", str(python), "-", stdin=pins)
    if members := [f"--editable={ROOT / member}" for member in _MEMBERS.get(environment, ())]:
        uv("pip", "install", "--python", str(python), "--no-deps", *members)
    stamp.write_text(digest)
    return python


def lock() -> None:
    """Lock the newest versions. Raises UvError."""
    for environment, packages in PACKAGES.items():
        written = REQUIREMENTS / f"{environment}.txt"
        oldest = _OLDEST_PYTHON.get(environment, _PYTHON_VERSION)
        command = ("pip", "compile", "--universal", "--no-annotate", "--python-version", oldest)
        note = ("--custom-compile-command", "python -m verification.clients --lock")
        uv(*command, *note, "--upgrade", "--output-file", str(written), "-", stdin="\n".join(packages))


def _interpreter(oldest: str | None) -> str:
    """Return a Python that is recent enough: this one, uv's or pyenv's. Raises UvError."""
    minimum = version_of(oldest or _PYTHON_VERSION)
    if sys.version_info[: len(minimum)] >= minimum:
        return sys.executable
    with suppress(UvError):
        return uv("python", "find", f">={oldest}").strip()
    for version, python in pyenv_pythons():
        if version >= minimum:
            return str(python)
    raise UvError(f"Python {oldest} or newer is required and was not found")


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
    return uv(*command_line, "--no-header", "--no-annotate")
