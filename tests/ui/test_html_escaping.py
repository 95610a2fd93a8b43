"""Agent input, including tool names, is escaped on the desk and in the console."""

from __future__ import annotations

import re

from companyos_gateway.ui.console.scenario_routes import render_markdown
from tests.contract.crawler import Page
from tests.payloads import EXECUTED, PAYLOADS, STARTED
from tests.ui.http_browser import Browser

CALM = {"scenario": "vendor_onboarding", "seed": 3, "chaos": 0}


def read(browser: Browser) -> Page:
    return Page(browser.page.text)


async def test_text_of_an_agent_is_shown_as_text_on_the_desk_and_the_console(browser: Browser) -> None:
    body = await browser.reset(**CALM)
    desk, before = browser.root, {}
    ways = [desk, "/console", f"/console/episodes/{body['episode_id']}"]
    for root in ways:
        browser.root = root
        before[root] = (await browser.open("")).text
    for text in PAYLOADS.values():
        action = {"tool_name": text, "arguments": {text: text}}
        answer = await browser.client.post("/step", json={"episode_id": body["episode_id"], "action": action})
        assert answer.status_code == 200, text
    for root in ways:
        browser.root = root
        if (await browser.open("")).status_code == 404:
            continue
        now, then = read(browser), Page(before[root])
        known = {*then.parts, ("tr", ""), ("td", ""), ("td", "class"), ("code", "")}
        assert now.parts <= known, now.parts - known
        assert now.scripts == then.scripts
    browser.root = desk
    await browser.open("")
    shown = {" ".join(text.split()) for text in read(browser).read}
    sent = [text.replace("\0", "\ufffd") for text in PAYLOADS.values() if len(text) < 100]
    assert {" ".join(text.split()) for text in sent} <= shown


async def test_typed_text_is_shown_as_text_in_the_form(browser: Browser) -> None:
    await browser.reset(**CALM)
    for text in PAYLOADS.values():
        await browser.open("")
        await browser.submit("wait", minutes__int=text)
        assert browser.page.status_code == 422
        page = read(browser)
        assert not {tag for tag, _ in page.parts} & EXECUTED
        assert not {name for _, name in page.parts if name.startswith("on") or name in STARTED}
        typed = re.sub(r"\s+", " ", text.replace("\0", "\ufffd"))
        assert any(typed == re.sub(r"\s+", " ", one) for one in page.read), text


def test_markdown_is_rendered_as_text_except_for_strong_and_code() -> None:
    html = str(render_markdown("**Done** means `resolve` of [it](https://elsewhere); <script>alert(1)</script> & more"))
    assert html == (
        "<strong>Done</strong> means <code>resolve</code> of it; &lt;script&gt;alert(1)&lt;/script&gt; &amp; more"
    )
