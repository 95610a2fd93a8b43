"""The apps of an episode: pages are not steps, each submitted form is a step."""

from __future__ import annotations

import asyncio
import re

import httpx

from companyos_gateway.engine.episode import MAX_QUEUED_CALLS, MAX_QUEUED_INSPECTIONS
from tests.ui.conftest import OpenBrowser
from tests.ui.http_browser import Browser

TOKEN = "trainer-token-of-some-length"


async def _ticket(browser: Browser, **options: object) -> str:
    body = await browser.reset(**{"scenario": "vendor_onboarding", "seed": 3, "chaos": 0, **options})
    found = re.search(r"[A-Z]{2,5}-\d+", body["observation"]["brief"])
    assert found is not None
    return found[0]


async def _state(browser: Browser) -> dict[str, object]:
    episode_id = browser.root.split("/")[3]
    state: dict[str, object] = (await browser.client.get("/state", params={"episode_id": episode_id})).json()
    return state


async def test_the_desk_shows_the_brief_and_links_to_every_app(browser: Browser) -> None:
    key = await _ticket(browser)
    assert key in browser.text_of("brief")
    assert 'data-testid="open-ticketdesk"' in browser.page.text
    assert (await browser.open("/ticketdesk/")).status_code == 200
    assert "TicketDesk" in browser.page.text


async def test_pages_are_not_steps_and_do_not_change_the_episode(browser: Browser) -> None:
    key = await _ticket(browser)
    before = await _state(browser)
    for page in ("/ticketdesk/", "/ticketdesk/board", f"/ticketdesk/tickets/{key}", "/ticketdesk/tickets/NO-1"):
        await browser.open(page)
    assert await _state(browser) == before


async def test_a_form_is_a_step_with_the_reward_of_the_tool_call(browser: Browser) -> None:
    key = await _ticket(browser)
    await browser.open(f"/ticketdesk/tickets/{key}")
    await browser.submit("add_comment", body="I take care of it.")
    clicked = await _state(browser)
    assert "I take care of it." in browser.page.text
    other = await browser.client.post("/reset", json={"scenario": "vendor_onboarding", "seed": 3, "chaos": 0})
    episode_id = other.json()["episode_id"]
    action = {"tool_name": "ticketdesk_add_comment", "arguments": {"key": key, "body": "I take care of it."}}
    await browser.client.post("/step", json={"episode_id": episode_id, "action": action})
    called = (await browser.client.get("/state", params={"episode_id": episode_id})).json()
    alike = ("step_count", "return", "now", "done")
    assert {name: clicked[name] for name in alike} == {name: called[name] for name in alike}


async def test_the_page_after_a_form_reports_success(browser: Browser) -> None:
    key = await _ticket(browser)
    await browser.open(f"/ticketdesk/tickets/{key}")
    assert 'data-testid="done"' not in browser.page.text
    await browser.submit("add_comment", body="I take care of it.")
    assert browser.text_of("done") == "Add comment: done."
    await browser.open(f"/ticketdesk/tickets/{key}?_done=<b>")
    assert 'data-testid="done"' not in browser.page.text
    await browser.open(f"/ticketdesk/tickets/{key}?_done=add_comment")
    await browser.submit("link_approval", approval_ref="nothing")
    assert browser.code() is not None
    assert 'data-testid="done"' not in browser.page.text


async def test_time_can_be_advanced_on_the_desk(browser: Browser) -> None:
    await _ticket(browser)
    began = browser.now()
    await browser.submit("wait-morning-form")
    assert browser.page.status_code == 200
    assert browser.now() != began
    await browser.submit("wait", minutes__int="no number")
    assert browser.code() == "invalid-args"
    assert "no number" in browser.page.text


async def test_every_page_shows_that_the_episode_is_finished(browser: Browser) -> None:
    await _ticket(browser)
    await browser.submit("finish", outcome="impossible", summary="I give up.")
    assert "Outcome: " in browser.text_of("notice")
    await browser.open("/ticketdesk/")
    assert "Outcome: " in browser.text_of("notice")
    refused = await browser.client.post(f"{browser.root}/-/wait", data={"minutes:int": "5"})
    assert refused.status_code == 409


