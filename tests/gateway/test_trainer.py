"""Trainer routes: the scenarios and the evidence of an episode."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter

from companyos.signed_evidence import BrokenEvidenceError, canonical_json, verify_evidence
from companyos_gateway.engine.episode import FREE_PAGE_VIEWS
from companyos_gateway.evaluation import Evidence
from companyos_gateway.evaluation.guessing import MAX_GUESSES
from companyos_gateway.evaluation.injection_checks import WINDOW
from tests.gateway.conftest import NotesGateway, OpenGateway, problem


async def test_the_scenarios_are_listed_with_descriptions(gateway: NotesGateway) -> None:
    listed = (await gateway.http.get("/v1/scenarios")).json()
    assert [scenario["name"] for scenario in listed] == ["note_keeping"]
    assert listed[0]["summary"].startswith("Both notes have to be done")
    assert listed[0]["limits"] == {
        "wrong_approvers": MAX_GUESSES,
        "leaked_characters": WINDOW,
        "free_page_views": FREE_PAGE_VIEWS,
    }


async def test_the_evidence_of_an_episode_contains_its_task_and_its_end(gateway: NotesGateway) -> None:
    episode = await gateway.begin(seed=3)
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


async def test_evidence_is_signed_with_the_published_key_as_clients_store_it(gateway: NotesGateway) -> None:
    key = (await gateway.http.get("/v1/evidence-key")).json()
    episode = await gateway.begin(seed=3)
    await gateway.step(episode, "finish", outcome="impossible", summary='Impossible: "café", 1e3.')
    response = await gateway.http.get(f"/v1/episodes/{episode}/evidence")
    stored = TypeAdapter(dict[str, Any]).validate_json(response.content)
    assert canonical_json(stored) == response.content
    assert key == {"algorithm": "ed25519", "public_key": verify_evidence(stored)}
    stored["finish"]["outcome"] = "completed"
    with pytest.raises(BrokenEvidenceError, match=r"^finish does not match the signed chain$"):
        verify_evidence(stored, [key["public_key"]])


async def test_evidence_from_before_a_restart_verifies_with_the_key_after_it(
    open_gateway: OpenGateway, open_kept: OpenGateway, tmp_path: Path
) -> None:
    async with open_kept() as gateway:
        episode = await gateway.begin(seed=3)
        stored = (await gateway.http.get(f"/v1/episodes/{episode}/evidence")).json()
    async with open_kept() as gateway:
        key = (await gateway.http.get("/v1/evidence-key")).json()["public_key"]
        assert verify_evidence(stored, [key]) == key
    async with open_gateway(data_dir=tmp_path / "other") as gateway:
        other = (await gateway.http.get("/v1/evidence-key")).json()["public_key"]
    with pytest.raises(BrokenEvidenceError, match="public_key"):
        verify_evidence(stored, [other])


async def test_an_unknown_episode_has_no_evidence(gateway: NotesGateway) -> None:
    assert problem(await gateway.http.get("/v1/episodes/nobody/evidence")) == (404, "unknown-episode")


@pytest.mark.parametrize(("keep", "left"), [(False, 0), (True, 1)])
async def test_the_database_of_an_episode_is_kept_only_if_configured(
    open_gateway: OpenGateway, tmp_path: Path, keep: bool, left: int
) -> None:
    async with open_gateway(keep_episodes=keep) as gateway:
        episode = await gateway.begin("one", seed=3)
        folder = (await gateway.http.get(f"/v1/episodes/{episode}/evidence")).json()["folder"]
        assert len(list(tmp_path.glob(f"*/episodes/{folder}/1-*.db"))) == 1
    assert len(list(tmp_path.glob(f"*/episodes/{folder}/1-*.db"))) == left
