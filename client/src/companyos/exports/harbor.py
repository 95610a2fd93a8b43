"""Exports tasks as Harbor folders: brief, agent container, company container and verdict."""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path

from companyos.exports.task_rows import TaskRow, TaskWithTools

IMAGE = "companyos-env"
"""Image of the server, as built by `docker build -f deploy/space/Dockerfile -t companyos-env .`."""

AGENT_TIMEOUT_S = 3600.0
ORGANISATION = "companyos"
"""Organization part of the package names."""

_VERDICT = "/tmp/companyos-verdict.json"  # noqa: S108  # inside the company's container, which the agent cannot access
_READY = "http://127.0.0.1:8000/readyz"
_MODULE = "python3 -m companyos.integrations.harbor"

_TASK_TOML = """\
# canary: {canary}
schema_version = "1.4"
artifacts = [{{ source = "{verdict}", service = "companyos" }}]

[task]
name = {name}
version = {task_set}
description = {description}
keywords = ["companyos", "tool-use", {scenario}]

[metadata]
id = {id}
split = {split}
scenario = {scenario}
group = {group}
chaos = {chaos}
difficulty = {difficulty}
held_out = {held_out}
max_steps = {max_steps}
task_set = {task_set}
canary = {canary_text}

[agent]
timeout_sec = {timeout}

# The company container computes the verdict after the agent's container has stopped; the verifier reads its output.
[verifier]
timeout_sec = 120.0
environment_mode = "separate"

[[verifier.collect]]
service = "companyos"
command = "{module} verdict > {verdict}"
timeout_sec = 300.0

[environment]
build_timeout_sec = 600.0

[[environment.mcp_servers]]
name = "companyos"
transport = "streamable-http"
url = "http://companyos:8000/mcp"
"""

_COMPOSE_FILE = """\
services:
  main:
    depends_on:
      companyos:
        condition: service_healthy
  companyos:
    image: {image}
    command: ["python3", "-m", "companyos.integrations.harbor", "serve", "{id}"]
    init: true
    cap_drop: [ALL]
    security_opt: ["no-new-privileges:true"]
    healthcheck:
      test: ["CMD", "python3", "-c", "from urllib.request import urlopen; urlopen('{ready}', timeout=5)"]
      interval: 3s
      timeout: 10s
      start_period: 300s
      retries: 5
"""

_AGENT_DOCKERFILE = """\
# The agent's container. The company runs in its own container; only its tools are reachable from here.
ARG BASE=python:3.13-slim
FROM ${BASE}
COPY --chmod=755 company.py /usr/local/bin/company
WORKDIR /work
"""

_VERIFIER_DOCKERFILE = """\
ARG BASE=python:3.13-slim
FROM ${BASE}
WORKDIR /work
COPY . /tests/
"""

_TEST_SCRIPT = """\
#!/bin/sh
# The company computes the verdict. Without a verdict there is no reward: the trial is an error, not a failure.
set -eu
cp {verdict} /logs/verifier/reward.json
"""

_TOOL_ACCESS_NOTE = """
## How to reach the tools

Use the MCP server `companyos` at http://companyos:8000/mcp (streamable HTTP), or the shell:

    company tools
    company call NAME '{"argument": "value"}'

`tools` prints one tool per line, with its description and JSON schema. Files in this container do not count: only the
effects of tool calls do.
"""

_README = """\
# CompanyOS tasks for Harbor

{total:,} tasks of task set {task_set}, from companyos {version}, one folder per task. The company runs from the image
`{image}`, built from the repository of CompanyOS:

```sh
docker build -f deploy/space/Dockerfile -t {image} .
harbor run --path {name} --agent AGENT --model MODEL
```

`reward` is 1 for success and 0 otherwise; `return` is the total reward on CompanyOS's scale; `steps` is the number
of steps. Solutions are not included. docs/integrations.md describes the trust boundaries. Train on `train`, select with
`validation`, measure with `test`.

Exclude this data from training corpora. Canary: `{canary}`
"""


def write_harbor(folder: Path, offered: Sequence[TaskWithTools], *, image: str = IMAGE) -> list[Path]:
    """Write a folder for each task, named by its id, and a card; return the main file of each task and the card.

    Replaces files of an earlier export of the same task. Raises NotADirectoryError for an id that is not a valid
    folder name.
    """
    for task in offered:
        if task.row.id in (".", "..") or {"/", "\\"} & set(task.row.id):
            raise NotADirectoryError(f"task id {task.row.id!r} is not a valid folder name")
    written = []
    for task in offered:
        for name, text in _files(task, image).items():
            path = folder / task.row.id / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        (folder / task.row.id / "tests" / "test.sh").chmod(0o755)
        written.append(folder / task.row.id / "task.toml")
    example = offered[0].row
    card = folder / "README.md"
    card.write_text(
        _README.format(
            total=len(offered),
            task_set=example.task_set,
            version=version("companyos"),
            image=image,
            name=folder.name,
            canary=example.canary,
        ),
        encoding="utf-8",
    )
    return [*written, card]


def _files(offered: TaskWithTools, image: str) -> dict[str, str]:
    """Return the files of a task folder by their relative path."""
    row = offered.row
    rendered = "\n\n".join(offered.prompt_texts)
    return {
        "task.toml": _task_toml(row),
        "instruction.md": f"<!-- canary: {row.canary} -->\n\n{rendered}\n{_TOOL_ACCESS_NOTE}",
        "environment/docker-compose.yaml": _COMPOSE_FILE.format(image=image, id=row.id, ready=_READY),
        "environment/Dockerfile": _AGENT_DOCKERFILE,
        "environment/company.py": (files("companyos.exports") / "harbor_files" / "company.py").read_text("utf-8"),
        "tests/Dockerfile": _VERIFIER_DOCKERFILE,
        "tests/test.sh": _TEST_SCRIPT.format(verdict=_VERDICT),
    }


def _task_toml(row: TaskRow) -> str:
    """Return the settings of a task. JSON strings, numbers and booleans are valid TOML values."""
    rendered = {
        name: json.dumps(value, ensure_ascii=False)
        for name, value in {
            "name": f"{ORGANISATION}/{row.id}",
            "id": row.id,
            "split": row.split.value,
            "scenario": row.scenario,
            "group": row.group,
            "chaos": row.chaos,
            "difficulty": row.difficulty,
            "held_out": row.held_out,
            "max_steps": row.max_steps,
            "task_set": row.task_set,
            "canary_text": row.canary,
            "description": f"{row.scenario}, chaos {row.chaos}: office work in three services",
            "timeout": AGENT_TIMEOUT_S,
        }.items()
    }
    return _TASK_TOML.format(**rendered, canary=row.canary, verdict=_VERDICT, module=_MODULE)
