"""`python -m verification.benchmarks [--quick]`: starts the servers and the bare echo, measures, prints a table and
writes a JSON file.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import uvloop
from rich.table import Table

from companyos.cli.terminal import OUT, plain_table
from companyos.enterprise import Enterprise
from companyos_shared.temporary_folders import temporary_data_folder
from verification.benchmarks.company_sizes import measure_large_company, measure_large_memory
from verification.benchmarks.echo import running_echo
from verification.benchmarks.enterprise import EnterpriseBenchmark
from verification.benchmarks.judging import measure_judging
from verification.benchmarks.long_episodes import measure_long_episodes
from verification.benchmarks.measurements import Measurements
from verification.benchmarks.rollouts import measure_rollouts
from verification.benchmarks.workers import measure_workers
from verification.git import commit

RESULTS = Path("runs") / "bench"
QUICK_SCALE = 0.1


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m verification.benchmarks", description="Measure latency, throughput and memory."
    )
    parser.add_argument("--quick", action="store_true", help="a tenth of the sample sizes; checks only that it runs")
    parser.add_argument("--out", type=Path, help="path of the JSON file (default: runs/bench/<time>.json)")
    options = parser.parse_args()
    measurements = _measure(QUICK_SCALE if options.quick else 1.0)
    run = _run_metadata() | {"quick": options.quick, "figures": measurements.to_json()}
    out = options.out or RESULTS / f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}.json"
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps(run, indent=2) + "\n", encoding="utf-8")
    OUT.print(_table(measurements, run))
    OUT.print(f"\n[dim]written to[/] {out}")


def _measure(scale: float) -> Measurements:
    measurements = Measurements()
    with temporary_data_folder() as folder:
        began = time.perf_counter()
        busy, idle = folder / "busy", folder / "idle"
        with Enterprise(data_dir=busy) as enterprise, running_echo() as echo_url:
            measurements.add("start of gateway and services", time.perf_counter() - began, "s", target="<= 1.5 s")
            uvloop.run(EnterpriseBenchmark(enterprise, measurements, scale, echo_url=echo_url, data_dir=busy).run())
            uvloop.run(measure_long_episodes(enterprise.url, measurements, scale))
        with Enterprise(data_dir=idle) as enterprise:
            uvloop.run(EnterpriseBenchmark(enterprise, measurements, scale, echo_url="", data_dir=idle).run_memory())
        with Enterprise(data_dir=folder / "large") as enterprise:
            uvloop.run(measure_large_company(enterprise.url, measurements, scale))
        with Enterprise(data_dir=folder / "large") as enterprise:
            uvloop.run(measure_large_memory(enterprise, measurements))
        uvloop.run(measure_workers(measurements, scale))
        measure_rollouts(measurements, scale)
        uvloop.run(measure_judging(measurements))
    return measurements


def _run_metadata() -> dict[str, Any]:
    return {
        "at": f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}",
        "commit": commit(),
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
    }


def _table(measurements: Measurements, run: dict[str, Any]) -> Table:
    title = f"{run['machine']}, Python {run['python']}, commit {run['commit']}" + (", quick" if run["quick"] else "")
    table = plain_table(title)
    table.add_column("figure")
    table.add_column("value", justify="right", style="bold")
    table.add_column("")
    table.add_column("x bare echo", justify="right")
    table.add_column("target", style="dim")
    for measurement in measurements.all:
        ratio = "" if measurement.ratio is None else f"{measurement.ratio:.2f}"
        table.add_row(measurement.name, f"{measurement.value:,.4g}", measurement.unit, ratio, measurement.target)
    return table


if __name__ == "__main__":
    main()
