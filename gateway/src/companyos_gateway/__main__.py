"""`python -m companyos_gateway [--host HOST] [--port N] [--workers N]`: serve the gateway, and its services if none
are configured.
"""

from __future__ import annotations

import argparse
import gc
import os
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NoReturn

from companyos.entry_points import EntryPointError
from companyos_gateway.process.data_folder import GatewayFolders, open_folders
from companyos_gateway.process.embedded_services import EmbeddedServices
from companyos_shared.folder_lock import FolderInUseError
from companyos_shared.lifetime import exit_when_stdin_closes
from companyos_shared.private_files import keep_files_private

DEFAULT_PORT = 8000
MISUSED = 2
PROXIED = {"proxy_headers": True, "forwarded_allow_ips": "*"}
"""Options of a gateway behind a trusted proxy, which forwards the addresses of clients."""


def main(arguments: list[str] | None = None) -> NoReturn:
    """Parse the command line and serve until the process is stopped."""
    parser = argparse.ArgumentParser(prog="python -m companyos_gateway", description="Serve the CompanyOS gateway.")
    parser.add_argument("--host", default="127.0.0.1", help="the address to listen on (default: %(default)s)")
    parser.add_argument("--port", type=int, default=DEFAULT_PORT, help="the port (default: %(default)s)")
    instead = parser.add_mutually_exclusive_group()
    instead.add_argument("--fd", type=int, help="inherited listening socket to use instead of --host and --port")
    instead.add_argument("--uds", help="listen on a Unix socket instead; only for a trusted proxy in front of it")
    parser.add_argument(
        "--workers",
        type=int,
        default=os.environ.get("COMPANYOS_WORKERS", "1"),
        help="the number of gateways behind the address (default: COMPANYOS_WORKERS, or 1)",
    )
    parser.add_argument(
        "--until-input-ends",
        action="store_true",
        help="stop when standard input closes, as a dead parent closes it",
    )
    options = parser.parse_args(arguments)
    keep_files_private()
    if options.until_input_ends:
        exit_when_stdin_closes()
    data_dir = os.environ.get("COMPANYOS_DATA_DIR")
    address: dict[str, Any] = {"host": options.host, "port": options.port, "fd": options.fd}
    if options.uds:
        address = {"uds": options.uds, **PROXIED}
    if options.workers != 1 and not options.uds:
        from companyos_gateway.workers.serving import serve_workers

        serve_workers(parser, options.workers, Path(data_dir) if data_dir else None, address)
    with ExitStack() as stack:
        try:
            folders = stack.enter_context(open_folders(Path(data_dir) if data_dir else None))
        except FolderInUseError as refusal:
            parser.exit(MISUSED, f"error: {refusal}\n")
        except OSError as error:
            parser.exit(MISUSED, f"error: COMPANYOS_DATA_DIR {data_dir} cannot be used: {error.strerror}\n")
        try:
            embedded = None if os.environ.get("COMPANYOS_SERVICES") else EmbeddedServices(folders.private, folders.data)
        except EntryPointError as error:
            parser.exit(MISUSED, f"error: {error}\n")
        if embedded is not None:
            stack.callback(embedded.kill)  # runs before the folders of starting services are removed
            embedded.start()  # in parallel with the imports of `_serve`, which take longest
        _serve(parser, folders, embedded, address)


def _serve(
    parser: argparse.ArgumentParser, folders: GatewayFolders, embedded: EmbeddedServices | None, address: dict[str, Any]
) -> NoReturn:
    """Import the gateway, check its settings and serve it."""

    from companyos.openenv_preload import preload_openenv

    preload_openenv()
    from companyos_gateway.app import create_app
    from companyos_gateway.process.environment import remove_secrets_from_environment
    from companyos_gateway.process.startup_checks import StartupError, load_checked_settings
    from companyos_gateway.process.uvicorn_options import uvicorn_options
    from companyos_gateway.runtime import GatewayRuntime
    from companyos_shared.serving import serve

    try:
        settings = load_checked_settings(folders.gateway)
    except StartupError as refusal:
        parser.exit(MISUSED, f"error: {refusal}\n")
    remove_secrets_from_environment()
    app = create_app(GatewayRuntime(settings, folders=folders, embedded=embedded))
    try:
        serve(app, name="gateway", **{**uvicorn_options(settings), **address})
    except SystemExit as end:
        if end.code and embedded is not None and (error := embedded.load_error()) is not None:
            parser.exit(MISUSED, f"error: {error}\n")
        raise


if __name__ == "__main__":
    gc.disable()  # imports create no garbage; the server enables the collector
    main()
