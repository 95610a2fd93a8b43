"""Settings of the gateway process, read once from environment variables."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

from openenv.core.env_server.types import ServerMode
from pydantic import AliasChoices, BeforeValidator, Field, SecretStr
from pydantic_settings import BaseSettings, SettingsConfigDict

from companyos.contract import EPISODE_ID
from companyos_gateway.engine.service_client import STEP_TIMEOUT_S
from companyos_shared.web.trusted_hosts import parse_host_names

MIN_TOKEN_LENGTH = 16
MAX_WORKERS = 64

_TOKEN = re.compile(r"[!-~]+")


class Settings(BaseSettings):
    """COMPANYOS_* environment variables. Without service addresses, the gateway starts the services itself."""

    model_config = SettingsConfigDict(env_prefix="COMPANYOS_", frozen=True, populate_by_name=True)

    services: str = Field(
        "",
        description="Addresses of the services, comma-separated: `name=http://host:port` or `name=unix:/path.sock`. "
        "Empty: every service of the entry-point group `companyos.services` is started as a child process.",
    )
    service_key: SecretStr | None = Field(None, description="Key that signs calls to the services.")
    service_key_file: Path | None = Field(None, description="File that contains the key.")
    data_dir: Path | None = Field(
        None,
        description="Folder of the episodes and snapshots of the gateway and the embedded services. Default: a "
        "temporary folder, on tmpfs if available, that is deleted on exit.",
    )
    node: str = Field("n1", pattern=r"^[A-Za-z0-9]{1,16}$", description="Prefix of internal ids.")
    workers: int = Field(1, ge=1, le=MAX_WORKERS, description="Gateways behind one address; set by `--workers`.")
    worker: int | None = Field(None, ge=1, description="Number of this worker; set by the router.")
    session_dir: Path | None = Field(
        None, description="Folder of the browser sessions that workers share; set by the router. Default: in memory."
    )
    mode: ServerMode = Field(
        ServerMode.SIMULATION,
        validation_alias=AliasChoices("COMPANYOS_MODE", "OPENENV_MODE"),
        description="`production` disables /reset, /step, /state, /render and all of /v1 except /v1/tools.",
    )
    web: Annotated[bool, BeforeValidator(lambda given: given or False)] = Field(
        False,
        validation_alias=AliasChoices("COMPANYOS_WEB", "ENABLE_WEB_INTERFACE"),
        description="Serve a page at /web on which every visitor plays an episode.",
    )
    keep_episodes: bool = Field(False, description="Keep the databases of episodes that have ended.")
    trainer_token: SecretStr | None = Field(
        None,
        description="Token of the trainer, at least 16 characters. If it is set, every request needs a token; by "
        "default none does.",
    )
    trainer_token_file: Path | None = Field(None, description="File that contains the trainer's token.")
    allowed_hosts: str = Field(
        "",
        description="Accepted host names, separated by commas: `name`, `*.example.org` or `*`. Empty: any name if a "
        "token is required, otherwise IP addresses and names that public DNS does not resolve.",
    )
    space_host: str | None = Field(
        None,
        validation_alias="SPACE_HOST",
        description="Host name of a Hugging Face Space, set by the Space; also accepted.",
    )
    take_over: bool = Field(
        False,
        description="Take over services whose lease another gateway holds; its episodes end.",
    )
    max_websockets: int | None = Field(
        None, ge=1, description="Maximum number of open WebSockets. Default: the maximum number of episodes."
    )
    client_share: float = Field(
        0.05,
        gt=0,
        le=1,
        description="Minimum share of the gateway's time per client while others are active. A client that uses more "
        "waits. 1 disables the limit.",
    )
    client_queue: int = Field(64, ge=1, description="Waiting requests per client; further ones get 429.")
    max_mcp_sessions: int = Field(
        64, ge=1, description="Maximum number of `/mcp` sessions of clients without a WebSocket."
    )
    mcp_idle_limit_s: float = Field(
        300.0, gt=0, description="Seconds without a call after which such a session is closed."
    )
    keep_episode: str | None = Field(
        None,
        pattern=EPISODE_ID,
        description="ID of an episode that is started with the gateway, unless it exists, and never dropped.",
    )
    max_episodes: int = Field(1024, ge=1, description="Maximum number of live episodes.")
    chromium: Path | None = Field(
        None,
        description="Chromium executable for screenshots. Default: that of Playwright, or one on the PATH.",
    )
    max_windows: int = Field(16, ge=1, description="Browser windows at most, one per episode.")
    max_finished: int = Field(
        200, ge=0, description="Number of ended episodes that the console shows; the oldest are removed first."
    )
    runs: Path | None = Field(
        None,
        description="Folder of runs of `companyos eval` that the console shows. Default: `runs`, if it exists.",
    )
    max_snapshots: int = Field(4096, ge=1, description="Maximum number of snapshots.")
    min_free_bytes: int = Field(
        8 * 1024 * 1024, ge=0, description="Free bytes on disk below which the gateway is not ready."
    )
    task_cache_size: int = Field(64, ge=1, description="Size of the cache of planned tasks.")
    idle_limit_s: float = Field(3600.0, gt=0, description="Seconds without a call after which an episode is dropped.")
    lifetime_limit_s: float = Field(86_400.0, gt=0, description="Maximum age of an episode in seconds.")
    detached_limit_s: float = Field(60.0, gt=0, description="Seconds an episode remains after a lost connection.")
    ws_ping_interval_s: float = Field(20.0, gt=0, description="Seconds between pings of a WebSocket.")
    ws_ping_timeout_s: float = Field(
        20.0, gt=0, description="Seconds to wait for the reply to a ping before the connection is closed."
    )
    step_timeout_s: float = Field(
        STEP_TIMEOUT_S,
        gt=0,
        description="Seconds after which a step without a response of its service ends the episode as `infra_error`.",
    )
    start_timeout_s: float = Field(15.0, gt=0, description="Seconds that the start waits for the services.")

    def key(self) -> bytes:
        """Return the signing key, empty if none is configured; raises OSError for a file that cannot be read."""
        if self.service_key is not None:
            return self.service_key.get_secret_value().encode()
        if self.service_key_file is not None:
            return self.service_key_file.read_text().strip().encode()
        return b""

    def trainer(self) -> str | None:
        """Return the trainer token, or None if tokens are not required.

        Raises ValueError for a token that is shorter than MIN_TOKEN_LENGTH or contains characters other than `!` to
        `~`, and OSError for a file that cannot be read.
        """
        if self.trainer_token is not None:
            token = self.trainer_token.get_secret_value()
        elif self.trainer_token_file is not None:
            token = self.trainer_token_file.read_text().strip()
        else:
            return None
        if len(token) < MIN_TOKEN_LENGTH:
            hint = "generate one with `openssl rand -hex 32`"
            length = f"must have at least {MIN_TOKEN_LENGTH} characters, and has {len(token)}" if token else "is empty"
            raise ValueError(f"the trainer's token {length}; {hint}")
        if not _TOKEN.fullmatch(token):
            raise ValueError("the trainer's token must contain only ASCII characters from ! to ~, without spaces")
        return token

    def host_names(self) -> tuple[str, ...]:
        """Return the host names that the gateway accepts, as configured; empty if none are configured."""
        return parse_host_names(self.allowed_hosts)

    def addresses(self) -> dict[str, str]:
        """Return the configured address of each service by name; raises ValueError for an invalid entry."""
        found: dict[str, str] = {}
        for entry in filter(None, (part.strip() for part in self.services.split(","))):
            name, separator, address = entry.partition("=")
            if not separator or not name.strip() or not _is_address(address.strip()):
                accepted = "http://host:port, https://host:port or unix:/path"
                raise ValueError(f"COMPANYOS_SERVICES must be a list of name=address with {accepted}; got {entry!r}")
            found[name.strip()] = address.strip().rstrip("/")
        return found


def _is_address(address: str) -> bool:
    """Return whether an address is `unix:path` or a URL with a host and a valid port."""
    if any(character.isspace() or character in "?#" for character in address):
        return False
    if address.startswith("unix:"):
        return address != "unix:"
    try:
        url = urlsplit(address)
        return url.scheme in {"http", "https"} and bool(url.hostname) and url.port != 0
    except ValueError:
        return False
