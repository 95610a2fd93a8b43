"""Workers: their folders, settings and order, and their metrics on one page."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from companyos_gateway.engine.tokens import SECRET_FILE, InvalidSecretError
from companyos_gateway.workers.metrics import merge_metrics
from companyos_gateway.workers.pool import WorkerPool, worker_environment


def test_the_first_worker_uses_the_folder_of_a_single_gateway(tmp_path: Path) -> None:
    pool = WorkerPool(3, tmp_path / "data", tmp_path)
    assert [str(worker.data_dir.relative_to(tmp_path)) for worker in pool.workers] == [
        "data",
        "data/worker-2",
        "data/worker-3",
    ]


def test_all_workers_get_the_secret_of_the_first_which_only_the_owner_can_read(tmp_path: Path) -> None:
    pool, before = WorkerPool(3, tmp_path / "data", tmp_path), os.umask(0o022)
    try:
        pool.prepare()
    finally:
        os.umask(before)
    files = [worker.data_dir / "gateway" / SECRET_FILE for worker in pool.workers]
    assert len({file.read_text() for file in files}) == 1
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}


@pytest.mark.parametrize("content", ["", "ab" * 32], ids=["invalid", "different"])
def test_a_wrong_secret_of_any_worker_is_an_error_before_the_start(tmp_path: Path, content: str) -> None:
    pool = WorkerPool(2, tmp_path / "data", tmp_path)
    pool.prepare()
    (tmp_path / "data" / "worker-2" / "gateway" / SECRET_FILE).write_text(content)
    with pytest.raises(InvalidSecretError, match="worker-2/gateway/secret must"):
        pool.prepare()


def test_workers_with_the_fewest_sockets_come_first_and_equal_ones_take_turns(tmp_path: Path) -> None:
    pool = WorkerPool(3, tmp_path, tmp_path)
    assert [pool.by_load()[0].number for _ in range(6)] == [1, 2, 3, 1, 2, 3]
    pool.workers[0].websockets, pool.workers[2].websockets = 2, 1
    assert [worker.number for worker in pool.by_load()] == [2, 3, 1]


def test_only_the_first_worker_keeps_the_named_episode(tmp_path: Path) -> None:
    pool = WorkerPool(2, tmp_path, tmp_path)
    inherited = {"COMPANYOS_KEEP_EPISODE": "main", "COMPANYOS_NODE": "n9", "PATH": "/bin"}
    first, second = (worker_environment(worker, 2, tmp_path / "sessions", inherited) for worker in pool.workers)
    assert (first["COMPANYOS_KEEP_EPISODE"], first["COMPANYOS_NODE"], first["COMPANYOS_WORKER"]) == (
        "main",
        "n9",
        "1",
    )
    assert "COMPANYOS_KEEP_EPISODE" not in second
    assert (second["COMPANYOS_NODE"], second["COMPANYOS_WORKER"], second["PATH"]) == ("n2", "2", "/bin")
    assert second["COMPANYOS_DATA_DIR"] == str(tmp_path / "worker-2")


def test_metrics_of_all_workers_are_merged_with_a_label(tmp_path: Path) -> None:
    pool = WorkerPool(2, tmp_path, tmp_path)
    pool.workers[1].websockets = 3
    page = (
        "# HELP companyos_steps_total Steps, by outcome.\n# TYPE companyos_steps_total counter\n"
        'companyos_steps_total{outcome="ok"} 5.0\n'
    )
    merged = merge_metrics({1: page, 2: None}, pool.workers).decode().splitlines()
    assert 'companyos_steps_total{outcome="ok",worker="1"} 5.0' in merged
    assert merged.count("# TYPE companyos_steps_total counter") == 1
    assert 'companyos_worker_up{worker="1"} 1.0' in merged
    assert 'companyos_worker_up{worker="2"} 0.0' in merged
    assert 'companyos_worker_websockets{worker="2"} 3.0' in merged
