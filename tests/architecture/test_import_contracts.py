"""The import contracts of pyproject.toml: a violation of each one is planted in a copy of the code, and caught."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.architecture.sources import ROOT, features

PACKAGES = {
    "companyos_shared": "shared/src",
    "companyos_ticketdesk": "services/ticketdesk/src",
    "companyos_datahub": "services/datahub/src",
    "companyos_approvalflow": "services/approvalflow/src",
    "companyos_gateway": "gateway/src",
    "companyos": "client/src",
}
RULE_OF_THE_HOUSE = "tests/architecture/service_layers.py"
SCENARIO = "companyos_gateway.scenarios.vendor_onboarding"
FAIR = f"{SCENARIO}.solution.fair"
ONE, OTHER = (folder.name for folder in features("ticketdesk")[:2])


@dataclass(frozen=True)
class Plant:
    """A line that breaks one contract."""

    contract: str
    module: str
    line: str

    def __str__(self) -> str:
        return f"{self.module} says {self.line}"


PLANTS = (
    Plant("strangers", "companyos_ticketdesk.tables", "import companyos_datahub"),
    Plant("strangers", "companyos_gateway.settings", "import companyos_approvalflow"),
    Plant("ground", "companyos_shared.streams", "import companyos_shared.wire.problem"),
    Plant("ground", "companyos_shared.wire.problem", "from companyos_shared.chassis import Problem"),
    Plant("ground-alone", "companyos_shared.wire.problem", "import companyos.contract"),
    Plant("no-chassis", "companyos_gateway.settings", "from companyos_shared import chassis"),
    Plant("no-chassis", "companyos.contract", "from companyos_shared.chassis import Problem"),
    Plant("client", "companyos.client", "import companyos_gateway.settings"),
    Plant("client", "companyos.client", "import companyos_ticketdesk.main"),
    Plant("contract-only", "companyos_gateway.settings", "import companyos.client"),
    Plant("light-services", "companyos_datahub.main", "import openenv.core"),
    Plant("service-layers", "companyos_ticketdesk.tables", f"import companyos_ticketdesk.{ONE}.model"),
    Plant("service-layers", f"companyos_ticketdesk.{ONE}.model", f"import companyos_ticketdesk.{OTHER}.rules"),
    Plant("service-layers", f"companyos_ticketdesk.{ONE}.rules", f"import companyos_ticketdesk.{OTHER}.schemas"),
    Plant("service-layers", f"companyos_ticketdesk.{ONE}.schemas", f"import companyos_ticketdesk.{OTHER}.rules"),
    Plant("service-layers", f"companyos_ticketdesk.{ONE}.rules", f"import companyos_ticketdesk.{OTHER}.operations"),
    Plant("service-layers", f"companyos_ticketdesk.{ONE}.operations", f"import companyos_ticketdesk.{OTHER}.routes"),
    Plant("service-layers", f"companyos_ticketdesk.{ONE}.routes", "import companyos_ticketdesk.seed"),
    Plant("service-layers", "companyos_ticketdesk.seed", f"import companyos_ticketdesk.{OTHER}.routes"),
    Plant("service-layers", "companyos_ticketdesk.seed", "import companyos_ticketdesk.main"),
    Plant("pure-rules", f"companyos_ticketdesk.{ONE}.rules", "import sqlalchemy"),
    Plant("gateway-layers", "companyos_gateway.world", "import companyos_gateway.rubrics"),
    Plant("gateway-layers", "companyos_gateway.rubrics", "import companyos_gateway.scenarios"),
    Plant("gateway-layers", "companyos_gateway.scenarios", "import companyos_gateway.episode"),
    Plant("gateway-layers", "companyos_gateway.episode", "import companyos_gateway.server"),
    Plant("gateway-layers", "companyos_gateway.server", "import companyos_gateway.main"),
    Plant("gateway-layers", "companyos_gateway.episode", "import companyos_gateway.proof"),
    Plant("fair", FAIR, f"from {SCENARIO} import scenario"),
    Plant("fair", FAIR, f"from {SCENARIO}.solution import clairvoyant"),
    Plant("fair", FAIR, "import companyos_gateway.world"),
    Plant("fair", "companyos_gateway.scenarios.skills", f"import {SCENARIO}.rubric"),
    Plant("solutions", f"{SCENARIO}.scenario", f"import {SCENARIO}.solution.fair"),
    Plant("solutions", "companyos_gateway.server.house", f"import {SCENARIO}.solution.clairvoyant"),
)


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Copy what the linter reads."""
    folder = tmp_path_factory.mktemp("house")
    for package, source in PACKAGES.items():
        ignored = shutil.ignore_patterns("__pycache__", "static")
        shutil.copytree(ROOT / source / package, folder / source / package, ignore=ignored)
    for file in ("pyproject.toml", RULE_OF_THE_HOUSE):
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / file, folder / file)
    return folder


@pytest.fixture
def planted(copy: Path, request: pytest.FixtureRequest) -> Iterator[Plant]:
    """Add the line to its module, and take it away again."""
    plant: Plant = request.param
    path = _path(copy, plant.module)
    before = path.read_text()
    path.write_text(f"{before}\n\n{plant.line}\n")
    yield plant
    path.write_text(before)


def test_every_contract_has_a_violation_planted() -> None:
    config = tomllib.loads((ROOT / "pyproject.toml").read_text())
    contracts = {contract["id"] for contract in config["tool"]["importlinter"]["contracts"]}
    assert contracts == {plant.contract for plant in PLANTS}


def test_the_code_as_it_is_keeps_every_contract(copy: Path) -> None:
    outcome = _lint(copy)
    assert outcome.returncode == 0, outcome.stdout


@pytest.mark.parametrize("planted", PLANTS, indirect=True, ids=str)
def test_a_planted_violation_is_caught(copy: Path, planted: Plant) -> None:
    outcome = _lint(copy, "--contract", planted.contract)
    assert outcome.returncode == 1, outcome.stdout
    assert "1 broken" in outcome.stdout


def _path(folder: Path, module: str) -> Path:
    package = module.split(".")[0]
    path = folder.joinpath(PACKAGES[package], *module.split("."))
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def _lint(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    paths = os.pathsep.join(str(folder / source) for source in PACKAGES.values())
    command = [sys.executable, "-c", "from importlinter.cli import lint_imports_command; lint_imports_command()"]
    return subprocess.run(
        [*command, "--no-logo", *options],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        check=False,
    )
