"""Exports tasks as NeMo Gym rows: prompt, tools, and the task id for the resources server."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from companyos.exports.task_rows import TaskWithTools

AGENT = "companyos_simple_agent"
"""Agent of `integrations/nemo-gym/resources_servers/companyos/configs/companyos.yaml`."""

EXAMPLES = 5
"""Number of rows of `example.jsonl`, which NeMo Gym requires of every environment."""


def write_nemo_gym(folder: Path, offered: Sequence[TaskWithTools]) -> list[Path]:
    """Write a file for each split and a file of example rows; return the paths."""
    folder.mkdir(parents=True, exist_ok=True)
    lines: dict[str, list[str]] = {}
    for exported_task in offered:
        line = json.dumps(row_of(exported_task), ensure_ascii=False)
        lines.setdefault(exported_task.row.split.value, []).append(line)
        lines.setdefault("example", []).append(line)
    del lines["example"][EXAMPLES:]
    written = []
    for name, file_lines in lines.items():
        written.append(folder / f"{name}.jsonl")
        written[-1].write_text("".join(f"{line}\n" for line in file_lines), encoding="utf-8")
    return written


def row_of(offered: TaskWithTools) -> dict[str, Any]:
    """Return one row. The tools are those of the task; only the resources server reads `verifier_metadata`."""
    system_prompt, task = offered.prompt_texts
    row = offered.row
    return {
        "responses_create_params": {
            "input": [{"role": "developer", "content": system_prompt}, {"role": "user", "content": task}],
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
