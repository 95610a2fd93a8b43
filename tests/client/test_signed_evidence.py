"""Signed evidence: any modification of a stored document is found, and the first mismatch is named."""

from __future__ import annotations

import copy
import gzip
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from companyos.rescorers import InvalidEvidenceError
from companyos.runner.run_reader import UnreadableRunError, read_evidence
from companyos.signed_evidence import (
    BrokenEvidenceError,
    EvidenceSigner,
    UnsignedEvidenceError,
    canonical_json,
    check_canonical,
    verify_evidence,
)
from tests.client.builders import a_record

SIGNER = EvidenceSigner(bytes(range(32)))
OTHER = EvidenceSigner(bytes(32))
DOCUMENT = {
    "task": {"scenario": "tiny", "seed": 3},
    "verdict": {"success": True, "potential": 9.0},
    "brief": "Close T-1: café.",
    "finish": None,
    "initial": {"desk": {"tickets": {"T-1": {"open": True}, "T-2": {"open": False}}, "links": {}}},
    "changes": {"desk": [{"seq": 1, "after": {"n": 1}}, {"seq": 2, "after": None}], "hub": []},
    "audits": {"desk": [{"step": 1}, {"step": 2}, {"step": 3}]},
    "views": [{"step": 1, "shown": {"key": "T-1"}}],
    "declared_at": "2026-03-02T09:00:00Z",
}
SIGNED = SIGNER.sign(DOCUMENT)
FILE = canonical_json(SIGNED) + b"\n"
BITS = range(8)
STRIDE = 12
"""Bytes from one edited place to the next; each test edits the places from one start on."""

Edit = Callable[[dict[str, Any]], object]


def verify_file(raw: bytes) -> None:
    """Verify the bytes of a document as `read_evidence` and `rescore` do, with the key pinned."""
    document = json.loads(raw)
    if not isinstance(document, dict):
        raise UnsignedEvidenceError("is not an object")
    check_canonical(raw, document)
    verify_evidence(document, [SIGNER.public_key])


def is_found(raw: bytes) -> bool:
    try:
        verify_file(raw)
    except (InvalidEvidenceError, ValueError, RecursionError):
        return True
    return False


def single_byte_edits(raw: bytes, start: int) -> Iterator[bytes]:
    """Yield every bit flip, every deletion, and insertions and replacements that JSON parsing could ignore."""
    for at in range(start, len(raw), STRIDE):
        byte = raw[at]
        yield from (raw[:at] + bytes([byte ^ 1 << bit]) + raw[at + 1 :] for bit in BITS)
        yield raw[:at] + raw[at + 1 :]
        for inserted in b' \t\n0"\\,}]-':
            yield raw[:at] + bytes([inserted]) + raw[at:]
            if inserted != byte:
                yield raw[:at] + bytes([inserted]) + raw[at + 1 :]


def test_signed_evidence_is_verified_with_its_public_key() -> None:
    verify_file(FILE)
    assert verify_evidence(json.loads(FILE)) == SIGNER.public_key
    assert verify_evidence(SIGNED, [OTHER.public_key, SIGNER.public_key]) == SIGNER.public_key


@pytest.mark.sample(2)
@pytest.mark.parametrize("start", range(STRIDE))
def test_every_edit_of_one_byte_is_detected(start: int) -> None:
    missed = [edited for edited in single_byte_edits(FILE, start) if not is_found(edited)]
    assert missed == []


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_deleted_copied_and_moved_spans_are_detected(data: st.DataObject) -> None:
    start, end, target = sorted(data.draw(st.tuples(*[st.integers(0, len(FILE))] * 3)))
    edited = data.draw(
        st.sampled_from(
            [
                FILE[:start] + FILE[end:],
                FILE[:end] + FILE[start:],
                FILE[:start] + FILE[end:target] + FILE[start:end] + FILE[target:],
            ]
        )
    )
    assert edited == FILE or is_found(edited)


