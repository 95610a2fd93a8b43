"""Real processes on free ports: starting, waiting and stopping, with their output on failure."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from verification.ports import HOST, free_port
from verification.process_stats import process_tree

SERVICES = ("ticketdesk", "datahub", "approvalflow")
START_DEADLINE_S = 60.0
STOP_DEADLINE_S = 10.0
POLL_S = 0.05


class StartupTimeoutError(AssertionError):
    """Raised for a process that did not become ready; the message ends with its output."""


@contextmanager
def running(command: Sequence[str], url: str, **environment: str) -> Iterator[str]:
    """Run a server during the context; yield its URL once it is ready. Raises StartupTimeoutError."""
    with running_process(command, url, environment):
        yield url


@contextmanager
def running_process(
    command: Sequence[str], url: str, environment: Mapping[str, str], *, stop_deadline_s: float = STOP_DEADLINE_S
) -> Iterator[subprocess.Popen[bytes]]:
    """Run a server during the context; yield its process once it is ready. Raises StartupTimeoutError."""
    with tempfile.TemporaryFile() as log:
        process = subprocess.Popen(command, env=clean_environment(environment), stdout=log, stderr=subprocess.STDOUT)
        try:
            deadline = time.monotonic() + START_DEADLINE_S
            while not _answers(url + "/readyz"):
                if process.poll() is not None or time.monotonic() > deadline:
                    log.seek(0)
                    raise StartupTimeoutError(f"{' '.join(command)}\n{log.read().decode()}")
                time.sleep(POLL_S)
            yield process
        finally:
            process.terminate()
            try:
                process.wait(stop_deadline_s)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


@contextmanager
def service(name: str, data_dir: Path, **environment: str) -> Iterator[str]:
    """Run one service over TCP; without a key in the environment it is standalone."""
    port = free_port()
    command = [sys.executable, "-m", "companyos_shared.serving", f"companyos_{name}.main:app", "--port", str(port)]
    with running(command, f"http://{HOST}:{port}", COMPANYOS_DATA_DIR=str(data_dir), **environment) as url:
        yield url


@contextmanager
def gateway(**environment: str) -> Iterator[str]:
    """Run a gateway, which starts its own services unless the environment contains their addresses."""
    port = free_port()
    command = [sys.executable, "-m", "companyos_gateway", "--host", HOST, "--port", str(port)]
    with running(command, f"http://{HOST}:{port}", **environment) as url:
        yield url


@contextmanager
def enterprise(data_dir: Path, key: str) -> Iterator[str]:
    """Run the four processes and yield the gateway's address."""
    with ExitStack() as stack:
        addresses = {
            name: stack.enter_context(service(name, data_dir / name, COMPANYOS_SERVICE_KEY=key)) for name in SERVICES
        }
        services = ",".join(f"{name}={url}" for name, url in addresses.items())
        yield stack.enter_context(gateway(COMPANYOS_SERVICES=services, COMPANYOS_SERVICE_KEY=key))


@contextmanager
def companyos_up() -> Iterator[str]:
    """Run `companyos up`, the whole enterprise in one command."""
    port = free_port()
    command = [sys.executable, "-m", "companyos", "up", "--port", str(port)]
    with running(command, f"http://{HOST}:{port}") as url:
        yield url


def service_process(gateway: int, service: str) -> int:
    """Return the process of an embedded service; raises StopIteration if there is none."""
    return next(pid for pid, name in process_tree(gateway).items() if name == service)


def clean_environment(extra: Mapping[str, str]) -> dict[str, str]:
    """Return this process's environment with the given settings instead of its own."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("COMPANYOS_", "OTEL_"))}
    return {**inherited, **extra}


def _answers(url: str) -> bool:
    try:
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(url, timeout=2) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False
