"""Connections of commands: a running server at a URL, or one started for the command."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from companyos.cli.terminal import ERR, USAGE_ERROR, fail

if TYPE_CHECKING:
    from companyos.client import CompanyOSEnv
    from companyos.trainer import Trainer

DEFAULT_URL = "http://127.0.0.1:8000"
LARGEST_SEED = 2**53 - 1
"""Largest seed of the contract; commands reject larger ones before anything starts."""

LARGEST_CHAOS = 8
"""Largest chaos level of the contract; a server rejects a level that it does not have."""

LEVELS = "0 calm, 1 light, 2 moderate, 3 heavy, 4 storm, 5 to 8 user-defined"
"""Description of the chaos levels for the help of commands."""

SNAPSHOT_CHARS = 32
SNAPSHOT_CHARS_SHOWN = 12
"""Number of characters of a snapshot id that a table shows; enough to identify it."""

SPLITS = {"train": "for training", "validation": "for model selection", "test": "for the final measurement"}
"""The splits of the contract and their purpose; commands reject other names before anything starts."""

_START_HINT = "; is `companyos up` running there?"
_SNAPSHOT_START = re.compile(r"[0-9a-f]{4,32}")
_IDS_SHOWN = 4

ResultT = TypeVar("ResultT")

UrlOption = Annotated[
    str | None,
    typer.Option(
        "--url",
        metavar="URL",
        help="URL of a running server. Default: start one for this command and stop it afterwards.",
    ),
]
RunningUrlOption = Annotated[str, typer.Option("--url", metavar="URL", help="URL of the running server.")]
TokenOption = Annotated[
    str | None,
    typer.Option(
        "--token", metavar="TOKEN", envvar="COMPANYOS_TOKEN", help="The trainer token, if the server requires one."
    ),
]
EpisodeArgument = Annotated[
    str | None, typer.Argument(metavar="EPISODE", help="The episode id. May be omitted if only one episode is live.")
]
OverrideOption = Annotated[
    list[str] | None,
    typer.Option(
        "--override",
        metavar="NAME=RATE",
        help="Rate in 0..1 of a chaos kind or a feature of shifts, such as stale_metric=0. Repeat for several.",
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def parse_overrides(typed: list[str] | None) -> tuple[tuple[str, float], ...]:
    """Return overrides by name; end the command if one is not of the form NAME=RATE."""
    overrides = {}
    for text in typed or ():
        name, _, rate = text.partition("=")
        try:
            overrides[name] = float(rate)
        except ValueError:
            fail(f"--override must be NAME=RATE with a rate in 0..1, such as stale_metric=0; got {text!r}", USAGE_ERROR)
    return tuple(sorted(overrides.items()))


@dataclass(frozen=True)
class Server:
    """A reachable server and the trainer token for it."""

    url: str
    token: str | None = field(repr=False)

    def env(self) -> CompanyOSEnv:
        """Return a session that is not connected yet."""
        from companyos.client import CompanyOSEnv

        return CompanyOSEnv(base_url=self.url, token=self.token)

    @asynccontextmanager
    async def trainer(self) -> AsyncIterator[Trainer]:
        """Yield a client of the server's HTTP API."""
        from companyos.trainer import Trainer, bearer

        async with Trainer(self.url, headers=bearer(self.token)) as trainer:
            with _hint_to_start():
                yield trainer

    def ask(self, requests: Callable[[Trainer], Awaitable[ResultT]]) -> ResultT:
        """Return the result of requests to the server's HTTP API."""
        import asyncio

        async def result() -> ResultT:
            async with self.trainer() as trainer:
                return await requests(trainer)

        return asyncio.run(result())


@contextmanager
def _hint_to_start() -> Iterator[None]:
    """Add a hint to `companyos up` to the error if the connection fails."""
    try:
        yield
    except ConnectionError as unreachable:
        message = str(unreachable)
        if not message.startswith("Failed to connect to ") or message.endswith(_START_HINT):
            raise
        raise ConnectionError(message + _START_HINT) from None


@contextmanager
def connect_or_start(url: str | None, token: str | None) -> Iterator[Server]:
    """Yield a running server; without a URL, start one and stop it at the end."""
    from companyos.openenv_preload import preload_openenv

    if url is not None:
        server = connect_to(url, token)
        with _hint_to_start():
            yield server
        return
    from companyos.enterprise import Enterprise

    enterprise = Enterprise(alone=True)
    try:
        with ERR.status("Starting the gateway and its services ..."):
            enterprise.start()
            preload_openenv()
            enterprise.wait_until_ready()
        yield Server(enterprise.url, None)
    finally:
        enterprise.stop()


def check_split(name: str) -> None:
    """End the command unless the split exists."""
    if name not in SPLITS:
        fail(f"split must be one of {', '.join(SPLITS)}; got {name!r}", USAGE_ERROR)


def connect_to(url: str, token: str | None) -> Server:
    """Return the server at a URL, which may lack its scheme."""
    from companyos.openenv_preload import preload_openenv

    preload_openenv()
    return Server((url if "://" in url else f"http://{url}").rstrip("/"), token and token.strip())


async def resolve_episode_id(trainer: Trainer, requested: str | None) -> str:
    """Return the requested episode id, or the id of the only live episode, or of the only one if none is live."""
    if requested is not None:
        return requested
    episodes = await trainer.episodes()
    live = [episode for episode in episodes if not episode.done]
    ids = [str(episode.episode_id) for episode in live or episodes]
    if len(ids) == 1:
        return ids[0]
    if not ids:
        return fail("no episode is live")
    listed_ids = ", ".join(ids[:_IDS_SHOWN]) + (", ..." if len(ids) > _IDS_SHOWN else "")
    reason = f"{len(ids)} episodes are live" if live else f"no episode is live, {len(ids)} have ended"
    return fail(f"{reason}; name one of {listed_ids}", USAGE_ERROR)


async def resolve_snapshot_id(trainer: Trainer, requested: str) -> str:
    """Return the full id of a snapshot from its first characters."""
    if not _SNAPSHOT_START.fullmatch(requested):
        fail(
            f"a snapshot id has 4 to 32 characters 0-9 and a-f; got {requested!r}. See `companyos snapshot --list`",
            USAGE_ERROR,
        )
    if len(requested) == SNAPSHOT_CHARS:
        return requested
    matches = [snapshot.id for snapshot in await trainer.snapshots() if snapshot.id.startswith(requested)]
    if len(matches) != 1:
        fail(
            f"{len(matches) or 'no'} snapshots begin with {requested!r}; `companyos snapshot --list` lists them",
            USAGE_ERROR,
        )
    return matches[0]


def check_seeds(first: int, count: int) -> None:
    """End the command if the last seed exceeds the largest seed."""
    if first + count - 1 > LARGEST_SEED:
        fail(f"the last seed {first + count - 1} exceeds the largest seed {LARGEST_SEED}", USAGE_ERROR)
