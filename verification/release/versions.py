"""The version of a release, which must be the same in every package, manifest and service and in the changelog."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from importlib.metadata import entry_points
from pathlib import Path

import yaml

from companyos_gateway.scenarios import catalogue
from companyos_gateway.tasks import TaskSet
from verification.release.environments import CommandError

_MANIFESTS = ("openenv.yaml", "client/src/companyos/openenv.yaml")
_SECTION = re.compile(r"^## \[?v?(\d+\.\d+\.\d+[\w.+-]*)", re.MULTILINE)
_UNRELEASED = re.compile(r"^## Unreleased\n(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)


def check_versions(root: Path, wheels: list[Path]) -> str:
    """Return a line with the version. Raises CommandError if versions differ."""
    found = {**_of_wheels(wheels), **_of_manifests(root), **_of_services()}
    changelog = (root / "CHANGELOG.md").read_text()
    newest = _SECTION.search(changelog)
    found["CHANGELOG.md"] = newest[1] if newest else "none"
    if len(set(found.values())) != 1:
        raise CommandError(f"versions differ: {', '.join(f'{name} {version}' for name, version in found.items())}")
    declared = yaml.safe_load((root / "openenv.yaml").read_text())["validation"]["task_distribution"]["dataset_version"]
    if declared != (task_set := TaskSet(catalogue()).version):
        raise CommandError(f"openenv.yaml has task set {declared}, the gateway {task_set}; run `make regenerate`")
    unreleased = _UNRELEASED.search(changelog)
    note = "; the changelog has unreleased changes" if unreleased and unreleased[1].strip() else ""
    return f"version {found['openenv.yaml']}, task set {task_set}{note}"


def _of_wheels(wheels: list[Path]) -> Mapping[str, str]:
    return {name: version for wheel in wheels for name, version in [wheel.name.split("-")[:2]]}


def _of_manifests(root: Path) -> Mapping[str, str]:
    found = {name: str(yaml.safe_load((root / name).read_text())["version"]) for name in _MANIFESTS}
    return found | {"pyproject.toml": tomllib.loads((root / "pyproject.toml").read_text())["project"]["version"]}


def _of_services() -> Mapping[str, str]:
    """Return the versions in the OpenAPI documents of the installed services."""
    return {f"OpenAPI of {entry.name}": entry.load().version for entry in entry_points(group="companyos.services")}
