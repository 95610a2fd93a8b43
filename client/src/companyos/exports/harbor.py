"""Tasks as folders that Harbor runs: the brief, the agent's container, the company beside it, and the verdict."""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path

from companyos.exports.prompts import prompt_texts
from companyos.exports.task_rows import TaskRow, TaskWithTools

IMAGE = "companyos-env"
"""The image of the enterprise, as `docker build -f deploy/space/Dockerfile -t companyos-env .` names it."""

AGENT_TIMEOUT_S = 3600.0
ORGANISATION = "companyos"
"""The first half of the packages' names."""

_VERDICT = "/tmp/companyos-verdict.json"  # noqa: S108  # in the company's container, which no agent enters
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
index = {index}
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

# The company judges, in its own container and once the agent's has stopped; the verifier is given what it said.
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
# Where the agent works. The company is in a container of its own; nothing of it is in here but the way to its tools.
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
# The verdict is the company's own. Where there is none there is no reward: an error of the trial, no failure.
set -eu
cp {verdict} /logs/verifier/reward.json
"""

_TOOL_ACCESS_NOTE = """
## How to reach the tools

The MCP server `companyos` at http://companyos:8000/mcp (streamable HTTP) has them. From a shell they are there as well:

    company tools
    company call NAME '{"argument": "value"}'

`tools` prints one tool a line, with its description and its JSON schema. Nothing in this container is part of the
work: what counts is what the tools did.
"""

_README = """\
# CompanyOS tasks for Harbor

{total:,} tasks of the set {task_set}, from companyos {version}, a folder each. The company of a task is the image
`{image}`, built from the repository of CompanyOS:

```sh
docker build -f deploy/space/Dockerfile -t {image} .
harbor run --path {name} --agent AGENT --model MODEL
```

`reward` is 1 for success and 0 for anything else; `return` is the whole reward by the house's scale, `steps` counts.
There are no solutions here. docs/integrations.md says who is trusted with what. Train on `train`, choose by
`validation`, measure with `test`.

Text corpora must leave this out. Canary: `{canary}`
"""


def write_harbor(folder: Path, offered: Sequence[TaskWithTools], *, image: str = IMAGE) -> list[Path]:
    """Write a folder for each task, named by its id, and a card; return each task's own file and the card.

    What an earlier export wrote of the same task is replaced. Raises NotADirectoryError where an id names no folder.
    """
    for task in offered:
        if task.row.id in (".", "..") or {"/", "\\"} & set(task.row.id):
            raise NotADirectoryError(f"no folder can be called after the task {task.row.id!r}")
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
    """Return what is in the folder of a task, by its path there."""
    row = offered.row
    rendered = "\n\n".join(prompt_texts(offered))
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
    """Return the settings of a task. A JSON string is a basic string of TOML, a JSON number or boolean one as well."""
    rendered = {
        name: json.dumps(value, ensure_ascii=False)
        for name, value in {
            "name": f"{ORGANISATION}/{row.id}",
            "id": row.id,
            "split": row.split.value,
            "index": row.index,
            "scenario": row.scenario,
            "group": row.group,
            "chaos": row.chaos,
            "difficulty": row.difficulty,
            "held_out": row.held_out,
            "max_steps": row.max_steps,
            "task_set": row.task_set,
            "canary_text": row.canary,
            "description": f"{row.scenario}, chaos {row.chaos}: office work over three systems",
            "timeout": AGENT_TIMEOUT_S,
        }.items()
    }
    return _TASK_TOML.format(**rendered, canary=row.canary, verdict=_VERDICT, module=_MODULE)
