"""`companyos tasks export`: rows contain the agent's information and nothing else."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from companyos.cli.main import app
from companyos.contract import TaskInfo
from companyos.exports import tables
from companyos.exports.harbor import write_harbor
from companyos.exports.task_rows import TaskRow, TaskWithTools, read_tasks_with_tools
from companyos.extras import install_command
from companyos_gateway.tasks import CANARY
from tests.architecture.sources import ROOT

RUNNER = CliRunner()
PAGE = (ROOT / "docs" / "evaluating.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def exported(url: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tasks")
    answer = RUNNER.invoke(
        app, ["tasks", "export", "--out", str(folder), "--format", "jsonl", "-n", "2", "--chaos", "2", "--url", url]
    )
    assert answer.exit_code == 0, answer.output
    assert "6 tasks of task set" in answer.stdout
    return folder


@pytest.mark.integration
def test_a_row_contains_what_the_agent_sees_and_names_the_task_set(exported: Path) -> None:
    rows = {
        split: [TaskRow.model_validate_json(line) for line in (exported / f"{split}.jsonl").read_text().splitlines()]
        for split in ("train", "validation", "test")
    }
    tools = {tool["name"] for tool in json.loads((exported / "tools.json").read_text())}
    for split, found in rows.items():
        assert [row.split for row in found] == [split] * 2
        assert all(row.brief and row.max_steps >= 100 and row.chaos == 2 for row in found)
        assert all({"wait", "finish"} < set(row.tools) <= tools for row in found)
        assert {row.canary for row in found} == {CANARY}
    assert rows["test"][0].seed != rows["train"][0].seed
    assert not set(TaskRow.model_fields) & {"solution", "case", "facts", "rubric"}


@pytest.mark.integration
def test_the_card_of_a_dataset_lists_its_files(exported: Path) -> None:
    _, front, text = (exported / "README.md").read_text().split("---\n", 2)
    (config,) = yaml.safe_load(front)["configs"]
    assert all((exported / one["path"]).is_file() for one in config["data_files"])
    assert CANARY in text


def test_an_export_does_not_write_to_a_folder_with_files(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("mine")
    answer = RUNNER.invoke(
        app, ["tasks", "export", "--out", str(tmp_path), "--format", "jsonl", "--url", "127.0.0.1:9"]
    )
    assert (answer.exit_code, answer.stderr) == (2, f"error: {tmp_path} exists and is not an empty folder\n")
    assert [path.read_text() for path in tmp_path.iterdir()] == ["mine"]
    below = tmp_path / "README.md" / "tasks"
    answer = RUNNER.invoke(app, ["tasks", "export", "--out", str(below), "--url", "127.0.0.1:9"])
    assert answer.exit_code == 2
    assert answer.stderr.startswith(f"error: {below} cannot be created: {tmp_path / 'README.md'} is not a folder")


def test_without_pyarrow_the_error_names_the_install_command(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with pytest.raises(ImportError, match=re.escape(install_command("parquet"))):
        tables.check_parquet()
    answer = RUNNER.invoke(app, ["tasks", "export", "--out", str(tmp_path), "--format", "parquet"])
    assert answer.exit_code == 1


def _task(task_id: str) -> TaskInfo:
    reported = {
        "id": task_id,
        "split": "test",
        "index": 0,
        "scenario": "tiny",
        "group": "tiny",
        "chaos": 0,
        "canary": CANARY,
    }
    return TaskInfo.model_validate({**reported, "difficulty": "calm", "held_out": False, "version": "1"})


async def test_an_unreachable_gateway_is_one_error_and_not_a_group() -> None:
    with pytest.raises(ConnectionError):
        await read_tasks_with_tools("http://127.0.0.1:1", [_task("test.tiny.0.00")], token=None)


@pytest.mark.parametrize("task_id", ["../beside", "..", "/beside", "a/b"])
def test_a_task_whose_id_is_not_a_file_name_is_not_written(tmp_path: Path, task_id: str) -> None:
    reported = _task(task_id).model_dump(exclude={"brief", "version"})
    place = {"seed": 0, "brief": "Do it.", "company": "Tiny", "acting_as": "E-1", "now": "2026-03-02T09:15:00Z"}
    row = TaskRow.model_validate({**reported, **place, "max_steps": 9, "tools": [], "task_set": "1"})
    with pytest.raises(NotADirectoryError, match="not a valid folder name"):
        write_harbor(tmp_path / "out", [TaskWithTools(row, ())])
    assert list(tmp_path.rglob("*.toml")) == []


def test_an_unknown_split_is_a_usage_error(tmp_path: Path) -> None:
    answer = RUNNER.invoke(app, ["tasks", "export", "--out", str(tmp_path), "--split", "secret"])
    assert answer.exit_code == 2


def test_the_page_on_evaluation_lists_the_canary_and_the_fields_of_a_row() -> None:
    assert CANARY in PAGE
    assert ", ".join(f"`{name}`" for name in TaskRow.model_fields) in PAGE
