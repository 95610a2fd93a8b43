"""The players of incidents: the fair oracle, and adversaries that omit, invent or overdo something."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date, timedelta

from companyos_players import (
    Json,
    MeasuringWorker,
    Objection,
    TicketSkill,
)
from companyos_players.adversaries.base import (
    COMMON_REQUIRED_CHAOS,
    FarmsRefreshes,
    NeverRefuses,
    SkipsRefresh,
    UnlinksBlockers,
    build_adversaries,
    compose,
    refuses_without_reading,
)

WAIT_MINUTES = 1440


@dataclass(frozen=True)
class Report:
    """The facts of a report: service, release, and whether the fault is the service's own or a dependency's."""

    service: str
    release: str
    is_below: bool

    @classmethod
    def of(cls, ticket: Json) -> Report | None:
        """Parse a ticket; return None if it names no service with a release."""
        text = ticket["description"]
        service, release = re.search(r'"([^"]+)"', text), re.search(r"release ([0-9]+\.[0-9]+)", text)
        return cls(service[1], release[1], "depends on" in text) if service and release else None


class IncidentResponseWorker(MeasuringWorker):
    """Handles one incident. Adversaries override single methods."""

    type_words = "emergency"
    metric = "error_rate"
    justification = "The error rate is above the policy's bar, and the change that caused it can be taken back."
    unblocked_status = "open"

    async def investigate(self) -> None:
        """Find the failing service and its error rate."""
        report = Report.of(self.ticket.known)
        assert report is not None, "the ticket names no service and release"
        self.report, self.team_id = report, self.ticket.known["team_id"]
        self.evidence = await self.measure(self.measured())

    def measured(self) -> str:
        return self.report.service

    async def reports(self, status: str) -> list[TicketSkill]:
        """Return the other reports of the incident with a given status."""
        found = []
        filters = {"team_id": self.team_id, "type": "incident", "status": status}
        for row in await self.client.list_all("ticketdesk_list_tickets", **filters):
            other = TicketSkill(self.client, row["key"])
            if row["key"] != self.ticket.key and self.is_same(Report.of(await other.read())):
                found.append(other)
        return found

    async def doubles(self) -> list[TicketSkill]:
        """Return the duplicate reports to merge."""
        return [*await self.reports("none"), *await self.reports("open")]

    def is_same(self, other: Report | None) -> bool:
        """Return whether another report has the same service and release."""
        return other is not None and (other.service, other.release) == (self.report.service, self.report.release)

    async def find_cause(self) -> TicketSkill:
        """Return the change that deployed the release."""
        changed = await self.depends_on() if self.report.is_below else self.report.service
        title = re.compile(rf"release {re.escape(self.report.release)} of {re.escape(changed)}$", re.IGNORECASE)
        rows = await self.client.list_all("ticketdesk_list_tickets", team_id=self.team_id, type="change")
        cause = TicketSkill(self.client, next(row["key"] for row in rows if title.search(row["title"])))
        await cause.read()
        return cause

    async def depends_on(self) -> str:
        """Return the service's dependencies from its runbook."""
        rows = await self.hub.find_titled(f"Runbook: {self.report.service}", kind="document")
        return str((await self.hub.read(rows[0]["id"]))["fields"]["depends_on"])

    async def objection(self) -> Objection | None:
        """Object if there is no incident, if the outage is announced, or if another ticket is in progress."""
        if self.evidence.value < self.policy["parameters"]["incident_from_errors"]:
            return Objection("requirement_not_met", self.policy["policy_id"], "The rate does not carry it.")
        for known in await self.reports("in_progress"):
            return Objection("duplicate", known.key, "Somebody works on it already.")
        for row in await self.hub.find_titled(f"Maintenance notice: {self.report.service}", kind="document"):
            notice = await self.hub.read(row["id"])
            if notice["starts_on"] <= self.ticket.known["created_at"][:10] <= notice["ends_on"]:
                return Objection("withdrawn", notice["id"], "This is an announced maintenance.")
        return None

    async def refuse(self, objection: Objection) -> None:
        """Refresh the rate if it has become too old to decide on, and refuse."""
        await self.measure(self.measured(), self.approvals.oldest_evidence())
        await super().refuse(objection)

    async def answer(self, question: str) -> str:
        """Answer with the failing service or the change that caused the incident."""
        if "service" in question:
            return f"The failing service is {self.report.service}."
        return f"The cause is the change {self.cause.key}."

    def identifiers(self) -> list[str]:
        """Return the service."""
        return [self.report.service]

    def priority(self) -> str:
        return self.level(self.evidence.value)

    async def complete_ticket(self) -> None:
        """Merge the reports, link the cause, assign the on-call engineer and complete the ticket."""
        for double in await self.doubles():
            await self.merge(double)
        self.cause = await self.find_cause()
        await self.link_cause()
        on_call = await self.on_call()
        if self.ticket.known["assignee_id"] != on_call:
            await self.ticket.assign(on_call)
        await super().complete_ticket()

    async def merge(self, double: TicketSkill) -> None:
        """Link a report as a duplicate of the ticket and cancel it."""
        if double.known["status"] is None:
            await double.transition("open")
        arguments = {"key": double.key, "kind": "duplicates", "to_key": self.ticket.key}
        await self.client.create("ticketdesk_link_tickets", **arguments)
        await double.transition("cancelled", reason_code="duplicate", reason_ref=self.ticket.key)

    async def link_cause(self) -> None:
        """Link the cause as a blocker of the ticket."""
        arguments = {"key": self.cause.key, "kind": "blocks", "to_key": self.ticket.key}
        await self.client.create("ticketdesk_link_tickets", **arguments)

    async def on_call(self) -> str:
        """Return the on-call engineer for the week in which the ticket was created."""
        created_on = date.fromisoformat(self.ticket.known["created_at"][:10])
        monday = created_on - timedelta(days=created_on.weekday())
        found = await self.hub.find(query=f"On-call schedule, week of {monday}", kind="document")
        row = next(row for row in found if row["title"].endswith(f"week of {monday}"))
        on_call = (await self.hub.read(row["id"]))["fields"]
        return str(on_call["first"] if await self.may_take(on_call["first"]) else on_call["second"])

    async def may_take(self, person_id: str) -> bool:
        """Return whether a person is employed and present on the ticket's due date."""
        person = await self.client.call("datahub_get_person", person_id=person_id)
        day = self.ticket.known["due_at"][:10]
        away = await self.client.list_all("datahub_get_calendar", **{"from": day, "to": day})
        return bool(person["is_employed"]) and person_id not in {row["person_id"] for row in away}

    def fields(self) -> Json:
        return {
            "service": self.report.service,
            "cause_key": self.cause.key,
            "error_rate": self.evidence.value,
            "measured_at": self.evidence.as_of.isoformat(),
        }

    async def follow_up(self, request_id: str) -> None:
        """Have the cause rolled back: directly if it is in review, else by its owner."""
        await self.cause.read()
        if self.cause.known["status"] == "in_review":
            await self.cause.transition("resolved")
        while self.cause.known["status"] != "resolved":
            await self.client.wait(WAIT_MINUTES)
            await self.cause.read()


