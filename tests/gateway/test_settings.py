"""Where the gateway finds its services and its key."""

from __future__ import annotations

from pathlib import Path

import pytest

from companyos_gateway.settings import Settings


def test_addresses_are_read_by_name() -> None:
    settings = Settings(services="desk=http://desk:8001/, hub=unix:/run/hub.sock,")
    assert settings.addresses() == {"desk": "http://desk:8001", "hub": "unix:/run/hub.sock"}


def test_no_address_means_embedded() -> None:
    assert Settings(services="").addresses() == {}


@pytest.mark.parametrize("services", ["desk", "desk=8001", "=http://desk:1", "desk=ftp://desk"])
def test_an_entry_that_is_no_address_is_refused(services: str) -> None:
    with pytest.raises(ValueError, match="no name=address"):
        Settings(services=services).addresses()


def test_the_key_may_lie_in_a_file(tmp_path: Path) -> None:
    (tmp_path / "key").write_text("secret\n")
    assert Settings(service_key_file=tmp_path / "key").key() == b"secret"


def test_the_environment_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COMPANYOS_SERVICE_KEY", "from the environment")
    monkeypatch.setenv("COMPANYOS_MAX_EPISODES", "7")
    monkeypatch.setenv("OPENENV_MODE", "production")
    settings = Settings()
    assert (settings.key(), settings.max_episodes, settings.mode.value) == (b"from the environment", 7, "production")
    assert "from the environment" not in repr(settings)
