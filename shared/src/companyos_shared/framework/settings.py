"""Settings of a service process."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field, SecretStr
from pydantic_settings import BaseSettings, SettingsConfigDict


class ServiceSettings(BaseSettings):
    """Settings from COMPANYOS_* environment variables. Without a key the service runs standalone."""

    model_config = SettingsConfigDict(env_prefix="COMPANYOS_", frozen=True)

    service_key: SecretStr | None = Field(None, description="Key that signs the gateway's calls.")
    service_key_file: Path | None = Field(None, description="File that contains the key.")
    data_dir: Path | None = Field(None, description="Folder of the episodes. Default: a temporary folder.")
    allowed_hosts: str = Field(
        "",
        description="Host names that a standalone service accepts, separated by commas: `name`, `*.example.org` or "
        "`*`. Empty: IP addresses and names that public DNS does not resolve.",
    )
    max_open_episodes: int = Field(2048, ge=1, description="Maximum number of open connections.")
    max_template_bytes: int = Field(512 * 1024 * 1024, ge=1, description="Maximum size of all templates, in bytes.")
    min_free_bytes: int = Field(
        8 * 1024 * 1024, ge=0, description="Free bytes on disk that are reserved for live episodes."
    )

    def key(self) -> bytes | None:
        """Return the signing key, or None in standalone mode; raises ValueError for an empty key."""
        if self.service_key is not None:
            key = self.service_key.get_secret_value()
        elif self.service_key_file is not None:
            key = self.service_key_file.read_text().strip()
        else:
            return None
        if not key:
            raise ValueError("the service key must not be empty")
        return key.encode()
