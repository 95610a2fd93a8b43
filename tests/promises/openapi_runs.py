"""One run of schemathesis over the OpenAPI document of a running process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

CONFIG = Path(__file__).with_name("schemathesis.toml")
SEED = 20


def failures(url: str, folder: Path, *, examples: int, deadline_s: float) -> str:
    """Call every operation of the process with valid and invalid data; return the failures, empty if there are none."""
    command = [
        *(str(Path(sys.executable).with_name("st")), "--config-file", str(CONFIG), "run", f"{url}/openapi.json"),
        *("--workers", "1", "--continue-on-failure", "--max-examples", str(examples), "--seed", str(SEED)),
        *("--generation-database", "none", "--suppress-health-check", "all", "--warnings", "off", "--no-color"),
    ]
    environment = {**os.environ, "NO_PROXY": "*", "no_proxy": "*"}
    completed = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=deadline_s, check=False
    )
    if completed.returncode:
        return completed.stdout + completed.stderr
    assert " passed" in completed.stdout, completed.stdout
    return ""