async def test_without_authentication_the_desk_shows_a_score_with_every_check(browser: Browser) -> None:
    await _ticket(browser)
    assert 'data-testid="score"' not in browser.page.text
    await browser.submit("finish", outcome="impossible", summary="I give up.")
    assert "-5.1</strong> after 1 step;" in browser.page.text
    checks = browser.page.text.partition('data-testid="score-checks"')[2].partition("</table>")[0]
    assert checks.index("Declared") < checks.index("Ticket resolved") < checks.index("Nothing else changed")
    assert "finish: expected outcome: done; found outcome: impossible" in checks
    assert "because of" in checks
    assert browser.text_of("primary-failure") == "Declared"


async def test_the_desk_of_a_shift_links_to_the_queue_and_shows_the_number_of_solved_cases(browser: Browser) -> None:
    await browser.reset(scenario="shift-day", seed=0, chaos=0)
    [address] = re.findall(r'href="([^"]*)" data-testid="open-queue"', browser.page.text)
    queue = (await browser.client.get(address)).text
    due = re.findall(r"<td class=\"text-nowrap\"[^>]*>(?!<a)(.*?)</td>", queue)
    assert len(due) == len(re.findall('data-testid="row-', queue)) > 1
    assert all("17:00" in one for one in due)
    await browser.open("")
    await browser.submit("finish", outcome="impossible", summary="I give up.")
    assert browser.text_of("score-cases").startswith("0 of 3 cases solved, not ")


async def test_the_desk_of_a_single_task_has_no_queue(browser: Browser) -> None:
    await _ticket(browser)
    assert "open-queue" not in browser.page.text


async def test_the_desk_shows_no_score_to_an_agent(open_browser: OpenBrowser) -> None:
    async with open_browser(trainer_token=TOKEN) as browser:
        await _ticket(browser, trainer=TOKEN)
        await browser.submit("finish", outcome="impossible", summary="I give up.")
        assert browser.page.status_code == 200
        assert 'data-testid="score"' not in browser.page.text
        assert "only visible to the trainer" in browser.text_of("score-elsewhere")
        late = await browser.client.post(f"{browser.root}/-/wait", data={"minutes:int": "5"})
        assert late.status_code == 409
        assert "ended as" not in late.text
        assert "Outcome: " not in late.text


async def test_an_episode_token_only_opens_the_apps_of_its_episode(open_browser: OpenBrowser) -> None:
    async with open_browser(trainer_token=TOKEN) as browser:
        await _ticket(browser, trainer=TOKEN)
        own = browser.root
        assert browser.page.status_code == 200
        assert "token=" not in str(browser.page.url)
        assert "Reward" not in browser.page.text
        assert (await browser.open("/ticketdesk/board")).status_code == 200
        assert (await browser.open("/ticketdesk")).status_code == 200
        assert (await browser.open("/ticketdesk/?token=")).status_code == 200
        for asset in re.findall(r'(?:href|src)="(/static/[^"]+)"', browser.page.text):
            assert (await browser.client.get(asset)).status_code == 200
        assert (await browser.client.get("/static/home.css")).status_code == 401
        await browser.client.post(
            "/reset", json={"scenario": "vendor_onboarding"}, headers={"Authorization": f"Bearer {TOKEN}"}
        )
        browser.root = "/v1/episodes/another/apps"
        assert (await browser.open("")).status_code == 403
        browser.client.cookies.clear()
        browser.root = own
        refused = await browser.open("/ticketdesk/")
        assert refused.status_code == 403
        assert "text/html" in refused.headers["content-type"]
        assert (await browser.open("?token=gone")).status_code == 403


