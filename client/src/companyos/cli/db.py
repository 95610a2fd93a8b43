"""`companyos db`: queries on a copy of an episode's databases."""

from __future__ import annotations

import re
import tempfile
from contextlib import ExitStack, closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from companyos.cli.connection import (
    DEFAULT_URL,
    EpisodeArgument,
    JsonOption,
    RunningUrlOption,
    TokenOption,
    connect_to,
    resolve_episode_id,
)
from companyos.cli.sql import DatabaseCopies, open_shell, print_rows
from companyos.cli.terminal import OUT, USAGE_ERROR, fail, print_json, report_errors, sanitize

if TYPE_CHECKING:
    from companyos.trainer import Trainer

_SERVICE_NAME = re.compile("[A-Za-z0-9_-]+")


def db(
    episode: EpisodeArgument = None,
    service: Annotated[
        str | None, typer.Option(metavar="NAME", help="Copy only this service. Default: all services.")
    ] = None,
    sql: Annotated[str | None, typer.Option(metavar="QUERY", help="Run this query and print its rows.")] = None,
    out: Annotated[
        Path | None,
        typer.Option(file_okay=False, metavar="DIR", help="Write the copies to this folder as SERVICE.sqlite3."),
    ] = None,
    as_json: JsonOption = False,
    url: RunningUrlOption = DEFAULT_URL,
    token: TokenOption = None,
) -> None:
    """Query an episode's databases with SQL, on a consistent copy.

    The copies are attached to one SQLite session under the names of their
    services, so one query can join several services. Without --sql and --out
    the command opens a shell: sqlite3 if installed, else a built-in one. The
    copies are read-only. A query of --sql is limited to 10 seconds and 10,000
    rows.

    Examples:

      [cyan]companyos db[/]
      [cyan]companyos db --sql .tables[/]
      [cyan]companyos db main --sql "select key, status from ticketdesk.tickets"[/]
      [cyan]companyos db main --service datahub[/]
      [cyan]companyos db main --out runs/main[/]
    """
    if as_json and sql is None:
        fail("--json needs --sql", USAGE_ERROR)
    with report_errors(), ExitStack() as stack:
        folder = out or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="companyos-db-")))
        databases = connect_to(url, token).ask(lambda trainer: _fetch(trainer, episode, service))
        copies = stack.enter_context(closing(DatabaseCopies(_write_copies(folder, databases))))
        if out is not None:
            for path in copies.paths.values():
                OUT.print(sanitize(str(path)), soft_wrap=True)
        if sql is not None:
            query_result = copies.run_query(sql)
            if as_json:
                print_json([dict(zip(query_result.columns, row, strict=True)) for row in query_result.rows])
            else:
                print_rows(query_result)
        elif out is None:
            open_shell(copies)


async def _fetch(trainer: Trainer, episode: str | None, service: str | None) -> dict[str, bytes]:
    episode_id = await resolve_episode_id(trainer, episode)
    services = [service] if service is not None else await trainer.services()
    return {name: await trainer.database(episode_id, name) for name in services}


def _write_copies(folder: Path, databases: dict[str, bytes]) -> dict[str, Path]:
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    for name in databases:
        if _SERVICE_NAME.fullmatch(name) is None:
            fail(f"invalid service name {name!r} from the server; allowed are letters, digits, '_' and '-'")
    paths = {name: folder / f"{name}.sqlite3" for name in databases}
    for name, path in paths.items():
        path.touch(mode=0o600)
        path.write_bytes(databases[name])
    return paths
