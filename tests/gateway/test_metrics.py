"""`/metrics`: the response is parsed and compared with the calls made."""

from __future__ import annotations

import re
from pathlib import Path

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from companyos_gateway.app import create_app
from companyos_gateway.runtime import GatewayRuntime
from companyos_gateway.settings import Settings
from companyos_shared.wire.context import Fault, FaultKind
from tests.gateway.conftest import NotesGateway, OpenGateway, http_client
from tests.gateway.notes import NoteKeeping
from tests.gateway.sockets import connected

Figures = dict[tuple[str, tuple[str, ...]], float]


async def figures_of(http: httpx.AsyncClient) -> Figures:
    """Return all samples by name and label values."""
    answer = await http.get("/metrics")
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/plain; version=")
    return {
        (sample.name, tuple(sample.labels.values())): sample.value
        for family in text_string_to_metric_families(answer.text)
        for sample in family.samples
    }


async def test_steps_resets_faults_and_ends_are_counted_by_result(open_gateway: OpenGateway) -> None:
    faults = {("list_notes", 2): Fault(kind=FaultKind.RATE_LIMITED)}
    async with open_gateway(NoteKeeping(faults=faults)) as gateway:
        episode_id = await gateway.begin()
        await gateway.step(episode_id, "notes_list_notes")
        await gateway.step(episode_id, "notes_list_notes")
        await gateway.step(episode_id, "notes_get_note", note_id=99)
        await gateway.step(episode_id, "nothing")
        await gateway.step(episode_id, "notes_break_things")
        await gateway.post_step(episode_id, "notes_list_notes")
        other = await gateway.begin()
        await gateway.step(other, "finish", outcome="done", summary="")
        await gateway.http.post("/reset", json={"scenario": "nowhere"})
        metrics = await figures_of(gateway.http)
    steps = {labels[0]: value for (name, labels), value in metrics.items() if name == "companyos_steps_total"}
    assert steps == {"carried_out": 2, "planned_fault": 1, "problem": 1, "invalid_call": 1, "infra_error": 1}
    assert metrics["companyos_operations_total", ("reset", "done")] == 2
    assert metrics["companyos_operations_total", ("reset", "unknown-scenario")] == 1
    assert metrics["companyos_planned_faults_total", ("rate_limited",)] == 1
    assert metrics["companyos_service_faults_total", ("notes",)] == 1
    assert metrics["companyos_service_resends_total", ("notes",)] == 0
    assert metrics["companyos_episodes_ended_total", ("failed",)] == 1
    assert metrics["companyos_episodes_ended_total", ("infra_error",)] == 1
    assert metrics["companyos_step_seconds_count", ()] == 6
    assert metrics["companyos_operation_seconds_count", ("reset",)] == 3
    assert metrics["companyos_service_call_seconds_count", ("notes",)] > 4


async def test_gauges_show_current_values(gateway: NotesGateway) -> None:
    async with connected(gateway.app) as socket:
        await socket.reset()
        plain = await gateway.begin()
        await gateway.http.post(f"/v1/episodes/{plain}/snapshots")
        metrics = await figures_of(gateway.http)
        assert metrics["companyos_episodes_live", ()] == 2
        assert (metrics["companyos_slots_used", ()], metrics["companyos_sockets_open", ()]) == (1, 1)
        assert metrics["companyos_slots_limit", ()] >= gateway.runtime.settings.max_episodes
        assert metrics["companyos_snapshots", ()] == 1
        assert metrics["companyos_episode_folders", ("gateway",)] == 2
    metrics = await figures_of(gateway.http)
    assert (metrics["companyos_slots_used", ()], metrics["companyos_sockets_open", ()]) == (0, 0)
    assert metrics["companyos_episodes_detached", ()] == 1
    assert metrics["process_open_fds", ()] > 0


def leaks(metrics: Figures) -> dict[str, float]:
    return {labels[0]: value for (name, labels), value in metrics.items() if name == "companyos_leaked_resources"}


