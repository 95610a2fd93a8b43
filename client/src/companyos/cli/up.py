"""`companyos up`: runs the gateway and its services in the foreground."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from companyos.cli.connection import connect_to
from companyos.cli.terminal import ERR, OUT, USAGE_ERROR, fail, pluralize, report_errors, sanitize

if TYPE_CHECKING:
    from companyos.contract import CompanyOSState
    from companyos.enterprise import Enterprise
    from companyos.schemas import QuarantineItem

DEFAULT_PORT = 8000
DEFAULT_EPISODE = "main"
_POLL_S = 0.5
_ITEMS_SHOWN = 5


def up(
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port of the gateway; 0 selects a free one.")
    ] = DEFAULT_PORT,
    workers: Annotated[
        int,
        typer.Option(
            min=1,
            max=64,
            envvar="COMPANYOS_WORKERS",
            help="Number of gateways, each with its own services, to use more cores.",
        ),
    ] = 1,
    data_dir: Annotated[
        Path | None,
        typer.Option(
            file_okay=False,
            envvar="COMPANYOS_DATA_DIR",
            help="Folder for episodes. Default: a temporary folder.",
        ),
    ] = None,
    keep: Annotated[bool, typer.Option("--keep", help="Keep one named episode across restarts.")] = False,
    episode: Annotated[
        str | None, typer.Option(metavar="NAME", help=f"Name of the kept episode. Default: {DEFAULT_EPISODE}.")
    ] = None,
    keep_databases: Annotated[
        bool, typer.Option("--keep-databases", help="Do not delete the databases of finished episodes.")
    ] = False,
) -> None:
    """Start the gateway and its services on this machine, without Docker.

    Examples:

      [cyan]companyos up[/]                       on port 8000; keeps no episodes
      [cyan]companyos up --port 9000[/]           on another port
      [cyan]companyos up --workers 4[/]           for the cores of a larger machine
      [cyan]companyos up --keep[/]                with the kept episode `main`
      [cyan]companyos up --keep --episode friday --data-dir runs/friday[/]
      [cyan]companyos up --data-dir runs/data --keep-databases[/]

    Ctrl-C stops the gateway and the services. With a data folder, live
    episodes continue at the next start. With --keep the default folder is
    ~/.local/share/companyos.
    """
    from companyos.enterprise import Enterprise, PortInUseError

    _install_signal_handlers()
    if episode is not None and not keep:
        fail("--episode needs --keep", USAGE_ERROR)
    folder = default_data_dir() if keep and data_dir is None else data_dir
    if keep_databases and folder is None:
        fail("--keep-databases needs --data-dir; without it the databases are deleted at the end", USAGE_ERROR)
    kept_episode = (episode or DEFAULT_EPISODE) if keep else None
    with report_errors():
        settings = _settings(kept_episode, keep_databases)
        enterprise = Enterprise(port=port, data_dir=folder, settings=settings, workers=workers)
        try:
            with ERR.status("Starting the gateway and its services ..."):
                enterprise.start()
                enterprise.wait_until_ready()
                episode_state = None if kept_episode is None else _read_episode(enterprise.url, kept_episode)
                quarantined = _read_quarantine(enterprise)
            try:
                _print_addresses(enterprise.url, folder, enterprise.log_path)
                if isinstance(episode_state, str):
                    _print_row("episode", f"[bold red]{sanitize(episode_state)}[/]")
                elif episode_state is not None:
                    _print_episode(enterprise.url, episode_state)
                if quarantined:
                    _print_quarantine(enterprise, quarantined)
                _wait_until_stopped(enterprise)
            except KeyboardInterrupt:
                ERR.print("\nstopping ...", style="dim")
        except PortInUseError as error:
            hint = "" if error.free_port is None else f"; --port {error.free_port} is free"
            fail(f"{error}{hint}")
        finally:
            enterprise.stop()


def default_data_dir() -> Path:
    """Return the user's data folder according to the XDG Base Directory Specification."""
    xdg_data_home = os.environ.get("XDG_DATA_HOME", "")
    return (Path(xdg_data_home) if os.path.isabs(xdg_data_home) else Path.home() / ".local" / "share") / "companyos"


def _settings(kept_episode: str | None, keep_databases: bool) -> dict[str, str]:
    settings = {} if kept_episode is None else {"COMPANYOS_KEEP_EPISODE": kept_episode}
    return settings | ({"COMPANYOS_KEEP_EPISODES": "true"} if keep_databases else {})


def _trainer_token() -> str | None:
    """Return the trainer token from the settings that the gateway inherits."""
    if token := os.environ.get("COMPANYOS_TRAINER_TOKEN"):
        return token
    file = os.environ.get("COMPANYOS_TRAINER_TOKEN_FILE")
    return Path(file).read_text(encoding="utf-8").strip() if file else None


