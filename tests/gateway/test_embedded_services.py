"""The embedded services: real child processes that start together, are restarted, and end with their parent."""

from __future__ import annotations

import asyncio
import os
import resource
import signal
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path

import pytest

from companyos_gateway.engine.service_clients import ServiceClients
from companyos_gateway.process import embedded_services
from companyos_gateway.process.backoff import FIRST_DELAY_S
from companyos_gateway.process.embedded_services import EmbeddedServices
from companyos_gateway.process.environment import service_environment
from companyos_shared.folder_lock import FolderInUseError, holder_of, kill_orphan, lock_folder
from companyos_shared.framework.settings import ServiceSettings
from companyos_shared.telemetry.logs import TelemetrySettings
from companyos_shared.temporary_folders import choose_temporary_parent, temporary_data_folder
from verification.process_stats import process_tree

pytestmark = pytest.mark.integration

DEADLINE_S = 60.0
POLL_S = 0.05

NAMES = {"service-host", "ticketdesk", "datahub", "approvalflow"}

PARENT = """
import asyncio, sys
from pathlib import Path
from companyos_gateway.process.embedded_services import EmbeddedServices
from companyos_shared.temporary_folders import temporary_data_folder

async def main():
    with temporary_data_folder(Path(sys.argv[1])) as folder:
      async with EmbeddedServices(folder, folder / "data") as services:
        print(*services.addresses.values(), sep="\\n", flush=True)
        await asyncio.sleep(600)

asyncio.run(main())
"""


@pytest.fixture
def parent() -> Iterator[Path]:
    """Provide a folder with a short path, because the path of a Unix socket is limited."""
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)


@asynccontextmanager
async def alone(parent: Path) -> AsyncIterator[EmbeddedServices]:
    with temporary_data_folder(parent) as folder:
        async with EmbeddedServices(folder, folder / "data") as services:
            yield services


@asynccontextmanager
async def reached(services: EmbeddedServices) -> AsyncIterator[ServiceClients]:
    service_clients = ServiceClients.from_addresses(services.addresses, services.key)
    try:
        await _answering(service_clients)
        yield service_clients
    finally:
        await service_clients.aclose()