async def test_without_a_leak_the_gauges_are_zero(gateway: NotesGateway) -> None:
    async with connected(gateway.app) as socket:
        await socket.reset()
        await gateway.step(await gateway.begin(), "notes_list_notes")
        assert set(leaks(await figures_of(gateway.http)).values()) == {0}
    assert {"gateway_folders", "sessions", "sockets", "held_episodes"} <= set(leaks(await figures_of(gateway.http)))


async def test_a_leak_is_reported(gateway: NotesGateway) -> None:
    episode_id = await gateway.begin()
    assert gateway.runtime.data_dir is not None
    (gateway.runtime.data_dir / "gateway" / "episodes" / f"n1-{0:024}").mkdir()
    gateway.runtime.engine().store.hold(gateway.runtime.engine().store.get(episode_id), object())
    gateway.app.state.slots._sessions["nobody's"] = None
    metrics = leaks(await figures_of(gateway.http))
    names = ("gateway_folders", "held_episodes", "sessions", "sockets")
    assert [metrics[name] for name in names] == [1, 1, 1, 0]


async def test_every_metric_has_a_description(gateway: NotesGateway) -> None:
    families = list(text_string_to_metric_families((await gateway.http.get("/metrics")).text))
    assert families
    assert [family.name for family in families if not family.documentation] == []


async def test_every_metric_that_the_operations_page_names_exists(gateway: NotesGateway) -> None:
    page = (Path(__file__).parents[2] / "docs" / "operations.md").read_text()
    named = set(re.findall(r"`(companyos_\w+)(?:\{[^`]*)?`", page))
    text = (await gateway.http.get("/metrics")).text
    existing = {line.split()[2] for line in text.splitlines() if line.startswith("# TYPE companyos_")}
    assert named
    assert named <= existing


async def test_each_gateway_has_separate_metrics(gateway: NotesGateway) -> None:
    await gateway.reset()
    other = create_app(GatewayRuntime(Settings()))
    async with http_client(other) as http:
        metrics = await figures_of(http)
    assert ("companyos_episodes_live", ()) not in metrics
    assert not [name for name, _ in metrics if name == "companyos_operations_total"]
    assert (await figures_of(gateway.http))["companyos_operations_total", ("reset", "done")] == 1


async def test_a_gateway_without_problems_is_ready(gateway: NotesGateway) -> None:
    answer = await gateway.http.get("/readyz")
    body = answer.json()
    assert (answer.status_code, body["status"], body["services"]) == (200, "ready", {"notes": "ready"})
    assert body["tools"] == len(gateway.runtime.engine().toolbox)
    assert body["descriptors"]["open"] < body["descriptors"]["limit"]
    assert (await gateway.http.get("/health")).json()["status"] == "healthy"
    assert (await gateway.http.get("/livez")).json() == {"status": "alive"}


async def test_a_gateway_with_little_disk_space_is_not_ready(open_gateway: OpenGateway) -> None:
    async with open_gateway(min_free_bytes=2**60) as gateway:
        answer = await gateway.http.get("/readyz")
        assert (answer.status_code, answer.json()["reasons"]) == (503, ["too little disk space is free"])
        assert (await gateway.http.get("/health")).json()["status"] == "unhealthy"
        assert (await gateway.http.get("/livez")).status_code == 200


async def test_a_gateway_with_few_descriptors_left_is_not_ready(
    gateway: NotesGateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = (await gateway.http.get("/readyz")).json()["descriptors"]["open"]
    monkeypatch.setattr("companyos_shared.file_descriptors.limit", lambda: held + 10)
    assert "too few file descriptors are free" in (await gateway.http.get("/readyz")).json()["reasons"]


async def test_a_gateway_whose_services_were_not_found_is_not_ready() -> None:
    app = create_app(GatewayRuntime(Settings()))
    async with http_client(app) as http:
        reasons = (await http.get("/readyz")).json()["reasons"]
    assert reasons == ["a service is not ready", "the tools are not loaded"]
