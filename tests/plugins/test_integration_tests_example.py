"""The example project with integration tests, copied out of the repository and run with wheels of all packages."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.architecture.sources import ROOT
from tests.plugins.isolated_environment import build_isolated_environment
from verification.release.environments import CommandError

pytestmark = [pytest.mark.integration, pytest.mark.timeout(1500)]

EXAMPLE = ROOT / "examples" / "integration-tests"


def test_the_example_passes_outside_of_the_repository(tmp_path: Path) -> None:
    environment = build_isolated_environment(tmp_path)
    shutil.copytree(EXAMPLE, environment.work, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
    assert "3 passed" in environment.run("python", "-m", "pytest", "-q", "tests/test_incident_reporter.py")


def test_without_the_server_the_fixtures_name_the_extra(tmp_path: Path) -> None:
    environment = build_isolated_environment(tmp_path, only={"companyos_shared", "companyos"})
    shutil.copytree(EXAMPLE, environment.work, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
    with pytest.raises(CommandError) as failed:
        environment.run("python", "-m", "pytest", "-q", "tests/test_incident_reporter.py")
    output = str(failed.value)
    assert "companyos_service_urls: no service is installed: pip install 'companyos[server]'" in output
    assert "companyos_url: the server is not installed: pip install 'companyos[server]'" in output
    assert "3 errors" in output
