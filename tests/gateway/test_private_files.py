"""Private files: only the enterprise's own user can read its files and sockets."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from companyos.client import CompanyOSEnv
from companyos.enterprise import Enterprise
from companyos.trainer import Trainer
from tests.gateway.conftest import OpenGateway

pytestmark = pytest.mark.integration


@pytest.fixture(autouse=True)
def open_umask() -> Iterator[None]:
    before = os.umask(0o022)
    yield
    os.umask(before)


def open_to_others(folder: Path) -> dict[str, str]:
    found = {str(path): path.lstat().st_mode & 0o777 for path in [folder, *folder.rglob("*")]}
    assert len(found) >= 4
    return {path: oct(mode) for path, mode in found.items() if mode & 0o077}


async def test_an_enterprise_keeps_its_files_and_sockets_private(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with Enterprise(data_dir=data, alone=True) as enterprise:
        async with CompanyOSEnv(enterprise.url) as env, Trainer(enterprise.url) as trainer:
            await env.reset(scenario="vendor_onboarding", seed=1, episode_id="mine")
            await env.call_tool("ticketdesk_list_tickets")
            await trainer.snapshot("mine")
            assert open_to_others(data) == {}
            [private] = Path("/dev/shm").glob(f"companyos-data-{enterprise.pid}-*")
            assert {str(path): oct(path.stat().st_mode) for path in private.rglob("*.sock")}
            assert open_to_others(private) == {}
    assert open_to_others(data) == {}


async def test_a_gateway_in_process_keeps_its_files_private(open_gateway: OpenGateway, tmp_path: Path) -> None:
    data = tmp_path / "data"
    (data / "gateway").mkdir(parents=True, mode=0o755)
    async with open_gateway(data_dir=data) as gateway:
        await gateway.reset(episode_id="mine")
        await gateway.step("mine", "notes_write_note", text="x")
        await gateway.snapshot("mine")
        assert open_to_others(data / "gateway") == {}
        assert open_to_others(gateway.service.state.episodes.storage.folder) == {}
