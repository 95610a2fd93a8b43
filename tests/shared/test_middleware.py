"""The service middleware: transactions, exactly-once, faults, change sets, fences."""

from __future__ import annotations

import httpx
import pytest

from companyos_shared.framework.testing import ServiceHarness
from companyos_shared.wire.context import Actor, Fault, FaultKind


async def test_a_write_reports_its_change_set_its_audit_line_and_the_next_event(library: ServiceHarness) -> None:
    answer = await library.post("/books/B-1/lend")
    assert answer.status_code == 200
    (change,) = library.last_report.changes
    assert (change.table, change.key, change.actor, change.cause) == ("books", "B-1", Actor.AGENT, "test:1:1")
    assert change.before is not None
    assert change.after is not None
    assert (change.before["lent"], change.after["lent"], change.after["marks"]) == (False, True, ["old"])
    audit = library.last_report.audit
    assert audit is not None
    assert (audit.operation, audit.arguments, audit.status) == ("lend_book", {"book_id": "B-1"}, 200)
    assert library.last_report.next_due_at is not None


async def test_a_read_writes_nothing_and_is_audited(library: ServiceHarness) -> None:
    before = await library.evidence()
    assert (await library.get("/books/B-1")).json()["title"] == "Volume 01"
    audit = library.last_report.audit
    assert audit is not None
    assert audit.operation == "get_book"
    assert await library.evidence() == before


async def test_a_rejected_write_leaves_only_its_audit_line(library: ServiceHarness) -> None:
    await library.post("/books/B-1/lend")
    before = await library.digest()
    answer = await library.post("/books/B-1/lend")
    assert (answer.status_code, answer.json()["code"]) == (409, "book-lent")
    assert answer.headers["content-type"] == "application/problem+json"
    assert library.last_report.changes == []
    assert await library.digest() == before
    assert [(line.status, line.code) for line in (await library.evidence()).audit] == [(200, None), (409, "book-lent")]


async def test_a_call_with_an_injected_fault_is_audited_with_its_operation_and_arguments(
    library: ServiceHarness,
) -> None:
    for method in (library.get, library.post):
        path = "/books/B-1" if method == library.get else "/books/B-1/lend"
        assert (await method(path, fault=Fault(kind=FaultKind.UNAVAILABLE))).status_code == 503
        audit = library.last_report.audit
        assert audit is not None
        assert audit.operation == ("get_book" if method == library.get else "lend_book")
        assert (audit.arguments, audit.planned) == ({"book_id": "B-1"}, FaultKind.UNAVAILABLE)


async def test_an_internal_error_is_a_500_without_effect_and_the_session_continues(library: ServiceHarness) -> None:
    before = await library.digest()
    answer = await library.post("/books/B-1/burn")
    assert (answer.status_code, answer.json()["code"]) == (500, "internal-error")
    assert "burns" not in answer.text
    assert await library.digest() == before
    assert (await library.get("/books/B-1")).status_code == 200


async def test_settle_applies_due_events_at_their_time_with_the_clock_as_actor(library: ServiceHarness) -> None:
    await library.post("/books/B-1/lend")
    due_at = library.last_report.next_due_at
    report = await library.advance(minutes=24 * 60)
    (change,) = report.changes
    assert (change.actor, change.cause, change.at) == (Actor.CLOCK, "test:1:1", due_at)
    assert report.next_due_at is None
    assert (await library.get("/books/B-1")).json()["lent"] is False


async def test_the_same_op_with_another_body_is_rejected(library: ServiceHarness) -> None:
    await library.post("/books", json={"title": "New"})
    again = await library.post("/books", json={"title": "Other"}, step=1)
    assert (again.status_code, again.json()["code"]) == (422, "operation-conflict")


async def test_the_same_op_with_another_idempotency_key_is_rejected(library: ServiceHarness) -> None:
    await library.post("/books", json={"title": "New"}, headers={"Idempotency-Key": "a"})
    again = await library.post("/books", json={"title": "New"}, headers={"Idempotency-Key": "b"}, step=1)
    assert (again.status_code, again.json()["code"]) == (422, "operation-conflict")


