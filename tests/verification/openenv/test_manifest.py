"""The manifest matches the code."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import yaml
from fastapi import FastAPI
from openenv.validation import Level, run_validation
from openenv.validation import Verdict as Overall

from companyos.contract import Outcome, RewardScale, Shaping
from companyos_gateway.api.openenv_environment import DESCRIPTION, ENVIRONMENT_NAME
from companyos_gateway.engine.reward import RewardLedger, StepKind
from companyos_gateway.evaluation import Standing
from companyos_gateway.scenarios import catalogue
from companyos_gateway.tasks import TaskSet
from tests.architecture.sources import ROOT
from tests.scenarios.engine import open_engine
from verification.openenv.manifest import MANIFEST, canaries, manifest, runtime_plan
from verification.openenv.package import TOP_LEVEL_FILES, assemble

TEXT: dict[str, Any] = yaml.safe_load(MANIFEST.read_text())
SUCCEEDED = Standing(potential=0.0, damage=(), rejections=0)
OUT_OF_RANGE = replace(SUCCEEDED, potential=-1000.0)
REMEDY = "run `make regenerate`"


def test_the_validator_accepts_the_assembled_package(tmp_path: Any) -> None:
    assemble(tmp_path / "package")
    report = run_validation(tmp_path / "package", max_level=Level.STATIC)
    assert (report.verdict, [result.evidence for result in report.results]) == (
        Overall.PASS,
        [["manifest is schema-valid and within policy bounds"]],
    )
    validation = TEXT["validation"]
    execution, capabilities = validation["execution"], validation["capabilities"]
    needed = [execution["dockerfile"], execution["probe_path"], capabilities["oracle"]["location"]]
    for name in [*needed, capabilities["canaries"], "pyproject.toml", "uv.lock", *TOP_LEVEL_FILES.values()]:
        assert (tmp_path / "package" / name).is_file(), name


def test_the_manifest_names_this_app_and_this_version() -> None:
    module, _, name = TEXT["app"].partition(":")
    app = getattr(import_module(module), name)
    assert isinstance(app, FastAPI)
    assert (TEXT["name"], TEXT["version"], TEXT["port"]) == (ENVIRONMENT_NAME, app.version, 8000)
    assert TEXT["description"] == DESCRIPTION


def test_the_manifest_of_the_client_equals_the_main_manifest() -> None:
    short = yaml.safe_load((ROOT / "client" / "src" / "companyos" / "openenv.yaml").read_text())
    assert short == {name: value for name, value in TEXT.items() if name != "validation"}


def test_the_declared_tasks_are_those_of_the_task_set() -> None:
    found = {split.name.value: split.num_tasks for split in TaskSet(catalogue()).splits()}
    assert manifest().capabilities.declared_task_count == found, REMEDY


async def test_the_declared_tools_are_those_of_the_services(tmp_path: Path) -> None:
    async with open_engine(tmp_path) as engine:
        found = sorted(tool.name for tool in engine.tools(None))
    assert TEXT["validation"]["capabilities"]["declared_tools"] == found, REMEDY


def test_the_declared_rewards_are_those_of_the_unit_scale() -> None:
    ledger = RewardLedger(Shaping.NONE, RewardScale.UNIT)
    assert (
        ledger.add_step(StepKind.CARRIED_OUT, SUCCEEDED, Outcome.SUCCESS, solved_share=1.0)
        == manifest().reward.range[1]
    )
    assert (
        RewardLedger(scale=RewardScale.UNIT).add_step(StepKind.CARRIED_OUT, OUT_OF_RANGE, None)
        == manifest().reward.range[0]
    )


def test_the_plan_and_the_canaries_use_the_declared_reward_scale() -> None:
    reset = runtime_plan(manifest().execution).reset
    assert (reset.options["reward_scale"], reset.options["shaping"]) == (RewardScale.UNIT, Shaping.NONE)
    for canary in canaries():
        assert canary.reset == {**reset.options, "seed": reset.seed}


@pytest.mark.parametrize("capability", ["task_api", "rubric_tree", "set_state"])
def test_every_supported_capability_is_declared(capability: str) -> None:
    assert getattr(manifest().capabilities, capability) is True
