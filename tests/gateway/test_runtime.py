"""Startup of the runtime: late services, unexpected services, calls from other threads."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Event

import pytest
from openenv.core.env_server.mcp_types import CallToolAction

from companyos_gateway.api.openenv_environment import CompanyOSEnvironment
from companyos_gateway.app import create_app
from companyos_gateway.engine.errors import NotResetError, ServicesUnavailableError
from companyos_gateway.engine.service_clients import ServiceClients
from companyos_gateway.engine.tokens import SECRET_FILE, InvalidSecretError
from companyos_gateway.runtime import GatewayRuntime
from companyos_gateway.scenarios import Instance
from companyos_gateway.settings import Settings
from tests.gateway.conftest import NotesGateway, OpenGateway, gateway_over, http_client, problem
from tests.gateway.notes import SERVICE, NoteKeeping
from tests.gateway.transports import Held
from verification.in_process import in_process_service_client, service_app


async def test_a_gateway_reports_unavailable_services_and_keeps_polling() -> None:
    late = ServiceClients.from_addresses({"late": "unix:/nowhere/late.sock"}, b"key")
    app = create_app(GatewayRuntime(Settings(start_timeout_s=0.01), service_clients=late, scenarios={}))
    async with app.router.lifespan_context(app), http_client(app) as http:
        assert (await http.get("/livez")).status_code == 200
        health = await http.get("/health")
        assert (health.status_code, health.json()["services"]) == (503, {"late": "not ready"})
        assert problem(await http.post("/reset", json={})) == (503, "services-unavailable")


async def test_a_failed_late_start_reports_the_error(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "gateway").mkdir()
    (tmp_path / "gateway" / SECRET_FILE).write_text("no secret")
    late = Held()
    late.released.clear()
    client = in_process_service_client("notes", service_app(SERVICE, tmp_path / "notes"), late.wrap)
    service_clients = ServiceClients({"notes": client})
    app = create_app(
        GatewayRuntime(Settings(start_timeout_s=0.01, data_dir=tmp_path), service_clients=service_clients, scenarios={})
    )
    running = app.router.lifespan_context(app)
    await running.__aenter__()
    late.released.set()
    await asyncio.sleep(0.3)
    assert "the gateway cannot start" in caplog.text
    with pytest.raises(InvalidSecretError):
        await running.__aexit__(None, None, None)


async def test_an_added_service_gets_its_tools_and_an_empty_company(tmp_path: Path) -> None:
    both = (SERVICE, replace(SERVICE, name="memos"))
    services = {service.name: service_app(service, tmp_path / service.name) for service in both}
    async with gateway_over(services) as gateway:
        episode = await gateway.begin()
        assert (await gateway.step(episode, "memos_list_notes"))["observation"]["result"] == []
        assert len((await gateway.step(episode, "notes_list_notes"))["observation"]["result"]) == 2
        assert (await gateway.step(episode, "memos_write_note", text="a"))["observation"]["result"]["id"] == 1


async def test_the_sync_methods_work_from_another_thread(gateway: NotesGateway) -> None:
    env = CompanyOSEnvironment(gateway.runtime)
    with pytest.raises(NotResetError):
        await asyncio.to_thread(env.step, CallToolAction(tool_name="wait", arguments={"minutes": 1}))
    await asyncio.to_thread(env.reset, 1, scenario="note_keeping")
    action = CallToolAction(tool_name="notes_get_note", arguments={"note_id": 1})
    observation = await asyncio.to_thread(env.step, action)
    assert observation.model_dump()["result"]["text"] == "water the plants"
    assert env.state.step_count == 1
    await asyncio.to_thread(env.close)


async def test_a_gateway_rejects_calls_outside_of_its_lifetime(open_gateway: OpenGateway) -> None:
    async with open_gateway() as gateway:
        env = CompanyOSEnvironment(gateway.runtime)
    with pytest.raises(ServicesUnavailableError):
        await env.reset_async(seed=1)
    with pytest.raises(ServicesUnavailableError):
        await asyncio.to_thread(env.reset, 1)
    env.close()


@dataclass(frozen=True)
class SlowlyPlanned(NoteKeeping):
    """Scenario whose planning blocks until another request has been answered."""

    answered: Event = field(default_factory=Event)

    def plan(self, seed_: int, chaos: int, overrides: Mapping[str, float] | None = None) -> Instance:
        assert self.answered.wait(10), "no other request was answered"
        return super().plan(seed_, chaos, overrides)


async def test_other_requests_are_answered_while_a_task_is_planned(open_gateway: OpenGateway) -> None:
    scenario = SlowlyPlanned()
    async with open_gateway(scenario) as gateway:
        reset = asyncio.create_task(gateway.reset())
        assert (await gateway.http.get("/health")).status_code == 200
        scenario.answered.set()
        assert (await reset)["observation"]["brief"] == "Do notes 1 and 2."
