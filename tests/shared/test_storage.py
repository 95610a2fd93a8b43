"""A full disk and open files: a clear error, no partial change, and work continues once there is space again."""

from __future__ import annotations

import errno
import resource
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from pydantic_core import to_json

from companyos_shared import file_descriptors
from companyos_shared.file_descriptors import TARGET_LIMIT
from companyos_shared.framework.app import SPARE_DESCRIPTORS
from companyos_shared.framework.episodes import Episodes
from companyos_shared.framework.errors import StorageFullError
from companyos_shared.framework.storage import Storage, storage_full_error
from companyos_shared.framework.testing import ServiceHarness
from companyos_shared.wire.context import REPORT_HEADER

MORE_THAN_ANY_DISK = 2**62


@contextmanager
def _no_file_beyond(size_bytes: int) -> Iterator[None]:
    """Let the kernel reject every write beyond a file size, like a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@contextmanager
def _no_more_descriptors_than(count: int) -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (count, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def _log_bytes(library: ServiceHarness) -> int:
    """Return the size of the episode's log. With it as the limit, no transaction can be stored."""
    return Path(f"{library.session().path}-wal").stat().st_size


def _is_refused(answer: httpx.Response) -> bool:
    assert REPORT_HEADER not in answer.headers
    return (answer.status_code, answer.json()["code"]) == (507, "storage-full")


@pytest.fixture
async def full(library: ServiceHarness) -> ServiceHarness:
    """Provide a library with one live episode on a disk without free space."""
    await library.post("/books/B-1/lend")
    library.app.state.episodes.storage._min_free_bytes = MORE_THAN_ANY_DISK
    return library


async def test_a_failed_disk_write_leaves_no_changes_and_succeeds_later(
    library: ServiceHarness,
) -> None:
    await library.post("/books/B-1/lend")
    before = await library.evidence()
    with _no_file_beyond(_log_bytes(library)):
        assert _is_refused(await library.post("/books", json={"title": "New"}))
        assert (await library.get("/books/B-1")).status_code == 200
    assert await library.evidence() == before
    again = await library.post("/books", json={"title": "New"}, step=2)
    assert (again.status_code, again.json()["id"]) == (201, "B-24")
    assert not library.last_report.replayed


async def test_a_failed_settle_leaves_no_changes_and_succeeds_later(library: ServiceHarness) -> None:
    await library.post("/books/B-1/lend")
    before = await library.digest()
    with _no_file_beyond(_log_bytes(library)), pytest.raises(httpx.HTTPStatusError, match="507"):
        await library.advance(minutes=24 * 60)
    assert await library.digest() == before
    assert [change.key for change in (await library.advance(minutes=0)).changes] == ["B-1"]


async def test_a_write_to_a_read_only_storage_is_rejected_without_changes(library: ServiceHarness) -> None:
    await library.post("/books/B-1/lend")
    before = await library.evidence()
    library.session().db.exec_driver_sql("PRAGMA query_only=ON")
    answer = await library.post("/books/B-2/lend")
    assert _is_refused(answer)
    assert answer.json()["detail"] == "The storage is read-only."
    library.session().db.exec_driver_sql("PRAGMA query_only=OFF")
    assert await library.evidence() == before


async def test_epochs_snapshots_and_sources_that_do_not_fit_leave_no_partial_files(
    library: ServiceHarness,
) -> None:
    await library.post("/books/B-1/lend")
    before = await library.digest()
    other = {**library.document, "titles": ["Only one"]}
    with _no_file_beyond(10_000):
        assert _is_refused(await library.control("snapshot", {}))
        assert _is_refused(await library.control("export", {}))
        assert _is_refused(await library.load_document(other))
        library.episode = "second"
        assert _is_refused(await library.post("/books/B-1/lend", step=1))
        assert (await library.get("/books/B-1")).json()["lent"] is False
    assert not list(library.folder.rglob("*.tmp*"))
    assert not list(library.folder.glob("*/snapshots/*"))
    assert not list(library.folder.glob("*/episodes/second/*"))
    assert (await library.post("/books/B-1/lend", step=1)).status_code == 200
    library.episode = "test"
    assert await library.digest() == before


