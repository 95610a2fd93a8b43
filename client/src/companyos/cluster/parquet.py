"""The trajectories of a run as one Parquet file: a row for each episode, its steps nested in it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from companyos.runner import PlayedEpisode
from companyos.runner.reading import TRAJECTORIES

FILE = "trajectories.parquet"
_ROWS_AT_ONCE = 64


class TrajectoryTable:
    """Writes episodes as they come. Arguments and results are JSON texts, since every tool has a shape of its own."""

    def __init__(self, run: Path) -> None:
        self._path = run / TRAJECTORIES / FILE
        self._waiting: list[dict[str, Any]] = []
        self._writer: Any = None

    def add(self, played: PlayedEpisode, node: str) -> None:
        """Take an episode; it is on the disk after some more, or with `close`."""
        record = played.record
        told = record.model_dump(mode="json", include=set(_COLUMNS) - {"return"}) | {"return": record.return_}
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
            for line in played.steps
        ]
        self._waiting.append({name: told.get(name) for name in _COLUMNS} | {"node": node, "trajectory": steps})
        if len(self._waiting) >= _ROWS_AT_ONCE:
            self._write()

    def close(self) -> None:
        """Write what waits, and end the file."""
        self._write()
        if self._writer is not None:
            self._writer.close()

    def _write(self) -> None:
        import pyarrow
        from pyarrow import parquet

        if not self._waiting:
            return
        if self._writer is None:
            self._writer = parquet.ParquetWriter(self._path, _schema(), compression="zstd")
        self._writer.write_table(pyarrow.Table.from_pylist(self._waiting, schema=_schema()))
        self._waiting.clear()


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


def _schema() -> Any:
    import pyarrow

    step = [("step", pyarrow.int64()), ("tool", pyarrow.string()), ("arguments", pyarrow.string())]
    step += [("result", pyarrow.string()), ("error", pyarrow.string()), ("reward", pyarrow.float64())]
    step += [("done", pyarrow.bool_()), ("now", pyarrow.string())]
    columns = [(name, getattr(pyarrow, kind)()) for name, kind in _COLUMNS.items()]
    return pyarrow.schema([*columns, ("node", pyarrow.string()), ("trajectory", pyarrow.list_(pyarrow.struct(step)))])
