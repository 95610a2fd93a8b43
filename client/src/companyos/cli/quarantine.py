"""`companyos quarantine`: lists, restores and removes files that the gateway could not read."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from companyos.cli.connection import DEFAULT_URL, JsonOption, RunningUrlOption, TokenOption, connect_to
from companyos.cli.terminal import (
    ERR,
    OUT,
    USAGE_ERROR,
    data_table,
    fail,
    id_column_width,
    plain_table,
    pluralize,
    print_json,
    report_errors,
    sanitize,
)

if TYPE_CHECKING:
    from companyos.schemas import QuarantineItem
    from companyos.trainer import Trainer

HELP = """
List, restore or remove what the gateway moved to quarantine.

At startup the gateway moves episodes and snapshots to quarantine that it
cannot load: damaged files, unsupported formats, tasks that this version
generates differently, or databases that do not match the journal. Nothing is
deleted.

Examples:

  [cyan]companyos quarantine list[/]
  [cyan]companyos quarantine show main[/]      the reason for an episode
  [cyan]companyos quarantine restore main[/]   move it back; the next start reads it again
  [cyan]companyos quarantine remove main[/]    delete it permanently
"""

ItemArgument = Annotated[
    str, typer.Argument(metavar="ITEM", help="Id of the item or a prefix of it, or the id of its episode or snapshot.")
]

quarantine_app = typer.Typer(help=HELP, no_args_is_help=True, rich_markup_mode="rich")


@quarantine_app.command("list")
def list_items(as_json: JsonOption = False, url: RunningUrlOption = DEFAULT_URL, token: TokenOption = None) -> None:
    """List the items in quarantine, oldest first."""
    with report_errors():
        items = connect_to(url, token).ask(lambda trainer: trainer.quarantine())
    if as_json:
        print_json(items)
    elif items:
        _print_items(items)
    else:
        OUT.print("[dim]quarantine is empty[/]")


@quarantine_app.command("show")
def show(
    item: ItemArgument, as_json: JsonOption = False, url: RunningUrlOption = DEFAULT_URL, token: TokenOption = None
) -> None:
    """Show why an item is in quarantine, and its files."""
    with report_errors():
        quarantined = connect_to(url, token).ask(lambda trainer: _find_item(trainer, item))
    if as_json:
        print_json(quarantined)
        return
    table = plain_table(show_header=False)
    for name, value in _facts(quarantined):
        table.add_row(f"[dim]{name}[/]", sanitize(value))
    OUT.print(table)


@quarantine_app.command("restore")
def restore(item: ItemArgument, url: RunningUrlOption = DEFAULT_URL, token: TokenOption = None) -> None:
    """Move an item back to its place. The next start of the gateway reads it again.

    An item whose cause remains is moved to quarantine again. After `task-changed` or `unsupported-format`, start the
    version that wrote it instead: `companyos quarantine show` names it.
    """
    with report_errors():
        restored = connect_to(url, token).ask(lambda trainer: _restore(trainer, item))
    ERR.print(f"[dim]restored[/] {sanitize(restored.id)}[dim]; restart the gateway to load it[/]", soft_wrap=True)


@quarantine_app.command("remove")
def remove(
    item: ItemArgument,
    is_sure: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")] = False,
    url: RunningUrlOption = DEFAULT_URL,
    token: TokenOption = None,
) -> None:
    """Delete an item permanently, with its databases."""
    with report_errors():
        server = connect_to(url, token)
        quarantined = server.ask(lambda trainer: _find_item(trainer, item))
        if not is_sure and not sys.stdin.isatty():
            fail("--yes is required without a terminal", USAGE_ERROR)
        if is_sure or typer.confirm(f"Delete {quarantined.id} ({quarantined.detail}) permanently?", abort=True):
            server.ask(lambda trainer: trainer.remove_from_quarantine(quarantined.id))
    ERR.print(f"[dim]deleted[/] {sanitize(quarantined.id)}", soft_wrap=True)


async def _restore(trainer: Trainer, name: str) -> QuarantineItem:
    return await trainer.restore_from_quarantine((await _find_item(trainer, name)).id)


async def _find_item(trainer: Trainer, name: str) -> QuarantineItem:
    """Return the item with this name, or the only one whose id begins with it."""
    items = await trainer.quarantine()
    exact = [item for item in items if name in (item.id, item.episode_id, item.snapshot_id)]
    matches = exact or [item for item in items if item.id.startswith(name)]
    if len(matches) != 1:
        fail(
            f"{pluralize(len(matches), 'item')} in quarantine match {name!r}; `companyos quarantine list` lists them",
            USAGE_ERROR,
        )
    return matches[0]


def _print_items(items: list[QuarantineItem]) -> None:
    table = data_table()
    table.add_column("item", style="bold cyan", overflow="fold", min_width=id_column_width(item.id for item in items))
    table.add_column("of", overflow="fold")
    table.add_column("reason", no_wrap=True)
    table.add_column("reason", overflow="fold")
    for item in items:
        of = item.episode_id or item.snapshot_id or item.internal_id or "unknown"
        table.add_row(sanitize(item.id), f"{item.kind} {sanitize(of)}", sanitize(item.reason), sanitize(item.detail))
    OUT.print(table)


def _facts(item: QuarantineItem) -> list[tuple[str, str]]:
    facts = [
        ("item", item.id),
        ("kind", item.kind.value),
        ("episode", item.episode_id or ""),
        ("snapshot", item.snapshot_id or ""),
        ("reason", item.reason),
        ("found", item.detail),
        ("moved", f"{item.at:%Y-%m-%d %H:%M:%S} UTC by version {item.version}"),
        ("files", f"gateway/quarantine/{item.id}/ in the data folder"),
    ]
    facts += [(f"in {service}", f"quarantine/{entry}/") for service, kept in item.databases.items() for entry in kept]
    return [(name, value) for name, value in facts if value]
