"""The fixtures of the pytest plugin, used as other projects use them."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import httpx
import pytest

from companyos.errors import ApiError
from companyos.services import StandaloneServices, run_services
from companyos.testing import Episode, open_episode

pytestmark = pytest.mark.integration

MONDAY = datetime(2026, 6, 1, 8, tzinfo=UTC)


def _transition(services: StandaloneServices) -> None:
    http = services.ticketdesk.http
    assert http.post("/tickets/IT-210/transitions", json={"to": "open"}).status_code == 200


@pytest.mark.parametrize("run", [1, 2])
def test_each_test_starts_with_the_demo_data(companyos_services: StandaloneServices, run: int) -> None:
    assert companyos_services.ticketdesk.http.get("/tickets/IT-210").json()["status"] is None
    _transition(companyos_services)
    assert companyos_services.ticketdesk.advance(30).minute == 30


def test_the_services_are_the_installed_ones(companyos_services: StandaloneServices) -> None:
    assert set(companyos_services) == {"ticketdesk", "datahub", "approvalflow"}
    assert companyos_services["datahub"] is companyos_services.datahub
    with pytest.raises(AttributeError, match="must be one of approvalflow, datahub, ticketdesk; got payroll"):
        _ = companyos_services.payroll


def test_a_reset_accepts_a_document_a_time_and_faults(companyos_services: StandaloneServices) -> None:
    company = {"name": "Test Ltd", "domain": "test.example", "agent_id": "E-1"}
    document = {"company": company, "draw_seed": "test", "started_at": "2026-05-01T00:00:00Z"}
    ticketdesk = companyos_services.ticketdesk
    assert ticketdesk.reset(document, now=MONDAY, faults=[{"kind": "rate_limited", "retry_after_s": 5}]) == MONDAY
    assert ticketdesk.now() == MONDAY
    assert ticketdesk.http.get("/tickets").headers["retry-after"] == "5"
    assert ticketdesk.http.get("/tickets").json()["total"] == 0


def test_the_clocks_are_set_and_advanced_together(companyos_services: StandaloneServices) -> None:
    companyos_services.reset(now="2026-03-09T12:00:00+01:00")
    companyos_services.advance(60)
    assert {service.now() for service in companyos_services.values()} == {datetime(2026, 3, 9, 12, tzinfo=UTC)}


def test_an_invalid_document_raises_an_error_that_names_the_fields(companyos_services: StandaloneServices) -> None:
    with pytest.raises(ApiError, match="invalid-seed: company is required; draw_seed is required") as raised:
        companyos_services.datahub.reset({})
    assert raised.value.status == 422


def test_the_processes_end_with_the_block() -> None:
    with run_services() as urls:
        assert {httpx.get(f"{url}/livez", trust_env=False).status_code for url in urls.values()} == {200}
    for url in urls.values():
        with pytest.raises(httpx.ConnectError):
            httpx.get(f"{url}/livez", trust_env=False)


@pytest.mark.companyos(scenario="handbook_update", chaos=0)
def test_an_episode_is_open_and_its_verdict_readable(companyos_episode: Episode) -> None:
    assert companyos_episode.first.brief
    assert companyos_episode.env.state().seed == 0
    assert companyos_episode.call_tool("ticketdesk_list_tickets").observation.result["items"]
    assert not companyos_episode.verdict().success
    companyos_episode.call_tool("finish", outcome="impossible", summary="Nothing was done.")
    assert companyos_episode.env.state().outcome == "failed"
    assert companyos_episode.verdict().failed


def test_an_episode_requires_no_marker(companyos_episode: Episode) -> None:
    assert companyos_episode.env.state().seed == 0


@pytest.mark.companyos(split="test", index=3)
def test_an_episode_of_a_published_task_has_the_seed_of_the_task(companyos_episode: Episode) -> None:
    assert companyos_episode.env.state().step_count == 0


def test_an_episode_is_dropped_after_an_error_too(companyos_url: str) -> None:
    ended: list[str | None] = []

    def fail() -> None:
        with open_episode(companyos_url) as episode:
            ended.append(episode.env.state().episode_id)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    listed = httpx.get(f"{companyos_url}/v1/episodes", trust_env=False).json()
    assert ended[0] not in [one["episode_id"] for one in listed]


def test_an_unknown_option_of_the_marker_is_named(companyos_url: str) -> None:
    with pytest.raises(ApiError, match="sceanrio"), open_episode(companyos_url, sceanrio="x"):  # type: ignore[call-arg]
        pass


def test_the_plugin_imports_nothing_until_a_fixture_is_used(tmp_path: Path) -> None:
    (tmp_path / "test_other.py").write_text(
        "import sys\ndef test_other():\n    assert not {'httpx', 'openenv', 'pydantic'} & {*sys.modules}\n"
    )
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:anyio",
        "-p",
        "no:schemathesis",
        "--rootdir",
        str(tmp_path),
    ]
    done = subprocess.run([*command, str(tmp_path)], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.companyos(scenario="vendor_onboarding", seed=7, chaos=0)
def test_the_services_of_an_episode_accept_rest_requests_as_steps(companyos_episode: Episode) -> None:
    urls = companyos_episode.env.service_urls()
    assert set(urls) == {"ticketdesk", "datahub", "approvalflow"}
    listed = httpx.get(f"{urls['ticketdesk']}/tickets", params={"limit": 2}, trust_env=False)
    assert len(listed.json()["items"]) == 2
    missing = httpx.get(f"{urls['datahub']}/records/NONE-1", trust_env=False)
    assert (missing.status_code, missing.headers["content-type"]) == (404, "application/problem+json")
    assert companyos_episode.env.state().step_count == 2
    audits = companyos_episode.env.snapshot()
    assert audits.step == 2
