"""Rows as a dataset: a file for each split, JSON Lines or Parquet, with the tools' schemas and a card beside them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path

from companyos.contract import ToolSpec
from companyos.exports.rows import TaskRow
from companyos.integrations.missing import needs

TOOLS = "tools.json"
CARD = "README.md"

_CARD = """\
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
    with needs("pyarrow", "parquet"):
        import pyarrow.parquet  # noqa: F401


def write_jsonl(folder: Path, rows: Sequence[TaskRow], tools: Sequence[ToolSpec]) -> list[Path]:
    """Write the rows of each split as JSON Lines; return what was written."""

    def write(path: Path, of_split: Sequence[TaskRow]) -> None:
        path.write_text("".join(row.model_dump_json() + "\n" for row in of_split), encoding="utf-8")

    return _write(folder, rows, tools, ending="jsonl", write=write)


def write_parquet(folder: Path, rows: Sequence[TaskRow], tools: Sequence[ToolSpec]) -> list[Path]:
    """Write the rows of each split as Parquet; return what was written. Raises ImportError without PyArrow."""
    check_parquet()
    import pyarrow
    from pyarrow import parquet

    def write(path: Path, of_split: Sequence[TaskRow]) -> None:
        table = pyarrow.Table.from_pylist([row.model_dump(mode="json") for row in of_split])
        parquet.write_table(table, path, compression="zstd")

    return _write(folder, rows, tools, ending="parquet", write=write)


def _write(
    folder: Path,
    rows: Sequence[TaskRow],
    tools: Sequence[ToolSpec],
    *,
    ending: str,
    write: Callable[[Path, Sequence[TaskRow]], None],
) -> list[Path]:
    folder.mkdir(parents=True, exist_ok=True)
    by_split: dict[str, list[TaskRow]] = {}
    for row in rows:
        by_split.setdefault(row.split.value, []).append(row)
    written = []
    for split, of_split in by_split.items():
        written.append(folder / f"{split}.{ending}")
        write(written[-1], of_split)
    schemas = json.dumps([tool.model_dump() for tool in tools], indent=1, ensure_ascii=False)
    (folder / TOOLS).write_text(schemas + "\n", encoding="utf-8")
    (folder / CARD).write_text(_card(by_split, ending), encoding="utf-8")
    return [*written, folder / TOOLS, folder / CARD]


def _card(by_split: Mapping[str, Sequence[TaskRow]], ending: str) -> str:
    example = next(iter(by_split.values()))[0]
    return _CARD.format(
        files="\n".join(f"      - {{split: {split}, path: {split}.{ending}}}" for split in by_split),
        total=sum(map(len, by_split.values())),
        counts=", ".join(f"{len(rows):,} of {split}" for split, rows in by_split.items()),
        task_set=example.task_set,
        version=version("companyos"),
        tools=TOOLS,
        example=example.id,
        canary=example.canary,
    )
