"""Rows as a dataset: a file for each split, JSON Lines or Parquet, with the tools' schemas and a card beside them."""

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

{total:,} tasks of the set {task_set}, from companyos {version}: {counts}.
A row says what an agent is told and offered; there are no solutions. `{tools}` holds the tools with their schemas.
A task is played in the environment, by its `id`:

```python
env.reset(task_id="{example}")
```

Train on `train`, choose by `validation`, measure with `test`. Results name the task set, {task_set}.

Text corpora must leave this out. Canary: `{canary}`
"""


def check_parquet() -> None:
    """Raise ImportError where PyArrow is not installed; the text says how to install it."""
    with require_extra("pyarrow", "parquet"):
        import pyarrow.parquet  # noqa: F401


def write_jsonl(folder: Path, rows: Sequence[TaskRow], tools: Sequence[ToolSpec]) -> list[Path]:
    """Write the rows of each split as JSON Lines; return what was written."""

    def write(path: Path, of_split: Sequence[TaskRow]) -> None:
        path.write_text("".join(row.model_dump_json() + "\n" for row in of_split), encoding="utf-8")

    return _write(folder, rows, tools, suffix="jsonl", write=write)


def write_parquet(folder: Path, rows: Sequence[TaskRow], tools: Sequence[ToolSpec]) -> list[Path]:
    """Write the rows of each split as Parquet; return what was written. Raises ImportError without PyArrow."""
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
