"""What brings an extra: the package index, or in a clone, of which no index has anything yet, the clone itself."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

_CLONE = Path(__file__).resolve().parents[3]
_UV = ".venv-tools/bin/uv"
_READY = {"ray": "make ray-setup", "trl": "make train-setup"}
"""Extras that a clone makes an environment of their own for: `.venv-ray`, `.venv-train`."""

_ALONE = ("inspect", "unsloth")
"""Extras whose pins exclude what the checks of a clone stand on."""


def installing(extra: str, clone: Path = _CLONE) -> str:
    """Return the command that installs an extra, here and from the folder that the process runs in."""
    if not (clone / _UV).exists():
        return f"pip install 'companyos[{extra}]'"
    command = _READY.get(extra) or _in_clone(extra, clone)
    return command if Path.cwd() == clone else f"cd {shlex.quote(str(clone))} && {command}"


def _in_clone(extra: str, clone: Path) -> str:
    if extra in _ALONE:
        own = f".venv-{extra}"
        return f"python3 -m venv {own} && {_UV} pip install --python {own} './client[server,{extra}]'"
    running = Path(sys.prefix)
    python = running.relative_to(clone) if running.is_relative_to(clone) else running
    return f"{_UV} pip install --python {shlex.quote(str(python))} -e './client[{extra}]'"
