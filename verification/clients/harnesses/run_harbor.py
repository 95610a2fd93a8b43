"""Parses an export with Harbor's own models: every task and every setting."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import tomllib
from importlib.metadata import version
from pathlib import Path

from harbor.models.task.config import TaskConfig
from harbor.models.task.task import Task
from harbor.models.task.verifier_mode import resolve_verifier_environment_definition

URL = sys.argv[1]
TASKS = 6


def fields_not_read(written, read, place=""):
    """Return the paths of written fields that Harbor's models lack."""
    if isinstance(written, dict):
        missing = [f"{place}.{name}" for name in written if name not in read]
        return missing + [
            found
            for name in set(written) & set(read)
            for found in fields_not_read(written[name], read[name], f"{place}.{name}")
        ]
    if isinstance(written, list):
        return [found for at, one in enumerate(written) for found in fields_not_read(one, read[at], f"{place}[{at}]")]
    return []


with tempfile.TemporaryDirectory() as out:
    command = [os.environ["COMPANYOS"], "tasks", "export", "--format", "harbor", "--split", "test"]
    subprocess.run([*command, "-n", str(TASKS), "--out", out, "--url", URL], capture_output=True, check=True)
    folders = [path.parent for path in sorted(Path(out).glob("*/task.toml"))]
    assert len(folders) == TASKS, folders
    for folder in folders:
        assert Task.is_valid_dir(folder), folder
        task = Task(folder)
        assert task.name == f"companyos/{folder.name}"
        assert task.instruction.startswith("You work for "), task.instruction[:80]
        assert "canary" not in task.instruction
        verifier = resolve_verifier_environment_definition(task.config, task.paths)
        assert verifier is not None
        assert verifier.bundled_tests
        assert [server.transport for server in task.config.environment.mcp_servers] == ["streamable-http"]
        assert [hook.service for hook in task.config.verifier.collect] == ["companyos"]
        text = task.paths.config_path.read_text()
        unknown_fields = fields_not_read(
            tomllib.loads(text), TaskConfig.model_validate_toml(text).model_dump(mode="json")
        )
        assert unknown_fields == [], unknown_fields
print(json.dumps({"version": version("harbor"), "episodes": TASKS, "steps": 0}))
