"""Two gateways over the same services: the second is refused, or takes over and the first ends cleanly."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI

from companyos_gateway.engine import leases
from companyos_gateway.engine.errors import LeaseHeldError, ServiceRefusalError
from companyos_gateway.engine.leases import Leases
from companyos_gateway.engine.recovery import Recovery
from tests.gateway.conftest import gateway_over
from tests.gateway.notes import SERVICE
from verification.in_process import in_process_service_client, service_app


@pytest.fixture
def service(tmp_path: Path) -> FastAPI:
    return service_app(SERVICE, tmp_path / "services")


async def test_a_second_gateway_is_rejected_and_deletes_nothing(service: FastAPI, tmp_path: Path) -> None:
    async with gateway_over({"notes": service}, data_dir=tmp_path / "first") as first:
        episode = await first.begin("one")
        with pytest.raises(LeaseHeldError, match="COMPANYOS_TAKE_OVER"):
            async with gateway_over({"notes": service}, data_dir=tmp_path / "second"):
                pass
        observation = (await first.step(episode, "notes_list_notes"))["observation"]
        assert len(observation["result"]) == 3
        assert list(tmp_path.glob("services/*/episodes/*/1-*.db"))


async def test_a_replaced_gateway_ends_its_episodes_and_writes_nothing(service: FastAPI, tmp_path: Path) -> None:
    async with gateway_over({"notes": service}, data_dir=tmp_path / "first") as first:
        episode = await first.begin("one")
        async with gateway_over({"notes": service}, data_dir=tmp_path / "second", take_over=True) as second:
            answer = await first.step(episode, "notes_write_note", text="two")
            assert answer["done"]
            assert "another gateway has taken over" in answer["observation"]["error"]["message"]
            assert (await first.state(episode))["outcome"] == "infra_error"
            assert (await first.http.get("/readyz")).status_code == 503
            assert (await first.http.post("/reset", json={"scenario": "note_keeping", "seed": 2})).status_code == 503
            await second.begin("three")
            assert (await second.http.get("/readyz")).status_code == 200
        assert service.state.episodes.lease.generation == 2


async def test_the_same_gateway_can_restart_at_once(service: FastAPI, tmp_path: Path) -> None:
    async with gateway_over({"notes": service}, data_dir=tmp_path / "first") as first:
        episode = await first.begin("one")
    async with gateway_over({"notes": service}, data_dir=tmp_path / "first") as again:
        await again.step(episode, "notes_write_note", text="two")
    assert service.state.episodes.lease.generation == 2


async def test_a_gateway_that_has_ended_releases_the_services(service: FastAPI, tmp_path: Path) -> None:
    async with gateway_over({"notes": service}, data_dir=tmp_path / "first"):
        pass
    async with gateway_over({"notes": service}, data_dir=tmp_path / "second") as second:
        assert (await second.http.get("/readyz")).status_code == 200


async def test_a_gateway_whose_start_failed_releases_the_services(
    service: FastAPI, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(_recovery: Recovery) -> int:
        raise OSError("Input/output error")

    with monkeypatch.context() as broken:
        broken.setattr(Recovery, "run", fail)
        with pytest.raises(OSError, match="Input/output error"):
            async with gateway_over({"notes": service}, data_dir=tmp_path / "first"):
                pass
    async with gateway_over({"notes": service}, data_dir=tmp_path / "second") as second:
        assert (await second.http.get("/readyz")).status_code == 200


async def _wait_for_renewal(service: FastAPI) -> None:
    lease = service.state.episodes.lease
    before = lease._renewed_at
    async with asyncio.timeout(5):
        while lease._renewed_at == before:  # noqa: ASYNC110 - the gateway renews by itself
            await asyncio.sleep(0.01)


async def test_a_lease_is_renewed_without_calls(
    service: FastAPI, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leases, "RENEWALS_PER_LIFETIME", 1_500)
    async with gateway_over({"notes": service}, data_dir=tmp_path / "first"):
        await _wait_for_renewal(service)


async def test_a_service_that_hangs_does_not_delay_the_renewals_of_the_others(
    service: FastAPI, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def hang(*_arguments: object, **_options: object) -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr(leases, "RENEWALS_PER_LIFETIME", 1_500)
    hung = in_process_service_client("notes", service_app(SERVICE, tmp_path / "hung"))
    held = Leases({"hung": hung, "notes": in_process_service_client("notes", service)})
    await held.acquire("first-gateway", take_over=False)
    monkeypatch.setattr(hung, "control_call", hang)
    for _ in range(3):
        await _wait_for_renewal(service)
    await held.aclose()


async def test_a_gateway_that_cannot_lease_every_service_releases_the_others(
    service: FastAPI, monkeypatch: pytest.MonkeyPatch
) -> None:
    free, taken = (in_process_service_client("notes", service) for _ in range(2))
    is_refused, request_lease = asyncio.Event(), free.control_call

    async def refuse(*_arguments: object, **_options: object) -> None:
        is_refused.set()
        raise ServiceRefusalError("lease-held", code="lease-held", detail="Held.")

    async def grant_late(*arguments: Any, **options: Any) -> Any:
        await is_refused.wait()
        await asyncio.sleep(0.05)
        return await request_lease(*arguments, **options)

    monkeypatch.setattr(taken, "control_call", refuse)
    monkeypatch.setattr(free, "control_call", grant_late)
    held = Leases({"free": free, "taken": taken})
    with pytest.raises(LeaseHeldError):
        await held.acquire("first-gateway", take_over=False)
    assert free.signer.generation
    await held.aclose()
    await Leases({"free": in_process_service_client("notes", service)}).acquire("second-gateway", take_over=False)
