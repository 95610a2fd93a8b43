"""Signatures of evidence: a SHA-256 chain over every entry of the document, and an Ed25519 signature of its last link.

The chain visits the document in its own order. An entry is a row of `initial`, a change, a call, a view, or any other
member of the document, such as the task or the verdict. The link of an entry is
`SHA-256(previous link + canonical_json([path, value]))`. Each list and object ends with an entry
`[path, "list" or "object", length]`, and the document itself is the last one.

Verification needs only the public key. It proves that the document is the one that the owner of the private key signed,
and nothing about how the episode was played.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from hashlib import sha256
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from companyos.rescorers import InvalidEvidenceError

SIGNATURE = "signature"
"""The member of a signed document that holds its signature; always the last one."""

PUBLIC_KEY = r"^[0-9a-f]{64}$"
"""Pattern of a public key: 32 bytes in lowercase hexadecimal."""

_CHAIN_START = sha256(b"companyos evidence chain 1").digest()
_SIGNED_PREFIX = b"companyos evidence signature 1\n"
_KEY_PURPOSE = b"companyos evidence signing key 1"
_LOCATOR_CHARS = 8
_DEPTHS = {"initial": 3, "changes": 2, "audits": 2, "views": 1}
"""Levels of lists and objects above the entries of a section; the other sections are one entry each."""

_Path = tuple[str | int, ...]
_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False)


class UnsignedEvidenceError(InvalidEvidenceError):
    """Raised for evidence without a signature."""


class BrokenEvidenceError(InvalidEvidenceError):
    """Raised for evidence that does not match its signature; the text names the first mismatch."""


class EvidenceSignature(BaseModel):
    """Signature of the evidence of an episode."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    algorithm: str = Field(pattern="^ed25519$")
    public_key: str = Field(pattern=PUBLIC_KEY, description="Public key of the gateway, in hexadecimal.")
    head: str = Field(pattern=r"^[0-9a-f]{64}$", description="The last link of the chain, in hexadecimal.")
    value: str = Field(pattern=r"^[0-9a-f]{128}$", description="Ed25519 signature of the head, in hexadecimal.")
    locators: list[str] = Field(
        description=f"The first {_LOCATOR_CHARS} characters of each link. They locate a mismatch and prove nothing."
    )


class EvidenceSigner:
    """Signs evidence with a key that is derived from a secret: the same secret always gives the same key."""

    def __init__(self, secret: bytes) -> None:
        """Derive the key with HKDF-SHA256 from a secret of at least 32 random bytes."""
        seed = HKDF(algorithm=SHA256(), length=32, salt=None, info=_KEY_PURPOSE).derive(secret)
        self._key = Ed25519PrivateKey.from_private_bytes(seed)
        self.public_key = self._key.public_key().public_bytes_raw().hex()
        """The public key, 64 hexadecimal characters."""

    def __repr__(self) -> str:
        return f"EvidenceSigner(public_key={self.public_key!r})"

    def sign(self, document: Mapping[str, Any]) -> dict[str, Any]:
        """Return the document with its signature as the last member.

        The document consists of JSON values with finite numbers; ValueError or TypeError is raised otherwise.
        """
        links = [link for _, link in _chain(document)]
        signature = EvidenceSignature(
            algorithm="ed25519",
            public_key=self.public_key,
            head=links[-1].hex(),
            value=self._key.sign(_SIGNED_PREFIX + links[-1]).hex(),
            locators=[_locator(link) for link in links],
        )
        return {**document, SIGNATURE: signature.model_dump(mode="json")}


def canonical_json(value: Any) -> bytes:
    """Return the only accepted encoding of a JSON value: members in order, no whitespace, UTF-8, Python's numbers.

    Raises ValueError for numbers that are not finite and for unpaired surrogates.
    """
    return _ENCODER.encode(value).encode()


def check_canonical(raw: bytes, document: Mapping[str, Any]) -> None:
    """Raise BrokenEvidenceError unless a file consists of the canonical JSON of its document and a line feed.

    The chain covers only values. This check covers their encoding: whitespace, duplicate members, other spellings of a
    number or text.
    """
    try:
        expected = canonical_json(document) + b"\n"
    except (ValueError, RecursionError) as error:
        raise BrokenEvidenceError(f"is not canonical JSON: {error}") from error
    if raw != expected:
        offset = next((at for at, (one, other) in enumerate(zip(raw, expected, strict=False)) if one != other), None)
        offset = min(len(raw), len(expected)) if offset is None else offset
        raise BrokenEvidenceError(f"was modified: it is not canonical JSON at byte {offset}")


