"""Uvicorn options from the environment."""

from __future__ import annotations

import pytest
from uvicorn import Config

from companyos_gateway.middleware.drain import DRAIN_DEADLINE_S
from companyos_gateway.process.uvicorn_options import uvicorn_options
from companyos_gateway.settings import Settings


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
