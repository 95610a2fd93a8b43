"""Exports rows as a dataset: one file per split (JSON Lines or Parquet), the tool schemas and a card."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path

from companyos.contract import ToolSpec
from companyos.exports.task_rows import TaskRow
from companyos.extras import require_extra

TOOLS = "tools.json"
README = "README.md"

_README_TEMPLATE = """\
---
pretty_name: CompanyOS tasks
license: mit
tags: [agents, tool-use, reinforcement-learning, openenv]
configs:
  - config_name: default
    data_files:
{files}
---

# CompanyOS tasks

{total:,} tasks of task set {task_set}, from companyos {version}: {counts}.
A row contains the brief and the tools of a task, without its solution. `{tools}` contains the tools with their schemas.
Play a task in the environment by its `id`:

```python
env.reset(task_id="{example}")
```

Train on `train`, select with `validation`, measure with `test`. Report the task set with results: {task_set}.

Exclude this data from training corpora. Canary: `{canary}`
"""


def check_parquet() -> None:
    """Raise ImportError if PyArrow is not installed; the text contains the install command."""
    with require_extra("pyarrow", "parquet"):
        import pyarrow.parquet  # noqa: F401


def write_jsonl(folder: Path, rows: Sequence[TaskRow], tools: Sequence[ToolSpec]) -> list[Path]:
    """Write the rows of each split as JSON Lines; return the paths."""

    def write(path: Path, of_split: Sequence[TaskRow]) -> None:
        path.write_text("".join(row.model_dump_json() + "\n" for row in of_split), encoding="utf-8")

    return _write(folder, rows, tools, suffix="jsonl", write=write)


def write_parquet(folder: Path, rows: Sequence[TaskRow], tools: Sequence[ToolSpec]) -> list[Path]:
    """Write the rows of each split as Parquet; return the paths. Raises ImportError without PyArrow."""
    check_parquet()
    import pyarrow
    from pyarrow import parquet

    def write(path: Path, of_split: Sequence[TaskRow]) -> None:
        table = pyarrow.Table.from_pylist([row.model_dump(mode="json") for row in of_split])
        parquet.write_table(table, path, compression="zstd")

    return _write(folder, rows, tools, suffix="parquet", write=write)


def _write(
    folder: Path,
    rows: Sequence[TaskRow],
    tools: Sequence[ToolSpec],
    *,
    suffix: str,
    write: Callable[[Path, Sequence[TaskRow]], None],
) -> list[Path]:
    folder.mkdir(parents=True, exist_ok=True)
    by_split: dict[str, list[TaskRow]] = {}
    for row in rows:
        by_split.setdefault(row.split.value, []).append(row)
    written = []
    for split, of_split in by_split.items():
        written.append(folder / f"{split}.{suffix}")
        write(written[-1], of_split)
    schemas = json.dumps([tool.model_dump() for tool in tools], indent=1, ensure_ascii=False)
    (folder / TOOLS).write_text(schemas + "\n", encoding="utf-8")
    (folder / README).write_text(_render_readme(by_split, suffix), encoding="utf-8")
    return [*written, folder / TOOLS, folder / README]


def _render_readme(by_split: Mapping[str, Sequence[TaskRow]], suffix: str) -> str:
    example = next(iter(by_split.values()))[0]
    return _README_TEMPLATE.format(
        files="\n".join(f"      - {{split: {split}, path: {split}.{suffix}}}" for split in by_split),
        total=sum(map(len, by_split.values())),
        counts=", ".join(f"{len(rows):,} of {split}" for split, rows in by_split.items()),
        task_set=example.task_set,
        version=version("companyos"),
        tools=TOOLS,
        example=example.id,
        canary=example.canary,
    )
