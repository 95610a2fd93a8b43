"""`make learn`: three tiny models learn on the CPU, each from a seed of its own; writes results/learning.md."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

os.environ.setdefault("TRL_EXPERIMENTAL_SILENCE", "1")
os.environ.setdefault("HF_HUB_OFFLINE", "1")

from companyos.integrations.missing import needs

with needs("torch", "trl"):
    import torch

from benchmarks.learning.one_seed import CHAOS, SCENARIO, SEEDS, SHOWN, Settings, learn
from benchmarks.learning.page import write_page
from companyos.integrations.house import House
from companyos.integrations.trl import CompanyOSSpec
from companyos.integrations.trl.demonstrations import demonstrate, thrifty, write_conversations
from companyos.integrations.trl.language import ShortNames


def main() -> None:
    """Play, learn, and write the page once every seed has its figures."""
    asked = argparse.ArgumentParser(prog="make learn", description=__doc__)
    asked.add_argument("--url", help="A running enterprise; otherwise one is started.")
    asked.add_argument("--seed", type=int, action="append", help=f"Only this one of {SEEDS}; again for more.")
    asked.add_argument("--out", type=Path, default=Path("runs/learning"), help="Where models' figures are kept.")
    asked.add_argument("--page", type=Path, default=Path("results"), help="The folder of learning.md, .png and .json.")
    given = asked.parse_args()
    torch.set_num_threads(1)  # a model of this size waits for a second thread longer than that saves
    with House(given.url) as house:
        shown = given.out / "demonstrations.jsonl"
        if not shown.exists():
            print(f"the oracle plays {len(SHOWN)} episodes", flush=True)
            with CompanyOSSpec(house.url, chaos=CHAOS, scenario=SCENARIO, seeds=SHOWN, language=ShortNames) as spec:
                told = demonstrate(spec, spec.rows, choose=thrifty)
                write_conversations(shown, [one.conversation for one in told])
        done = []
        for seed in given.seed or SEEDS:
            figures = learn(house.url, seed, shown, given.out / str(seed), Settings())
            done.append(figures)
            before, after = figures["before"], figures["after"]
            print(f"seed {seed}: {before['mean_return']:+.2f} -> {after['mean_return']:+.2f}", flush=True)
    if [one["seed"] for one in done] == list(SEEDS):
        write_page(done, len(shown.read_text(encoding="utf-8").splitlines()), given.page)
        print(f"written: {given.page / 'learning.md'}")


if __name__ == "__main__":
    main()
