"""`companyos check` compares the plans of two processes."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from companyos_gateway.scenarios import catalogue
from companyos_gateway.scenarios.catalogue import ScenarioError, _discovered
from companyos_gateway.scenarios.license_renewal import scenario as license_renewal
from companyos_gateway.scenarios.validation import check_scenarios
from verification.plan_determinism import check_determinism

pytestmark = pytest.mark.integration

NAME, PACKAGE = "office_license", "acme_office"
MODULE = """
from dataclasses import replace

from companyos_gateway.scenarios.license_renewal.scenario import LicenseRenewal


class OfficeLicense(LicenseRenewal):
    name = "office_license"

    def build(self, seed, profile, overrides):
        built = super().build(seed, profile, overrides)
        letters = set("abcdefghijklmnopqrstuvwxyz")
        return replace(built, brief=f"{built.brief} {' '.join(letters)}")


SCENARIO = OfficeLicense()
"""


@pytest.fixture
def unsorted_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Install a scenario whose brief depends on the order of a set."""
    package, info = tmp_path / PACKAGE, tmp_path / f"{PACKAGE}-1.0.dist-info"
    package.mkdir()
    info.mkdir()
    (package / "__init__.py").write_text(MODULE)
    shutil.copy(Path(license_renewal.__file__).parent / "texts.toml", package)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {PACKAGE}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[companyos.scenarios]\n{NAME} = {PACKAGE}:SCENARIO\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
    _discovered.cache_clear()
    yield
    _discovered.cache_clear()
    sys.modules.pop(PACKAGE)


@pytest.mark.usefixtures("unsorted_set")
def test_an_instance_that_depends_on_the_hash_seed_is_reported() -> None:
    check_scenarios({NAME: catalogue()[NAME]})
    with pytest.raises(ScenarioError, match=rf"^{NAME}/scenario\.py: two plans of seed 0 differ; .* sets must be sort"):
        check_determinism([NAME])


def test_a_built_in_scenario_is_planned_alike_by_two_processes() -> None:
    check_determinism(["bug_escalation"])
