"""`python -m verification.clients.harnesses [--only NAME]`: runs the harnesses and prints one line for each."""

from __future__ import annotations

import argparse
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from companyos.enterprise import Enterprise
from verification.clients.environments import NotRunError, ScriptFailedError, environment_python, run_script
from verification.uv import ROOT

DEADLINE_S = 600.0
HARNESSES_AT_ONCE = 2
"""They wait for their own processes much of the time."""

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
    with Enterprise(alone=True) as enterprise, ThreadPoolExecutor(HARNESSES_AT_ONCE) as runners:
        outcomes = list(runners.map(lambda harness: _run(harness, enterprise.url), harnesses))
    raise SystemExit(int(not any(outcomes) or False in outcomes))


def _run(harness: Harness, url: str) -> bool | None:
    """Run one harness and print its line. Return its success, or None if it is unavailable."""
    path = f"{ROOT / '.venv-tools' / 'bin'}{os.pathsep}{os.environ['PATH']}"  # verifiers starts programs with uv
    variables = {"PATH": path, "COMPANYOS": str(Path(sys.executable).with_name("companyos"))}
    outcome: bool | None = True
    try:
        python, script = environment_python(harness.environment), Path(__file__).with_name(harness.script)
        report = run_script(python, script, url, report=HarnessReport, deadline_s=DEADLINE_S, **variables)
        line = _LINE.format(harness.name, report.version, report.episodes, report.steps, "ok")
    except NotRunError as error:
        outcome, line = None, _LINE.format(harness.name, "", "", "", f"not run: {error}")
    except ScriptFailedError as error:
        outcome, line = False, _LINE.format(harness.name, "", "", "", f"FAILED: {error}")
    print(line, flush=True)
    return outcome


if __name__ == "__main__":
    main()
