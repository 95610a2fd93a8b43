"""Where a command's server is: the address that the user gave, or an enterprise of the command's own."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated

import typer

from companyos.cli.terminal import ERR, USAGE_ERROR, fail

if TYPE_CHECKING:
    from companyos.client import CompanyOSEnv
    from companyos.contract import CompanyOSState
    from companyos.trainer import Trainer

DEFAULT_URL = "http://127.0.0.1:8000"
LARGEST_SEED = 2**53 - 1
"""The contract's largest seed, for commands that refuse a larger one before anything starts."""

LARGEST_CHAOS = 8
"""The contract's largest chaos level; a server refuses one that it does not have."""

LEVELS = "0 calm, 1 light, 2 moderate, 3 heavy, 4 storm, 5 to 8 your own"
"""What a chaos level says, for the help of commands."""

SNAPSHOT_CHARS = 32
SNAPSHOT_CHARS_SHOWN = 12
"""How many characters of a snapshot's id a table shows: enough to name it by."""

SPLITS = {"train": "to learn from", "validation": "to choose by", "test": "to measure with"}
"""The contract's splits and what each is for, for commands that refuse another one before anything starts."""

_START_HINT = "; is `companyos up` running there?"
_SNAPSHOT_START = re.compile(r"[0-9a-f]{4,32}")
_IDS_SHOWN = 4

UrlOption = Annotated[
    str | None,
    typer.Option("--url", metavar="URL", help="A running enterprise; without it, one is started for this command."),
]
RunningUrlOption = Annotated[str, typer.Option("--url", metavar="URL", help="The running enterprise.")]
TokenOption = Annotated[
    str | None,
    typer.Option(
        "--token", metavar="TOKEN", envvar="COMPANYOS_TOKEN", help="The trainer's token, where the server asks for one."
    ),
]
EpisodeArgument = Annotated[
    str | None, typer.Argument(metavar="EPISODE", help="Its id; may be left out where one episode is live.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]


@dataclass(frozen=True)
class Server:
    """A server that answers, and the trainer's token for it."""

    url: str
    token: str | None = field(repr=False)

    def env(self) -> CompanyOSEnv:
        """Return a session that is not connected yet."""
        from companyos.client import CompanyOSEnv

        return CompanyOSEnv(base_url=self.url, token=self.token)

    @asynccontextmanager
    async def trainer(self) -> AsyncIterator[Trainer]:
        """Give the server's plain HTTP side."""
        from companyos.trainer import Trainer, bearer

        async with Trainer(self.url, headers=bearer(self.token)) as trainer:
            with _hint_to_start():
                yield trainer


@contextmanager
def _hint_to_start() -> Iterator[None]:
    """Ask, where nobody answered, whether anybody was started."""
    try:
        yield
    except ConnectionError as unreachable:
        message = str(unreachable)
        if not message.startswith("Failed to connect to ") or message.endswith(_START_HINT):
            raise
        raise ConnectionError(message + _START_HINT) from None


@contextmanager
def connect_or_start(url: str | None, token: str | None) -> Iterator[Server]:
    """Give a running enterprise, started and stopped here when no address is given."""
    from companyos.openenv_preload import preload_openenv

    if url is not None:
        server = connect_to(url, token)
        with _hint_to_start():
            yield server
        return
    from companyos.enterprise import Enterprise

    enterprise = Enterprise(alone=True)
    try:
        with ERR.status("Starting the enterprise: a gateway and its three services ..."):
            enterprise.start()
            preload_openenv()
            enterprise.wait_until_ready()
        yield Server(enterprise.url, None)
    finally:
        enterprise.stop()


def check_split(name: str) -> None:
    """Refuse a split that there is not."""
    if name not in SPLITS:
        fail(f"no split is called {name!r}; there are {', '.join(SPLITS)}", USAGE_ERROR)


def connect_to(url: str, token: str | None) -> Server:
    """Return the enterprise at an address, which may lack its scheme."""
    from companyos.openenv_preload import preload_openenv

    preload_openenv()
    return Server((url if "://" in url else f"http://{url}").rstrip("/"), token and token.strip())


async def resolve_episode_id(trainer: Trainer, requested: str | None) -> str:
    """Return the id of the episode that is meant: the one that was asked for, else the only one that is live."""
    if requested is not None:
        return requested
    episodes = await trainer.episodes()
    unfinished = [episode for episode in episodes if not episode.done]
    for candidates in (episodes, unfinished):
        if len(candidates) == 1:
            return _episode_id(candidates[0])
    if not episodes:
        return fail("no episode is live")
    ids = [_episode_id(episode) for episode in episodes]
    listed_ids = ", ".join(ids[:_IDS_SHOWN]) + (", ..." if len(ids) > _IDS_SHOWN else "")
    return fail(f"{len(ids)} episodes are live, say which one: {listed_ids}", USAGE_ERROR)


async def resolve_snapshot_id(trainer: Trainer, requested: str) -> str:
    """Return the id of the snapshot that is meant by its first characters."""
    if not _SNAPSHOT_START.fullmatch(requested):
        fail(f"{requested!r} is no snapshot id; `companyos snapshot --list` lists them", USAGE_ERROR)
    if len(requested) == SNAPSHOT_CHARS:
        return requested
    matches = [snapshot.id for snapshot in await trainer.snapshots() if snapshot.id.startswith(requested)]
    if len(matches) != 1:
        fail(
            f"{len(matches) or 'no'} snapshots begin with {requested!r}; `companyos snapshot --list` lists them",
            USAGE_ERROR,
        )
    return matches[0]


def _episode_id(episode: CompanyOSState) -> str:
    return str(episode.episode_id)


def check_seeds(first: int, count: int) -> None:
    """End the command where the last of the seeds is larger than a seed can be."""
    if first + count - 1 > LARGEST_SEED:
        fail(f"seeds end at {LARGEST_SEED}: --seed {first} has no {count - 1} after it", USAGE_ERROR)
