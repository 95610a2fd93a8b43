"""Worker processes, each with its own services and data folder; a process that ends is restarted."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import subprocess
import sys
import zlib
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType

from companyos_gateway.engine.tokens import SECRET_FILE, InvalidSecretError, read_or_create_secret
from companyos_gateway.process.backoff import Backoff
from companyos_gateway.process.data_folder import make_locked_folder
from companyos_shared.private_files import make_private_folder

STOP_DEADLINE_S = 8.0
"""Slightly more than the time in which a worker completes its requests and stops its services."""

REFUSED = 2
"""Exit status of a gateway that refuses to start; its last line of output contains the reason."""

MAX_NAMES = 100_000
"""Maximum number of names whose worker is cached; the least recently used are evicted."""

MAX_NAME_LENGTH = 128

_POLL_S = 0.2
_STOP_POLL_S = 0.02
_MODULE = "companyos_gateway"
_log = logging.getLogger(__name__)


@dataclass(slots=True)
class Worker:
    """One worker: its number from 1, its socket and data folder, and the WebSockets that are open to it."""

    number: int
    socket: Path
    data_dir: Path
    websockets: int = 0
    process: subprocess.Popen[bytes] | None = None
    backoff: Backoff = field(default_factory=Backoff)

    @property
    def is_running(self) -> bool:
        """Return whether its process is running."""
        return self.process is not None and self.process.poll() is None

    def terminate(self) -> None:
        """Send SIGTERM, after which the process completes its accepted requests and exits."""
        if self.process is not None:
            self.process.terminate()

    def kill(self) -> None:
        """Kill the process if it still runs."""
        process, self.process = self.process, None
        if process is not None and process.poll() is None:
            _log.error("worker %d did not stop within %g s and is killed", self.number, STOP_DEADLINE_S)
            process.kill()
            process.wait()


class WorkerPool:
    """The workers of one address, running for the duration of an `async with` block.

    The first one uses `data_dir` itself, so that a single gateway finds its episodes; the others use
    `data_dir/worker-N`. All have the same secret, so that they sign evidence with the same key. Sockets and browser
    sessions are in `private`.
    """

    def __init__(self, count: int, data_dir: Path, private: Path) -> None:
        self._private = private
        self.workers = [
            Worker(
                number, private / f"worker-{number}.sock", data_dir if number == 1 else data_dir / f"worker-{number}"
            )
            for number in range(1, count + 1)
        ]
        self._turn = 0
        self._numbers: OrderedDict[str, int] = OrderedDict()
        """Number of the worker of each name, the least recently used first."""
        self._supervisor: asyncio.Task[None] | None = None
        self.has_refused = False
        """True once a worker has refused its first start: its folder is unusable or in use by another gateway."""

    def by_load(self) -> list[Worker]:
        """Return the workers with the fewest open WebSockets first; those with equally many take turns."""
        self._turn += 1
        count = len(self.workers)
        return sorted(self.workers, key=lambda worker: (worker.websockets, (worker.number - self._turn) % count))

    def by_name(self, name: str) -> list[Worker]:
        """Return the worker of a name first; it is guessed from the name's checksum if it is not cached."""
        number = self._numbers.get(name, 1 + zlib.crc32(name.encode()) % len(self.workers))
        return sorted(self.workers, key=lambda worker: worker.number != number)

    def remember(self, worker: Worker, names: Iterable[str]) -> None:
        """Cache the worker of names."""
        for name in names:
            if len(name) <= MAX_NAME_LENGTH:
                self._numbers[name] = worker.number
                self._numbers.move_to_end(name)
        while len(self._numbers) > MAX_NAMES:
            self._numbers.popitem(last=False)

    def prepare(self) -> None:
        """Create the folders, and copy the secret of the first worker to those that have none.

        Raises FolderInUseError if another gateway uses one of them, InvalidSecretError and OSError.
        """
        with make_locked_folder(self.workers[0].data_dir / "gateway") as folder:
            secret = read_or_create_secret(folder)
        for worker in self.workers[1:]:
            with make_locked_folder(worker.data_dir / "gateway") as folder:
                if read_or_create_secret(folder, secret) != secret:
                    raise InvalidSecretError(f"{folder / SECRET_FILE} must be equal to that of the first worker")
        make_private_folder(self._private / "sessions")

    async def __aenter__(self) -> WorkerPool:
        for worker in self.workers:
            self._start(worker)
        self._supervisor = asyncio.create_task(self._keep_running())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    async def stop(self) -> None:
        """Terminate the workers, which complete their accepted requests; kill those that miss the deadline."""
        if self._supervisor is not None:
            self._supervisor.cancel()
            await asyncio.gather(self._supervisor, return_exceptions=True)
        running = [worker for worker in self.workers if worker.process is not None]
        for worker in running:
            worker.terminate()
        with suppress(TimeoutError):
            async with asyncio.timeout(STOP_DEADLINE_S):
                while any(worker.is_running for worker in running):  # noqa: ASYNC110 - other processes
                    await asyncio.sleep(_STOP_POLL_S)
        for worker in running:
            worker.kill()

    async def _keep_running(self) -> None:
        while True:
            await asyncio.sleep(_POLL_S)
            for worker in self.workers:
                if worker.process is not None and (code := worker.process.poll()) is not None:
                    worker.process = None
                    if code == REFUSED and not worker.backoff.restarts:
                        self.has_refused = True
                        signal.raise_signal(signal.SIGTERM)
                        return
                    delay_s = worker.backoff.ended()
                    _log.error(
                        "worker %d ended with status %s and is started again in %g s", worker.number, code, delay_s
                    )
                if worker.process is None and worker.backoff.is_due:
                    self._start(worker)
                worker.backoff.settle()

    def _start(self, worker: Worker) -> None:
        try:
            worker.process = subprocess.Popen(
                [sys.executable, "-m", _MODULE, "--uds", str(worker.socket), "--until-input-ends"],
                stdin=subprocess.PIPE,
                env=worker_environment(worker, len(self.workers), self._private / "sessions", os.environ),
            )
        except OSError as error:
            _log.error("worker %d could not be started: %s", worker.number, error)
            worker.backoff.ended()
        else:
            worker.backoff.started()


def worker_environment(worker: Worker, count: int, sessions: Path, inherited: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of a worker. Only the first one has the kept episode."""
    own = {
        "COMPANYOS_DATA_DIR": str(worker.data_dir),
        "COMPANYOS_SESSION_DIR": str(sessions),
        "COMPANYOS_WORKERS": str(count),
        "COMPANYOS_WORKER": str(worker.number),
    }
    if worker.number > 1:
        own["COMPANYOS_NODE"] = f"n{worker.number}"
    left_out = {"COMPANYOS_KEEP_EPISODE"} if worker.number > 1 else set()
    return {name: value for name, value in inherited.items() if name not in left_out} | own