def verify_evidence(document: Mapping[str, Any], public_keys: Collection[str] = ()) -> str:
    """Return the public key that signed a document.

    With `public_keys`, only these keys are accepted. Without them, the key in the document is accepted, which proves
    only that the document was not modified since the owner of that key signed it. Raises UnsignedEvidenceError for a
    document without a signature, and BrokenEvidenceError for one that was modified or signed with another key.
    """
    if SIGNATURE not in document:
        raise UnsignedEvidenceError("has no signature")
    signature = _read_signature(document)
    if public_keys and signature.public_key not in public_keys:
        raise BrokenEvidenceError(
            f"{SIGNATURE}.public_key: signed with {signature.public_key}; accepted is {' or '.join(public_keys)}"
        )
    try:
        chain = list(_chain({name: value for name, value in document.items() if name != SIGNATURE}))
    except (ValueError, TypeError, RecursionError) as error:
        raise BrokenEvidenceError(f"is not JSON that can be signed: {error}") from error
    mismatch = _first_mismatch(chain, signature.locators)
    if chain[-1][1].hex() == signature.head:
        _verify_head(signature)
        if mismatch is not None:
            raise BrokenEvidenceError(f"{SIGNATURE}.locators[{mismatch}] does not match the signed chain")
        return signature.public_key
    if mismatch is None:
        raise BrokenEvidenceError(f"{SIGNATURE}.head is not the last link of the chain")
    raise BrokenEvidenceError(f"{_format_path(chain, mismatch)} does not match the signed chain")


def _read_signature(document: Mapping[str, Any]) -> EvidenceSignature:
    stored = document[SIGNATURE]
    try:
        signature = EvidenceSignature.model_validate(stored)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        raise BrokenEvidenceError(f"{'.'.join(map(str, (SIGNATURE, *first['loc'])))}: {first['msg']}") from error
    if list(stored) != list(EvidenceSignature.model_fields) or list(document)[-1] != SIGNATURE:
        raise BrokenEvidenceError(f"{SIGNATURE}: its members are in another order, or it is not the last member")
    return signature


def _verify_head(signature: EvidenceSignature) -> None:
    try:
        key = Ed25519PublicKey.from_public_bytes(bytes.fromhex(signature.public_key))
        key.verify(bytes.fromhex(signature.value), _SIGNED_PREFIX + bytes.fromhex(signature.head))
    except (InvalidSignature, ValueError):
        raise BrokenEvidenceError(
            f"{SIGNATURE}.value is not a signature of the chain with {signature.public_key}"
        ) from None


def _chain(document: Mapping[str, Any]) -> Iterator[tuple[_Path, bytes]]:
    """Yield the path and the link of every entry."""
    link = _CHAIN_START
    for path, entry in _entries((), document):
        link = sha256(link + canonical_json(entry)).digest()
        yield path, link


def _entries(path: _Path, value: Any, depth: int = 1) -> Iterator[tuple[_Path, list[Any]]]:
    """Yield the entries of a value.

    A list ends with an entry at the index after its last item, an object with an entry at its own path.
    """
    if depth and isinstance(value, Mapping):
        for name, item in value.items():
            yield from _entries((*path, name), item, depth - 1 if path else _DEPTHS.get(name, 0))
        yield path, [path, "object", len(value)]
    elif depth and isinstance(value, list | tuple):
        for index, item in enumerate(value):
            yield from _entries((*path, index), item, depth - 1)
        yield (*path, len(value)), [path, "list", len(value)]
    else:
        yield path, [path, value]


def _first_mismatch(chain: list[tuple[_Path, bytes]], locators: list[str]) -> int | None:
    for index, (_, link) in enumerate(chain):
        if index >= len(locators) or locators[index] != _locator(link):
            return index
    return None if len(chain) == len(locators) else len(chain)


def _locator(link: bytes) -> str:
    return link.hex()[:_LOCATOR_CHARS]


def _format_path(chain: list[tuple[_Path, bytes]], index: int) -> str:
    path = chain[index][0] if index < len(chain) else ()
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return text.removeprefix(".") or "the end of the document"
