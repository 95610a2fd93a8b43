"""`python -m companyos_gateway [--host HOST] [--port N]`: serve the gateway, and its services where none are set."""

from __future__ import annotations

import argparse
from typing import NoReturn

from companyos.openenv_preload import preload_openenv
from companyos_gateway.process.lifetime import exit_when_stdin_closes
from companyos_gateway.process.uvicorn_options import uvicorn_options
from companyos_shared.private_files import keep_files_private
from companyos_shared.serving import serve

DEFAULT_PORT = 8000
MISUSED = 2


def main(arguments: list[str] | None = None) -> NoReturn:
    """Read the command line and serve until told to stop."""
    parser = argparse.ArgumentParser(prog="python -m companyos_gateway", description="Serve the CompanyOS gateway.")
    parser.add_argument("--host", default="127.0.0.1", help="the address to listen on (default: %(default)s)")
    parser.add_argument("--port", type=int, default=DEFAULT_PORT, help="the port (default: %(default)s)")
    parser.add_argument(
        "--until-input-ends",
        action="store_true",
        help="stop when standard input closes, as a dead parent closes it",
    )
    options = parser.parse_args(arguments)
    keep_files_private()
    if options.until_input_ends:
        exit_when_stdin_closes()
    preload_openenv()
    from companyos_gateway.process.startup_checks import StartupError, load_checked_settings  # OpenEnv comes with it

    try:
        settings = load_checked_settings()
    except StartupError as refusal:
        parser.exit(MISUSED, f"error: {refusal}\n")
    serve("companyos_gateway.main:app", host=options.host, port=options.port, **uvicorn_options(settings))


if __name__ == "__main__":
    main()
