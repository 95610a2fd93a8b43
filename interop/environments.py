"""Environments of pinned packages in `.venv-clients`, made by uv and kept until their pins change."""

from __future__ import annotations

import shutil
import subprocess
import sys
from hashlib import sha256
from pathlib import Path

from interop.clients import REQUIREMENTS, WANTED, WORKSPACE

ROOT = Path(__file__).resolve().parents[1]
ENVIRONMENTS = ROOT / ".venv-clients"

_UV = ROOT / ".venv-tools" / "bin" / "uv"
_OURS = ("shared", "client", "integrations/openenv-companyos")
_PYTHON_VERSION = "3.11"
_STAMP = ".requirements"


class NotInstalled(Exception):
    """An environment that cannot be made here; the text says why in one line."""


def python_of(environment: str) -> Path:
    """Return the Python of an environment, made anew where its pins have changed; raises NotInstalled."""
    pins = _pins(environment)
    folder = ENVIRONMENTS / environment
    stamp, digest = folder / _STAMP, sha256(pins.encode()).hexdigest()
    python = folder / "bin" / "python"
    if stamp.is_file() and stamp.read_text() == digest:
        return python
    shutil.rmtree(folder, ignore_errors=True)
    _uv("venv", "--python", sys.executable, str(folder))
    _uv("pip", "sync", "--python", str(python), "-", given=pins)
    if environment == WORKSPACE:
        _uv("pip", "install", "--python", str(python), "--no-deps", *(str(ROOT / member) for member in _OURS))
    stamp.write_text(digest)
    return python


def lock() -> None:
    """Choose the newest versions anew and write them down; raises NotInstalled."""
    for environment, wanted in WANTED.items():
        written = REQUIREMENTS / f"{environment}.txt"
        command = ("pip", "compile", "--universal", "--no-annotate", "--python-version", _PYTHON_VERSION)
        note = ("--custom-compile-command", "python -m interop --lock")
        _uv(*command, *note, "--upgrade", "--output-file", str(written), "-", given="\n".join(wanted))


def _pins(environment: str) -> str:
    if environment != WORKSPACE:
        return (REQUIREMENTS / f"{environment}.txt").read_text()
    told = ("export", "--frozen", "--package", "openenv-companyos", "--no-dev", "--no-emit-workspace", "--no-hashes")
    return _uv(*told, "--no-header", "--no-annotate")


def _uv(*arguments: str, given: str | None = None) -> str:
    command = [str(_UV), "--quiet", "--project", str(ROOT), *arguments]
    done = subprocess.run(command, input=given, capture_output=True, text=True, check=False)
    if done.returncode:
        raise NotInstalled((done.stderr.strip().splitlines() or ["uv said nothing"])[-1])
    return done.stdout
