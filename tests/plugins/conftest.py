"""Fixtures: packages that add something by an entry point, installed for one test."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from companyos import entry_points
from companyos.policies import registry
from companyos_gateway.chaos import profiles
from companyos_gateway.chaos.profiles import PROFILE_FOLDER
from companyos_gateway.scenarios import validation
from companyos_gateway.scenarios.catalogue import _discovered
from companyos_gateway.scenarios.license_renewal import scenario as license_renewal
from companyos_gateway.services import service_names, service_rules
from companyos_players import registry as players

Install = Callable[[str, str, str], Path]

CACHES = (
    entry_points._selector,
    profiles._profiles,
    registry._entry_points,
    players._module,
    service_names,
    service_rules,
    validation.check_catalogue,
    _discovered,
)


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Provide a function that installs a package with one entry point: group, entry point and module.

    It returns the folder of the package, which also contains the texts of a license renewal and a chaos profile.
    """
    monkeypatch.syspath_prepend(tmp_path)
    numbers = iter(range(10))

    def install_package(group: str, entry: str, module: str) -> Path:
        name = f"acme{next(numbers)}"
        package, info = tmp_path / name, tmp_path / f"{name}-1.0.dist-info"
        package.mkdir()
        info.mkdir()
        (package / "__init__.py").write_text(module)
        shutil.copy(Path(license_renewal.__file__).parent / "texts.toml", package)
        storm = (PROFILE_FOLDER / "storm.toml").read_text()
        (package / "profile.toml").write_text(storm.replace('"storm"', '"squall"').replace("level = 4", "level = 6"))
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[companyos.{group}]\n{entry.replace('acme', name)}\n")
        _clear()
        return package

    _clear()
    yield install_package
    _clear()
    for name in [name for name in sys.modules if name.startswith("acme")]:
        del sys.modules[name]


def _clear() -> None:
    for cached in CACHES:
        cached.cache_clear()