@pytest.mark.parametrize("key", ["", " ", "é", "x" * 65])
async def test_an_idempotency_key_must_be_plain_text(library: ServiceHarness, key: str) -> None:
    answer = await library.post("/books", json={"title": "New"}, headers={"Idempotency-Key": key.encode()})
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid-arguments")


async def test_a_repeated_op_gets_the_stored_response_after_a_restart(library: ServiceHarness) -> None:
    first = await library.post("/books", json={"title": "New"})
    library.restart()
    again = await library.post("/books", json={"title": "New"}, step=1)
    assert again.json() == first.json()
    assert (await library.get("/books")).json()["total"] == 24


@pytest.mark.parametrize("kind", sorted(set(FaultKind) - {FaultKind.TIMEOUT_AFTER_COMMIT, FaultKind.STALE_READ}))
async def test_a_fault_before_the_operation_has_no_effect(library: ServiceHarness, kind: FaultKind) -> None:
    before = await library.digest()
    answer = await library.post("/books", json={"title": "New"}, fault=Fault(kind=kind, retry_after_s=7))
    assert answer.status_code in {403, 429, 503, 504}
    assert answer.headers["retry-after"] == "7"
    assert library.last_report.planned is kind
    assert await library.digest() == before


async def test_a_timeout_after_the_commit_looks_like_one_before_it_but_the_write_is_applied(
    library: ServiceHarness,
) -> None:
    lost = await library.post(
        "/books",
        json={"title": "New"},
        headers={"Idempotency-Key": "k"},
        fault=Fault(kind=FaultKind.TIMEOUT_AFTER_COMMIT),
    )
    refused = await library.post("/books", json={"title": "X"}, fault=Fault(kind=FaultKind.TIMEOUT_BEFORE_COMMIT))
    assert (lost.status_code, lost.json()) == (refused.status_code, refused.json())
    assert (await library.get("/books")).json()["total"] == 24
    again = await library.post("/books", json={"title": "New"}, headers={"Idempotency-Key": "k"})
    assert again.json()["id"] == "B-24"
    assert (await library.get("/books")).json()["total"] == 24


def _stale(step: int) -> Fault:
    return Fault(kind=FaultKind.STALE_READ, hides_from_step=step)


async def test_a_stale_read_returns_the_state_before_a_step_and_changes_nothing(library: ServiceHarness) -> None:
    await library.post("/books/B-1/lend")
    step, digest = library.step, await library.digest()
    stale = await library.get("/books/B-1", fault=_stale(step))
    assert (stale.status_code, stale.json()["lent"], stale.json()["version"]) == (200, False, 1)
    assert library.last_report.planned is FaultKind.STALE_READ
    assert (library.last_report.changes, await library.digest()) == ([], digest)
    assert (await library.get("/books/B-1")).json()["lent"] is True


async def test_a_stale_read_does_not_see_rows_created_in_the_step(library: ServiceHarness) -> None:
    made = (await library.post("/books", json={"title": "New"})).json()["id"]
    step = library.step
    assert (await library.get(f"/books/{made}", fault=_stale(step))).status_code == 404
    assert (await library.get("/books", fault=_stale(step))).json()["total"] == 23
    assert (await library.get(f"/books/{made}")).status_code == 200


async def test_a_stale_read_hides_a_step_and_all_later_ones(library: ServiceHarness) -> None:
    await library.post("/books/B-1/lend")
    first = library.step
    await library.post("/books/B-2/lend")
    second = library.step
    await library.post("/books", json={"title": "New"})
    for step, lent in ((first, [False, False]), (second, [True, False])):
        shown = [(await library.get(f"/books/B-{n}", fault=_stale(step))).json()["lent"] for n in (1, 2)]
        assert shown == lent
        assert (await library.get("/books", fault=_stale(step))).json()["total"] == 23


async def test_a_stale_read_before_any_write_is_an_ordinary_read(library: ServiceHarness) -> None:
    assert (await library.get("/books/B-1", fault=_stale(1))).json()["lent"] is False


