"""NeMo Gym's rows: the model's prompt and tools, and the task that the resources server starts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from companyos.cli.main import app
from companyos.client import CompanyOSEnv
from companyos.contract import CompanyOSResetObservation
from companyos.exports.nemo_gym import AGENT, EXAMPLES
from companyos_gateway.tasks import CANARY
from tests.architecture.sources import ROOT

RUNNER = CliRunner()
SERVER = ROOT / "integrations" / "nemo-gym" / "resources_servers" / "companyos"
SETTINGS = yaml.safe_load((SERVER / "configs" / "companyos.yaml").read_text())
TASKS = 4


@pytest.fixture(scope="module")
def exported(url: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("nemo-gym")
    which = ["--split", "train", "--split", "test", "--chaos", "4", "-n", str(TASKS)]
    answer = RUNNER.invoke(app, ["tasks", "export", "--format", "nemo-gym", "--out", str(folder), *which, "--url", url])
    assert answer.exit_code == 0, answer.output
    return folder


def _rows(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text().splitlines()]


@pytest.mark.integration
def test_a_row_contains_the_exact_tools_of_its_task(exported: Path, url: str) -> None:
    for row in _rows(exported / "test.jsonl"):
        with CompanyOSEnv(base_url=url).sync() as env:
            first = env.reset(task_id=row["verifier_metadata"]["task_id"], toolset="task").observation
            assert isinstance(first, CompanyOSResetObservation)
            offered = {tool.name: (tool.description, tool.input_schema) for tool in env.list_tools()}
        request = row["responses_create_params"]
        assert {tool["name"]: (tool["description"], tool["parameters"]) for tool in request["tools"]} == offered
        assert {(tool["type"], tool["strict"]) for tool in request["tools"]} == {("function", False)}
        assert [message["role"] for message in request["input"]] == ["developer", "user"]
        assert request["input"][1]["content"].startswith(first.brief)


@pytest.mark.integration
def test_the_prompt_names_neither_task_nor_canary(exported: Path) -> None:
    for row in _rows(exported / "train.jsonl"):
        assert row["verifier_metadata"]["canary"] == CANARY
        sent = json.dumps(row["responses_create_params"])
        assert CANARY not in sent
        assert row["verifier_metadata"]["task_id"] not in sent


@pytest.mark.integration
def test_each_split_has_a_file_and_there_is_one_with_examples(exported: Path) -> None:
    rows = {name: _rows(exported / f"{name}.jsonl") for name in ("train", "test", "example")}
    assert [len(of_split) for of_split in rows.values()] == [TASKS, TASKS, EXAMPLES]
    assert rows["example"] == (rows["train"] + rows["test"])[:EXAMPLES]


def test_the_rows_name_the_agent_of_our_configuration() -> None:
    (agent,) = SETTINGS[AGENT]["responses_api_agents"].values()
    assert agent["resources_server"]["name"] in SETTINGS
    assert {Path(one["jsonl_fpath"]).name for one in agent["datasets"]} == {
        "train.jsonl",
        "validation.jsonl",
        "example.jsonl",
    }
