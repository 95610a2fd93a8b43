"""Runs `companyos up` in a clean environment, and fetches its pages with the files that they load."""

from __future__ import annotations

import re
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urljoin
from urllib.request import ProxyHandler, build_opener

from verification.ports import HOST, free_port
from verification.release.environments import CleanEnvironment, CommandError

_START_DEADLINE_S = 120.0
_STOP_DEADLINE_S = 30.0
_POLL_S = 0.1
_http = build_opener(ProxyHandler({}))
_LOADED = re.compile(r'<(?:link|script|img)\b[^>]*?\b(?:href|src)="([^"]+)"')


@contextmanager
def running_gateway(environment: CleanEnvironment) -> Iterator[str]:
    """Run `companyos up`, yield its URL, and stop it gracefully. Raises CommandError."""
    port = free_port()
    url, log = f"http://{HOST}:{port}", environment.work / "up.log"
    command = [str(environment.root / "bin" / "companyos"), "up", "--port", str(port)]
    with log.open("wb") as output:
        process = subprocess.Popen(
            command, cwd=environment.work, env=environment.variables, stdout=output, stderr=subprocess.STDOUT
        )
    try:
        deadline = time.monotonic() + _START_DEADLINE_S
        while not _is_ready(url):
            if process.poll() is not None or time.monotonic() > deadline:
                raise CommandError(log.read_text() or "companyos up did not become ready")
            time.sleep(_POLL_S)
        yield url
    finally:
        status = _stop(process)
    if status != 0:
        raise CommandError(f"companyos up ended with {status} after SIGTERM")


def fetch_page(url: str) -> int:
    """Fetch a page and every file of the same server that it loads; return the number of files. Raises CommandError."""
    page = _fetch(url).decode()
    if "CompanyOS" not in page:
        raise CommandError(f"{url} is not a page of CompanyOS")
    files = {urljoin(url, loaded) for loaded in _LOADED.findall(page) if not loaded.startswith("data:")}
    for file in sorted(files):
        if not _fetch(file):
            raise CommandError(f"{file} is empty")
    return len(files)


def _fetch(url: str) -> bytes:
    try:
        with _http.open(url, timeout=30) as response:
            content: bytes = response.read()
            return content
    except OSError as error:
        raise CommandError(f"{url}: {error}") from None


def _is_ready(url: str) -> bool:
    try:
        with _http.open(f"{url}/readyz", timeout=5) as response:
            return bool(response.status == 200)
    except OSError:
        return False


def _stop(process: subprocess.Popen[bytes]) -> int:
    """Terminate a process, and kill it if it does not exit; return its status."""
    process.terminate()
    try:
        return process.wait(_STOP_DEADLINE_S)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.wait()
