"""Replays the tool calls of the oracle as form submissions at the same simulated times."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import httpx

from companyos.policies import StepView
from tests.browser.episode_page import EpisodePage
from tests.ui.episode_client import begin, solve
from tests.ui.http_browser import form_path

READ_PATHS = {
    "datahub_get_record": "/datahub/records/{record_id}",
    "datahub_get_vendor": "/datahub/vendors/{vendor_id}",
    "datahub_get_policy": "/datahub/policies/{policy_id}",
    "datahub_get_person": "/datahub/people/{person_id}",
    "ticketdesk_get_ticket": "/ticketdesk/tickets/{key}",
    "approvalflow_get_approval_type": "/approvalflow/types/{type_key}",
}
"""Pages that show the result of a tool; other reads are not repeated."""

READS = ("get", "list", "search", "query")
TICKET_TOOLS = ("wait", "finish")


@dataclass(frozen=True)
class RecordedWrite:
    """A write of the oracle, or a read that has its own page, with its simulated time."""

    tool: str
    arguments: Mapping[str, Any]
    at: datetime


def record_oracle_writes(url: str, options: Mapping[str, Any]) -> list[RecordedWrite]:
    """Play the task with the oracle and return its writes, its waits, and the reads that have their own page."""
    with ThreadPoolExecutor(1) as executor:  # Playwright occupies the event loop of this thread
        return executor.submit(asyncio.run, _play_oracle(url, options)).result()


async def _play_oracle(url: str, options: Mapping[str, Any]) -> list[RecordedWrite]:
    writes: list[RecordedWrite] = []

    def record(tool: str, arguments: dict[str, Any], view: StepView) -> None:
        is_read = any(f"_{verb}_" in tool for verb in READS)
        if not view.is_refused and (not is_read or tool in READ_PATHS or tool == "datahub_query_metric"):
            writes.append(RecordedWrite(tool, arguments, view.now))

    async with httpx.AsyncClient(base_url=url, timeout=30) as client:
        begun = await begin(client, **options)
        await solve(client, begun, options["scenario"], on_step=record)
    return writes


def replay_writes(episode_page: EpisodePage, writes: list[RecordedWrite]) -> None:
    """Navigate to the pages by links and searches, and submit the writes as forms."""
    for write in writes:
        operation = write.tool.partition("_")[2]
        if write.tool in READ_PATHS:
            episode_page.go_to(READ_PATHS[write.tool].format(**write.arguments))
        elif write.tool == "datahub_query_metric":
            episode_page.read_metric(write.arguments["subject"])
        elif write.tool == "wait":
            _wait_until(episode_page, write.at)
        elif write.tool == "finish":
            episode_page.go_to("")
            episode_page.fill_and_send(write.tool, write.arguments)
        else:
            episode_page.go_to(form_path(write.tool, write.arguments))
            episode_page.fill_and_send(operation, write.arguments)


def _wait_until(episode_page: EpisodePage, at: datetime) -> None:
    episode_page.go_to("")
    minutes = int((at - episode_page.now).total_seconds()) // 60
    if minutes > 0:
        episode_page.fill_and_send("wait", {"minutes": minutes})