async def test_without_headroom_nothing_new_is_opened_and_live_episodes_continue(full: ServiceHarness) -> None:
    full.episode = "second"
    assert _is_refused(await full.post("/books/B-1/lend", step=1))
    full.episode = "test"
    assert _is_refused(await full.control("snapshot", {}))
    assert _is_refused(await full.control("export", {}))
    assert (await full.post("/books/B-2/lend")).status_code == 200


async def test_templates_are_evicted_to_keep_headroom(full: ServiceHarness) -> None:
    sources = full.app.state.episodes.sources
    assert sources.template(full.source) is not None
    with pytest.raises(StorageFullError):
        sources.ensure_headroom()
    assert sources.template(full.source) is None


async def test_a_service_without_headroom_is_not_ready_and_reports_the_free_space(full: ServiceHarness) -> None:
    answer = await full.client.get("/readyz")
    assert (answer.status_code, answer.json()["status"]) == (503, "not ready")
    full.app.state.episodes.storage._min_free_bytes = 0
    answer = await full.client.get("/readyz")
    assert answer.status_code == 200
    status = answer.json()
    assert status["free_bytes"] > 0
    assert 0 < status["descriptors"]["open"] < status["descriptors"]["limit"]


async def test_a_service_with_few_descriptors_left_is_not_ready(library: ServiceHarness) -> None:
    assert (await library.client.get("/readyz")).status_code == 200
    with _no_more_descriptors_than(file_descriptors.open_count() + SPARE_DESCRIPTORS // 2):
        answer = await library.client.get("/readyz")
    assert (answer.status_code, answer.json()["reason"]) == (503, "too few file descriptors are free")


def test_an_epoch_without_a_free_descriptor_is_rejected_and_opens_later(
    library: ServiceHarness, tmp_path: Path
) -> None:
    episodes = Episodes(library.service, tmp_path, max_open=2, max_template_bytes=1)
    episodes.sources.load(library.source, to_json(library.document))
    episodes.sources.template_pool.close()
    context = library.context()
    with Path("/dev/null").open() as highest, _no_more_descriptors_than(highest.fileno() + 1):
        with pytest.raises(Exception, match="open") as to_read:
            episodes.session(context)
        assert storage_full_error(to_read.value) is not None
    session = episodes.session(context)
    with Path("/dev/null").open() as highest, _no_more_descriptors_than(highest.fileno() + 1):
        with pytest.raises(Exception, match="open") as to_write:
            episodes.begin(session, context)
        assert storage_full_error(to_write.value) is not None
    assert not list(tmp_path.rglob("*.tmp*"))
    episodes.begin(session, context)
    episodes.close()


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EFBIG, errno.EMFILE])
def test_storage_errors_are_distinguished_from_other_errors(number: int) -> None:
    assert storage_full_error(OSError(number, "of the system")) is not None
    assert storage_full_error(OSError(errno.ENOENT, "of another kind")) is None
    assert storage_full_error(sqlite3.OperationalError("without a code")) is None
    assert storage_full_error(RuntimeError("of another kind")) is None


def test_a_file_system_without_a_limit_is_never_full(tmp_path: Path) -> None:
    assert Storage(tmp_path, min_free_bytes=0).has_headroom()
    assert not Storage(tmp_path, min_free_bytes=MORE_THAN_ANY_DISK).has_headroom()
    assert Storage(Path("/proc"), min_free_bytes=MORE_THAN_ANY_DISK).free_bytes() is None


RAISE = """
import resource
from companyos_shared import file_descriptors
resource.setrlimit(resource.RLIMIT_NOFILE, ({soft}, {hard}))
print(file_descriptors.raise_limit(), file_descriptors.limit(), resource.getrlimit(resource.RLIMIT_NOFILE)[0])
"""
HARD = resource.getrlimit(resource.RLIMIT_NOFILE)[1]


@pytest.mark.parametrize(
    ("soft", "hard", "then"),
    [(256, HARD, min(TARGET_LIMIT, HARD) if HARD > 0 else TARGET_LIMIT), (256, 512, 512), (300, 300, 300)],
)
def test_the_limit_is_raised_to_the_maximum(soft: int, hard: int, then: int) -> None:
    script = RAISE.format(soft=soft, hard=hard)
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=30)
    assert result.stdout.split() == [str(then)] * 3
