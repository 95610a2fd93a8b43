"""`make learn`: trains tiny models on the CPU, one per seed, and writes results/learning.md."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

os.environ.setdefault("TRL_EXPERIMENTAL_SILENCE", "1")
os.environ.setdefault("HF_HUB_OFFLINE", "1")

from companyos.extras import require_extra

with require_extra("torch", "trl"):
    import torch

from companyos.integrations.enterprise_connection import EnterpriseConnection
from companyos.integrations.trl import CompanyOSSpec
from companyos.integrations.trl.demonstrations import demonstrate, essential_turns, write_conversations
from companyos.integrations.trl.language import ShortNames
from verification.benchmarks.learning.page import write_page
from verification.benchmarks.learning.training_run import CHAOS, SCENARIO, SEEDS, SHOWN, Settings, learn


def main() -> None:
    """Play, train, and write the page once every seed has results."""
    parser = argparse.ArgumentParser(prog="make learn", description=__doc__)
    parser.add_argument("--url", help="URL of a running gateway; by default one is started.")
    parser.add_argument("--seed", type=int, action="append", help=f"Seed to train, of {SEEDS}; repeat for more.")
    parser.add_argument("--out", type=Path, default=Path("runs/learning"), help="Folder of the models' results.")
    parser.add_argument(
        "--page", type=Path, default=Path("results"), help="Output folder of learning.md, .png and .json."
    )
    options = parser.parse_args()
    torch.set_num_threads(1)  # for a model of this size, a second thread costs more than it saves
    with EnterpriseConnection(options.url) as enterprise:
        shown = options.out / "demonstrations.jsonl"
        if not shown.exists():
            print(f"the oracle plays {len(SHOWN)} episodes", flush=True)
            with CompanyOSSpec(
                enterprise.url, chaos=CHAOS, scenario=SCENARIO, seeds=SHOWN, language=ShortNames
            ) as spec:
                demonstrations_played = demonstrate(spec, spec.rows, choose=essential_turns)
                write_conversations(shown, [episode.conversation for episode in demonstrations_played])
        results = []
        for seed in options.seed or SEEDS:
            figures = learn(enterprise.url, seed, shown, options.out / str(seed), Settings())
            results.append(figures)
            before, after = figures["before"], figures["after"]
            print(f"seed {seed}: {before['mean_return']:+.2f} -> {after['mean_return']:+.2f}", flush=True)
    if [result["seed"] for result in results] == list(SEEDS):
        write_page(results, len(shown.read_bytes().splitlines()), options.page)
        print(f"written: {options.page / 'learning.md'}")


if __name__ == "__main__":
    main()
