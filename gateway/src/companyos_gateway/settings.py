"""The settings of the gateway process, read once."""

from __future__ import annotations

from pathlib import Path

from openenv.core.env_server.types import ServerMode
from pydantic import AliasChoices, Field, SecretStr
from pydantic_settings import BaseSettings, SettingsConfigDict


class Settings(BaseSettings):
    """COMPANYOS_* environment variables. Without service addresses the gateway brings up the services itself."""

    model_config = SettingsConfigDict(env_prefix="COMPANYOS_", frozen=True, populate_by_name=True)

    services: str = Field(
        "",
        description="Where the services answer: `name=http://host:port` or `name=unix:/path.sock`, by commas. "
        "Empty: every service of the entry-point group `companyos.services` is started as a child process.",
    )
    service_key: SecretStr | None = Field(None, description="The key that signs calls to the services.")
    service_key_file: Path | None = Field(None, description="A file that holds the key.")
    data_dir: Path | None = Field(
        None, description="Where the embedded services keep episodes; a temporary folder, on tmpfs if there is one."
    )
    mode: ServerMode = Field(
        ServerMode.SIMULATION,
        validation_alias=AliasChoices("COMPANYOS_MODE", "OPENENV_MODE"),
        description="`production` leaves out /reset, /step, /state and /render.",
    )
    keep_episodes: bool = Field(False, description="Leave the databases of episodes that are over where they are.")
    max_episodes: int = Field(1024, ge=1, description="Live episodes at most.")
    max_tasks_kept: int = Field(64, ge=1, description="Planned tasks kept in memory, the least recently used leaves.")
    idle_limit_s: float = Field(3600.0, gt=0, description="Seconds without a call after which an episode is dropped.")
    detached_limit_s: float = Field(60.0, gt=0, description="Seconds an episode outlives its lost connection.")
    start_timeout_s: float = Field(15.0, gt=0, description="Seconds the start waits for the services to answer.")

    def key(self) -> bytes:
        """Return the signing key; empty where none is configured."""
        if self.service_key is not None:
            return self.service_key.get_secret_value().encode()
        if self.service_key_file is not None:
            return self.service_key_file.read_text().strip().encode()
        return b""

    def addresses(self) -> dict[str, str]:
        """Return the configured address of each service by name; raises ValueError for an entry that is none."""
        found: dict[str, str] = {}
        for entry in filter(None, (part.strip() for part in self.services.split(","))):
            name, separator, address = entry.partition("=")
            if not separator or not name.strip() or not address.startswith(("http://", "https://", "unix:")):
                raise ValueError(f"COMPANYOS_SERVICES holds {entry!r}, which is no name=address")
            found[name.strip()] = address.strip().rstrip("/")
        return found