async def test_services_that_could_not_be_started_are_retried(parent: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    async with AsyncExitStack() as stack:
        folder = stack.enter_context(temporary_data_folder(parent))
        services = EmbeddedServices(folder, folder / "data")
        resource.setrlimit(resource.RLIMIT_NOFILE, (len(os.listdir("/proc/self/fd")), hard))
        try:
            await stack.enter_async_context(services)
            await asyncio.sleep(0.1)
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        async with reached(services) as service_clients:
            assert set(await service_clients.openapi()) == set(services.addresses)


async def test_every_installed_service_responds_and_leaves_no_files_or_processes(parent: Path) -> None:
    async with alone(parent) as services, reached(services) as service_clients:
        assert set(await service_clients.openapi()) == set(services.addresses)
        folder = _folder(services)
        assert folder.stat().st_mode & 0o077 == 0
        pids = _pids(folder)
        assert len(pids) == 1 + len(services.addresses)
    assert not folder.exists()
    assert not any(_is_running(pid) for pid in pids)


async def test_killed_services_leave_no_process(parent: Path) -> None:
    with temporary_data_folder(parent) as folder:
        services = EmbeddedServices(folder, folder / "data")
        services.start()
        await _until(lambda: set(_processes(folder)) == NAMES)
        pids = _processes(folder).values()
        services.kill()
        services.kill()
        await _until(lambda: not any(_is_running(pid) for pid in pids))


async def test_services_inherit_no_secret_of_the_gateway(monkeypatch: pytest.MonkeyPatch, parent: Path) -> None:
    for name in ("COMPANYOS_TRAINER_TOKEN", "COMPANYOS_SERVICE_KEY_FILE", "OPENAI_API_KEY", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "a secret that no service needs")
    monkeypatch.setenv("COMPANYOS_SERVICE_KEY", "a secret that no service needs")
    monkeypatch.setenv("COMPANYOS_LOG_LEVEL", "warning")
    async with alone(parent) as services, reached(services):
        folder = _folder(services)
        for pid in _pids(folder):
            environment = (Path("/proc") / str(pid) / "environ").read_bytes()
            assert b"a secret that no service needs" not in environment
            assert b"COMPANYOS_LOG_LEVEL=warning" in environment.split(b"\0")


def test_all_settings_are_inherited_except_those_of_the_service_itself() -> None:
    fields = {*ServiceSettings.model_fields, *TelemetrySettings.model_fields}
    settings = {f"COMPANYOS_{field.upper()}": "given" for field in fields}
    own = {"COMPANYOS_SERVICE_KEY", "COMPANYOS_SERVICE_KEY_FILE", "COMPANYOS_DATA_DIR", "COMPANYOS_ALLOWED_HOSTS"}
    assert set(service_environment(settings)) == set(settings) - own


def test_the_app_of_the_gateway_removes_its_secrets_from_the_environment() -> None:
    program = "import os, companyos_gateway.main; print(os.environ.get('COMPANYOS_TRAINER_TOKEN'))"
    given = {**os.environ, "COMPANYOS_TRAINER_TOKEN": "t" * 32}
    done = subprocess.run([sys.executable, "-c", program], env=given, capture_output=True, text=True, check=True)
    assert done.stdout == "None\n"


@pytest.mark.parametrize("name", ["ticketdesk", "service-host"])
async def test_a_killed_process_is_restarted(parent: Path, name: str) -> None:
    async with alone(parent) as services, reached(services) as service_clients:
        folder = _folder(services)
        before = _processes(folder)
        os.kill(before[name], signal.SIGKILL)
        replaced = {name} if name != "service-host" else NAMES
        await _until(lambda: {each for each, pid in _processes(folder).items() if pid != before[each]} == replaced)
        await _answering(service_clients)
        assert set(_processes(folder)) == NAMES


async def test_a_repeatedly_killed_process_is_restarted_with_a_delay_and_reported(parent: Path) -> None:
    clock = asyncio.get_running_loop().time
    async with alone(parent) as services, reached(services) as service_clients:
        folder = _folder(services)
        assert services.restarts() == {}
        for count, delay_s in ((1, 0.0), (2, FIRST_DELAY_S), (3, 2 * FIRST_DELAY_S)):
            before, began = _processes(folder)["ticketdesk"], clock()
            os.kill(before, signal.SIGKILL)
            await _until(partial(_is_replaced, folder, "ticketdesk", before))
            assert clock() - began >= delay_s
            assert services.restarts() == {"ticketdesk": {"restarts": count, "delay_s": delay_s}}
        os.kill(_processes(folder)["service-host"], signal.SIGKILL)
        await _until(lambda: services.restarts() == {"service-host": {"restarts": 1, "delay_s": 0.0}})
        await _answering(service_clients)


async def test_the_services_exit_with_a_killed_parent_and_the_next_start_clears_its_folder(parent: Path) -> None:
    process, folder = await _started_parent(parent)
    await _until(lambda: bool(_pids(folder)))
    pids = _pids(folder)
    process.kill()
    await process.communicate()
    await _until(lambda: not any(_is_running(pid) for pid in pids))
    assert folder.exists()
    async with alone(parent):
        assert not folder.exists()


async def test_a_start_without_an_installed_service_is_an_error(monkeypatch: pytest.MonkeyPatch, parent: Path) -> None:
    monkeypatch.setattr(embedded_services, "service_entry_points", dict)
    with pytest.raises(RuntimeError, match=r"companyos\.services is empty"):
        async with alone(parent):
            pass


def test_temporary_data_is_stored_in_memory_unless_the_disk_has_more_space(parent: Path) -> None:
    disk = Path(tempfile.gettempdir())
    assert choose_temporary_parent(parent) == parent
    assert choose_temporary_parent(Path("/proc")) == disk  # nothing fits there
    assert choose_temporary_parent(parent / "missing") == disk


async def _answering(service_clients: ServiceClients) -> None:
    async with asyncio.timeout(DEADLINE_S):
        while not all((await service_clients.readiness()).values()):  # noqa: ASYNC110 - other processes again
            await asyncio.sleep(POLL_S)


async def _until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(DEADLINE_S):
        while not holds():  # noqa: ASYNC110 - what is waited for happens in other processes
            await asyncio.sleep(POLL_S)


def _folder(services: EmbeddedServices) -> Path:
    return Path(next(iter(services.addresses.values())).removeprefix("unix:")).parent


async def _started_parent(parent: Path) -> tuple[asyncio.subprocess.Process, Path]:
    """Start a process with services in a temporary folder below the parent; return both."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", PARENT, str(parent), stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    return process, Path((await process.stdout.readline()).decode().strip().removeprefix("unix:")).parent


def _is_replaced(folder: Path, name: str, before: int) -> bool:
    return _processes(folder).get(name, before) != before


def _processes(folder: Path) -> dict[str, int]:
    """Return the host process and the service processes of the folder, without those of other enterprises."""
    tree = process_tree(os.getpid())
    return {tree[pid]: pid for pid in _pids(folder) if tree.get(pid) in NAMES and _is_running(pid)}


def _pids(folder: Path) -> list[int]:
    """Return the processes whose command line contains the folder."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            command = (entry / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if any(part.startswith(bytes(folder)) for part in command):
            found.append(int(entry.name))
    return sorted(found)


def _is_running(pid: int) -> bool:
    try:
        state = (Path("/proc") / str(pid) / "stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


async def test_stopped_children_of_a_dead_gateway_are_killed_before_new_ones_start(parent: Path) -> None:
    old_parent, folder = await _started_parent(parent)
    data = folder / "data"
    names = EmbeddedServices(folder, data).addresses
    try:
        while not all(holder_of(data / name) for name in names):  # noqa: ASYNC110 - other processes write it
            await asyncio.sleep(POLL_S)
        children = {name: holder_of(data / name) for name in names}
        for child in children.values():
            assert child is not None
            os.kill(child.pid, signal.SIGSTOP)
    finally:
        old_parent.kill()
    await _until(lambda: not _is_running(old_parent.pid))  # `wait` also waits for the pipe, which the children hold
    async with EmbeddedServices(folder, data) as services, reached(services):
        assert not [child for child in children.values() if child is None or _is_running(child.pid)]
        assert not [name for name, child in children.items() if holder_of(data / name) == child]


async def test_a_folder_of_an_unrelated_process_is_not_taken(parent: Path) -> None:
    (parent / "data" / "ticketdesk").mkdir(parents=True)
    with (
        lock_folder(parent / "data" / "ticketdesk"),
        pytest.raises(FolderInUseError, match=f"in use by process {os.getpid()}"),
    ):
        kill_orphan(parent / "data" / "ticketdesk", embedded_services.HOST_MODULE)
