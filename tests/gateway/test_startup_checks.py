"""A gateway that cannot start says so in one line, names the setting, and gives away no secret."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from companyos_gateway.process import startup_checks
from companyos_gateway.process.data_folder import locked_folder
from companyos_gateway.process.startup_checks import StartupError, load_checked_settings


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("COMPANYOS_MAX_EPISODES", "zero", "COMPANYOS_MAX_EPISODES: "),
        ("COMPANYOS_MAX_EPISODES", "0", "COMPANYOS_MAX_EPISODES: "),
        ("COMPANYOS_MODE", "x", "COMPANYOS_MODE: "),
        ("COMPANYOS_KEEP_EPISODE", "two words", "COMPANYOS_KEEP_EPISODE: "),
        ("COMPANYOS_SERVICES", "datahub", "name=address; got 'datahub'"),
        ("COMPANYOS_SERVICE_KEY_FILE", "/nowhere/key", "/nowhere/key cannot be read: No such file"),
        ("COMPANYOS_TRAINER_TOKEN", "", "the trainer's token is empty"),
        ("COMPANYOS_TRAINER_TOKEN", "short", "must have at least 16 characters, and has 5"),
        ("COMPANYOS_DATA_DIR", "/proc/nobody", "COMPANYOS_DATA_DIR /proc/nobody cannot be used"),
    ],
)
def test_a_setting_that_does_not_fit_is_named(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, words: str
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(StartupError) as refusal:
        load_checked_settings()
    assert words in str(refusal.value)
    assert len(str(refusal.value).splitlines()) == 1


def test_a_token_that_does_not_fit_is_not_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COMPANYOS_TRAINER_TOKEN", "hush hush hush hush")
    with pytest.raises(StartupError) as refusal:
        load_checked_settings()
    assert "hush" not in str(refusal.value)


def test_a_folder_is_used_by_one_gateway_and_free_again_after_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("COMPANYOS_DATA_DIR", str(tmp_path))
    with locked_folder(tmp_path / "gateway"), pytest.raises(StartupError, match="is used by another gateway"):
        load_checked_settings()
    assert load_checked_settings().data_dir == tmp_path


def test_a_secret_that_is_none_is_named_and_left_alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("COMPANYOS_DATA_DIR", str(tmp_path))
    load_checked_settings()
    (tmp_path / "gateway" / "secret").write_text("half")
    with pytest.raises(StartupError, match="secret holds no secret of 32 bytes"):
        load_checked_settings()
    assert (tmp_path / "gateway" / "secret").read_text() == "half"


def test_the_process_ends_with_that_line_and_the_status_of_misuse(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COMPANYOS_MAX_EPISODES", "many")
    command = [sys.executable, "-m", "companyos_gateway", "--port", "0"]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert ended.returncode == 2
    assert ended.stderr.startswith("error: COMPANYOS_MAX_EPISODES: ")
    assert len(ended.stderr.splitlines()) == 1


def test_the_playground_requires_gradio(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COMPANYOS_WEB", "true")
    monkeypatch.setattr(startup_checks, "find_spec", lambda name: None if name == "gradio" else find_spec(name))
    with pytest.raises(StartupError, match="COMPANYOS_WEB requires Gradio"):
        load_checked_settings()
