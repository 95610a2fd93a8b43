"""The same code against a container."""

import pytest
from incident_reporter import report_incident

from companyos.testcontainers import gateway_container, service_containers
from companyos.testing import open_episode

pytestmark = pytest.mark.docker


def test_a_report_reaches_a_service_in_a_container() -> None:
    with service_containers("ticketdesk") as services:
        ticketdesk = services.ticketdesk
        ticketdesk.reset(faults=[{"kind": "rate_limited", "retry_after_s": 2}, {"kind": "unavailable"}])
        ticket = report_incident(ticketdesk.url, "No coffee", team="it", key="coffee", sleep=lambda _seconds: None)
        assert ticketdesk.http.get(f"/tickets/{ticket['key']}").json()["title"] == "No coffee"


def test_an_episode_is_played_in_containers() -> None:
    with gateway_container() as gateway, open_episode(gateway.url, scenario="vendor_onboarding", seed=7) as episode:
        assert episode.call_tool("ticketdesk_list_tickets").observation.result["items"]
        assert not episode.verdict().success
