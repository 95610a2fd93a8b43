"""`python -m companyos_gateway.tasks [--instances N]`: what the task set holds, and whether two instances are one."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Sequence

from companyos_gateway.scenarios import catalogue
from companyos_gateway.tasks.collisions import find_collisions
from companyos_gateway.tasks.task_set import TaskSet

INSTANCES = 2_000
MAX_SHOWN = 10


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the splits and the number of duplicate instances; return 1 if there are any."""
    parser = argparse.ArgumentParser(prog="python -m companyos_gateway.tasks", description=__doc__)
    parser.add_argument("--instances", type=int, default=INSTANCES, help="how many to compare (default: %(default)s)")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1, help="at once (default: %(default)s)")
    options = parser.parse_args(arguments)
    scenarios = catalogue()
    task_set = TaskSet(scenarios)
    sizes = ", ".join(f"{split.num_tasks:,} {split.name}" for split in task_set.splits())
    sys.stdout.write(f"task set {task_set.version}: {len(scenarios)} scenarios, {sizes}\n")
    started_at = time.monotonic()
    result = find_collisions(options.instances, processes=options.processes)
    duration_s = time.monotonic() - started_at
    sys.stdout.write(f"{len(result.collisions)} collisions in {result.instances:,} instances, {duration_s:.0f} s\n")
    for one, other in result.collisions[:MAX_SHOWN]:
        sys.stdout.write(f"  {one} is {other}\n")
    return 1 if result.collisions else 0


if __name__ == "__main__":
    sys.exit(main())
