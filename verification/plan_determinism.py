"""Compares the plans of two processes, because a seed determines the instance.

`python -m verification.plan_determinism NAME...` is the second process: it prints the digests of its plans as JSON.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence

from companyos_gateway.scenarios import catalogue
from companyos_gateway.scenarios.catalogue import ScenarioError
from companyos_gateway.scenarios.validation import difference_message
from companyos_shared.streams import digest
from verification.proof.players.oracles import MUTATION_LEVEL

PLANNED_SEEDS = 20
HASH_SEED = "PYTHONHASHSEED"


def check_determinism(names: Sequence[str]) -> None:
    """Raise ScenarioError for the first instance that a process with another hash seed plans differently."""
    command = [sys.executable, "-m", "verification.plan_determinism", *names]
    environment = {**os.environ, HASH_SEED: "2" if os.environ.get(HASH_SEED) == "1" else "1"}
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        plans = plan_digests(names)
        output, _ = process.communicate()
    if process.returncode != 0:
        raise ScenarioError(f"another process cannot plan the same instances of {', '.join(names)}")
    others = json.loads(output)
    for name, digests in plans.items():
        for seed, (one, other) in enumerate(zip(digests, others[name], strict=True)):
            if one != other:
                raise ScenarioError(difference_message(name, seed))


def plan_digests(names: Sequence[str]) -> dict[str, list[str]]:
    """Return a digest of seed documents, brief and variant for each of the first seeds, by scenario."""
    return {name: [_plan_digest(name, seed) for seed in range(PLANNED_SEEDS)] for name in names}


def _plan_digest(name: str, seed: int) -> str:
    instance = catalogue()[name].plan(seed, MUTATION_LEVEL)
    return digest([instance.source_ids, instance.brief, instance.variant])


if __name__ == "__main__":
    json.dump(plan_digests(sys.argv[1:]), sys.stdout)
