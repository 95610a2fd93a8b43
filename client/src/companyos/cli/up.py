"""`companyos up`: the whole enterprise in the foreground."""

from __future__ import annotations

import signal
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer
from rich.markup import escape

from companyos.cli.terminal import ERR, MISUSED, OUT, clear_errors, fail

if TYPE_CHECKING:
    from companyos.enterprise import Enterprise

DEFAULT_PORT = 8000
_POLL_S = 0.5


def up(
    port: Annotated[int, typer.Option(min=0, max=65535, help="The gateway's port; 0 takes a free one.")] = DEFAULT_PORT,
    data_dir: Annotated[
        Path | None,
        typer.Option(
            file_okay=False, help="Where the services keep the episodes; memory-backed and temporary without."
        ),
    ] = None,
    keep: Annotated[bool, typer.Option("--keep", help="Keep the databases of episodes that are over.")] = False,
) -> None:
    """Start the whole enterprise on this machine and keep it running. No Docker.

    Examples:

      [cyan]companyos up[/]                              on port 8000
      [cyan]companyos up --port 9000[/]                  on another port
      [cyan]companyos up --data-dir runs/data --keep[/]  to look into databases

    Ctrl-C stops the gateway and the three services.
    """
    from companyos.enterprise import Enterprise

    _stop_by_signals()
    if keep and data_dir is None:
        fail("--keep needs --data-dir: without it the databases are in memory", MISUSED)
    with clear_errors():
        enterprise = Enterprise(port=port, data_dir=data_dir, keep=keep)
        try:
            with ERR.status("Starting the gateway and its three services ..."):
                enterprise.start()
                enterprise.wait_until_ready()
            _print_addresses(enterprise.url, data_dir)
            _watch(enterprise)
        finally:
            enterprise.stop()


def _watch(enterprise: Enterprise) -> None:
    """Return when the user stops the command; raise EnterpriseFailed when the enterprise ends by itself."""
    try:
        while True:
            enterprise.check_alive()
            time.sleep(_POLL_S)
    except KeyboardInterrupt:
        ERR.print("\nstopping ...", style="dim")


def _stop_by_signals() -> None:
    """Let a signal stop the command like Ctrl-C does, but for those that whoever started it chose to ignore (nohup)."""
    for name in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(name) is not signal.SIG_IGN:
            signal.signal(name, _stop)


def _stop(_signal: int, _frame: object) -> NoReturn:
    raise KeyboardInterrupt


def _print_addresses(url: str, data_dir: Path | None) -> None:
    rows = {
        "page": url + "/",
        "OpenEnv": url.replace("http", "ws", 1) + "/ws",
        "plain HTTP": f"{url}/reset, /step, /state",
        "API docs": f"{url}/docs",
    }
    if data_dir is not None:
        rows["data"] = str(data_dir.resolve())
    OUT.print("\n[bold green]CompanyOS is up.[/]\n")
    for name, value in rows.items():
        OUT.print(f"  [dim]{name:<12}[/]{escape(value)}", soft_wrap=True)
    OUT.print("\n[dim]Ctrl-C stops everything.[/]")