async def test_cross_site_and_malformed_forms_are_rejected(browser: Browser) -> None:
    key = await _ticket(browser)
    url, form = f"{browser.root}/ticketdesk/-/add_comment", {"key": key, "body": "x"}
    assert (await browser.client.post(url, data=form, headers={"Sec-Fetch-Site": "cross-site"})).status_code == 403
    for origin in ("https://evil.example", "null", "http://desk.evil.example"):
        assert (await browser.client.post(url, data=form, headers={"Origin": origin})).status_code == 403
    assert (await browser.client.post(url, data={"Body": "x"})).status_code == 400
    assert (await browser.client.post(url, data={**form, "_next": "//evil.example"})).status_code == 400
    assert (await browser.client.post(f"{browser.root}/-/reset", data={})).status_code == 404
    assert (await _state(browser))["step_count"] == 0


async def test_same_origin_forms_are_accepted_with_and_without_fetch_metadata(browser: Browser) -> None:
    await _ticket(browser)
    for headers in ({"Origin": "http://desk"}, {"Sec-Fetch-Site": "same-origin", "Origin": "http://desk"}, {}):
        taken = await browser.client.post(f"{browser.root}/-/wait", data={"minutes:int": "5"}, headers=headers)
        assert taken.status_code == 200


async def test_an_oversized_form_returns_an_error_page(browser: Browser) -> None:
    await _ticket(browser)
    for path in ("/-/finish", "/ticketdesk/-/add_comment"):
        refused = await browser.client.post(f"{browser.root}{path}", data={"summary": "x" * 70_000})
        assert refused.status_code == 413
        assert refused.text.startswith("<!doctype html>")
        assert "body-too-large" in refused.text
    assert (await _state(browser))["step_count"] == 0


async def test_page_requests_do_not_block_steps(browser: Browser) -> None:
    key = await _ticket(browser)
    pages = [browser.client.get(f"{browser.root}/ticketdesk/tickets/{key}") for _ in range(MAX_QUEUED_INSPECTIONS + 12)]
    action = {"tool_name": "ticketdesk_list_tickets", "arguments": {}}
    body = {"episode_id": browser.root.split("/")[3], "action": action}
    steps = [browser.client.post("/step", json=body) for _ in range(MAX_QUEUED_CALLS)]
    answers = await asyncio.gather(*pages, *steps)
    assert {answer.status_code for answer in answers[len(pages) :]} == {200}
    assert {answer.status_code for answer in answers[: len(pages)]} <= {200, 429}
    assert (await _state(browser))["step_count"] == MAX_QUEUED_CALLS


NO_PAGES = (
    *("nothing", "%2e%2e/control/drop", "..%2Fcontrol/drop", "tickets/%2e", "a%3Fb", "%00", "x%20y", "tickets/%C3%BC"),
    *("%ff", "%5C", "-/create_ticket", "tickets/a%23b", "a" * 5000, "%3Cb%3E" * 3000),
)


async def test_an_unknown_address_returns_an_error_page(browser: Browser) -> None:
    await _ticket(browser)
    before = await _state(browser)
    for path in NO_PAGES:
        for page in (f"/ticketdesk/{path}", f"/ticketdesk/board?team_id={path.lower()}"):
            raw = f"{browser.root}{page}".encode()
            shown = await browser.client.get(httpx.URL("http://desk").copy_with(raw_path=raw))
            assert shown.status_code in ((200, 404, 422) if "?" in page else (404,)), f"{page}: {shown.text}"
            assert shown.text.startswith("<!doctype html>")
    assert await _state(browser) == before


async def test_a_form_of_an_unknown_app_is_not_a_step(browser: Browser) -> None:
    await _ticket(browser)
    assert (await browser.client.post(f"{browser.root}/nothing/-/add_comment", data={"key": "x"})).status_code == 404
    assert (await _state(browser))["step_count"] == 0


async def test_a_rejected_form_shows_the_error_without_a_page_and_with_oversized_input(
    browser: Browser,
) -> None:
    await _ticket(browser)
    url = f"{browser.root}/ticketdesk/-/create_ticket"
    for form in ({"title": "x", "_page": "nothing"}, {"title": "\x01" * 15000, "_page": "new"}):
        refused = await browser.client.post(url, data=form)
        assert refused.status_code == 422
        assert "Invalid form" in refused.text
        assert refused.text.startswith("<!doctype html>")


