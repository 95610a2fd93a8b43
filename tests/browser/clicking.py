"""Clicking through a task: what the oracle does with tools, done on pages at the same times."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import httpx

from companyos.policies import StepView
from tests.apps.playing import begin, solve
from tests.browser.visiting import Visitor

WHERE = {
    "ticketdesk": "tickets/{key}",
    "ticketdesk_create_ticket": "new",
    "datahub_refresh_metric": "metrics/{metric_id}",
    "datahub_update_record": "records/{record_id}",
    "datahub_update_vendor": "vendors/{vendor_id}",
    "datahub_report_data_issue": "report",
    "approvalflow": "requests/{request_id}",
    "approvalflow_submit_approval": "submit/{type_key}",
    "approvalflow_create_delegation": "delegations",
    "approvalflow_revoke_delegation": "delegations",
}
"""Where the form of a tool is, by the tool or by its service."""

READS = ("get", "list", "search", "query")
OWN = ("wait", "finish")


@dataclass(frozen=True)
class Deed:
    """One write of the oracle's, and when it was made."""

    tool: str
    arguments: Mapping[str, Any]
    at: datetime


def deeds_of(url: str, options: Mapping[str, Any]) -> list[Deed]:
    """Let the oracle play the same task with tools, and return what it wrote and how it waited."""
    with ThreadPoolExecutor(1) as aside:  # Playwright keeps the loop of this thread
        return aside.submit(asyncio.run, _played(url, options)).result()


async def _played(url: str, options: Mapping[str, Any]) -> list[Deed]:
    deeds: list[Deed] = []

    def note(tool: str, arguments: dict[str, Any], view: StepView) -> None:
        if not view.is_refused and not any(f"_{verb}_" in tool for verb in READS):
            deeds.append(Deed(tool, arguments, view.now))

    async with httpx.AsyncClient(base_url=url, timeout=30) as client:
        begun = await begin(client, **options)
        await solve(client, begun, options["scenario"], on_step=note)
    return deeds


def click_through(visitor: Visitor, deeds: list[Deed]) -> None:
    """Do on pages what was done with tools, none of it earlier."""
    for deed in deeds:
        if deed.tool in OWN:
            visitor.open("")
            if deed.tool == "wait":
                _wait_until(visitor, deed.at)
            else:
                visitor.fill_and_send(deed.tool, deed.arguments)
            continue
        _wait_until(visitor, deed.at - timedelta(minutes=_LONGEST))
        service = deed.tool.partition("_")[0]
        page = WHERE.get(deed.tool) or WHERE[service]
        visitor.open(f"/{service}/{page.format(**deed.arguments)}")
        visitor.fill_and_send(deed.tool.removeprefix(f"{service}_"), deed.arguments)


_LONGEST = 3
"""Minutes that a write takes."""


def _wait_until(visitor: Visitor, at: datetime) -> None:
    visitor.open("")
    minutes = int((at - visitor.now).total_seconds()) // 60
    if minutes > 0:
        visitor.fill_and_send("wait", {"minutes": minutes})
