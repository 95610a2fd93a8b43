"""Tests with the fixtures of CompanyOS."""

import pytest
from incident_reporter import report_incident

from companyos.services import StandaloneServices
from companyos.testing import Episode


def test_an_outage_delays_the_report(companyos_services: StandaloneServices) -> None:
    ticketdesk = companyos_services.ticketdesk
    ticketdesk.reset(faults=[{"kind": "unavailable", "retry_after_s": 30}])
    pauses: list[float] = []
    ticket = report_incident(ticketdesk.url, "Printer on fire", team="it", key="fire-1", sleep=pauses.append)
    assert pauses == [30]
    assert ticketdesk.http.get(f"/tickets/{ticket['key']}").json()["title"] == "Printer on fire"


def test_a_lost_response_creates_no_second_ticket(companyos_services: StandaloneServices) -> None:
    ticketdesk = companyos_services.ticketdesk
    before = ticketdesk.http.get("/tickets").json()["total"]
    ticketdesk.reset(faults=[{"kind": "timeout_after_commit"}, {"kind": "timeout_after_commit"}])
    report_incident(ticketdesk.url, "Printer on fire", team="it", key="fire-2", sleep=lambda _seconds: None)
    assert ticketdesk.http.get("/tickets").json()["total"] == before + 1


@pytest.mark.companyos(scenario="vendor_onboarding", seed=7, chaos=1)
def test_an_agent_that_gives_up_fails(companyos_episode: Episode) -> None:
    assert companyos_episode.call_tool("ticketdesk_list_tickets").observation.result["items"]
    companyos_episode.call_tool("finish", outcome="impossible", summary="I do not know what to do.")
    verdict = companyos_episode.verdict()
    assert not verdict.success
    assert verdict.failed
