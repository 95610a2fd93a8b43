"""Writes the trajectories of a run to one Parquet file: one row per episode, with its steps nested."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from companyos.contract import EpisodeRecord
from companyos.runner import PlayedEpisode, StepLine
from companyos.runner.run_reader import TRAJECTORIES, name_of

FILE = "trajectories.parquet"
_ROWS_PER_WRITE = 64


class TrajectoryTable:
    """Writer of episodes in completion order. Arguments and results are JSON strings, since each tool has its own
    schema.

    `kept` are episodes of an earlier part of the run: their rows come first, read from their trajectories, with the
    node recorded in the existing table if it is readable.
    """

    def __init__(self, run: Path, kept: Sequence[EpisodeRecord] = ()) -> None:
        self._path = run / TRAJECTORIES / FILE
        self._kept = kept
        self._pending_rows: list[dict[str, Any]] = []
        self._writer: Any = None
        self._nodes: dict[str, str] | None = None

    def add(self, played: PlayedEpisode, node: str) -> None:
        """Add an episode; it is written to disk with a later batch, or by `close`. Raises OSError."""
        if self._nodes is None:
            self._nodes = _read_nodes(self._path) if self._kept else {}
            for record in self._kept:
                lines = (self._path.parent / f"{name_of(record)}.jsonl").read_bytes().splitlines()
                self._add(record, [StepLine(**json.loads(line)) for line in lines], self._nodes.get(record.digest))
        self._add(played.record, played.steps, node)

    def _add(self, record: EpisodeRecord, lines: Sequence[StepLine], node: str | None) -> None:
        fields = record.model_dump(mode="json", include=set(_COLUMNS) - {"return"}) | {"return": record.return_}
        steps = [
            {
                "step": line.step,
                "tool": line.tool,
                "arguments": json.dumps(line.arguments, ensure_ascii=False),
                "result": json.dumps(line.result, ensure_ascii=False),
                "error": None if line.error is None else json.dumps(line.error, ensure_ascii=False),
                "reward": line.reward,
                "done": line.done,
                "now": line.now,
            }
            for line in lines
        ]
        self._pending_rows.append({name: fields.get(name) for name in _COLUMNS} | {"node": node, "trajectory": steps})
        if len(self._pending_rows) >= _ROWS_PER_WRITE:
            self._write()

    def close(self) -> None:
        """Write the remaining rows and close the file."""
        self._write()
        if self._writer is not None:
            self._writer.close()

    def _write(self) -> None:
        import pyarrow
        from pyarrow import parquet

        if not self._pending_rows:
            return
        if self._writer is None:
            self._writer = parquet.ParquetWriter(self._path, _schema(), compression="zstd")
        self._writer.write_table(pyarrow.Table.from_pylist(self._pending_rows, schema=_schema()))
        self._pending_rows.clear()


_COLUMNS = {
    "policy": "string",
    "scenario": "string",
    "seed": "int64",
    "chaos": "int64",
    "task_id": "string",
    "trial": "int64",
    "task_set": "string",
    "success": "bool_",
    "return": "float64",
    "steps": "int64",
    "outcome": "string",
    "digest": "string",
    "trouble": "string",
}


def _read_nodes(table: Path) -> dict[str, str]:
    """Return the nodes of an existing table by digest; empty if the file is missing or truncated."""
    import pyarrow
    from pyarrow import parquet

    try:
        rows = parquet.read_table(table, columns=["digest", "node"]).to_pylist()
    except (OSError, pyarrow.ArrowInvalid):
        return {}
    return {row["digest"]: row["node"] for row in rows}


def _schema() -> Any:
    import pyarrow

    step = [("step", pyarrow.int64()), ("tool", pyarrow.string()), ("arguments", pyarrow.string())]
    step += [("result", pyarrow.string()), ("error", pyarrow.string()), ("reward", pyarrow.float64())]
    step += [("done", pyarrow.bool_()), ("now", pyarrow.string())]
    columns = [(name, getattr(pyarrow, kind)()) for name, kind in _COLUMNS.items()]
    return pyarrow.schema([*columns, ("node", pyarrow.string()), ("trajectory", pyarrow.list_(pyarrow.struct(step)))])