def _read_episode(url: str, episode_id: str) -> CompanyOSState | str | None:
    """Return the state of an episode, or the reason for its quarantine; None in production mode, which hides both."""
    from companyos.errors import ApiError

    try:
        return connect_to(url, _trainer_token()).ask(lambda trainer: trainer.episode(episode_id))
    except ApiError as error:
        if error.problem == "episode-quarantined":
            return f"not replaced: {str(error).partition(': ')[2]}"
        if error.problem != "not-found":
            raise
        return None


def _read_quarantine(enterprise: Enterprise) -> list[QuarantineItem]:
    """Return the items in quarantine; none in production mode, which hides them."""
    if not enterprise.readiness().get("quarantine", {}).get("items"):
        return []
    from companyos.errors import ApiError

    try:
        return connect_to(enterprise.url, _trainer_token()).ask(lambda trainer: trainer.quarantine())
    except ApiError as error:
        if error.problem != "not-found":
            raise
        return []


def _print_quarantine(enterprise: Enterprise, items: list[QuarantineItem]) -> None:
    """Print the items that the start could not read."""
    port = "" if enterprise.url.endswith(f":{DEFAULT_PORT}") else f" --url {enterprise.url}"
    OUT.print(f"\n[bold red]{pluralize(len(items), 'item')} in quarantine.[/] Nothing was deleted.\n")
    for item in items[:_ITEMS_SHOWN]:
        of = item.episode_id or item.snapshot_id or item.internal_id or item.id
        _print_row(item.kind.value, f"{sanitize(of)}: {sanitize(item.detail)}")
    if len(items) > _ITEMS_SHOWN:
        _print_row("", f"and {len(items) - _ITEMS_SHOWN} more")
    _print_row("look", f"companyos quarantine list{port}")
    _print_row("log", sanitize(str(enterprise.log_path)))


def _wait_until_stopped(enterprise: Enterprise) -> NoReturn:
    """Raise KeyboardInterrupt when the user stops the command, EnterpriseError when the gateway exits."""
    OUT.print("\n[dim]Press Ctrl-C to stop.[/]")
    while True:
        enterprise.check_alive()
        time.sleep(_POLL_S)


def _install_signal_handlers() -> None:
    """Handle signals like Ctrl-C, except those ignored by the parent process (nohup)."""
    for name in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(name) is not signal.SIG_IGN:
            signal.signal(name, _raise_interrupt)


def _raise_interrupt(_signal: int, _frame: object) -> NoReturn:
    raise KeyboardInterrupt


def _print_addresses(url: str, data_dir: Path | None, log: Path | None) -> None:
    rows = {
        "page": url + "/",
        "console": f"{url}/console",
        "OpenEnv": url.replace("http", "ws", 1) + "/ws",
        "plain HTTP": f"{url}/reset, /step, /state",
        "MCP": f"{url}/v1/mcp",
        "API docs": f"{url}/docs",
    }
    if data_dir is not None:
        rows["data"] = str(data_dir.resolve())
        rows["log"] = str(log)
    OUT.print("\n[bold green]CompanyOS is up.[/]\n")
    for name, value in rows.items():
        _print_row(name, sanitize(value))


def _print_row(name: str, value: str) -> None:
    OUT.print(f"  [dim]{name:<12}[/]{value}", soft_wrap=True)


def _print_episode(url: str, episode_state: CompanyOSState) -> None:
    """Print the state of the kept episode and a command to continue it."""
    name = f"[bold]{sanitize(str(episode_state.episode_id))}[/]"
    summary = (
        f"{name}: {episode_state.scenario}, seed {episode_state.seed}, "
        f"step {episode_state.step_count} of {episode_state.max_steps}"
    )
    identity = f'"episode_id": "{episode_state.episode_id}"'
    header = ' -H "Authorization: Bearer $COMPANYOS_TRAINER_TOKEN"' if _trainer_token() else ""
    if episode_state.done:
        _print_row("episode", f"{summary}, over: {episode_state.outcome}")
        OUT.print("\nReset it with:\n")
        line = f"curl -s {url}/reset{header} -d '{{{identity}}}'"
    else:
        _print_row("episode", f"{summary}, {episode_state.now:%a %d %b %Y, %H:%M}" if episode_state.now else summary)
        OUT.print("\nTake a step:\n")
        action = '"action": {"tool_name": "ticketdesk_list_tickets", "arguments": {}}'
        line = f"curl -s {url}/step{header} -d '{{{identity}, {action}}}'"
    OUT.print(f"  {sanitize(line)}", soft_wrap=True)
