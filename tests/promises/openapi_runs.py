"""One run of schemathesis over the OpenAPI document of a running process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

CONFIG = Path(__file__).with_name("schemathesis.toml")
SEED = 20


def failures(url: str, folder: Path, *, examples: int, deadline_s: float) -> str:
    """Ask every operation of the process with data that fits and data that does not; empty where nothing failed."""
    asked = [
        *(str(Path(sys.executable).with_name("st")), "--config-file", str(CONFIG), "run", f"{url}/openapi.json"),
        *("--workers", "1", "--continue-on-failure", "--max-examples", str(examples), "--seed", str(SEED)),
        *("--generation-database", "none", "--suppress-health-check", "all", "--warnings", "off", "--no-color"),
    ]
    environment = {**os.environ, "NO_PROXY": "*", "no_proxy": "*"}
    done = subprocess.run(
        asked, cwd=folder, env=environment, capture_output=True, text=True, timeout=deadline_s, check=False
    )
    if done.returncode:
        return done.stdout + done.stderr
    assert " passed" in done.stdout, done.stdout
    return ""
