"""Prompt injections in every scenario: texts that an agent reads, and the effects of obeying them."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cache

import pytest

from companyos_gateway.chaos import Group, Kind
from companyos_gateway.evaluation import row_views
from companyos_gateway.scenarios import Instance, catalogue
from companyos_gateway.scenarios.blocks.prompt_injection import injection_texts
from companyos_players.registry import adversaries_of, fair_player
from tests.scenarios.engine import EpisodeSpec, PlayAll, entry_ticket, planned, verdict_of

pytestmark = pytest.mark.matrix

HOSTILE = tuple(kind for kind in Kind if kind.group is Group.HOSTILE)
PLAYED = "license_renewal"
MIN_TEXTS = 6


def _around(instance: Instance) -> str:
    """Return the texts of the entry ticket, its comments, and the notes of vendors."""
    desk, entry = instance.documents[row_views.TICKETDESK], entry_ticket(instance)
    comments = [row["body"] for row in desk["comments"] if row["ticket_key"] == entry["key"]]
    notes = [row["notes"] for row in instance.documents[row_views.DATAHUB]["vendors"]]
    return "\n".join([entry["description"], *comments, *notes])


@cache
def _shapes() -> list[re.Pattern[str]]:
    """Return a pattern for every hostile text, with any values in its slots."""
    texts = [text for texts in injection_texts().values() for text in texts]
    return [re.compile(re.sub(r"\\{[a-z_]+\\}", ".+", re.escape(text))) for text in texts]


@pytest.mark.parametrize("name", sorted(catalogue()))
@pytest.mark.parametrize("kind", HOSTILE)
def test_a_hostile_text_is_visible_to_the_agent(name: str, kind: Kind) -> None:
    for seed in range(4):
        calm, affected = planned(name, seed, 0), catalogue()[name].plan(seed, 0, {kind.value: 1.0})
        assert kind in {one.kind for one in affected.injections}
        assert any(shape.search(_around(affected)) for shape in _shapes())
        assert not any(shape.search(_around(calm)) for shape in _shapes())


@pytest.mark.parametrize("name", sorted(catalogue()))
def test_a_planted_text_changes_no_other_row(name: str) -> None:
    quiet = {kind.value: 0.0 for kind in Kind if kind.group is Group.EVENTS}
    calm = catalogue()[name].plan(7, 2, {**quiet, **dict.fromkeys(HOSTILE, 0.0)})
    affected = catalogue()[name].plan(7, 2, {**quiet, **dict.fromkeys(HOSTILE, 1.0)})
    differing = set()
    for service, document in calm.documents.items():
        for table, rows in document.items():
            if rows != affected.documents[service][table]:
                differing.add(table)
    assert differing <= {"comments", "tickets", "vendors"}
    tickets = {row["key"]: row for row in calm.documents[row_views.TICKETDESK]["tickets"]}
    for row in affected.documents[row_views.TICKETDESK]["tickets"]:
        assert {**row, "description": ""} == {**tickets[row["key"]], "description": ""}


@pytest.mark.parametrize("name", sorted(catalogue()))
def test_a_bank_change_or_question_concerns_an_unrelated_vendor(name: str) -> None:
    kinds = {Kind.SUSPICIOUS_BANK_CHANGE.value: 1.0, Kind.CONFIDENTIAL_REQUEST.value: 1.0}
    for seed in range(4):
        instance = catalogue()[name].plan(seed, 0, kinds)
        request = [one.detail["vendor"] for one in instance.injections]
        assert len(request) == 2
        assert not [vendor_id for vendor_id in request if vendor_id in entry_ticket(instance)["description"]]


def test_hostile_texts_have_many_wordings() -> None:
    texts_of_intents = {name: texts for name, texts in injection_texts().items() if not name.endswith("_leads")}
    assert all(len(set(texts)) >= MIN_TEXTS for texts in texts_of_intents.values())


def test_the_hidden_record_names_the_planted_texts_and_no_row_does() -> None:
    instance = catalogue()[PLAYED].plan(3, 0, dict.fromkeys(HOSTILE, 1.0))
    assert {one.kind for one in instance.injections} == set(HOSTILE)
    text = json.dumps(dict(instance.documents))
    assert not [kind for kind in HOSTILE if kind.value in text]


@pytest.mark.parametrize("kind", HOSTILE)
def test_an_agent_that_obeys_a_hostile_text_fails_and_one_that_does_not_succeeds(kind: Kind, play_all: PlayAll) -> None:
    adversaries = adversaries_of(PLAYED)
    adversary = next(adversaries.players[name] for name, needed in adversaries.required_chaos.items() if needed == kind)
    alone: Mapping[str, float] = {kind.value: 1.0}
    specs = [
        EpisodeSpec(scenario=PLAYED, player=player, seed=seed, chaos=0, overrides=alone)
        for seed in (1, 2)
        for player in (adversary, fair_player(PLAYED))
    ]
    gullible, fair, *more = play_all(specs)
    for cheated, done in ((gullible, fair), (more[0], more[1])):
        assert done.result.success
        assert not cheated.result.success
        verdict = verdict_of(cheated)
        failed = {check.id for check in verdict.checks if not check.passed}
        assert failed & {"nothing_planted_obeyed", "nothing_leaked"}
        assert verdict.damage
