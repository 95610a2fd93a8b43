"""The compose file as a user runs it: an episode is played, and each container has only the rights that it needs."""

from __future__ import annotations

import pytest
import requests
from docker.models.containers import Container

from companyos.runner import EpisodePlan, play_all

RUNNING = ("ticketdesk", "datahub", "approvalflow", "gateway")
GIBIBYTE = 1024**3


async def test_the_oracle_plays_an_episode_over_the_containers(url: str) -> None:
    plan = EpisodePlan(scenario="vendor_onboarding", seed=7, chaos=1, policy="oracle")
    played, again = await play_all(url, [plan]), await play_all(url, [plan])
    assert played[0].trouble is None
    assert played[0].record.success
    assert played[0].record.digest == again[0].record.digest


def test_all_four_containers_are_healthy_and_init_has_exited(containers: dict[str, Container]) -> None:
    assert set(containers) == {*RUNNING, "init"}
    assert {containers[name].attrs["State"]["Health"]["Status"] for name in RUNNING} == {"healthy"}
    assert containers["init"].attrs["State"]["ExitCode"] == 0


@pytest.mark.parametrize("name", [*RUNNING, "init"])
def test_a_container_is_hardened(containers: dict[str, Container], name: str) -> None:
    attributes = containers[name].attrs
    host = attributes["HostConfig"]
    assert attributes["Config"]["User"] == "65532:65532"
    assert host["ReadonlyRootfs"] is True
    assert host["CapDrop"] == ["ALL"]
    assert not host["CapAdd"]
    assert host["SecurityOpt"] == ["no-new-privileges:true"]
    assert host["Privileged"] is False
    assert 0 < host["PidsLimit"] <= 256
    assert 0 < host["Memory"] <= GIBIBYTE
    assert {mount["Type"] for mount in attributes["Mounts"]} == {"volume"}
    assert not [entry for entry in attributes["Config"]["Env"] if entry.startswith("COMPANYOS_SERVICE_KEY=")]


@pytest.mark.parametrize("name", RUNNING)
def test_a_process_in_a_container_has_no_privileges(containers: dict[str, Container], name: str) -> None:
    status = "import os; print(os.getuid(), [line for line in open('/proc/self/status') if line.startswith('CapEff')])"
    outcome = containers[name].exec_run(["python3", "-c", status])
    assert outcome.output.decode().startswith("65532 ")
    assert "0000000000000000" in outcome.output.decode()
    assert containers[name].exec_run(["python3", "-c", "open('/app/planted', 'w')"]).exit_code != 0


def test_only_the_gateway_is_published_and_only_on_this_machine(containers: dict[str, Container]) -> None:
    published = {
        (name, place["HostIp"], place["HostPort"])
        for name, container in containers.items()
        for places in (container.attrs["NetworkSettings"]["Ports"] or {}).values()
        for place in places or ()
    }
    assert published == {("gateway", "127.0.0.1", "8000")}


def test_the_key_is_readable_only_by_its_owner(containers: dict[str, Container]) -> None:
    look = "import os; found = os.stat('/run/companyos/service-key'); print(oct(found.st_mode & 0o777), found.st_uid)"
    assert containers["gateway"].exec_run(["python3", "-c", look]).output.decode().split() == ["0o600", "65532"]


def test_a_service_rejects_requests_without_the_key(containers: dict[str, Container]) -> None:
    script = """
import urllib.error, urllib.request
for path in ("/tickets", "/control/schemas"):
    try:
        urllib.request.urlopen("http://ticketdesk:8000" + path)
    except urllib.error.HTTPError as refusal:
        print(refusal.code)
"""
    assert containers["gateway"].exec_run(["python3", "-c", script]).output.decode().split() == ["401", "401"]


def test_the_sandbox_publishes_each_service_standalone(sandbox: dict[str, str]) -> None:
    lists = {"ticketdesk": "/tickets", "datahub": "/metrics", "approvalflow": "/approvals"}
    with requests.Session() as http:
        http.trust_env = False
        for name, address in sandbox.items():
            assert http.get(f"{address}{lists[name]}").json()["items"], name
            page = http.get(f"{address}/docs")
            assert page.status_code == 200
            assert "http://" not in page.text
            assert "https://" not in page.text
