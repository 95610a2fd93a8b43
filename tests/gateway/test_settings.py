"""Settings for service addresses, keys and Uvicorn."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import SecretStr
from uvicorn import Config

from companyos_gateway.middleware.drain import DRAIN_DEADLINE_S
from companyos_gateway.process.uvicorn_options import uvicorn_options
from companyos_gateway.settings import Settings


def test_addresses_are_read_by_name() -> None:
    settings = Settings(services="desk=http://desk:8001/, hub=unix:/run/hub.sock,")
    assert settings.addresses() == {"desk": "http://desk:8001", "hub": "unix:/run/hub.sock"}


def test_without_addresses_services_are_embedded() -> None:
    assert Settings(services="").addresses() == {}


@pytest.mark.parametrize(
    "services",
    [
        "desk",
        "desk=8001",
        "=http://desk:1",
        "desk=ftp://desk",
        "desk=http://",
        "desk=http://:8001",
        "desk=http://a:b",
        "desk=http://a?b",
        "desk=http://a/ b",
        "desk=unix:",
    ],
)
def test_an_invalid_address_is_rejected(services: str) -> None:
    with pytest.raises(ValueError, match="must be a list of name=address"):
        Settings(services=services).addresses()


def test_the_key_can_be_read_from_a_file(tmp_path: Path) -> None:
    (tmp_path / "key").write_text("secret\n")
    assert Settings(service_key_file=tmp_path / "key").key() == b"secret"


def test_settings_are_read_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COMPANYOS_SERVICE_KEY", "from the environment")
    monkeypatch.setenv("COMPANYOS_MAX_EPISODES", "7")
    monkeypatch.setenv("OPENENV_MODE", "production")
    settings = Settings()
    assert (settings.key(), settings.max_episodes, settings.mode.value) == (b"from the environment", 7, "production")
    assert "from the environment" not in repr(settings)


def test_without_a_configured_token_there_is_no_trainer_token() -> None:
    assert Settings().trainer() is None


def test_the_trainer_token_can_be_read_from_a_file_and_is_not_printed(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("from-a-file-of-mine\n")
    assert Settings(trainer_token_file=tmp_path / "token").trainer() == "from-a-file-of-mine"
    given = Settings(trainer_token=SecretStr("from-the-settings"), trainer_token_file=tmp_path / "token")
    assert given.trainer() == "from-the-settings"
    assert "from-the-settings" not in repr(given)


@pytest.mark.parametrize(
    "token", ["", " ", "fifteen-letters", "two words of some length", "n\u00fctzlich-und-lang", "a-line\nanother-line"]
)
def test_a_trainer_token_with_invalid_characters_is_rejected(tmp_path: Path, token: str) -> None:
    with pytest.raises(ValueError, match="the trainer's token"):
        Settings(trainer_token=SecretStr(token)).trainer()
    (tmp_path / "token").write_text(token)
    with pytest.raises(ValueError, match="the trainer's token"):
        Settings(trainer_token_file=tmp_path / "token").trainer()


def test_ping_intervals_are_twenty_seconds_by_default_and_configurable(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = uvicorn_options(Settings())
    assert (plain["ws_ping_interval"], plain["ws_ping_timeout"]) == (20, 20)
    monkeypatch.setenv("COMPANYOS_WS_PING_INTERVAL_S", "5")
    monkeypatch.setenv("COMPANYOS_WS_PING_TIMEOUT_S", "2.5")
    request = uvicorn_options(Settings())
    assert (request["ws_ping_interval"], request["ws_ping_timeout"]) == (5, 2.5)


@pytest.mark.parametrize("value", ["0", "-1", "often"])
def test_an_invalid_ping_setting_is_rejected(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("COMPANYOS_WS_PING_INTERVAL_S", value)
    with pytest.raises(ValueError, match="ws_ping_interval_s"):
        Settings()


def test_every_uvicorn_option_is_valid() -> None:
    config = Config("companyos_gateway.main:app", **uvicorn_options(Settings()))
    assert config.ws_ping_interval == 20
    assert config.timeout_graceful_shutdown is not None
    assert DRAIN_DEADLINE_S + config.timeout_graceful_shutdown < 10