async def test_redirects_never_contain_a_host(browser: Browser) -> None:
    await _ticket(browser)
    for path in (f"{browser.root}/?token=x", f"{browser.root}/", f"{browser.root}/datahub", "/console/?token=x"):
        answer = await browser.client.get(path, follow_redirects=False)
        assert answer.headers.get("location", "/").startswith("/")


async def test_pages_load_no_external_resources(browser: Browser) -> None:
    await _ticket(browser)
    for asset in re.findall(r'(?:href|src)="(/static/[^"]+)"', browser.page.text):
        assert (await browser.client.get(asset)).status_code == 200
    assert "default-src 'none'" in browser.page.headers["Content-Security-Policy"]


async def test_a_browser_gets_a_page_for_an_unknown_address_and_other_clients_a_problem(browser: Browser) -> None:
    page = await browser.client.get("/<nowhere>", headers={"Accept": "text/html"})
    assert page.status_code == 404
    assert "There is no page or operation at /&lt;nowhere&gt;." in page.text
    assert (await browser.client.get("/<nowhere>")).json()["code"] == "not-found"


async def test_a_rejected_form_marks_the_field(browser: Browser) -> None:
    key = await _ticket(browser)
    await browser.open(f"/ticketdesk/tickets/{key}")
    refused = await browser.submit("update_ticket", due_at__moment="soon")
    assert refused.text.count('aria-invalid="true"') == 1
    assert 'moment-error">Must be a time in UTC such as 6 Mar 2026, 17:00</div>' in refused.text


async def test_a_resent_edit_keeps_concurrent_changes_of_others(browser: Browser) -> None:
    key = await _ticket(browser)
    await browser.open(f"/ticketdesk/tickets/{key}")
    action = {"tool_name": "ticketdesk_update_ticket", "arguments": {"key": key, "title": "New title"}}
    await browser.client.post("/step", json={"episode_id": browser.root.split("/")[3], "action": action})
    await browser.submit("update_ticket", tags__list="urgent")
    assert browser.code() == "stale-version"
    shown = await browser.submit("update_ticket")
    assert shown.status_code == 200
    assert browser.text_of("heading") == "New title"
    assert browser.text_of("tags") == "urgent"


async def test_an_id_opens_its_page_in_the_app_that_has_it(browser: Browser) -> None:
    key = await _ticket(browser)
    assert f'<a href="{browser.root}/-/open?id={key}">{key}</a>' in browser.page.text
    listed = {
        "ticketdesk/tickets": "/ticketdesk/",
        "datahub/vendors": "/datahub/vendors",
        "datahub/records": "/datahub/records?kind=contract",
        "datahub/policies": "/datahub/policies",
        "datahub/people": "/datahub/people",
        "datahub/metrics": "/datahub/",
        "approvalflow/requests": "/approvalflow/requests",
    }
    for place, path in listed.items():
        text = (await browser.open(path)).text
        found = re.search(rf'href="{browser.root}/{place}/([A-Z]+-\d+)', text)
        assert found is not None, path
        opened = await browser.open(f"/-/open?id={found[1]}")
        assert (opened.status_code, opened.url.path) == (200, f"{browser.root}/{place}/{found[1]}")


async def test_an_id_that_no_app_has_gets_a_page_that_names_it(browser: Browser) -> None:
    await _ticket(browser)
    assert (await browser.open("/-/open")).url.path == browser.root
    for unknown in ("VEN-99999999", "../x", "%2e%2e", "<b>"):
        answer = await browser.client.get(f"{browser.root}/-/open", params={"id": unknown})
        assert (answer.status_code, "unknown-object" in answer.text) == (404, True), unknown
        assert "<b>&#34;" not in answer.text
        assert 'data-testid="go-to"' in answer.text
