"""Who lacks an extra is told a command that brings it where they are."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from companyos.extras import installing


def test_where_the_package_was_installed_an_extra_comes_from_the_index(tmp_path: Path) -> None:
    assert installing("plots", tmp_path) == "pip install 'companyos[plots]'"


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    uv = tmp_path / ".venv-tools" / "bin" / "uv"
    uv.parent.mkdir(parents=True)
    uv.touch()
    return tmp_path


def test_in_a_clone_an_extra_comes_from_the_clone(clone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "prefix", str(clone / ".venv"))
    assert installing("plots", clone) == ".venv-tools/bin/uv pip install --python .venv -e './client[plots]'"


def test_an_environment_elsewhere_is_named_whole(clone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "prefix", "/opt/agents")
    assert installing("ray", clone) == ".venv-tools/bin/uv pip install --python /opt/agents -e './client[ray]'"
