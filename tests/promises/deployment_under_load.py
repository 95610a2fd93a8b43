"""A deployment under load: a gateway or several workers with their services, and the resources that they use."""

from __future__ import annotations

import json
import os
import re
import sqlite3
import sys
import time
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from tests.integration.processes import SERVICES, STOP_DEADLINE_S, running_process
from verification.ports import HOST, free_port
from verification.process_stats import process_tree, resident_bytes

POLL_S = 0.25

_MARKED = {"ticketdesk": (("tickets", "title"), ("comments", "body")), "datahub": (("data_issues", "description"),)}


@dataclass(frozen=True)
class Level:
    """Resources in use at one moment.

    `pooled` are the ends of connections between the gateway and its services, which are kept open for a minute or two
    and are bounded by their pools; `descriptors` are all other descriptors.
    """

    live: int
    slots: int
    leaked: int
    descriptors: int
    pooled: int
    files: int
    memory: int

    def to_text(self) -> str:
        """Return the level in one line."""
        return (
            f"{self.live} live, {self.slots} slots, {self.leaked} leaked, {self.descriptors} descriptors, "
            f"{self.pooled} pooled, {self.files} files, {self.memory / 2**20:.1f} MiB"
        )


@dataclass(frozen=True)
class DeploymentUnderLoad:
    """The address of a gateway or a router, the processes behind it and the data folder of each worker."""

    url: str
    folders: Sequence[Path]
    processes: Sequence[int]

    @property
    def socket_url(self) -> str:
        """The address of the WebSocket."""
        return self.url.replace("http", "ws", 1) + "/ws"

    def level(self) -> Level:
        """Return the resources in use: sessions as reported by the gateway, all else as reported by the kernel."""
        metrics, local = self._metrics(), _unix_sockets()
        held = [name for pid in self.processes for name in _held(pid)]
        pooled = sum(name in local for name in held)
        return Level(
            live=_sum(metrics, "companyos_episodes_live") + _sum(metrics, "companyos_episodes_being_freed"),
            slots=_sum(metrics, "companyos_slots_used") + _sum(metrics, "companyos_sockets_open"),
            leaked=_sum(metrics, "companyos_leaked_resources"),
            descriptors=len(held) - pooled,
            pooled=pooled,
            files=sum(len(names) for _, _, names in os.walk(self.folders[0])),
            memory=sum(resident_bytes(pid) for pid in self.processes),
        )

    def wait_for(self, holds: Callable[[Level], bool], deadline_s: float) -> Level:
        """Wait for the first level that meets a condition and return it; raises TimeoutError."""
        until = time.monotonic() + deadline_s
        while not holds(level := self.level()):
            if time.monotonic() > until:
                raise TimeoutError(f"after {deadline_s:g} s: {level.to_text()}")
            time.sleep(POLL_S)
        return level

    def labels(self) -> dict[str, str]:
        """Return the label of every live episode by the name of its folder."""
        manifests = (path for one in self.folders for path in one.glob("gateway/episodes/*/manifest.json"))
        return {path.parent.name: json.loads(path.read_bytes())["manifest"]["id"] for path in manifests}

    def found(self, pattern: re.Pattern[bytes], internal_id: str) -> set[str]:
        """Return all matches of a pattern in an episode's files, including logs and free pages."""
        places = [one / name for one in self.folders for name in ("gateway", *SERVICES)]
        files = (path for place in places for path in (place / "episodes" / internal_id).glob("*"))
        return {word.decode() for path in files for word in pattern.findall(path.read_bytes())}

    def marked_rows(self, internal_id: str, mark: str) -> Counter[str]:
        """Return the number of rows with a mark by table that an agent writes to."""
        rows: Counter[str] = Counter()
        for service, columns in _MARKED.items():
            for path in self._databases(service, internal_id):
                with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as db:
                    for table, column in columns:
                        query = f"SELECT count(*) FROM {table} WHERE {column} LIKE ?"  # noqa: S608 - names of this module
                        rows[table] += db.execute(query, (f"%{mark}%",)).fetchone()[0]
        return rows

    def _databases(self, service: str, internal_id: str) -> Iterator[Path]:
        for folder in self.folders:
            yield from (folder / service / "episodes" / internal_id).glob("*.db")

    def _metrics(self) -> str:
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(
            f"{self.url}/metrics", timeout=30
        ) as response:
            return str(response.read().decode())


@contextmanager
def deployment_under_load(
    folder: Path, environment: Mapping[str, str] = MappingProxyType({}), *, workers: int = 1
) -> Iterator[DeploymentUnderLoad]:
    """Run a gateway with its three services, or several workers like `companyos up`, in a separate folder."""
    port = free_port()
    url = f"http://{HOST}:{port}"
    command = [sys.executable, "-m", "companyos_gateway", "--host", HOST, "--port", str(port)]
    data = folder / "data"
    settings = {"COMPANYOS_DATA_DIR": str(data), "COMPANYOS_WORKERS": str(workers), **environment}
    with running_process(command, url, settings, stop_deadline_s=2 * STOP_DEADLINE_S) as gateway:
        processes = process_tree(gateway.pid)
        assert {"gateway", "service-host", *SERVICES} <= set(processes.values()), processes
        folders = [data, *(data / f"worker-{number}" for number in range(2, workers + 1))]
        yield DeploymentUnderLoad(url, folders, list(processes))


def _sum(metrics: str, name: str) -> int:
    return sum(int(float(value)) for value in re.findall(rf"^{name}(?:{{[^}}]*}})? (\S+)$", metrics, re.MULTILINE))


def _held(pid: int) -> list[str]:
    """Return the target of each file descriptor of a process."""
    found = []
    for link in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(FileNotFoundError):
            found.append(os.readlink(link))
    return found


def _unix_sockets() -> set[str]:
    """Return every Unix socket of the machine, in the notation of descriptors."""
    lines = Path("/proc/net/unix").read_text().splitlines()[1:]
    return {f"socket:[{line.split()[6]}]" for line in lines}
