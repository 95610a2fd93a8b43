"""The clairvoyant oracle: it knows the instance and reads only what the rubric requires."""

from __future__ import annotations

from math import ceil
from typing import Any

from companyos_gateway.evaluation.reported_values import ReportedValue
from companyos_gateway.scenarios.metrics_report.case import AnswerKind, AnswerSpec, Case, RefusalGround, Variant
from companyos_players import ToolClient

REFRESH_WAIT_MINUTES = 95


class MetricsReportPrivilegedOracle:
    """Answers a known request."""

    def __init__(self, case: Case, client: ToolClient) -> None:
        self.case = case
        self.client = client

    async def work(self) -> None:
        """Do the whole work."""
        await self.client.call("ticketdesk_get_ticket", key=self.case.ticket_key)
        if self.case.must_refuse:
            await self.give_up()
        values = await self.fresh_values()
        if self.case.variant is Variant.MOVEMENT:
            metric_id = self.case.figures[0].spec.metric_id
            await self.client.call("datahub_get_metric_history", metric_id=metric_id)
        answers = {answer.name: self.answer(answer, values) for answer in self.case.answers}
        await self.client.finish("done", "Here they are.", answers=answers)

    async def fresh_values(self) -> list[float]:
        """Return the values once all of them are fresh at the same time."""
        while True:
            readings = [await self.read(figure) for figure in self.case.figures]
            pairs = zip(self.case.figures, readings, strict=True)
            old = [figure for figure, reading in pairs if reading["is_stale"]]
            if not old:
                pairs = zip(self.case.figures, readings, strict=True)
                return [float(reading["value"]) / figure.spec.per_unit for figure, reading in pairs]
            await self.wait_for_source()
            for figure in old:
                await self.client.create("datahub_refresh_metric", metric_id=figure.spec.metric_id)
            await self.client.wait(REFRESH_WAIT_MINUTES)

    async def read(self, figure: ReportedValue) -> dict[str, Any]:
        """Read a metric from its authority."""
        kind = {"key": figure.key, "subject": figure.subject, "source_id": figure.spec.source_id}
        found: dict[str, Any] = (await self.client.call("datahub_query_metric", **kind))["readings"][0]
        return found

    async def wait_for_source(self) -> None:
        """Wait for the end of the source's maintenance."""
        left = ceil((self.case.available_at - self.client.now()).total_seconds() / 60)
        if left > 0:
            await self.client.wait(left)

    async def give_up(self) -> None:
        """Attempt the reading, record that it is unavailable, and declare it."""
        case = self.case
        assert case.refusal is not None
        reading = case.figures[0].spec
        if case.ground is RefusalGround.FAILING:
            for _ in range(case.most_failures):
                await self.client.create("datahub_refresh_metric", metric_id=reading.metric_id)
                await self.client.wait(REFRESH_WAIT_MINUTES)
        for source_id in case.measuring_ids:
            await self.client.call("datahub_get_source", source_id=source_id)
        reason = {"reason_code": case.refusal.code, "reason_ref": case.refusal.references[-1]}
        await self.client.create(
            "datahub_report_data_issue",
            subject=reading.metric_id,
            kind="missing",
            description="It cannot be had.",
            **reason,
        )
        await self.client.finish("impossible", "It cannot be had.", **reason)

    def answer(self, one: AnswerSpec, values: list[float]) -> float | str:
        """Return one answer."""
        case = self.case
        if one.kind is AnswerKind.LEADER:
            return max(zip(values, case.figures, strict=True), key=lambda pair: pair[0])[1].subject
        if one.kind is AnswerKind.ABOVE:
            return sum(value > case.limit for value in values)
        found = {
            AnswerKind.VALUE: values[one.of],
            AnswerKind.TOTAL: sum(values),
            AnswerKind.HIGHEST: max(values),
            AnswerKind.BEFORE: case.before,
            AnswerKind.CHANGE: values[0] - case.before,
        }[one.kind]
        return float(found) * case.factor.numerator / case.factor.denominator


ORACLE = MetricsReportPrivilegedOracle
