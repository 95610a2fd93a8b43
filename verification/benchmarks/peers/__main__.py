"""`python -m verification.benchmarks.peers [--only NAME]`: measures reset and step of CompanyOS and of other
environments in one run, each with its own client, and prints the ratios to CompanyOS.
"""

from __future__ import annotations

import argparse
import os
import platform
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from companyos.enterprise import Enterprise
from verification.clients.environments import (
    WORKSPACE,
    NotRunError,
    ScriptFailedError,
    environment_python,
    reason_of,
    run_script,
)
from verification.uv import UvError, uv

DEADLINE_S = 900.0
_SEEDS_EACH = 100_000
_VARIABLES = {"LITELLM_LOCAL_MODEL_COST_MAP": "True"}
"""Environment variables of the scripts. LiteLLM, which two peers import, otherwise downloads a price list."""

_LINE = "  {:<24} {:>5} {:>12} {:>13}  {}"


@dataclass(frozen=True, slots=True)
class Peer:
    """One environment: its virtual environment, and the script that measures it and prints a report."""

    name: str
    environment: str
    script: str


COMPANYOS = Peer("CompanyOS", WORKSPACE, "run_companyos.py")
PEERS: tuple[Peer, ...] = (
    COMPANYOS,
    Peer("OpenEnv echo", WORKSPACE, "run_openenv_echo.py"),
    Peer("tau2-bench gym", "tau2", "run_tau2.py"),
    Peer("AppWorld", "appworld", "run_appworld.py"),
    Peer("Meta ARE (Gaia2)", "are", "run_are.py"),
    Peer("CompanyOS, repeated", WORKSPACE, "run_companyos.py"),
)

UNPUBLISHED = {"OpenEnv calendar": "openenv-calendar-env", "OpenEnv agent_world_model": "agent-world-model-env"}
"""Environments without a script, because no package index contained their packages at the time of writing."""


class Operation(BaseModel):
    """One measured operation; `detail` describes it."""

    model_config = ConfigDict(extra="forbid")

    kind: str
    detail: str
    count: int = Field(gt=0)
    p50_ms: float = Field(gt=0)


class PeerReport(BaseModel):
    """The report in the last line of a script."""

    model_config = ConfigDict(extra="forbid")

    version: str
    transport: str
    operations: tuple[Operation, ...] = Field(min_length=1)


def main() -> None:
    """Measure the peers; the exit status is 1 if CompanyOS is not measured or a script fails."""
    parser = argparse.ArgumentParser(prog="python -m verification.benchmarks.peers", description=__doc__)
    parser.add_argument("--only", default="", metavar="NAME", help="run CompanyOS and peers whose name contains NAME")
    options = parser.parse_args()
    print(f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}")
    print(_LINE.format("", "cases", "p50 ms", "x CompanyOS", "").rstrip())
    base: dict[str, float] = {}
    failed = False
    with Enterprise(alone=True) as enterprise:
        for number, peer in enumerate(PEERS):
            if peer is not COMPANYOS and options.only.lower() not in peer.name.lower():
                continue
            load = os.getloadavg()[0]
            try:
                report = _measure(peer, enterprise.url, first_seed=(number + 1) * _SEEDS_EACH)
            except NotRunError as error:
                print(f"{peer.name}: not run: {error}", flush=True)
                continue
            except ScriptFailedError as error:
                failed = True
                print(f"{peer.name}: FAILED: {error}", flush=True)
                continue
            if peer is COMPANYOS:
                base = {operation.kind: operation.p50_ms for operation in report.operations}
            print("\n".join(report_lines(f"{peer.name}, load {load:.1f}", report, base)), flush=True)
    for name, package in UNPUBLISHED.items():
        if options.only.lower() in name.lower():
            print(f"{name}: not run: {_why_unmeasured(package)}")
    raise SystemExit(int(failed or not base))


def report_lines(name: str, report: PeerReport, base: dict[str, float]) -> list[str]:
    """Return the lines of a peer, with ratios to the operation of the same kind in `base` (p50 in ms)."""
    lines = [f"{name} ({report.version}; {report.transport})"]
    for operation in report.operations:
        ratio = f"{operation.p50_ms / base[operation.kind]:,.2f}" if operation.kind in base else "-"
        figures = (operation.count, f"{operation.p50_ms:,.2f}", ratio)
        lines.append(_LINE.format(operation.kind, *figures, operation.detail))
    return lines


def _why_unmeasured(package: str) -> str:
    try:
        uv("pip", "compile", "-", stdin=package)
    except UvError as error:
        return reason_of(str(error))
    return f"{package} can be installed now, but has no script in {Path(__file__).parent.name}"


def _measure(peer: Peer, url: str, first_seed: int) -> PeerReport:
    """Run the script of a peer in its environment. Raises NotRunError or ScriptFailedError."""
    python, script = environment_python(peer.environment), Path(__file__).with_name(peer.script)
    return run_script(python, script, url, str(first_seed), report=PeerReport, deadline_s=DEADLINE_S, **_VARIABLES)


if __name__ == "__main__":
    main()