EDITS: list[tuple[Edit, str]] = [
    (lambda stored: stored["task"].update(seed=4), "task"),
    (lambda stored: stored["verdict"].update(success=False), "verdict"),
    (lambda stored: stored.update(finish={"outcome": "done"}), "finish"),
    (lambda stored: stored["initial"]["desk"]["tickets"]["T-2"].update(open=True), "initial.desk.tickets.T-2"),
    (lambda stored: stored["initial"]["desk"]["tickets"].pop("T-1"), "initial.desk.tickets.T-2"),
    (lambda stored: stored["initial"]["desk"]["tickets"].pop("T-2"), "initial.desk.tickets"),
    (lambda stored: stored["initial"]["desk"].pop("links"), "initial.desk"),
    (lambda stored: stored["changes"]["desk"][1].update(after={}), "changes.desk[1]"),
    (lambda stored: stored["changes"]["desk"].pop(), "changes.desk[1]"),
    (lambda stored: stored["changes"].pop("hub"), "changes"),
    (lambda stored: stored["changes"]["hub"].append({"seq": 1}), "changes.hub[0]"),
    (lambda stored: stored["audits"]["desk"].reverse(), "audits.desk[0]"),
    (lambda stored: stored["audits"]["desk"].pop(1), "audits.desk[1]"),
    (lambda stored: stored["audits"]["desk"].insert(2, {"step": 2}), "audits.desk[2]"),
    (lambda stored: stored["views"].clear(), "views[0]"),
    (lambda stored: stored["views"][0]["shown"].update(key="T-2"), "views[0]"),
    (lambda stored: stored.update(declared_at=None), "declared_at"),
    (lambda stored: stored["task"].update(scenario=stored["task"].pop("scenario")), "task"),
]


@pytest.mark.parametrize(("edit", "part"), EDITS)
def test_the_first_part_that_does_not_match_is_named(edit: Edit, part: str) -> None:
    stored = copy.deepcopy(SIGNED)
    edit(stored)
    with pytest.raises(BrokenEvidenceError) as caught:
        verify_evidence(stored)
    assert str(caught.value) == f"{part} does not match the signed chain"


def test_forging_modified_evidence_requires_the_private_key() -> None:
    forged = OTHER.sign({**DOCUMENT, "brief": "Do nothing."})
    assert verify_evidence(forged) == OTHER.public_key
    with pytest.raises(BrokenEvidenceError, match=f"signed with {OTHER.public_key}; accepted is {SIGNER.public_key}"):
        verify_evidence(forged, [SIGNER.public_key])
    for kept in (["public_key"], ["public_key", "value"]):
        mixed = {**forged, "signature": {**forged["signature"], **{name: SIGNED["signature"][name] for name in kept}}}
        with pytest.raises(BrokenEvidenceError, match=r"signature\.value is not a signature of the chain"):
            verify_evidence(mixed, [SIGNER.public_key])


def test_a_damaged_signature_is_named() -> None:
    def broken(**changed: Any) -> str:
        with pytest.raises(BrokenEvidenceError) as caught:
            verify_evidence({**SIGNED, "signature": {**SIGNED["signature"], **changed}})
        return str(caught.value)

    locators = SIGNED["signature"]["locators"]
    assert broken(locators=[*locators[:2], "00000000", *locators[3:]]).startswith("signature.locators[2]")
    assert broken(locators=[*locators, "00000000"]).startswith(f"signature.locators[{len(locators)}]")
    assert broken(locators=locators[:-1]).startswith(f"signature.locators[{len(locators) - 1}]")
    assert broken(head="0" * 64) == "signature.head is not the last link of the chain"
    assert broken(public_key=OTHER.public_key).startswith("signature.value is not a signature")
    assert broken(value=SIGNED["signature"]["value"].upper()).startswith("signature.value: ")
    assert broken(note="x").startswith("signature.note: ")
    assert broken(algorithm="none").startswith("signature.algorithm: ")
    with pytest.raises(BrokenEvidenceError, match="another order"):
        verify_evidence({"signature": SIGNED["signature"], **DOCUMENT})
    with pytest.raises(BrokenEvidenceError, match="another order"):
        verify_evidence({**DOCUMENT, "signature": dict(reversed(SIGNED["signature"].items()))})
    with pytest.raises(BrokenEvidenceError, match=r"^signature: "):
        verify_evidence({**DOCUMENT, "signature": None})


