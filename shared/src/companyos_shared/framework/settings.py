"""Settings of a service process."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from pathlib import Path

from pydantic import Field, SecretStr
from pydantic_settings import BaseSettings, SettingsConfigDict

from companyos_shared.private_files import make_private_folder

_SHARED_MEMORY = Path("/dev/shm")  # noqa: S108 - the one tmpfs every Linux has


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

    def data_folder(self, service: str) -> Path:
        """Return the folder of this service's files, and create it if it is missing."""
        folder = self.data_dir / service if self.data_dir else _temporary_folder(service)
        return make_private_folder(folder)


def _temporary_folder(service: str) -> Path:
    prefix, parent = f"companyos-{service}-", _SHARED_MEMORY if _SHARED_MEMORY.is_dir() else None
    try:
        folder = Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
    except OSError:
        folder = Path(tempfile.mkdtemp(prefix=prefix))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder
