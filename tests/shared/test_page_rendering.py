"""Formatting of page values."""

from __future__ import annotations

from companyos_shared.pages.rendering import (
    field_label,
    form_argument,
    label,
    link_ids,
    status_colour,
)


def test_a_state_without_a_colour_is_grey() -> None:
    assert (status_colour("stale"), status_colour("of its own")) == ("yellow", "secondary")


def test_a_closed_ticket_is_green_and_a_closed_episode_is_not() -> None:
    assert (status_colour("closed"), status_colour("closed", "outcome")) == ("green", "yellow")


def test_an_identifier_is_shown_as_words() -> None:
    assert [label(name) for name in ("in_progress", "hr_lead", "cfo", "", None)] == [
        "In progress",
        "HR lead",
        "CFO",
        "-",
        "-",
    ]


def test_a_field_label_is_derived_from_its_name_and_type() -> None:
    assert field_label("annual_cost_cents") == "Annual cost"
    assert field_label("order_id") == "Order ID"
    calls = [
        ("cost_cents", "integer"),
        ("count", "integer"),
        ("share", "number"),
        ("is_on", "boolean"),
        ("day", "date"),
    ]
    assert [form_argument(name, kind) for name, kind in calls] == [
        "fields.cost_cents:cents",
        "fields.count:int",
        "fields.share:number",
        "fields.is_on:flag",
        "fields.day:date",
    ]
    assert form_argument("<b>", "text") is None


def test_each_id_in_a_text_is_a_link_and_the_text_is_escaped() -> None:
    text = "<b>VEN-104</b> & E-12, not ven-104, X-1 or VEN-104b"
    link = '<a href="/apps/-/open?id={0}">{0}</a>'
    assert link_ids("/apps", text) == (
        f"&lt;b&gt;{link.format('VEN-104')}&lt;/b&gt; &amp; {link.format('E-12')}, not ven-104, X-1 or VEN-104b"
    )
    assert link_ids(None, text) == "&lt;b&gt;VEN-104&lt;/b&gt; &amp; E-12, not ven-104, X-1 or VEN-104b"
