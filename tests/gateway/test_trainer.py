"""Trainer routes: the scenarios and the evidence of an episode."""

from __future__ import annotations

from pathlib import Path

import pytest

from companyos_gateway.evaluation import Evidence
from companyos_gateway.evaluation.guessing import MAX_GUESSES
from companyos_gateway.evaluation.injection_checks import WINDOW
from tests.gateway.conftest import NotesGateway, OpenGateway


async def test_the_scenarios_are_listed_with_what_they_are_about(gateway: NotesGateway) -> None:
    listed = (await gateway.http.get("/v1/scenarios")).json()
    assert [scenario["name"] for scenario in listed] == ["note_keeping"]
    assert listed[0]["summary"].startswith("Both notes have to be done")
    assert listed[0]["limits"] == {"wrong_approvers": MAX_GUESSES, "leaked_characters": WINDOW}


async def test_the_evidence_of_an_episode_is_what_it_was_judged_by(gateway: NotesGateway) -> None:
    episode = (await gateway.reset(seed=3))["episode_id"]
    await gateway.step(episode, "finish", outcome="impossible", summary="No.")
    stored = (await gateway.http.get(f"/v1/episodes/{episode}/evidence")).json()
    kept = gateway.runtime.engine().store.get(episode)
    assert stored["state"] == kept.state().model_dump(mode="json", exclude={"token"})
    assert (stored["state"]["seed"], stored["state"]["outcome"]) == (3, "failed")
    assert stored["finish"]["outcome"] == "impossible"
    instance = kept.task.instance
    assert (stored["brief"], stored["company"], stored["acting_as"]) == (
        instance.brief,
        instance.company_name,
        instance.acting_as,
    )
    assert stored["started_at"] == instance.started_at.isoformat()
    assert stored["task"] == {
        "scenario": "note_keeping",
        "seed": 3,
        "chaos": 1,
        "overrides": {},
        "sources": dict(kept.task.instance.source_ids),
    }
    assert stored["injections"] == []
    assert not stored["verdict"]["success"]
    assert stored["verdict"]["primary_failure"] == "declared"
    declared = next(check for check in stored["verdict"]["checks"] if check["id"] == "declared")
    expected = {"entity": "finish", "expected": "outcome: done", "found": "another outcome", "caused_by": []}
    assert declared == {"id": "declared", "passed": False, **expected}
    again = Evidence.from_json(stored)
    assert again.fold_digest("notes") == kept.evidence.fold_digest("notes")
    assert again.as_json() == kept.evidence.as_json()


async def test_an_unknown_episode_has_no_evidence(gateway: NotesGateway) -> None:
    answer = await gateway.http.get("/v1/episodes/nobody/evidence")
    assert (answer.status_code, answer.json()["code"]) == (404, "unknown-episode")


@pytest.mark.parametrize(("keep", "left"), [(False, 0), (True, 1)])
async def test_the_database_of_an_episode_is_left_only_where_that_is_asked_for(
    open_gateway: OpenGateway, tmp_path: Path, keep: bool, left: int
) -> None:
    async with open_gateway(keep_episodes=keep) as gateway:
        episode = (await gateway.reset(seed=3))["episode_id"]
        await gateway.step(episode, "notes_write_note", text="one")
        folder = (await gateway.http.get(f"/v1/episodes/{episode}/evidence")).json()["folder"]
        assert len(list(tmp_path.glob(f"*/episodes/{folder}/1-*.db"))) == 1
    assert len(list(tmp_path.glob(f"*/episodes/{folder}/1-*.db"))) == left
