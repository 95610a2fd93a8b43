"""The fair oracle for metrics reports; it uses only the brief, tools and responses."""

from __future__ import annotations

import re
from datetime import datetime
from fractions import Fraction

from companyos.policies import Call, TaskView
from companyos_players import (
    MetricUnavailableError,
    RefreshPolicy,
    ReportMetricSkill,
    TicketSkill,
    ToolClient,
    refresh_until_fresh,
    ticket_key_in,
)
from companyos_players.player import Json
from companyos_players.worker import Worker

FACTORS = {
    "cents": Fraction(100),
    "thousands of EUR": Fraction(1, 1000),
    "parts per thousand": Fraction(10),
    "basis points": Fraction(100),
    "fractions of one": Fraction(1, 100),
}
"""Factors by which a value in EUR or percent is multiplied."""

POLICY_WORDS = "reporting"
POLICY_TOPIC = "reporting"


class MetricsReportWorker:
    """Handles one report. Adversaries override single methods."""

    def __init__(self, task: TaskView, client: ToolClient) -> None:
        self.task = task
        self.client = client
        self.ticket = TicketSkill(client, ticket_key_in(task.brief))

    @classmethod
    async def play(cls, task: TaskView, call: Call) -> None:
        """Answer the brief, or declare that the values are unavailable."""
        await cls(task, ToolClient(call)).work()

    async def work(self) -> None:
        """Do the whole work."""
        await self.read_context()
        try:
            await self.investigate()
            await self.measure()
        except MetricUnavailableError as problem:
            await self.give_up(problem)
        answers = {name: await self.answer(words) for name, words in self.questions.items()}
        await self.declare(answers)

    async def read_context(self) -> None:
        """Read the ticket and the policy in force."""
        await self.ticket.read()
        self.text: str = self.ticket.known["description"].partition("\n\n")[0]
        self.cited = dict(re.findall(r"^\((\d)\) (.+)$", self.text, re.MULTILINE))
        self.questions = dict(re.findall(r"^- `(\w+)`: (.+)$", self.text, re.MULTILINE))
        found = await self.client.call("datahub_search_policies", query=POLICY_WORDS)
        policy_id = next(row["policy_id"] for row in found["items"] if row["topic"] == POLICY_TOPIC)
        self.policy = await self.read_policy(policy_id)

    async def read_policy(self, policy_id: str) -> Json:
        """Return the applicable version of the policy."""
        policy: Json = await self.client.call("datahub_get_policy", policy_id=policy_id)
        return policy

    async def investigate(self) -> None:
        """Find the subject of each requested metric and its key."""
        subjects = [await self.find_subject(cited) for cited in self.cited.values()]
        rows = await self.client.list_all("datahub_list_metrics", subject=subjects[0])
        keys = {row["key"]: row for row in rows}
        self.key = next(key for key in keys if key.partition("_")[0] in self.text.lower())
        due_at = datetime.fromisoformat(self.ticket.known["due_at"])
        terms = RefreshPolicy(due_at, self.policy["parameters"]["most_failures"], self.policy["policy_id"])
        self.figures = [self.figure(subject, terms) for subject in subjects]

    def figure(self, subject: str, terms: RefreshPolicy) -> ReportMetricSkill:
        """Return the skill that reads a metric."""
        return ReportMetricSkill(self.client, self.key, subject, terms)

    async def find_subject(self, cited: str) -> str:
        """Return the cited subject's id: an id, a vendor by legal name, or a service by name."""
        if re.fullmatch(r"VEN-[0-9]+", cited) or cited == cited.lower():
            return cited
        found = await self.client.call("datahub_search_records", query=cited, kind="vendor")
        for row in found["items"]:
            if row["title"] in cited:
                vendor = await self.client.call("datahub_get_vendor", vendor_id=row["id"])
                if vendor["legal_name"] == cited:
                    return str(vendor["id"])
        raise LookupError(f"No vendor has the legal name {cited}")

    async def measure(self) -> None:
        """Refresh the values until all of them are fresh at the same time."""
        await refresh_until_fresh(self.client, self.figures)

    async def answer(self, words: str) -> float | str:
        """Return the answer to a question."""
        values = [figure.value for figure in self.figures]
        if "which of" in words:
            return self.figures[values.index(max(values))].subject
        if "how many" in words:
            limit = re.search(r"above (?:EUR )?([\d,]*\d)", words)
            assert limit is not None
            return sum(1 for value in values if value > int(limit[1].replace(",", "")))
        if "total of all" in words or "sum of all" in words:
            return self.converted(sum(values))
        if "highest" in words:
            return self.converted(max(values))
        day = re.search(r"at the end of (\S+)", words)
        if day:
            self.before = await self.value_on(self.figures[0], day[1])
            return self.converted(self.before)
        if "since then" in words:
            return self.converted(values[0] - self.before)
        place = re.search(r"\((\d)\)", words)
        assert place is not None
        return self.converted(values[int(place[1]) - 1])

    async def value_on(self, figure: ReportMetricSkill, day: str) -> float:
        """Return a metric's value at the end of a day."""
        rows = await self.client.list_all("datahub_get_metric_history", metric_id=figure.metric_id)
        value = next(float(row["value"]) for row in rows if row["as_of"][:10] <= day)
        return figure.usual(value, figure.reading["unit"])

    def converted(self, value: float) -> float:
        """Return a value in the unit that the policy requires."""
        kind = "amount_unit" if self.figures[0].reading["unit"] in ("EUR", "cents") else "share_unit"
        factor = FACTORS[self.policy["parameters"][kind]]
        return value * factor.numerator / factor.denominator

    async def give_up(self, problem: MetricUnavailableError) -> None:
        """Record the reason why a value is unavailable, and declare it."""
        reason = {"reason_code": problem.code, "reason_ref": problem.reference}
        await self.client.create(
            "datahub_report_data_issue",
            subject=problem.metric_id,
            kind="missing",
            description="The figure cannot be had in time by its authority.",
            **reason,
        )
        await self.client.finish("impossible", "The figure cannot be had.", **reason)

    async def declare(self, answers: Json) -> None:
        """Declare the answers."""
        await self.client.finish("done", "The figures are in the answers.", answers=answers)


play = MetricsReportWorker.play
WORKER: type[Worker] | None = None