async def test_a_reused_idempotency_key_repeats_the_response_and_rejects_another_body(library: ServiceHarness) -> None:
    key = {"Idempotency-Key": "once"}
    first = await library.post("/books", json={"title": "New"}, headers=key)
    again = await library.post("/books", json={"title": "New"}, headers=key)
    assert (again.status_code, again.json()) == (201, first.json())
    other = await library.post("/books", json={"title": "Other"}, headers=key)
    assert (other.status_code, other.json()["code"]) == (422, "idempotency-key-reused")


async def test_if_match_accepts_a_bare_or_quoted_version_and_rejects_a_stale_one(library: ServiceHarness) -> None:
    assert (await library.post("/books/B-1/lend", headers={"If-Match": '"1"'})).status_code == 200
    stale = await library.post("/books/B-1/lend", headers={"If-Match": "1"})
    assert (stale.status_code, stale.json()["code"]) == (412, "stale-version")


async def test_a_paginated_list_misses_and_repeats_nothing(library: ServiceHarness) -> None:
    seen: list[str] = []
    cursor: str | None = None
    while True:
        params = {"limit": "7"} | ({"cursor": cursor} if cursor else {})
        page = (await library.get("/books", params=params)).json()
        seen += [book["id"] for book in page["items"]]
        cursor = page["next_cursor"]
        if cursor is None:
            break
    assert seen == [f"B-{number}" for number in range(1, 24)]


@pytest.mark.parametrize(
    "cursor",
    [
        "x",
        "e30",
        "W10",
        "WzEsMiwzXQ",
        "bnVsbA",
        "WyJcdWQ4MDAiXQ",
        "W05hTl0",
        "W251bGxd",
        "WzEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MF0",
    ],
)
async def test_an_unknown_cursor_is_rejected(library: ServiceHarness, cursor: str) -> None:
    answer = await library.get("/books", params={"cursor": cursor})
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid-cursor")


@pytest.mark.parametrize("body", [{}, {"title": ""}, {"title": 7}, {"title": "x", "more": 1}])
async def test_an_invalid_body_is_a_problem_that_names_the_location(
    library: ServiceHarness, body: dict[str, object]
) -> None:
    answer = await library.post("/books", json=body)
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid-arguments")
    assert answer.json()["errors"]


DECIDING = {"If-Match": "1", "Idempotency-Key": "once"}


@pytest.mark.parametrize(
    "altered",
    [
        [("If-Match", "2"), ("Idempotency-Key", "once")],
        [("If-Match", "1"), ("Idempotency-Key", "twice")],
        [("If-Match", "once"), ("Idempotency-Key", "1")],
        [("If-Match", "1")],
        [("Idempotency-Key", "once")],
        [("If-Match", "1"), ("Idempotency-Key", "once"), ("if-match", "2")],
        [],
    ],
)
async def test_a_call_with_altered_signed_headers_is_rejected(
    library: ServiceHarness, altered: list[tuple[str, str]]
) -> None:
    before = await library.evidence()
    request = library.signed(library.client.build_request("POST", "/books", json={"title": "New"}, headers=DECIDING))
    sent = [(n, v) for n, v in request.headers.multi_items() if n not in ("if-match", "idempotency-key")]
    forged = httpx.Request("POST", request.url, headers=[*sent, *altered], content=request.content)
    answer = await library.client.send(forged)
    assert (answer.status_code, answer.json()["code"]) == (401, "not-signed")
    assert await library.evidence() == before
    assert (await library.client.send(request)).status_code == 201


async def test_unsigned_headers_may_be_added_in_transit(library: ServiceHarness) -> None:
    request = library.signed(library.client.build_request("GET", "/books/B-1"))
    request.headers["traceparent"] = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    assert (await library.client.send(request)).status_code == 200


async def test_the_control_plane_is_not_in_the_public_manifest(library: ServiceHarness) -> None:
    client = httpx.AsyncClient(transport=httpx.ASGITransport(library.app), base_url="http://service")
    manifest = (await client.get("/openapi.json")).json()
    assert set(manifest["paths"]) == {"/books", "/books/{book_id}", "/books/{book_id}/lend", "/books/{book_id}/burn"}
    assert "ValidationError" not in manifest["components"]["schemas"]