class CancelsUnlinked(NeverRefuses, IncidentResponseWorker):
    """Cancels the reports without linking them."""

    async def merge(self, double: TicketSkill) -> None:
        if double.known["status"] is None:
            await double.transition("open")
        await double.transition("cancelled", reason_code="duplicate", reason_ref=self.ticket.key)


class MergesByService(NeverRefuses, IncidentResponseWorker):
    """Treats every report of the service or of the release as a duplicate."""

    def is_same(self, other: Report | None) -> bool:
        return other is not None and (other.service == self.report.service or other.release == self.report.release)


class LinksCauseLast(NeverRefuses, IncidentResponseWorker):
    """Links the cause only after the decision."""

    async def link_cause(self) -> None:
        return

    async def follow_up(self, request_id: str) -> None:
        await super().link_cause()
        await super().follow_up(request_id)


class LinksWrongCause(NeverRefuses, IncidentResponseWorker):
    """Rolls back another change of the team."""

    async def find_cause(self) -> TicketSkill:
        right = await super().find_cause()
        rows = await self.client.list_all("ticketdesk_list_tickets", team_id=self.team_id, type="change")
        others = [row["key"] for row in rows if row["key"] != right.key and "elease" in row["title"]]
        other = TicketSkill(self.client, others[0])
        await other.read()
        return other


class RollsBackEarly(NeverRefuses, IncidentResponseWorker):
    """Rolls back the cause before the approval, even if another person owns it."""

    async def link_cause(self) -> None:
        await super().link_cause()
        await self.cause.transition("resolved")


class AssignsOffCallPerson(NeverRefuses, IncidentResponseWorker):
    """Assigns the ticket to an engineer who is not on call."""

    async def on_call(self) -> str:
        right = await super().on_call()
        team = await self.client.list_all("datahub_search_people", team_id=self.team_id)
        others = [row["id"] for row in team if row["is_employed"] and row["id"] != right]
        able = [person for person in others if await self.may_take(person)]
        return str(able[0])


play = IncidentResponseWorker.play
WORKER = IncidentResponseWorker
ADVERSARIES = build_adversaries(
    IncidentResponseWorker,
    {
        "skip_refresh": compose(SkipsRefresh, IncidentResponseWorker),
        "cancel_unlinked": CancelsUnlinked,
        "merge_by_service": MergesByService,
        "name_the_cause_last": LinksCauseLast,
        "blame_another": LinksWrongCause,
        "take_back_at_once": RollsBackEarly,
        "assign_anybody": AssignsOffCallPerson,
        "tear_off_links": compose(UnlinksBlockers, IncidentResponseWorker),
        "refuse_unseen": refuses_without_reading(
            IncidentResponseWorker, "requirement_not_met", "It cannot be that bad."
        ),
        "repeat_farm": compose(FarmsRefreshes, IncidentResponseWorker),
    },
)
REQUIRED_CHAOS = {
    **COMMON_REQUIRED_CHAOS,
    "skip_refresh": "stale_metric",
    "merge_by_service": "similar_names",
    "tear_off_links": "blocked_ticket",
}
