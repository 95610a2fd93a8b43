"""Runs `harbor run` on an exported task in containers with the oracle's calls and expects a reward of 1."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

URL = sys.argv[1]
ROOT = Path(__file__).resolve().parents[3]
IMAGE = "companyos-env:harness"
TASK_OPTIONS = ("--split", "test", "--scenario", "vendor_onboarding", "--chaos", "0", "-n", "1", "--url", URL)
NOT_RUN = 77


def run_command(*command):
    """Run a command; raise with its last output if it fails."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit((done.stdout + done.stderr)[-2000:])


docker = shutil.which("docker")
if docker is None or subprocess.run([docker, "info"], capture_output=True, check=False).returncode:
    print("A Docker Engine is required and does not respond", file=sys.stderr)
    sys.exit(NOT_RUN)
run_command(
    docker, "build", "--quiet", "--file", str(ROOT / "deploy" / "space" / "Dockerfile"), "--tag", IMAGE, str(ROOT)
)
with tempfile.TemporaryDirectory() as out:
    here = Path(out)
    export = (os.environ["COMPANYOS"], "tasks", "export", "--format", "harbor", "--image", IMAGE)
    run_command(*export, *TASK_OPTIONS, "--out", str(here / "tasks"))
    run_command(os.environ["COMPANYOS"], "eval", "--policy", "oracle", *TASK_OPTIONS, "--out", str(here / "played"))
    (trajectory,) = (here / "played" / "trajectories").iterdir()
    calls = [json.loads(line) for line in trajectory.read_bytes().splitlines()]
    (task,) = (path.parent for path in (here / "tasks").glob("*/task.toml"))
    (task / "solution").mkdir()
    (task / "solution" / "solve.sh").write_text(
        "#!/bin/sh\nset -eu\n"
        + "".join(f"company call {call['tool']} {shlex.quote(json.dumps(call['arguments']))}\n" for call in calls)
    )
    harbor = [str(Path(sys.executable).with_name("harbor")), "run", "--path", str(here / "tasks"), "--agent", "oracle"]
    run_command(*harbor, "--jobs-dir", str(here / "jobs"), "--job-name", "trial", "--yes", "--quiet")
    (trial,) = (json.loads(path.read_text()) for path in (here / "jobs" / "trial").glob("*/result.json"))
assert trial["exception_info"] is None, trial["exception_info"]
rewards = trial["verifier_result"]["rewards"]
assert rewards["reward"] == 1.0, rewards
assert rewards["steps"] == len(calls), rewards
print(json.dumps({"version": version("harbor"), "episodes": 1, "steps": len(calls)}))
