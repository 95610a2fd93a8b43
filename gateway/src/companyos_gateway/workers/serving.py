"""Serves several workers behind one address."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, NoReturn

from companyos.openenv_preload import preload_openenv
from companyos_gateway.engine.tokens import InvalidSecretError
from companyos_gateway.middleware.error_responses import PROBLEM_HEADER
from companyos_gateway.process.startup_checks import StartupError, load_checked_settings
from companyos_gateway.process.uvicorn_options import UVICORN_OPTIONS
from companyos_gateway.settings import MAX_WORKERS
from companyos_gateway.workers.pool import REFUSED, WorkerPool
from companyos_gateway.workers.router import Router
from companyos_gateway.workers.websocket_relay import WebSocketRelay
from companyos_shared.folder_lock import FolderInUseError
from companyos_shared.private_files import make_private_folder
from companyos_shared.serving import serve
from companyos_shared.temporary_folders import temporary_data_folder
from companyos_shared.web.response_headers import ResponseHeadersMiddleware
from companyos_shared.web.trusted_hosts import TrustedHostsMiddleware


def serve_workers(
    parser: argparse.ArgumentParser, count: int, data_dir: Path | None, address: Mapping[str, Any]
) -> NoReturn:
    """Start `count` workers and serve their router until the process ends; exit with 2 if they cannot start."""
    preload_openenv()
    if not 1 < count <= MAX_WORKERS:
        parser.exit(REFUSED, f"error: --workers must be 1 to {MAX_WORKERS}; got {count}\n")
    if os.environ.get("COMPANYOS_SERVICES"):
        parser.exit(REFUSED, "error: --workers starts services of its own and cannot be used with COMPANYOS_SERVICES\n")
    _use_batch_scheduling()
    with ExitStack() as stack:
        private = stack.enter_context(temporary_data_folder())
        data = private / "data" if data_dir is None else data_dir
        pool = WorkerPool(count, data, private)
        try:
            settings = load_checked_settings(make_private_folder(data / "gateway"))
            pool.prepare()
        except (FolderInUseError, StartupError, InvalidSecretError) as refusal:
            parser.exit(REFUSED, f"error: {refusal}\n")
        except OSError as error:
            parser.exit(REFUSED, f"error: the data folder {data} cannot be used: {error.strerror}\n")
        if settings.web:
            parser.exit(REFUSED, "error: COMPANYOS_WEB cannot be used with --workers\n")
        token, own_name = settings.trainer(), settings.space_host
        router = TrustedHostsMiddleware(
            Router(pool, token),
            names=settings.host_names(),
            own=own_name,
            any_name=token is not None,
            code_header=PROBLEM_HEADER,
        )
        app = ResponseHeadersMiddleware(router)
        options = {**UVICORN_OPTIONS, "ws": WebSocketRelay, "lifespan": "on"}
        try:
            serve(app, name="router", **options, **address)
        except SystemExit:
            if pool.has_refused:
                parser.exit(REFUSED, "error: a worker cannot be started; its message is in the log\n")
            raise


def _use_batch_scheduling() -> None:
    """Keep the router and the workers from preempting each other whenever a message arrives.

    A process that wakes up then waits until a processor is free, finds several messages and handles them in a row. With
    64 sessions on two cores, this makes a step a quarter cheaper. Linux only; children inherit it.
    """
    if sys.platform == "linux":
        with suppress(OSError):  # a sandbox may forbid it
            os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
