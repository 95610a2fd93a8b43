"""The lease of a service: one gateway at a time, increasing generations, calls that are accepted once."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import httpx
import pytest

from companyos_shared.framework import lease as leases
from companyos_shared.framework.errors import CallReplayedError, LeaseHeldError, StaleGenerationError
from companyos_shared.framework.lease import GENERATION_GAP, Lease
from companyos_shared.framework.testing import ServiceHarness
from companyos_shared.wire.context import CONTEXT_HEADER, Actor, CallContext

OURS, THEIRS = "owner-one", "owner-two"


def test_the_same_owner_gets_the_next_generation(tmp_path: Path) -> None:
    lease = Lease(tmp_path)
    assert [lease.grant(OURS, take_over=False).generation for _ in range(3)] == [1, 2, 3]
    assert Lease(tmp_path).generation == 3


def test_another_owner_is_rejected_until_it_takes_over(tmp_path: Path) -> None:
    lease = Lease(tmp_path)
    lease.grant(OURS, take_over=False)
    with pytest.raises(LeaseHeldError, match=OURS):
        lease.grant(THEIRS, take_over=False)
    assert lease.generation == 1
    assert lease.grant(THEIRS, take_over=True).generation == 2
    with pytest.raises(StaleGenerationError):
        lease.check(1)
    lease.check(2)


def test_a_released_or_expired_lease_can_be_taken_by_any_owner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lease = Lease(tmp_path)
    lease.grant(OURS, take_over=False)
    lease.release(OURS)
    assert lease.grant(THEIRS, take_over=False).generation == 2
    lease.release(OURS)
    with pytest.raises(LeaseHeldError):
        lease.grant(OURS, take_over=False)
    monkeypatch.setattr(leases, "LIFETIME_S", 1e-9)
    assert lease.grant(OURS, take_over=False).generation == 3


def test_a_process_sees_a_lease_that_another_one_granted(tmp_path: Path) -> None:
    old, new = Lease(tmp_path), Lease(tmp_path)
    old.grant(OURS, take_over=False)
    new.grant(OURS, take_over=False)
    with pytest.raises(StaleGenerationError):
        old.check(1)


def test_a_lost_lease_is_written_again_by_its_holder(tmp_path: Path) -> None:
    lease = Lease(tmp_path)
    lease.renew(OURS, 7)
    assert Lease(tmp_path).generation == 7


@pytest.mark.parametrize("content", [b"", b"{}x", b'{"generation": 1}', b"\0" * 100])
def test_a_damaged_lease_is_kept_and_its_generations_are_never_reused(tmp_path: Path, content: bytes) -> None:
    old = Lease(tmp_path).grant(OURS, take_over=False).generation
    (tmp_path / "lease.json").write_bytes(content)
    granted = Lease(tmp_path, lambda: old).grant(OURS, take_over=False)
    assert granted.generation > old + GENERATION_GAP - 1
    assert (tmp_path / "lease.json.damaged").read_bytes() == content


def test_a_lease_with_a_wrong_checksum_is_damaged(tmp_path: Path) -> None:
    Lease(tmp_path).grant(OURS, take_over=False)
    path = tmp_path / "lease.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"generation": 4}))
    assert Lease(tmp_path).generation == 0
    assert (tmp_path / "lease.json.damaged").exists()


def test_a_late_request_of_a_dead_gateway_is_rejected(tmp_path: Path) -> None:
    Lease(tmp_path).grant(OURS, take_over=False, request=_request("granted", 1_000.5))
    for signed_until in (1_000.0, 1_000.5):
        with pytest.raises(StaleGenerationError):
            Lease(tmp_path).grant(OURS, take_over=False, request=_request("late", signed_until))
    assert Lease(tmp_path).grant(OURS, take_over=False, request=_request("next", 1_001.0)).generation == 2


def test_a_clock_that_is_set_back_blocks_no_gateway_and_repeats_no_request(tmp_path: Path) -> None:
    old, new = _request("old", 1_000_000.0), _request("new", 1_000.0)
    assert [Lease(tmp_path).grant(OURS, take_over=False, request=call).generation for call in (old, new)] == [
        1,
        2,
    ]
    for request in (old, new):
        with pytest.raises(CallReplayedError):
            Lease(tmp_path).grant(OURS, take_over=False, request=request)


def _request(nonce: str, signed_until: float) -> CallContext:
    now = datetime(2030, 1, 1, tzinfo=UTC)
    signed = CallContext(episode="service", epoch=1, source="0" * 64, step=0, actor=Actor.TRAINER, now=now)
    return signed.model_copy(update={"nonce": nonce, "expires_at": signed_until})


async def test_a_call_of_an_older_generation_is_rejected_and_writes_nothing(library: ServiceHarness) -> None:
    await library.control("lease", {"owner": OURS})
    refused = await library.post("/books/B-1/lend")
    assert (refused.status_code, refused.json()["code"]) == (409, "stale-generation")
    for verb in (
        "settle",
        "drop",
        "snapshot",
        "renew",
        "inventory",
        "quarantine",
        "load",
        "forget",
        "quarantine/remove",
    ):
        refused = await library.control(verb, {})
        assert (refused.status_code, refused.json()["code"]) == (409, "stale-generation"), verb
    library.generation = 1
    assert (await library.post("/books/B-1/lend")).status_code == 200


async def test_generations_continue_after_the_lease_was_lost(library: ServiceHarness) -> None:
    for _ in range(5):
        await library.control("lease", {"owner": OURS})
    library.generation = 5
    assert (await library.post("/books/B-1/lend")).status_code == 200
    (lease,) = library.folder.glob("*/lease.json")
    lease.unlink()
    library.restart()
    granted = await library.control("lease", {"owner": OURS})
    assert granted.json()["generation"] == 6 + GENERATION_GAP


@pytest.mark.parametrize(
    ("verb", "body"),
    [
        ("drop", {"episodes": ["other"]}),
        ("forget", {"source": "0" * 64}),
        ("load", {"source": "0" * 64}),
        ("settle", {}),
    ],
)
async def test_a_control_call_is_accepted_once(library: ServiceHarness, verb: str, body: dict[str, object]) -> None:
    call = library.signed(library.client.build_request("POST", f"/control/{verb}", json=body))
    assert (await library.client.send(call)).status_code in (200, 404)
    again = await library.client.send(_copied(call))
    assert (again.status_code, again.json()["code"]) == (401, "call-replayed")


async def test_a_control_call_from_before_a_restart_is_rejected(library: ServiceHarness) -> None:
    call = library.signed(library.client.build_request("POST", "/control/drop", json={}))
    library.restart()
    late = await library.client.send(_copied(call))
    assert (late.status_code, late.json()["code"]) == (401, "call-expired")


async def test_a_control_call_without_nonce_or_expiry_is_rejected(library: ServiceHarness) -> None:
    call = library.signed(library.client.build_request("POST", "/control/drop", json={}))
    context = CallContext.model_validate_json(call.headers[CONTEXT_HEADER])
    for missing in ("nonce", "expires_at"):
        bare = library.client.build_request("POST", "/control/drop", json={})
        answer = await library.client.send(library.signed(bare, context.model_copy(update={missing: None})))
        assert (answer.status_code, answer.json()["code"]) == (401, "call-expired")


async def test_a_call_for_another_service_is_rejected(library: ServiceHarness) -> None:
    call = library.signed(library.client.build_request("POST", "/control/drop", json={}), audience="another")
    refused = await library.client.send(call)
    assert (refused.status_code, refused.json()["code"]) == (401, "not-signed")


def _copied(call: httpx.Request) -> httpx.Request:
    return httpx.Request(call.method, call.url, headers=call.headers, content=call.content)
