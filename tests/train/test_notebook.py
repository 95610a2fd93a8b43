"""The notebook runs from the first to the last cell, in a running event loop as in Jupyter."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from tests.architecture.sources import ROOT

NOTEBOOK = ROOT / "examples" / "companyos_grpo.ipynb"
SMALLER = {
    '{"sft": 150, "grpo": 10}': '{"sft": 20, "grpo": 1}',
    "DEMONSTRATIONS, EPISODES = 60, 20": "DEMONSTRATIONS, EPISODES = 4, 2",
    '"per_device_train_batch_size": 16, "num_generations": 8': '"per_device_train_batch_size": 4, "num_generations": 4',
    "chaos=0, scenario": "url=URL, chaos=0, scenario",
}


def test_the_notebook_runs_from_its_first_cell_to_its_last(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    cells = [cell for cell in json.loads(NOTEBOOK.read_text())["cells"] if cell["cell_type"] == "code"]
    names: dict[str, Any] = {"URL": url}

    async def as_in_jupyter() -> None:
        for cell in cells:
            exec(_smaller("".join(cell["source"])), names)  # noqa: S102

    asyncio.run(as_in_jupyter())
    message = capsys.readouterr().out
    assert "before: return" in message
    assert "after: return" in message
    assert (tmp_path / "runs" / "notebook" / "curves.png").exists()


def test_the_values_that_the_test_reduces_exist_in_the_notebook() -> None:
    source = "".join("".join(cell["source"]) for cell in json.loads(NOTEBOOK.read_text())["cells"])
    assert all(old in source for old in SMALLER)


def test_the_notebook_contains_no_output() -> None:
    cells = json.loads(NOTEBOOK.read_text())["cells"]
    assert not any(cell.get("outputs") or cell.get("execution_count") for cell in cells)


def _smaller(source: str) -> str:
    for old, new in SMALLER.items():
        source = source.replace(old, new)
    return source
