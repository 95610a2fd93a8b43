"""Wrong trajectories of a vendor onboarding that no mutation of the proof creates."""

from __future__ import annotations

import pytest

from companyos_gateway.chaos import profile_for
from companyos_gateway.scenarios.vendor_onboarding.scenario import SCENARIO, TYPE_KEY
from companyos_players.scenarios import vendor_onboarding
from companyos_players.scenarios.vendor_onboarding import VendorOnboardingWorker
from tests.scenarios.conftest import CALM
from tests.scenarios.engine import EpisodeSpec, PlayAll, player_of, verdict_of
from verification.proof import RecordedEpisode
from verification.proof.final_states.final_state import FinalState

pytestmark = pytest.mark.matrix


class WaitsForTheHolderToComeBack(VendorOnboardingWorker):
    async def approver(self) -> str:
        holder = (await self.approvals.holders(self.contract["amount_cents"]))[0]
        while holder["out_of_office"]:
            await self.client.wait(10080)
            holder = (await self.approvals.holders(self.contract["amount_cents"]))[0]
        return str(holder["person"]["id"])


class ReportsFraudWithoutEvidence(VendorOnboardingWorker):
    async def complete_ticket(self) -> None:
        await self.client.create(
            "datahub_report_data_issue",
            subject=self.vendor["id"],
            kind="suspicious",
            description="Something about this vendor feels wrong.",
            reason_code="fraud_suspected",
            reason_ref="E-0000",
        )
        await super().complete_ticket()


class LinksUnrelatedTickets(VendorOnboardingWorker):
    async def complete_ticket(self) -> None:
        board = await self.client.call("ticketdesk_list_tickets", status="open")
        first, second = [row["key"] for row in board["items"] if row["key"] != self.ticket.key][:2]
        link = await self.client.create("ticketdesk_link_tickets", key=first, kind="relates_to", to_key=second)
        await self.client.call(
            "ticketdesk_unlink_tickets", key=first, link_id=link["id"], justification="No reason at all."
        )
        await super().complete_ticket()


def test_every_invalid_solution_is_rejected(play_all: PlayAll) -> None:
    ways = [
        *map(player_of, (WaitsForTheHolderToComeBack, ReportsFraudWithoutEvidence, LinksUnrelatedTickets)),
        vendor_onboarding.ADVERSARIES["resolve_first"],
        vendor_onboarding.ADVERSARIES["stall"],
    ]
    kept = play_all([EpisodeSpec(player=player, seed=3, chaos=0, overrides=CALM) for player in ways])
    won = [player.__name__ for player, one in zip(ways, kept, strict=True) if verdict_of(one).success]
    assert won == []


@pytest.mark.parametrize("status", ["pending", "approved", "info_requested", "escalated"])
def test_a_refusal_with_a_request_that_is_open_or_approved_is_rejected(
    solved: dict[str, RecordedEpisode], status: str
) -> None:
    final_state, case = FinalState(solved["refused"]), SCENARIO.build(1, profile_for(2), {}).case
    assert final_state.judge().success
    template = next(iter(final_state.initial["approvalflow"]["requests"].values()))
    own = {"type_key": TYPE_KEY, "subject": case.facts.vendor.id, "requester_id": case.agent_id, "fields": {}}
    final_state.add("approvalflow", "requests", "APR-9990", {**template, **own, "id": "APR-9990", "status": status})
    verdict = final_state.judge()
    assert not verdict.success
    assert bool(verdict.damage) == (status == "approved")


def test_stalling_fails_only_the_checks_of_order_and_time(play_all: PlayAll) -> None:
    (kept,) = play_all([EpisodeSpec(player=vendor_onboarding.ADVERSARIES["stall"], seed=3, chaos=0, overrides=CALM)])
    failed = {check.id for check in verdict_of(kept).checks if not check.passed}
    assert failed <= {"resolved_in_order", "resolved_in_time"}
