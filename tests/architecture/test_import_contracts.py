"""The import contracts of pyproject.toml: each one detects a violation that is planted in a copy of the code."""

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

from tests.architecture.sources import PACKAGES, ROOT

pytestmark = pytest.mark.matrix

CONTRACT_MODULE = "tests/architecture/service_layers.py"
SCENARIO = "companyos_gateway.scenarios.vendor_onboarding"
OTHER_FEATURE = "companyos_ticketdesk.links"


@dataclass(frozen=True)
class PlantedViolation:
    """A line that breaks one contract."""

    contract: str
    module: str
    line: str

    def __str__(self) -> str:
        return f"{self.module} says {self.line}"


PLANTED_VIOLATIONS = (
    PlantedViolation("independent-services", "companyos_ticketdesk.tables", "import companyos_datahub"),
    PlantedViolation("independent-services", "companyos_gateway.settings", "import companyos_approvalflow"),
    PlantedViolation("shared-layers", "companyos_shared.streams", "import companyos_shared.wire.problem"),
    PlantedViolation(
        "shared-layers", "companyos_shared.wire.problem", "from companyos_shared.framework import ServiceError"
    ),
    PlantedViolation("shared-alone", "companyos_shared.wire.problem", "import companyos.contract"),
    PlantedViolation("no-service-framework", "companyos_gateway.settings", "from companyos_shared import framework"),
    PlantedViolation(
        "no-service-framework", "companyos.contract", "from companyos_shared.framework import ServiceError"
    ),
    PlantedViolation("client", "companyos.client", "import companyos_gateway.settings"),
    PlantedViolation("client", "companyos.client", "import companyos_ticketdesk.main"),
    PlantedViolation("contract-only", "companyos_gateway.settings", "import companyos.client"),
    PlantedViolation("light-services", "companyos_datahub.main", "import openenv.core"),
    PlantedViolation("service-layers", "companyos_ticketdesk.tables", "import companyos_ticketdesk.tickets.model"),
    PlantedViolation("service-layers", "companyos_ticketdesk.tickets.model", f"import {OTHER_FEATURE}.schemas"),
    PlantedViolation("service-layers", "companyos_ticketdesk.tickets.schemas", f"import {OTHER_FEATURE}.rules"),
    PlantedViolation("service-layers", "companyos_ticketdesk.tickets.rules", f"import {OTHER_FEATURE}.service"),
    PlantedViolation("service-layers", "companyos_ticketdesk.tickets.service", f"import {OTHER_FEATURE}.routes"),
    PlantedViolation("service-layers", "companyos_ticketdesk.tickets.routes", "import companyos_ticketdesk.seed"),
    PlantedViolation("service-layers", "companyos_ticketdesk.seed", f"import {OTHER_FEATURE}.routes"),
    PlantedViolation("service-layers", "companyos_ticketdesk.seed", "import companyos_ticketdesk.main"),
    PlantedViolation("pure-rules", "companyos_ticketdesk.tickets.rules", "import sqlalchemy"),
    PlantedViolation("gateway-layers", "companyos_gateway.world", "import companyos_gateway.evaluation"),
    PlantedViolation("gateway-layers", "companyos_gateway.evaluation", "import companyos_gateway.scenarios"),
    PlantedViolation("gateway-layers", "companyos_gateway.scenarios", "import companyos_gateway.engine"),
    PlantedViolation("gateway-layers", "companyos_gateway.engine", "import companyos_gateway.viewer"),
    PlantedViolation("gateway-layers", "companyos_gateway.viewer", "import companyos_gateway.browser"),
    PlantedViolation("gateway-layers", "companyos_gateway.process", "import companyos_gateway.runtime"),
    PlantedViolation("gateway-layers", "companyos_gateway.middleware", "import companyos_gateway.runtime"),
    PlantedViolation("gateway-layers", "companyos_gateway.runtime", "def lazy(): import companyos_gateway.api"),
    PlantedViolation("gateway-layers", "companyos_gateway.api", "import companyos_gateway.ui"),
    PlantedViolation("gateway-layers", "companyos_gateway.ui", "import companyos_gateway.app"),
    PlantedViolation("gateway-layers", "companyos_gateway.app", "import companyos_gateway.main"),
    PlantedViolation("players", "companyos_players.scenarios.vendor_onboarding", "import companyos_gateway.world"),
    PlantedViolation("players", "companyos_players.worker", f"import {SCENARIO}.rubric"),
    PlantedViolation("no-answers-in-the-product", "companyos_gateway.engine", "import verification.proof"),
    PlantedViolation(
        "no-answers-in-the-product", f"{SCENARIO}.scenario", "import companyos_players.scenarios.vendor_onboarding"
    ),
    PlantedViolation(
        "no-answers-in-the-product",
        "companyos_gateway.runtime",
        "import verification.privileged.vendor_onboarding",
    ),
)


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Copy what the linter reads."""
    folder = tmp_path_factory.mktemp("copy")
    for package, source in PACKAGES.items():
        ignored = shutil.ignore_patterns("__pycache__", "static")
        shutil.copytree(ROOT / source / package, folder / source / package, ignore=ignored)
    for file in ("pyproject.toml", CONTRACT_MODULE):
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / file, folder / file)
    return folder


@pytest.fixture
def planted(copy: Path, request: pytest.FixtureRequest) -> Iterator[PlantedViolation]:
    """Append the line to its module, and remove it after the test."""
    violation: PlantedViolation = request.param
    path = _path(copy, violation.module)
    before = path.read_text()
    path.write_text(f"{before}\n\n{violation.line}\n")
    yield violation
    path.write_text(before)


def test_every_contract_has_a_planted_violation() -> None:
    config = tomllib.loads((ROOT / "pyproject.toml").read_text())
    contracts = {contract["id"] for contract in config["tool"]["importlinter"]["contracts"]}
    assert contracts == {violation.contract for violation in PLANTED_VIOLATIONS}


def test_the_current_code_satisfies_every_contract(copy: Path) -> None:
    outcome = _lint(copy)
    assert outcome.returncode == 0, outcome.stdout


@pytest.mark.parametrize("planted", PLANTED_VIOLATIONS, indirect=True, ids=str)
def test_a_planted_violation_is_detected(copy: Path, planted: PlantedViolation) -> None:
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
