"""Every value on the page of a ticket, record or vendor can be typed into a form as the value of the API."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from html import unescape
from typing import Any
from urllib.parse import urlencode

import pytest

from companyos_datahub.main import SERVICE as DATAHUB
from companyos_gateway.scenarios.catalogue import builtin_names, catalogue
from companyos_shared.framework.testing import ServiceHarness
from companyos_shared.pages import parse_form
from companyos_ticketdesk.main import SERVICE as TICKETDESK
from tests.ui.http_browser import forms_of

OBJECTS = (
    (TICKETDESK, "tickets", "key", "update_ticket"),
    (DATAHUB, "records", "id", "update_record"),
    (DATAHUB, "vendors", "id", "update_vendor"),
)
"""Service, list in its seed document and path of its pages, name of the key, operation of the edit form."""

FACTS = {"due": "due_at:moment", "amount": "amount_cents:cents", "starts": "starts_on:date", "ends": "ends_on:date"}
"""Field of the form by the test id of the fact next to it."""

EVERY_NTH_ROW = 3
MIN_VALUES = 150


@pytest.mark.sample(1)
@pytest.mark.parametrize("scenario", sorted(builtin_names()))
async def test_shown_values_can_be_parsed_again(scenario: str) -> None:
    documents = catalogue()[scenario].plan(1, 2, {}).documents
    count = 0
    for service, name, key, operation in OBJECTS:
        document = documents[service.name]
        async with ServiceHarness(service, seed=service.seed.model_validate(document)) as harness:
            for row in document[name][::EVERY_NTH_ROW]:
                page = (await harness.get(f"/pages/{name}/{row[key]}")).text
                stated = (await harness.get(f"/{name}/{row[key]}")).json()
                for field, text in _shown(page, operation):
                    made = parse_form(urlencode({field: text}).encode()).arguments
                    assert _member(stated, made) == _leaf(made), (row[key], field, text)
                    count += 1
    assert count >= MIN_VALUES


def _shown(page: str, operation: str) -> Iterator[tuple[str, str]]:
    """Yield the fields of the edit form with their texts, then with the texts of the facts next to it."""
    form = next(one for one in forms_of(page) if one.action.endswith(f"/-/{operation}") and len(one.fields) > 4)
    for field, text in form.fields.items():
        if field not in form.hidden and not field.startswith("_") and text:
            yield field, text
    for fact, field in FACTS.items():
        for text in re.findall(rf'data-testid="{fact}">([^<]+)', page):
            if text.strip() not in ("-", "None"):
                yield field, unescape(text).strip()


def _leaf(value: Any) -> Any:
    return _leaf(next(iter(value.values()))) if isinstance(value, Mapping) else value


def _member(stated: Mapping[str, Any], made: Mapping[str, Any]) -> Any:
    """Return the member of an object at the place of the only argument."""
    (name, value), *_ = made.items()
    return _member(stated[name], value) if isinstance(value, Mapping) else stated[name]
