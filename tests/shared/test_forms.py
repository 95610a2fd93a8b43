"""Forms: posted fields become the arguments of a tool, and a form redirects only within its own app."""

from __future__ import annotations

from contextlib import suppress
from typing import Any
from urllib.parse import urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from companyos_shared.pages import MalformedFormError, parse_form


def _form(*pairs: tuple[str, str]) -> bytes:
    return urlencode(pairs).encode()


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("title", " as typed ", {"title": " as typed "}),
        ("version:int", "7", {"version": 7}),
        ("version:int", "seven", {"version": "seven"}),
        ("days:number", "2.50", {"days": 2.5}),
        ("days:number", "nan", {"days": "nan"}),
        ("price:cents", "1,250.07", {"price": 125007}),
        ("price:cents", "0.001", {"price": 0.1}),
        ("urgent:flag", "on", {"urgent": True}),
        ("urgent:flag", "No", {"urgent": False}),
        ("urgent:flag", "maybe", {"urgent": "maybe"}),
        (
            "answers:pairs",
            "vendor = 24 Hour Fitness\nscore = 55 points",
            {"answers": {"vendor": "24 Hour Fitness", "score": 55}},
        ),
        ("tags:list", "a, b,,c ", {"tags": ["a", "b", "c"]}),
        ("fields.reason", "why", {"fields": {"reason": "why"}}),
        ("body", "one\r\ntwo", {"body": "one\ntwo"}),
        ("price:cents", "83,375.00 EUR", {"price": 8_337_500}),
        ("due_at:moment", "1 Jun 2027, 09:22", {"due_at": "2027-06-01T09:22:00Z"}),
        ("due_on:date", "Tue 1 Jun 2027", {"due_on": "2027-06-01"}),
        ("due_at", "  ", {}),
    ],
)
def test_a_field_is_parsed_as_an_argument(name: str, text: str, value: dict[str, Any]) -> None:
    assert parse_form(_form((name, text))).arguments == value


@pytest.mark.parametrize("kind", ["int", "number", "cents"])
@pytest.mark.parametrize("text", ["1e400", "1e300", "-1e9999999", "999999999999999999", "9" * 5000, "Infinity", "sNaN"])
def test_a_number_outside_of_json_is_kept_as_typed(kind: str, text: str) -> None:
    assert parse_form(_form((f"days:{kind}", text), ("a:pairs", f"b={text}"))).arguments == {
        "days": text,
        "a": {"b": text},
    }


def test_fields_with_a_leading_underscore_belong_to_the_page() -> None:
    form = parse_form(_form(("_page", "tickets/OPS-1"), ("_form", "move"), ("key", "OPS-1")))
    assert (form.page, form.next, form.form, form.arguments) == (
        "tickets/OPS-1",
        "tickets/OPS-1",
        "move",
        {"key": "OPS-1"},
    )
    assert form.typed == (("key", "OPS-1"),)


def test_the_next_path_uses_members_of_the_response() -> None:
    form = parse_form(_form(("_page", "new"), ("_next", "tickets/{key}")))
    assert form.next_path({"key": "OPS-9"}, "create_ticket") == "tickets/OPS-9?_done=create_ticket"
    assert form.next_path(None, "a&b") == "tickets/?_done=a%26b"
    assert form.next_path({"key": "../../console?token=x"}, "a").startswith("tickets/..%2F..%2Fconsole%3Ftoken%3Dx?")


@pytest.mark.parametrize("way", ["/etc", "//evil.example", "https://evil.example", "../up", "a\nb", "javascript:x"])
def test_a_form_can_only_redirect_within_its_app(way: str) -> None:
    with pytest.raises(MalformedFormError, match="must name a page"):
        parse_form(_form(("_page", way)))


@pytest.mark.parametrize("name", ["Title", "a-b", "a:nothing", "a.b.c.d", "", "a..b"])
def test_an_unknown_field_is_rejected(name: str) -> None:
    with pytest.raises(MalformedFormError):
        parse_form(_form((name, "x")))


def test_a_field_nested_in_another_field_is_rejected() -> None:
    with pytest.raises(MalformedFormError, match="not an object"):
        parse_form(_form(("a", "x"), ("a.b", "y")))


@given(st.binary(max_size=200))
def test_any_posted_body_is_parsed_or_rejected(body: bytes) -> None:
    with suppress(MalformedFormError):
        assert isinstance(parse_form(body).arguments, dict)


def test_an_unchanged_field_is_omitted_and_an_emptied_one_is_not() -> None:
    present = [("_was.title", "Old"), ("_was.tags:list", "a, b"), ("_was.note", "one\ntwo"), ("_was.type", "task")]
    sent = [("title", "Old"), ("tags:list", ""), ("note", "one\r\ntwo"), ("type", "bug")]
    form = parse_form(_form(*present, *sent))
    assert form.arguments == {"tags": [], "type": "bug"}
    assert form.typed == (("tags:list", ""), ("type", "bug"))


def test_line_breaks_lost_by_a_single_line_field_are_not_a_change() -> None:
    present = [("_was.title", "one\r\ntwo"), ("_was.notes", "one two")]
    form = parse_form(_form(*present, ("title", "onetwo"), ("notes", "one\r\n\r\ntwo")))
    assert form.arguments == {"notes": "one\n\ntwo"}


def test_a_list_with_another_type_is_rejected() -> None:
    with pytest.raises(MalformedFormError, match="as a list and as something else"):
        parse_form(_form(("keys", "a"), ("keys:list", "b")))


def test_checked_boxes_with_the_same_name_are_a_list() -> None:
    assert parse_form(_form(("keys:list", "a"), ("keys:list", "b"))).arguments == {"keys": ["a", "b"]}
