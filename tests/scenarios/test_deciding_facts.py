"""A deciding fact counts through every tool and page that shows it, and its absence is detected; part of the proof."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from companyos_gateway.evaluation.knowledge import Knowledge
from tests.scenarios.engine import open_engine
from verification.proof.final_states.fact_mutations import Channel, Question
from verification.proof.players.oracles import MUTATION_LEVEL, REFUSED
from verification.proof.rows import ROWS, Job, Scope, Tally
from verification.proof.rows.verifier import CHANNELS, ENOUGH_CHANNELS, FORGOTTEN, SHOWN, TOO_LATE
from verification.proof.sizes import SMOKE

pytestmark = pytest.mark.matrix

SCENARIO = "vendor_bank_change"
BANK = Question("VEN-1", ("bank_iban",), (), before=4)
VALUE = Question("MET-1", (), (("value", 3.0),), before=4)


async def _tallies(folder: Path) -> dict[str, list[Tally]]:
    scope = Scope(scenarios=(SCENARIO,), size=SMOKE, first=0)
    job = Job(row="C", part=f"{CHANNELS} {REFUSED}", scope=scope, scenario=SCENARIO, level=MUTATION_LEVEL)
    async with open_engine(folder) as engine:
        found = await ROWS["C"].work(engine, job)
    return {promise: [one for one in found if one.promise == promise] for promise in {one.promise for one in found}}


async def test_deciding_facts_count_through_every_channel(tmp_path: Path) -> None:
    tallies = await _tallies(tmp_path)
    assert set(tallies) == {FORGOTTEN, TOO_LATE, SHOWN, ENOUGH_CHANNELS}
    assert not [fault for found in tallies.values() for tally in found for fault in tally.faults]
    channels = {tally.who for tally in tallies[SHOWN]}
    assert {"datahub_get_vendor(vendor_id)", "page datahub/vendors/*"} <= channels


async def test_a_rubric_that_requires_no_knowledge_is_detected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Knowledge, "has_seen", lambda *_arguments, **_options: True)
    tallies = await _tallies(tmp_path)
    assert all(tally.faults for promise in (FORGOTTEN, TOO_LATE) for tally in tallies[promise])


async def test_ignored_pages_are_detected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Knowledge, "add_view", lambda *_arguments: [])
    for tally in (await _tallies(tmp_path))[SHOWN]:
        assert bool(tally.faults) is tally.who.startswith("page ")


@pytest.mark.parametrize(
    ("question", "response", "is_read"),
    [
        (BANK, {"items": [{"id": "VEN-1", "bank_iban": "DE1"}]}, True),
        (BANK, {"items": [{"id": "VEN-2", "bank_iban": "DE1", "parent_id": "VEN-1"}]}, False),
        (BANK, {"vendor": "VEN-1", "payment": {"bank_iban": "DE1"}}, True),
        (BANK, {"id": "VEN-1", "name": "Acme"}, False),
        (VALUE, {"subject": "MET-1", "history": [{"value": 2.0}, {"value": 3.0}]}, True),
        (VALUE, {"subject": "MET-1", "value": 2.0}, False),
    ],
)
def test_a_response_shows_the_values_next_to_the_id(question: Question, response: Any, is_read: bool) -> None:
    assert question.is_read_in(response) is is_read


def test_a_channel_belongs_to_the_entity_of_the_call() -> None:
    channel = Channel("datahub_get_vendor(vendor_id)", "datahub", {"vendor_id": "VEN-1"}, {"bank_iban": "DE1"})
    assert BANK.is_answered_by(channel.objects)
