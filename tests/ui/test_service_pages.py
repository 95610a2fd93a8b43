"""Requests for service pages: the signed URL is the sent URL."""

from __future__ import annotations

import re
from urllib.parse import urlencode

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from yarl import URL

from companyos_gateway.ui.desk.service_pages import UnknownPageError, build_page_call
from companyos_shared.pages import FormResult, Shell, parse_form
from tests.ui.http_browser import Browser, forms_of

TICK = "_confirmed"
ASCII = "".join(map(chr, range(1, 127)))


@given(st.text(ASCII), st.text(ASCII))
def test_no_http_library_encodes_an_address_differently(path: str, query: str) -> None:
    try:
        target = build_page_call(path, query, Shell()).target
    except UnknownPageError:
        assert {".", ".."} & set(path.split("/"))
        return
    by_httpx = httpx.URL(f"http://service{target}")
    assert by_httpx.raw_path.decode() == target
    assert URL(str(by_httpx)).raw_path_qs == target


def test_a_token_is_removed_from_the_query() -> None:
    assert build_page_call("board", "token=x&team_id=it&token=y", Shell()).target == "/pages/board?team_id=it"
    assert build_page_call("board", "token=x", Shell()).target == "/pages/board"
    assert build_page_call("board", "_done=add_comment", Shell()).target == "/pages/board"


async def test_forms_of_irreversible_operations_require_a_confirmation_that_is_not_an_argument(
    browser: Browser,
) -> None:
    begun = await browser.reset(scenario="vendor_onboarding", seed=3, chaos=0)
    key = re.search(r"[A-Z]{2,5}-\d+", begun["observation"]["brief"])
    assert key is not None
    ticket = f"/ticketdesk/tickets/{key[0]}"
    await browser.open(ticket)
    if "move-open-form" in browser.page.text:
        await browser.submit("move-open-form")
    forms = {one.testid: one for one in forms_of(browser.page.text)}
    assert {name for name, form in forms.items() if TICK in form.options} == {"move-cancelled-form"}
    assert re.search(rf'<input type="checkbox" name="{TICK}" value="yes" required ', browser.page.text)
    await browser.submit("move-cancelled-form", reason_code="duplicate", reason_ref="POL-1")
    assert browser.text_of("status") == "Cancelled"
    assert TICK not in parse_form(urlencode(forms["move-cancelled-form"].fields).encode()).arguments


def test_form_values_are_omitted_if_they_exceed_the_message_limit() -> None:
    typed = Shell(form_result=FormResult(operation="create_ticket", typed=(("title", "\x01" * 20000),)))
    assert build_page_call("new", "", typed).is_within_limits
    assert (
        build_page_call("new", "", Shell(form_result=FormResult(operation="create_ticket"))).body
        == build_page_call("new", "", typed).body
    )


def test_an_address_beyond_the_length_limit_has_no_page() -> None:
    with pytest.raises(UnknownPageError):
        build_page_call("a" * 5000, "", Shell())
