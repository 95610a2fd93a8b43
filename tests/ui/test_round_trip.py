"""Values typed as pages show them are those of the API, and the calls of the oracle typed so solve every task."""

from __future__ import annotations

import re
from collections import Counter
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
from tests.ui.episode_client import begin, solve
from tests.ui.http_browser import Browser, Form, as_shown, form_path, forms_of

READS = ("get", "list", "search", "query")
NO_PAGE = ("idempotency_key",)
"""Arguments that no form has."""


def _flat(arguments: Mapping[str, Any], form: Form, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the name of the field of each argument, and its value."""
    names = {name.partition(":")[0]: name for name in [*form.fields, *form.options]}
    for argument, value in arguments.items():
        if isinstance(value, dict) and f"{prefix}{argument}" not in names:
            yield from _flat(value, form, f"{prefix}{argument}.")
        elif argument not in NO_PAGE:
            assert f"{prefix}{argument}" in names, f"no field for {prefix}{argument} in {form.action}"
            yield names[f"{prefix}{argument}"], value


class Typist:
    """Types the arguments of calls into the forms of pages."""

    def __init__(self, browser: Browser) -> None:
        self.browser = browser
        self.typed: Counter[str] = Counter()

    async def type_in(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Return the arguments that the form of a call submits after typing; reads have no form."""
        if tool == "wait" or any(f"_{verb}_" in tool for verb in READS):
            return arguments
        path = "" if tool == "finish" else form_path(tool, arguments)
        form = self._find(await self.browser.open(path), tool.partition("_")[2] or tool, arguments)
        fields = dict(form.fields)
        for name, value in _flat(arguments, form):
            if name in form.options:
                choices = (
                    value if isinstance(value, list) else [as_shown(name, value) if value in (True, False) else value]
                )
                assert set(choices) <= form.options[name], (path, name, choices)
                fields[name] = ", ".join(choices)
            elif name not in form.hidden:
                fields[name] = as_shown(name, value)
            if name not in form.hidden:
                self.typed["choice" if name in form.options else name.partition(":")[2] or "text"] += 1
        made = parse_form(urlencode(fields).encode()).arguments
        if made.keys() <= form.hidden | {"if_match"}:  # the page shows that an earlier attempt was carried out
            assert fields == form.fields, (path, arguments)
            return arguments
        return {**{name: arguments[name] for name in NO_PAGE if name in arguments}, **made}

    def _find(self, page: Any, operation: str, arguments: Mapping[str, Any]) -> Form:
        assert page.status_code == 200, page.text
        expected = arguments.keys() - {*NO_PAGE}
        for form in forms_of(page.text):
            is_same = all(arguments.get(name, form.fields[name]) == form.fields[name] for name in form.hidden)
            names = {re.split("[.:]", name)[0] for name in [*form.fields, *form.options]}
            if form.action.endswith(f"/-/{operation}") and is_same and names >= expected:
                return form
        raise AssertionError(f"{page.url}: no form for {operation} with {sorted(arguments)}")


async def _play(browser: Browser, scenario: str, seed: int, chaos: int) -> Counter[str]:
    """Play an episode without out-of-date pages, because the oracle does not expect a stale version."""
    overrides = {"stale_read": 0.0} if chaos else {}
    begun = await begin(browser.client, scenario=scenario, seed=seed, chaos=chaos, chaos_overrides=overrides)
    browser.root = f"/v1/episodes/{begun['episode_id']}/apps"
    typist = Typist(browser)
    await solve(browser.client, begun, scenario, type_in=typist.type_in)
    state = (await browser.client.get("/state", params={"episode_id": begun["episode_id"]})).json()
    assert state["success"], (scenario, seed, chaos, state)
    return typist.typed


@pytest.mark.sample(1)
@pytest.mark.parametrize("scenario", ["vendor_onboarding", "license_renewal", "expense_report"])
async def test_values_typed_as_pages_show_them_solve_a_task(browser: Browser, scenario: str) -> None:
    typed = await _play(browser, scenario, seed=7, chaos=1)
    assert typed["choice"] > 0
    assert typed["text"] > 0
    assert typed["cents"] > 0


@pytest.mark.matrix
@pytest.mark.parametrize("scenario", sorted(builtin_names()))
async def test_values_typed_as_pages_show_them_solve_every_scenario(browser: Browser, scenario: str) -> None:
    await _play(browser, scenario, seed=1, chaos=3)


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
