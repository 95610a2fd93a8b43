"""Optional dependencies: install commands from the package index, or from a clone of the repository."""

from __future__ import annotations

import shlex
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_CLONE = Path(__file__).resolve().parents[3]
_UV = ".venv-tools/bin/uv"
_MAKE_TARGETS = {"ray": "make ray-setup", "trl": "make train-setup"}
"""Extras with their own environment in a clone: `.venv-ray`, `.venv-train`."""

_SEPARATE_ENVIRONMENTS = ("inspect", "unsloth")
"""Extras whose pinned versions conflict with the checks of a clone."""


def install_command(extra: str, clone: Path = _CLONE) -> str:
    """Return the command that installs an extra, runnable from the current folder."""
    if not (clone / _UV).exists():
        return f"pip install 'companyos[{extra}]'"
    command = _MAKE_TARGETS.get(extra) or _clone_command(extra, clone)
    return command if Path.cwd() == clone else f"cd {shlex.quote(str(clone))} && {command}"


def install_package_command(package: str) -> str:
    """Return the command that installs another package of the project."""
    return "make setup" if (_CLONE / _UV).exists() else f"pip install {package}"


def install_folder_command(folder: Path) -> str:
    """Return the command that installs the package in a folder, so that changes of its files take effect."""
    uv = _CLONE / _UV
    installer = f"{_quoted(uv)} pip install --python {_quoted(Path(sys.prefix))}" if uv.exists() else "pip install"
    return f"{installer} -e {_quoted(folder) if folder.is_absolute() else shlex.quote(f'./{folder}')}"


def command_path() -> str:
    """Return the shell command for `companyos`: its name, or its path if this environment is not active."""
    return "companyos" if shutil.which("companyos") else _quoted(Path(sys.prefix) / "bin" / "companyos")


def _clone_command(extra: str, clone: Path) -> str:
    if extra in _SEPARATE_ENVIRONMENTS:
        venv = f".venv-{extra}"
        return f"python3 -m venv {venv} && {_UV} pip install --python {venv} './client[server,{extra}]'"
    return f"{_UV} pip install --python {_quoted(Path(sys.prefix), clone)} -e './client[{extra}]'"


def _quoted(path: Path, folder: Path | None = None) -> str:
    """Return a path, quoted for a shell in a folder, by default the current one."""
    folder = folder or Path.cwd()
    return shlex.quote(str(path.relative_to(folder) if path.is_relative_to(folder) else path))


@contextmanager
def require_extra(library: str, extra: str) -> Iterator[None]:
    """Guard the import of an optional library. Raises ImportError with the install command of its extra."""
    with require_library(library, install_command(extra)):
        yield


@contextmanager
def require_library(library: str, command: str) -> Iterator[None]:
    """Guard the import of an optional library. Raises ImportError with the command that installs it."""
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != library:
            raise
        raise ImportError(f"{library} is not installed: {command}", name=library) from None
