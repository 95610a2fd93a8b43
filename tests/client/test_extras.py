"""Missing extras are reported with the command that installs them."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from companyos.extras import install_command


def test_in_an_installed_package_the_command_installs_an_extra_from_the_index(tmp_path: Path) -> None:
    assert install_command("plots", tmp_path) == "pip install 'companyos[plots]'"


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    uv = tmp_path / ".venv-tools" / "bin" / "uv"
    uv.parent.mkdir(parents=True)
    uv.touch()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_in_a_clone_the_command_installs_an_extra_from_the_clone(clone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "prefix", str(clone / ".venv"))
    assert install_command("plots", clone) == ".venv-tools/bin/uv pip install --python .venv -e './client[plots]'"


def test_an_environment_outside_of_the_clone_has_its_full_path(clone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "prefix", "/opt/my agents")
    assert (
        install_command("plots", clone)
        == ".venv-tools/bin/uv pip install --python '/opt/my agents' -e './client[plots]'"
    )


@pytest.mark.parametrize(("extra", "command"), [("ray", "make ray-setup"), ("trl", "make train-setup")])
def test_an_extra_with_a_make_target_is_installed_with_make(clone: Path, extra: str, command: str) -> None:
    assert install_command(extra, clone) == command


@pytest.mark.parametrize("extra", ["inspect", "unsloth"])
def test_an_incompatible_extra_gets_a_separate_environment(clone: Path, extra: str) -> None:
    command = install_command(extra, clone)
    assert command.startswith(f"python3 -m venv .venv-{extra} && ")
    assert command.endswith(f"--python .venv-{extra} './client[server,{extra}]'")


def test_from_another_folder_the_command_changes_to_the_clone_first(
    clone: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir("/")
    assert install_command("ray", clone) == f"cd {clone} && make ray-setup"


@pytest.mark.skipif(find_spec("trl") is not None, reason="TRL is installed here")
def test_without_trl_the_error_names_the_install_command() -> None:
    ran = subprocess.run(
        [sys.executable, "-c", "import companyos.integrations.trl"], capture_output=True, text=True, check=False
    )
    assert ran.returncode == 1
    assert install_command("trl") in ran.stderr.splitlines()[-1]
