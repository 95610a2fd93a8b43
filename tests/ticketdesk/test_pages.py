"""Pages of a standalone TicketDesk: they show the results of the tools, and each form is a tool call."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from companyos_ticketdesk.main import SERVICE
from tests.service_pages import PageBrowser, browse, rows_of

TICKET = "OPS-301"


@pytest.fixture
async def browser(tmp_path: Path) -> AsyncIterator[PageBrowser]:
    async with browse(SERVICE, tmp_path) as own:
        yield own


async def test_the_list_is_filtered_and_continues_at_its_cursor(browser: PageBrowser) -> None:
    first, second = await browser.rows_of_two_pages()
    critical = await browser.get("/pages/", params={"priority": "critical"})
    assert set(rows_of(critical.text)) < {*first, *second}


async def test_a_view_lists_the_same_rows_as_the_tool_and_is_marked(browser: PageBrowser) -> None:
    await browser.check_views("tickets", "key", ["all", "mine", "team", "unassigned", "untriaged", "open"])
    assert 'aria-current="page" data-testid="view' not in (await browser.get("/pages/?priority=low")).text


async def test_a_form_calls_the_tool_and_redirects_to_the_created_ticket(browser: PageBrowser) -> None:
    made = await browser.submit(
        "create_ticket", "new", _next="tickets/{key}", title="A gate", type="task", team_id="operations"
    )
    assert made.status_code == 200
    assert 'data-testid="done">Create ticket: done.' in made.text
    key = made.url.path.rpartition("/")[2]
    assert (await browser.get(f"/tickets/{key}")).json()["title"] == "A gate"


async def test_a_stale_page_cannot_write(browser: PageBrowser) -> None:
    version = (await browser.get(f"/tickets/{TICKET}")).json()["version"]
    form = {"key": TICKET, "if_match:int": str(version - 1), "priority": "low"}
    refused = await browser.submit("update_ticket", f"tickets/{TICKET}", **form)
    assert refused.status_code == 412
    assert 'data-code="stale-version"' in refused.text
    assert (await browser.get(f"/tickets/{TICKET}")).json()["priority"] == "critical"


async def test_edits_of_a_ticket_are_listed_newest_first_with_both_values(browser: PageBrowser) -> None:
    page = f"tickets/{TICKET}"
    before = (await browser.get(f"/tickets/{TICKET}")).json()
    assert 'data-testid="edits"' not in (await browser.get(f"/pages/{page}")).text
    for fields in (
        {"priority": "low"},
        {"due_at:moment": "5 Jun 2031, 17:00", "tags:list": "cold, <i>urgent"},
        {"tags:list": "cold"},
    ):
        version = (await browser.get(f"/tickets/{TICKET}")).json()["version"]
        await browser.submit("update_ticket", page, key=TICKET, **{"if_match:int": str(version)}, **fields)
    table = (await browser.get(f"/pages/{page}")).text.partition('data-testid="edits"')[2].partition("</table>")[0]
    rows = re.findall(r"<td>([^<]*)</td><td>([^<]*)</td><td>([^<]*)</td></tr>", table)
    assert [(field, after) for field, _, after in rows] == [
        ("Tags", "cold"),
        ("Due", "5 Jun 2031, 17:00"),
        ("Tags", "cold, &lt;i&gt;urgent"),
        ("Priority", "Low"),
    ]
    earlier = ["cold, &lt;i&gt;urgent", ", ".join(before["tags"]) or "-", "Critical"]
    assert [rows[number][1] for number in (0, 2, 3)] == earlier


async def test_a_cross_origin_form_is_rejected(browser: PageBrowser) -> None:
    form = {"key": TICKET, "body": "x"}
    for header in ({"Sec-Fetch-Site": "cross-site"}, {"Origin": "https://evil.example"}, {"Origin": "null"}):
        assert (await browser.post("/pages/-/add_comment", data=form, headers=header)).status_code == 403
    own = {"Origin": str(browser.base_url).rstrip("/")}
    assert (await browser.post("/pages/-/add_comment", data=form, headers=own)).status_code in (200, 303)


async def test_a_missing_ticket_has_an_error_page(browser: PageBrowser) -> None:
    await browser.check_errors(("tickets/OPS-1", 404, "ticket-not-found"))
    assert "no ticket has the key &#34;OPS-1&#34;" in (await browser.get("/pages/tickets/OPS-1")).text
