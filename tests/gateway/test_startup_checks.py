"""A gateway that cannot start prints one line that names the setting and reveals no secret."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from companyos_gateway.process import startup_checks
from companyos_gateway.process.data_folder import open_folders
from companyos_gateway.process.startup_checks import StartupError, load_checked_settings
from companyos_shared.folder_lock import FolderInUseError


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("COMPANYOS_MAX_EPISODES", "zero", "COMPANYOS_MAX_EPISODES: "),
        ("COMPANYOS_MAX_EPISODES", "0", "COMPANYOS_MAX_EPISODES: "),
        ("COMPANYOS_MODE", "x", "COMPANYOS_MODE: "),
        ("COMPANYOS_KEEP_EPISODE", "two words", "COMPANYOS_KEEP_EPISODE: must match pattern"),
        ("COMPANYOS_KEEP_EPISODE", "two words", '; got "two words"'),
        ("COMPANYOS_KEEP_EPISODE", ".x", "COMPANYOS_KEEP_EPISODE: must match pattern"),
        ("COMPANYOS_SERVICES", "datahub", "unix:/path; got 'datahub'"),
        ("COMPANYOS_SERVICE_KEY_FILE", "/nowhere/key", "/nowhere/key cannot be read: No such file"),
        ("COMPANYOS_TRAINER_TOKEN", "", "the trainer's token is empty"),
        ("COMPANYOS_TRAINER_TOKEN", "short", "must have at least 16 characters, and has 5"),
    ],
)
def test_an_invalid_setting_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str, value: str, words: str
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(StartupError) as refusal:
        load_checked_settings(tmp_path)
    assert words in str(refusal.value)
    assert len(str(refusal.value).splitlines()) == 1


def test_an_invalid_token_is_not_in_the_message(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("COMPANYOS_TRAINER_TOKEN", "hush hush hush hush")
    with pytest.raises(StartupError) as refusal:
        load_checked_settings(tmp_path)
    assert "hush" not in str(refusal.value)


def test_a_data_folder_is_locked_by_one_gateway_and_released_at_its_end(tmp_path: Path) -> None:
    with open_folders(tmp_path), pytest.raises(FolderInUseError), open_folders(tmp_path):
        pass
    with open_folders(tmp_path) as folders:
        assert folders.data == tmp_path


@pytest.mark.integration
def test_an_unusable_data_folder_is_named() -> None:
    code, line = _refused_start(COMPANYOS_DATA_DIR="/proc/nowhere")
    assert (code, line) == (2, "error: COMPANYOS_DATA_DIR /proc/nowhere cannot be used: No such file or directory")


@pytest.mark.integration
def test_a_used_data_folder_is_named_with_the_process_that_uses_it(tmp_path: Path) -> None:
    with open_folders(tmp_path):
        code, line = _refused_start(COMPANYOS_DATA_DIR=str(tmp_path))
    assert code == 2
    assert line.startswith(f"error: The folder {tmp_path}/gateway is in use by process {os.getpid()} (")


def test_an_invalid_secret_is_named_and_not_changed(tmp_path: Path) -> None:
    load_checked_settings(tmp_path)
    (tmp_path / "secret").write_text("half")
    with pytest.raises(StartupError, match="secret must contain a secret of 32 bytes"):
        load_checked_settings(tmp_path)
    assert (tmp_path / "secret").read_text() == "half"


@pytest.mark.integration
def test_the_process_exits_with_that_line_and_the_status_of_a_usage_error() -> None:
    code, line = _refused_start(COMPANYOS_MAX_EPISODES="many")
    assert code == 2
    assert line.startswith("error: COMPANYOS_MAX_EPISODES: ")


def test_the_playground_requires_gradio(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("COMPANYOS_WEB", "true")
    monkeypatch.setattr(startup_checks, "find_spec", lambda name: None if name == "gradio" else find_spec(name))
    with pytest.raises(StartupError, match="COMPANYOS_WEB requires Gradio"):
        load_checked_settings(tmp_path)


def _refused_start(**settings: str) -> tuple[int, str]:
    """Return the exit status and the line of a gateway that does not start."""
    command = [sys.executable, "-m", "companyos_gateway", "--port", "0"]
    environment = {**os.environ, **settings}
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=60)
    (line,) = ended.stderr.splitlines()
    return ended.returncode, line
