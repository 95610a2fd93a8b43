"""The live viewer: steps are streamed in order when committed, and viewing does not change the episode."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from companyos.viewer import EpisodeFacts, Trajectory, TrajectoryLine, episode_document
from companyos_gateway.viewer.notifier import MAX_VIEWERS
from tests.ui.conftest import OpenBrowser, in_process
from tests.ui.episode_client import CALM, begin, open_stream, solve, step
from tests.ui.http_browser import Browser

pytestmark = pytest.mark.asyncio(loop_scope="module")

TOKEN = "trainer-token-of-some-length"


def episode_path(episode_id: str, part: str = "") -> str:
    return f"/console/episodes/{episode_id}{part}"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def browser(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Browser]:
    """Provide a browser on a gateway that all these tests share."""
    async with in_process(tmp_path_factory.mktemp("services")) as opened:
        yield opened


@pytest_asyncio.fixture(loop_scope="module")
async def live(browser: Browser) -> tuple[Browser, str]:
    """Provide a browser and a new episode without chaos."""
    return browser, (await begin(browser.client))["episode_id"]


async def test_steps_are_streamed_in_order_and_the_end_closes_the_stream(
    live: tuple[Browser, str],
) -> None:
    browser, episode_id = live
    await step(browser.client, episode_id, "ticketdesk_list_tickets")
    async with open_stream(browser.app, episode_path(episode_id, "/events")) as viewer:
        assert (await viewer.next("step"))["tool"] == "ticketdesk_list_tickets"
        assert (await viewer.next("episode"))["facts"]["steps"] == 1
        seen = await step(browser.client, episode_id, "no_such_tool")
        expected_step = await viewer.next("step")
        assert (expected_step["number"], expected_step["kind"], expected_step["reward"]) == (
            2,
            "invalid_call",
            seen["reward"],
        )
        assert expected_step["milliseconds"] > 0
        assert "verdict" not in await viewer.next("episode")
        await step(browser.client, episode_id, "finish", outcome="impossible", summary="No.")
        end = await viewer.next("end")
        assert end["facts"]["outcome"] == "failed"
        assert end["finish"]["outcome"] == "impossible"
        assert {check["id"] for check in end["verdict"]["checks"] if not check["passed"]} == set(end["facts"]["failed"])
        await asyncio.wait_for(viewer.ended.wait(), 5)
    assert viewer.steps == [1, 2, 3]
    assert [number for _, number, _ in viewer.events] == ["1", "1", "2", "2", "3", "3"]


async def test_a_stream_resumes_after_the_larger_of_query_and_last_event_id(
    live: tuple[Browser, str],
) -> None:
    browser, episode_id = live
    for _ in range(4):
        await step(browser.client, episode_id, "ticketdesk_list_tickets")
    for query, headers, steps in (
        ("after=1", {}, [2, 3, 4]),
        ("after=1", {"last_event_id": "3"}, [4]),
        ("after=4", {"last_event_id": "2"}, []),
        ("after=2", {"last_event_id": "invalid"}, [3, 4]),
    ):
        async with open_stream(browser.app, episode_path(episode_id, "/events"), query, **headers) as viewer:
            await viewer.next("episode")
        assert viewer.steps == steps


async def test_after_a_restore_a_stream_makes_the_client_reload(live: tuple[Browser, str]) -> None:
    browser, episode_id = live
    await step(browser.client, episode_id, "ticketdesk_list_tickets")
    taken = (await browser.client.post(f"/v1/episodes/{episode_id}/snapshots", json={})).json()
    await step(browser.client, episode_id, "ticketdesk_list_tickets")
    async with open_stream(browser.app, episode_path(episode_id, "/events"), "after=2") as viewer:
        await viewer.next("episode")
        restored = await browser.client.post(f"/v1/episodes/{episode_id}/restore", json={"snapshot": taken["id"]})
        assert restored.status_code < 300, restored.text
        await viewer.next("again")
        await asyncio.wait_for(viewer.ended.wait(), 5)
    async with open_stream(browser.app, episode_path(episode_id, "/events"), "after=2") as viewer:
        await viewer.next("again")
    document = (await browser.client.get(episode_path(episode_id, "/document"))).json()
    assert [one["number"] for one in document["steps"]] == [1]


async def test_deleting_an_episode_ends_the_stream_and_keeps_the_page(live: tuple[Browser, str]) -> None:
    browser, episode_id = live
    await step(browser.client, episode_id, "ticketdesk_list_tickets")
    async with open_stream(browser.app, episode_path(episode_id, "/events")) as viewer:
        await viewer.next("episode")
        await browser.client.delete(f"/v1/episodes/{episode_id}")
        assert (await viewer.next("end"))["facts"]["outcome"] == "closed"
    document = (await browser.client.get(episode_path(episode_id, "/document"))).json()
    assert document["facts"]["outcome"] == "closed"
    assert [one["tool"] for one in document["steps"]] == ["ticketdesk_list_tickets"]
    assert (await browser.client.get(episode_path(episode_id))).status_code == 200
    async with open_stream(browser.app, episode_path(episode_id, "/events")) as viewer:
        await viewer.ended.wait()
    assert viewer.status == 404


async def test_viewers_change_nothing_and_do_not_block_calls(live: tuple[Browser, str]) -> None:
    browser, episode_id = live
    await step(browser.client, episode_id, "ticketdesk_list_tickets")
    before = (await browser.client.get("/v1/episodes/" + episode_id + "/evidence")).json()
    async with asyncio.TaskGroup() as streams:
        gone, task = asyncio.Event(), asyncio.Queue[None]()

        async def view_events() -> None:
            async with open_stream(browser.app, episode_path(episode_id, "/events")) as viewer:
                await viewer.next("episode")
                task.put_nowait(None)
                await gone.wait()

        for _ in range(MAX_VIEWERS):
            streams.create_task(view_events())
            await task.get()
        for path in ("", "/document", "/steps"):
            assert (await browser.client.get(episode_path(episode_id, path))).status_code == 200
        refused = await browser.client.get(episode_path(episode_id, "/events"))
        assert (refused.status_code, refused.json()["code"]) == (503, "too-many-viewers")
        assert (await browser.client.get("/v1/episodes/" + episode_id + "/evidence")).json() == before
        gone.set()
    assert (await step(browser.client, episode_id, "ticketdesk_list_tickets"))["done"] is False


async def test_the_live_document_matches_the_evidence(browser: Browser) -> None:
    begun = await begin(browser.client, scenario="vendor_onboarding", chaos=3)
    lines = await solve(browser.client, begun, "vendor_onboarding")
    stored = (await browser.client.get(f"/v1/episodes/{begun['episode_id']}/evidence")).json()
    document = (await browser.client.get(episode_path(begun["episode_id"], "/document"))).json()
    trajectory = Trajectory(tuple(TrajectoryLine.model_validate(line) for line in lines))
    facts = EpisodeFacts.model_validate(document["facts"])
    expected = episode_document(facts, trajectory, evidence=stored).model_dump(mode="json")
    same = ("number", "tool", "service", "arguments", "result", "error", "kind", "status", "problem", "fault", "now")
    for shown, expected_step in zip(document["steps"], expected["steps"], strict=True):
        assert {name: shown[name] for name in same} == {name: expected_step[name] for name in same}
        assert shown["changes"] == expected_step["changes"]
        assert sum(part["paid"] for part in shown["parts"]) == pytest.approx(shown["reward"])
    for name in ("brief", "company", "acting_as", "started_at", "max_steps", "finish"):
        assert document[name] == expected[name]
    assert document["verdict"] == stored["verdict"]
    assert document["injections"] == stored["injections"]
    turned = {one["id"]: one["passed"] for step_ in document["steps"] for one in step_["turned"]}
    passed = {check["id"]: check["passed"] for check in document["verdict"]["checks"]}
    assert turned.items() <= passed.items()
    assert turned


async def test_the_viewer_requires_the_trainer_token_and_streams_end_at_shutdown(
    open_browser: OpenBrowser,
) -> None:
    async with open_browser(trainer_token=TOKEN) as browser:
        trainer = {"Authorization": f"Bearer {TOKEN}"}
        begun = (await browser.client.post("/reset", json=CALM, headers=trainer)).json()
        agent = {"Authorization": f"Bearer {begun['token']}"}
        for part in ("", "/document", "/events", "/steps"):
            path = episode_path(begun["episode_id"], part)
            assert (await browser.client.get(path)).status_code == 403
            assert (await browser.client.get(path, headers=agent)).status_code == 403
        await browser.client.get("/console", params={"token": TOKEN})
        session = browser.client.cookies["companyos_trainer"]
        browser.client.cookies.clear()
        async with open_stream(
            browser.app, episode_path(begun["episode_id"], "/events"), cookie=f"companyos_trainer={session}"
        ) as viewer:
            assert (await viewer.next("episode"))["facts"]["name"] == begun["episode_id"]
        for path in (episode_path(begun["episode_id"]), "/console/static/viewer.js", "/console/static/viewer.css"):
            assert (await browser.client.get(path, headers=trainer)).status_code == 200
        async with open_stream(
            browser.app, episode_path(begun["episode_id"], "/events"), authorization=trainer["Authorization"]
        ) as viewer:
            await viewer.next("episode")
            await browser.drain()
            await asyncio.wait_for(viewer.ended.wait(), 5)
        assert viewer.kinds == ["episode"]


async def test_the_page_only_loads_files_of_the_viewer_and_has_a_table_without_scripts(
    live: tuple[Browser, str],
) -> None:
    browser, episode_id = live
    await step(browser.client, episode_id, "ticketdesk_list_tickets")
    page = await browser.client.get(episode_path(episode_id))
    assert "script-src 'self'" in page.headers["content-security-policy"]
    assert f'"events":"{episode_path(episode_id, "/events")}"' in page.text
    assert f'href="{episode_path(episode_id, "/steps")}"' in page.text
    assert (await browser.client.get("/console/static/server_page.py")).status_code == 404
    table = (await browser.client.get(episode_path(episode_id, "/steps"))).text
    assert 'id="step-1"' in table
    assert "Verdict so far" in table
    assert re.search(r'data-testid="sum">\d+ of \d+ checks hold so far<', table)
    assert "Pending</span>" in table
    assert "Failed</span>" not in table
