"""Reading on the pages of the apps counts as reading with tools."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from companyos.contract import Outcome, ResetOptions
from companyos.policies import EpisodeOverError, StepView
from companyos_gateway.engine.engine import EpisodeEngine
from companyos_gateway.engine.episode import Episode
from companyos_gateway.engine.inspection import fetch_page
from companyos_gateway.engine.journal import entries
from companyos_gateway.engine.policy_views import build_step_view
from companyos_gateway.evaluation import Evidence
from companyos_gateway.scenarios import catalogue
from companyos_gateway.ui.desk.service_pages import build_page_call
from companyos_players.registry import fair_player
from companyos_shared.pages import Shell
from companyos_shared.wire.company import Role
from tests.scenarios.engine import open_engine
from tests.scenarios.oracle_traces import seed_of
from verification.in_process import in_process_runtime
from verification.proof.episode_runner import task_view

pytestmark = pytest.mark.matrix

LEVEL = 2
PAGES = {
    "datahub_get_record": ("datahub", "records/{record_id}"),
    "datahub_get_vendor": ("datahub", "vendors/{vendor_id}"),
    "datahub_get_policy": ("datahub", "policies/{policy_id}"),
    "datahub_get_source": ("datahub", "sources/{source_id}"),
    "datahub_get_person": ("datahub", "people/{person_id}"),
    "datahub_search_people": ("datahub", "people"),
    "ticketdesk_get_ticket": ("ticketdesk", "tickets/{key}"),
    "ticketdesk_list_tickets": ("ticketdesk", ""),
}
"""The page that shows the result of a tool."""


@pytest.mark.parametrize("scenario", sorted(catalogue()))
def test_a_refusal_is_accepted_after_reading_only_pages(
    monkeypatch: pytest.MonkeyPatch, scenario: str, tmp_path: Path
) -> None:
    record = Evidence.record
    monkeypatch.setattr(Evidence, "record", lambda self, service, report, _response=None: record(self, service, report))
    outcomes = [asyncio.run(_refuse(scenario, tmp_path / name, pages=name == "pages")) for name in ("pages", "none")]
    assert outcomes == [Outcome.SUCCESS, Outcome.FAILED]


async def _refuse(scenario: str, folder: Path, *, pages: bool) -> Outcome | None:
    """Play a refusal with the fair oracle, modified to open the page for each of its reads."""
    async with open_engine(folder) as engine:
        options = ResetOptions(scenario=scenario, seed=seed_of(scenario, is_refusal=True), chaos=LEVEL)
        episode = await engine.reset(options)

        async def call(tool: str, arguments: dict[str, Any], /) -> StepView:
            if episode.done:
                raise EpisodeOverError
            seen = await engine.step(episode, tool, arguments)
            result = seen.result if isinstance(seen.result, dict) else {}
            for service, path in _pages_of(tool, arguments, result) if pages and not episode.done else ():
                await _open(engine, episode, service, path, arguments)
            return build_step_view(seen)

        with suppress(EpisodeOverError):
            await fair_player(scenario)(task_view(engine, episode), call)
        return episode.outcome


def _pages_of(tool: str, arguments: dict[str, Any], result: dict[str, Any]) -> list[tuple[str, str]]:
    if tool == "datahub_query_metric":
        return [("datahub", f"metrics/{reading['metric_id']}") for reading in result.get("readings", [])]
    return [(PAGES[tool][0], PAGES[tool][1].format(**arguments))] if tool in PAGES else []


async def _open(engine: EpisodeEngine, episode: Episode, service: str, path: str, arguments: dict[str, Any]) -> None:
    shell = Shell(app=service, title=service, prefix=f"/{service}")
    query = urlencode({name: value for name, value in arguments.items() if name in ("tag", "team_id")})
    call = build_page_call(path, query, shell)
    assert (await fetch_page(engine.service_clients, episode, service, call)).status == 200, path


async def test_facts_shown_on_a_page_are_known_after_a_fork_and_a_replay(tmp_path: Path) -> None:
    async with in_process_runtime(tmp_path) as runtime:
        engine = runtime.engine()
        episode = await engine.reset(ResetOptions(scenario="vendor_onboarding", seed=3, chaos=0))
        vendor_id = next(iter(episode.evidence.table("datahub", "vendors")))
        await _open(engine, episode, "datahub", f"vendors/{vendor_id}", {})
        await _open(engine, episode, "datahub", f"vendors/{vendor_id}", {})
        views = [entry.view for entry in entries(episode.journal.payloads())]
        assert [view is not None and bool(view.shown) for view in views] == [True, False]
        snapshot = await runtime.snapshots().take(episode)
        (fork,) = await runtime.snapshots().fork(snapshot.id, 1)
        for found in (episode.evidence, fork.evidence, Evidence.from_json(fork.evidence.as_json())):
            assert found.knew(vendor_id, "status", "bank_iban", before=1)
            assert not found.knew(vendor_id, "status", before=0)
        seen = await engine.step(episode, "datahub_get_vendor", {"vendor_id": vendor_id})
        seen.result["status"] = "changed by the agent"
        assert not episode.evidence.knew(vendor_id, before=2, status="changed by the agent")


async def test_the_page_of_roles_shows_who_holds_each(tmp_path: Path) -> None:
    async with open_engine(tmp_path) as engine:
        episode = await engine.reset(ResetOptions(scenario="vendor_onboarding", seed=3, chaos=0))
        await _open(engine, episode, "datahub", "roles", {})
        assert all(
            episode.evidence.knew(role.value, "holders", before=1) for role in Role if role is not Role.TEAM_LEAD
        )