def test_unsigned_evidence_is_distinguished_from_broken_evidence() -> None:
    with pytest.raises(UnsignedEvidenceError, match="has no signature"):
        verify_evidence(DOCUMENT)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), "\ud800"])
def test_values_outside_of_json_are_broken_and_cannot_be_signed(value: Any) -> None:
    with pytest.raises(ValueError, match=r".+"):
        SIGNER.sign({"brief": value})
    with pytest.raises(BrokenEvidenceError):
        verify_evidence({**SIGNED, "brief": value})


def test_containers_of_another_shape_have_another_chain() -> None:
    shapes: list[dict[str, Any]] = [
        {"changes": {}},
        {"changes": []},
        {"changes": {"a": []}},
        {"changes": {"a": {}}},
        {"changes": {"a": None}},
        {"changes": None},
        {"changes": {"a.b": [1]}},
        {"changes": {"a": {"b": [1]}}},
        {"changes": {"a": [[1]]}},
        {},
        {"changes": {"a": [1, 1.0]}},
        {"changes": {"a": [1, 1]}},
        {"changes": {"a": [1, True]}},
        {"changes": {"a": [1, "list", 1]}},
    ]
    assert len({SIGNER.sign(shape)["signature"]["head"] for shape in shapes}) == len(shapes)


def test_the_key_is_derived_from_the_secret_and_does_not_reveal_it() -> None:
    assert EvidenceSigner(bytes(range(32))).public_key == SIGNER.public_key
    assert OTHER.public_key != SIGNER.public_key
    assert bytes(range(32)).hex() not in canonical_json(SIGNED).decode() + repr(SIGNER)


RECORD = a_record(seed=3, policy="oracle")


@pytest.mark.sample(2)
@pytest.mark.parametrize("start", range(STRIDE))
def test_a_packed_file_with_an_edited_byte_is_rejected_or_contains_the_same_document(
    tmp_path: Path, start: int
) -> None:
    """Gzip ignores the time, the system and the level in its header, and the padding bits of the last byte."""
    file = tmp_path / "evidence" / "tiny-3-c1-oracle.json.gz"
    file.parent.mkdir()
    packed = gzip.compress(FILE, mtime=0)
    flips = [
        packed[:at] + bytes([packed[at] ^ 1 << bit]) + packed[at + 1 :]
        for at in range(start, len(packed), STRIDE)
        for bit in BITS
    ]
    for edited in [packed, packed + b"\0", packed[:-1], *flips]:
        file.write_bytes(edited)
        try:
            read = read_evidence(tmp_path, RECORD)
            verify_evidence(read, [SIGNER.public_key])
        except (UnreadableRunError, InvalidEvidenceError):
            continue
        assert canonical_json(read) + b"\n" == FILE


def test_a_signed_file_with_blanks_or_duplicate_members_is_unreadable(tmp_path: Path) -> None:
    file = tmp_path / "evidence" / "tiny-3-c1-oracle.json.gz"
    file.parent.mkdir()
    for raw in (FILE + b"\n", FILE.replace(b":", b": ", 1), FILE.replace(b"{", b'{"brief":"",', 1)):
        file.write_bytes(gzip.compress(raw))
        with pytest.raises(UnreadableRunError, match=r"evidence/tiny-3-c1-oracle.json.gz: was modified: .* at byte \d"):
            read_evidence(tmp_path, RECORD)
