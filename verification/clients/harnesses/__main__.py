"""`python -m verification.clients.harnesses [--only NAME]`: runs the harnesses and prints one line for each."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from companyos.enterprise import Enterprise
from verification.clients.environments import environment_python
from verification.uv import ROOT, UvError

DEADLINE_S = 600.0
HARNESSES_AT_ONCE = 2
"""They wait for their own processes much of the time."""

_FOLDER = Path(__file__).parent
_NOT_RUN = 77
"""Exit status of a script that cannot run here; its last line states the reason."""

_LINE = "{:<17} {:<10} {:>8} {:>6}  {}"


@dataclass(frozen=True, slots=True)
class Harness:
    """One harness: its environment and the script that runs it and prints a report."""

    name: str
    environment: str
    script: str


HARNESSES = (
    Harness("Inspect AI", "inspect", "run_inspect.py"),
    Harness("verifiers", "verifiers", "run_verifiers.py"),
    Harness("Harbor models", "harbor", "run_harbor.py"),
    Harness("Harbor trial", "harbor", "run_harbor_trial.py"),
    Harness("SkyRL Gym", "skyrl-gym", "run_skyrl.py"),
    Harness("NeMo Gym models", "nemo-gym", "run_nemo_gym.py"),
    Harness("BrowserGym", "browsergym", "run_browsergym.py"),
    Harness("NeMo Gym servers", "nemo-gym", "run_nemo_gym_servers.py"),
)


class HarnessReport(BaseModel):
    """The last line of a script: the harness's version, episodes played and steps taken."""

    model_config = ConfigDict(extra="forbid")

    version: str
    episodes: int
    steps: int


def main() -> None:
    """Run the harnesses; the exit status is 1 if one failed or none could be installed."""
    parser = argparse.ArgumentParser(prog="python -m verification.clients.harnesses", description=__doc__)
    parser.add_argument("--only", default="", metavar="NAME", help="run only harnesses whose name contains NAME")
    options = parser.parse_args()
    print(_LINE.format("harness", "version", "episodes", "steps", ""))
    harnesses = [harness for harness in HARNESSES if options.only.lower() in harness.name.lower()]
    with (
        Enterprise(alone=True) as enterprise,
        ThreadPoolExecutor(1) as installer,
        ThreadPoolExecutor(HARNESSES_AT_ONCE) as runners,
    ):
        environments = dict.fromkeys(harness.environment for harness in harnesses)
        pythons = {name: installer.submit(environment_python, name) for name in environments}
        outcomes = list(
            runners.map(lambda harness: _run(harness, pythons[harness.environment], enterprise.url), harnesses)
        )
    raise SystemExit(int(not any(outcomes) or False in outcomes))


def _run(harness: Harness, python: Future[Path], url: str) -> bool | None:
    """Run one harness once its environment is installed, and print its line.

    Returns its success, or None if it is unavailable.
    """
    try:
        command = [str(python.result()), str(_FOLDER / harness.script), url]
        completed = subprocess.run(
            command, env=_harness_environment(), capture_output=True, text=True, timeout=DEADLINE_S, check=False
        )
        if completed.returncode == _NOT_RUN:
            _print_not_run(harness, completed.stderr.strip().splitlines()[-1])
            return None
        completed.check_returncode()
        report = HarnessReport.model_validate_json((completed.stdout.splitlines() or [""])[-1])
    except UvError as error:
        _print_not_run(harness, str(error))
        return None
    except (ValidationError, subprocess.SubprocessError) as error:
        message = error.stderr if isinstance(error, subprocess.CalledProcessError) else str(error)
        last = (str(message).strip().splitlines() or ["no output"])[-1]
        print(_LINE.format(harness.name, "", "", "", f"FAILED: {last}"), flush=True)
        return False
    print(_LINE.format(harness.name, report.version, report.episodes, report.steps, "ok"), flush=True)
    return True


def _print_not_run(harness: Harness, reason: str) -> None:
    print(_LINE.format(harness.name, "", "", "", f"not run: {reason}"), flush=True)


def _harness_environment() -> dict[str, str]:
    """Return the environment with the `companyos` command and uv on the path; verifiers starts programs with uv."""
    path = f"{ROOT / '.venv-tools' / 'bin'}{os.pathsep}{os.environ['PATH']}"
    return os.environ | {"PATH": path, "COMPANYOS": str(Path(sys.executable).with_name("companyos"))}


if __name__ == "__main__":
    main()
