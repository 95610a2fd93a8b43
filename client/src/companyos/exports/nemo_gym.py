"""Tasks as rows of NeMo Gym: what the model is told and offered, and the id that its resources server begins."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from companyos.exports.rows import OfferedTask
from companyos.exports.words import place_and_task

AGENT = "companyos_simple_agent"
"""The agent of `integrations/nemo-gym/resources_servers/companyos/configs/companyos.yaml`."""

EXAMPLES = 5
"""Rows of `example.jsonl`, which NeMo Gym wants of every environment."""


def write_nemo_gym(folder: Path, offered: Sequence[OfferedTask]) -> list[Path]:
    """Write a file for each split, and the first rows as examples; return what was written."""
    folder.mkdir(parents=True, exist_ok=True)
    lines: dict[str, list[str]] = {}
    for one in offered:
        line = json.dumps(row_of(one), ensure_ascii=False)
        lines.setdefault(one.row.split.value, []).append(line)
        lines.setdefault("example", []).append(line)
    del lines["example"][EXAMPLES:]
    written = []
    for name, of_file in lines.items():
        written.append(folder / f"{name}.jsonl")
        written[-1].write_text("".join(f"{line}\n" for line in of_file), encoding="utf-8")
    return written


def row_of(offered: OfferedTask) -> dict[str, Any]:
    """Return one row. The tools are those of the task; `verifier_metadata` is for the resources server alone."""
    place, task = place_and_task(offered)
    row = offered.row
    return {
        "responses_create_params": {
            "input": [{"role": "developer", "content": place}, {"role": "user", "content": task}],
            "tools": [
                {
                    "type": "function",
                    "name": tool.name,
                    "description": tool.description,
                    "parameters": tool.input_schema,
                    "strict": False,
                }
                for tool in offered.tools
            ],
        },
        "verifier_metadata": {
            "task_id": row.id,
            "scenario": row.scenario,
            "chaos": row.chaos,
            "task_set": row.task_set,
            "canary": row.canary,
        },
        "agent_ref": {"type": "responses_api_agents", "name": AGENT},
    }
