"""`python -m verification.benchmarks.leaderboard`: plays the scripted policies again and replaces their submissions.

Needed after a change of the tasks, which makes `companyos submit --check` refuse the submissions that saw it. The name
of a submission's folder in `results/leaderboard/<track>` is the name of its policy.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path

from companyos.leaderboard.card import CARD
from companyos.leaderboard.tracks import SPLIT, TRACKS, Track

FOLDER = Path(__file__).resolve().parents[2] / "results" / "leaderboard"
COMPANYOS = Path(sys.executable).with_name("companyos")


def main() -> None:
    """Replace all submissions, or those named on the command line, and write the pages."""
    submissions = {f"{card.parts[-3]}/{card.parts[-2]}": card.parent for card in sorted(FOLDER.glob(f"*/*/{CARD}"))}
    parser = argparse.ArgumentParser(prog="python -m verification.benchmarks.leaderboard", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="TRACK/POLICY", help="submissions to replace (default: all)")
    names = parser.parse_args().names or list(submissions)
    if unknown := set(names) - set(submissions):
        parser.error(f"TRACK/POLICY must be of {', '.join(submissions)}; got {', '.join(sorted(unknown))}")
    for name in names:
        _replace(submissions[name])
    _companyos("leaderboard", FOLDER, "--out", FOLDER.with_suffix(".html"), "--out", FOLDER.with_suffix(".md"))


def _replace(submission: Path) -> None:
    track, policy = TRACKS[submission.parent.name], submission.name
    with tempfile.TemporaryDirectory() as scratch:
        run, card, made = (Path(scratch) / name for name in ("run", CARD, "made"))
        _companyos("eval", "--policy", policy, *_selection(track), "--out", run)
        dated = re.sub(r"(?m)^date = .*$", f"date = {datetime.now(UTC).date()}", (submission / CARD).read_text())
        card.write_text(dated)
        _companyos("submit", run, "--card", card, "--no-evidence", "--out", made)
        shutil.copytree(made, submission, dirs_exist_ok=True)


def _selection(track: Track) -> list[str]:
    levels = [word for level in track.levels for word in ("--chaos", str(level))]
    scenario = ["--scenario", track.scenario] if track.scenario else []
    return ["--split", SPLIT, *scenario, *levels, "-n", str(track.tasks), "--trials", str(track.trials)]


def _companyos(*arguments: str | Path) -> None:
    subprocess.run([COMPANYOS, *arguments], check=True)


if __name__ == "__main__":
    main()
