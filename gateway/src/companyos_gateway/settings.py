"""The settings of the gateway process, read once."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

from openenv.core.env_server.types import ServerMode
from pydantic import AliasChoices, BeforeValidator, Field, SecretStr
from pydantic_settings import BaseSettings, SettingsConfigDict

from companyos_gateway.engine.service_client import STEP_TIMEOUT_S
from companyos_shared.web.trusted_hosts import parse_host_names

MIN_TOKEN_LENGTH = 16
MAX_WORKERS = 64

_TOKEN = re.compile(r"[!-~]+")


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
        None,
        description="Where the gateway and the embedded services keep episodes and snapshots across restarts; without "
        "it a folder that ends with the process, on tmpfs if there is one.",
    )
    node: str = Field("n1", pattern=r"^[A-Za-z0-9]{1,16}$", description="The name that internal ids begin with.")
    workers: int = Field(1, ge=1, le=MAX_WORKERS, description="Gateways behind one address; `--workers` sets it.")
    worker: int | None = Field(None, ge=1, description="Number of this worker; the router sets it.")
    session_dir: Path | None = Field(
        None, description="The folder of browser sessions that workers share; the router sets it. Default: in memory."
    )
    mode: ServerMode = Field(
        ServerMode.SIMULATION,
        validation_alias=AliasChoices("COMPANYOS_MODE", "OPENENV_MODE"),
        description="`production` leaves out /reset, /step, /state, /render and /v1/episodes.",
    )
    web: Annotated[bool, BeforeValidator(lambda given: given or False)] = Field(
        False,
        validation_alias=AliasChoices("COMPANYOS_WEB", "ENABLE_WEB_INTERFACE"),
        description="Whether /web is a page on which every visitor plays an episode.",
    )
    keep_episodes: bool = Field(False, description="Leave the databases of episodes that are over where they are.")
    trainer_token: SecretStr | None = Field(
        None,
        description="The trainer's token, of 16 characters at least. Without one nothing asks for a token; with it "
        "everything does.",
    )
    trainer_token_file: Path | None = Field(None, description="A file that holds the trainer's token.")
    allowed_hosts: str = Field(
        "",
        description="The names the gateway answers to, by commas: `name`, `*.example.org` or `*`. Empty: any name "
        "where a token is asked for, else addresses and names that no public DNS hands out.",
    )
    space_host: str | None = Field(
        None,
        validation_alias="SPACE_HOST",
        description="The name that a Hugging Face Space tells its container; it is answered to as well.",
    )
    take_over: bool = Field(
        False,
        description="Take over services that another gateway holds the lease of; that gateway's episodes end.",
    )
    max_websockets: int | None = Field(
        None, ge=1, description="Maximum number of open WebSockets. Default: the maximum number of episodes."
    )
    client_share: float = Field(
        0.05,
        gt=0,
        le=1,
        description="The part of the gateway's time that a client has at least while others are active; one that takes "
        "more waits. With 1 nobody waits.",
    )
    client_queue: int = Field(64, ge=1, description="Requests of one client that may wait; a further one gets 429.")
    max_mcp_sessions: int = Field(
        64, ge=1, description="Sessions at most that `/mcp` keeps for callers without a socket."
    )
    mcp_idle_limit_s: float = Field(
        300.0, gt=0, description="Seconds without a call after which a session without a socket is dropped."
    )
    keep_episode: str | None = Field(
        None,
        pattern=r"^[A-Za-z0-9._-]{1,128}$",
        description="An episode that is opened at the start where there is none of this id, and never dropped.",
    )
    max_episodes: int = Field(1024, ge=1, description="Live episodes at most.")
    chromium: Path | None = Field(
        None,
        description="The Chromium that takes screenshots; without it Playwright's own is taken, or one on the path.",
    )
    max_windows: int = Field(16, ge=1, description="Windows of the browser at most, one for each episode that has one.")
    max_finished: int = Field(
        200, ge=0, description="Episodes that are over and that the console can still show; the oldest leave."
    )
    runs: Path | None = Field(
        None,
        description="The folder below which the console finds runs of `companyos eval`; `runs` where it is there.",
    )
    max_snapshots: int = Field(4096, ge=1, description="Snapshots at most.")
    min_free_bytes: int = Field(
        8 * 1024 * 1024, ge=0, description="Free disk under which the gateway does not call itself ready."
    )
    max_tasks_kept: int = Field(64, ge=1, description="Planned tasks kept in memory, the least recently used leaves.")
    idle_limit_s: float = Field(3600.0, gt=0, description="Seconds without a call after which an episode is dropped.")
    lifetime_limit_s: float = Field(86_400.0, gt=0, description="Seconds after which an episode is dropped anyhow.")
    detached_limit_s: float = Field(60.0, gt=0, description="Seconds an episode outlives its lost connection.")
    ws_ping_interval_s: float = Field(20.0, gt=0, description="Seconds between two pings of a WebSocket.")
    ws_ping_timeout_s: float = Field(
        20.0, gt=0, description="Seconds a ping waits for its answer; then the connection is cut."
    )
    step_timeout_s: float = Field(
        STEP_TIMEOUT_S,
        gt=0,
        description="Seconds after which a step that a service has not answered ends its episode as `infra_error`.",
    )
    start_timeout_s: float = Field(15.0, gt=0, description="Seconds the start waits for the services to answer.")

    def key(self) -> bytes:
        """Return the signing key; empty where none is configured."""
        if self.service_key is not None:
            return self.service_key.get_secret_value().encode()
        if self.service_key_file is not None:
            return self.service_key_file.read_text().strip().encode()
        return b""

    def trainer(self) -> str | None:
        """Return the trainer's token, or None where nothing asks for one.

        Raises ValueError for one that is shorter than MIN_TOKEN_LENGTH or that no header can carry, and OSError for a
        file that cannot be read.
        """
        if self.trainer_token is not None:
            token = self.trainer_token.get_secret_value()
        elif self.trainer_token_file is not None:
            token = self.trainer_token_file.read_text().strip()
        else:
            return None
        if len(token) < MIN_TOKEN_LENGTH:
            made = "`openssl rand -hex 32` makes one"
            length = f"must have at least {MIN_TOKEN_LENGTH} characters, and has {len(token)}" if token else "is empty"
            raise ValueError(f"the trainer's token {length}; {made}")
        if not _TOKEN.fullmatch(token):
            raise ValueError("the trainer's token holds characters that no header carries; accepted are ! to ~")
        return token

    def host_names(self) -> tuple[str, ...]:
        """Return the names that the gateway was told to answer to; empty where it was told none."""
        return parse_host_names(self.allowed_hosts)

    def addresses(self) -> dict[str, str]:
        """Return the configured address of each service by name; raises ValueError for an entry that is none."""
        found: dict[str, str] = {}
        for entry in filter(None, (part.strip() for part in self.services.split(","))):
            name, separator, address = entry.partition("=")
            if not separator or not name.strip() or not address.startswith(("http://", "https://", "unix:")):
                raise ValueError(f"COMPANYOS_SERVICES must be a list of name=address; got {entry!r}")
            found[name.strip()] = address.strip().rstrip("/")
        return found
