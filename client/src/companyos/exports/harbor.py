"""Tasks as folders that Harbor runs: the brief, the agent's container, the company beside it, and the verdict."""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path

from companyos.exports.rows import OfferedTask, TaskRow
from companyos.exports.words import place_and_task

IMAGE = "companyos-env"
"""The image of the enterprise, as `docker build -f deploy/space/Dockerfile -t companyos-env .` names it."""

AGENT_TIMEOUT_S = 3600.0
ORGANISATION = "companyos"
"""The first half of the packages' names."""

_VERDICT = "/tmp/companyos-verdict.json"  # noqa: S108  # in the company's container, which no agent enters
_READY = "http://127.0.0.1:8000/readyz"
_MODULE = "python3 -m companyos.integrations.harbor"

_TASK = """\
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

_COMPOSE = """\
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

_AGENT = """\
# Where the agent works. The company is in a container of its own; nothing of it is in here but the way to its tools.
ARG BASE=python:3.13-slim
FROM ${BASE}
COPY --chmod=755 company.py /usr/local/bin/company
WORKDIR /work
"""

_VERIFIER = """\
ARG BASE=python:3.13-slim
FROM ${BASE}
WORKDIR /work
COPY . /tests/
"""

_TEST = """\
#!/bin/sh
# The verdict is the company's own. Where there is none there is no reward: an error of the trial, no failure.
set -eu
cp {verdict} /logs/verifier/reward.json
"""

_REACH = """
## How to reach the tools

The MCP server `companyos` at http://companyos:8000/mcp (streamable HTTP) has them. From a shell they are there as well:

    company tools
    company call NAME '{"argument": "value"}'

`tools` prints one tool a line, with its description and its JSON schema. Nothing in this container is part of the
work: what counts is what the tools did.
"""

_CARD = """\
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


def write_harbor(folder: Path, offered: Sequence[OfferedTask], *, image: str = IMAGE) -> list[Path]:
    """Write a folder for each task, named by its id, and a card; return each task's own file and the card.

    What an earlier export wrote of the same task is replaced. Raises NotADirectoryError where an id names no folder.
    """
    for one in offered:
        if one.row.id in (".", "..") or {"/", "\\"} & set(one.row.id):
            raise NotADirectoryError(f"no folder can be called after the task {one.row.id!r}")
    written = []
    for one in offered:
        for name, text in _files(one, image).items():
            path = folder / one.row.id / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        (folder / one.row.id / "tests" / "test.sh").chmod(0o755)
        written.append(folder / one.row.id / "task.toml")
    example = offered[0].row
    card = folder / "README.md"
    card.write_text(
        _CARD.format(
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


def _files(offered: OfferedTask, image: str) -> dict[str, str]:
    """Return what is in the folder of a task, by its path there."""
    row = offered.row
    told = "\n\n".join(place_and_task(offered))
    return {
        "task.toml": _task_toml(row),
        "instruction.md": f"<!-- canary: {row.canary} -->\n\n{told}\n{_REACH}",
        "environment/docker-compose.yaml": _COMPOSE.format(image=image, id=row.id, ready=_READY),
        "environment/Dockerfile": _AGENT,
        "environment/company.py": (files("companyos.exports") / "harbor_files" / "company.py").read_text("utf-8"),
        "tests/Dockerfile": _VERIFIER,
        "tests/test.sh": _TEST.format(verdict=_VERDICT),
    }


def _task_toml(row: TaskRow) -> str:
    """Return the settings of a task. A JSON string is a basic string of TOML, a JSON number or boolean one as well."""
    told = {
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
    return _TASK.format(**told, canary=row.canary, verdict=_VERDICT, module=_MODULE)
