"""The format of a journal file: a header of fixed size, then lines that are chained by their hashes.

The header is one line of JSON. It contains the epoch, the checksum of its manifest, the number of lines and the chain
hash of the last one; it is rewritten in place after every append. A line is `<chain hash> <payload>`, where the chain
hash covers the previous hash and the payload.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import sha256

import orjson

from companyos_gateway.engine.errors import QuarantineReason, UnusableFilesError

FORMAT = 3

_HASH_LENGTH = 32
_CHECKSUM_LENGTH = 16
_COUNT_LENGTH = 10
_HEADER = re.compile(
    rb'(\{"format":3,"episode":"[^"]+","epoch":\d+,"manifest":"[0-9a-f]{64}","id":"[^"]+",)'
    rb'("lines":" *(\d{1,10})","chain":"([0-9a-f]{32})"),"checksum":"([0-9a-f]{16})"\}\n'
)
_FORMAT_PREFIX = re.compile(rb'\{"format":(\d{1,9}),')


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalHeader:
    """Header of a journal: episode, epoch, hash of the manifest, and the client's label."""

    episode: str
    epoch: int
    manifest: str
    id: str

    @property
    def fixed(self) -> bytes:
        """The part of the header that appends do not change."""
        return (
            f'{{"format":{FORMAT},"episode":"{self.episode}","epoch":{self.epoch},"manifest":"{self.manifest}",'
            f'"id":"{self.id}",'
        ).encode()


@dataclass(frozen=True, slots=True)
class JournalContents:
    """Contents of a journal: payloads, chain hash of the last line, size without an incomplete line."""

    payloads: list[bytes]
    chain: bytes
    size_bytes: int


def first_hash(fixed: bytes) -> bytes:
    """Return the chain hash that precedes the first line."""
    return _hash(b"", fixed)


def encode_lines(chain: bytes, payloads: Iterable[bytes]) -> tuple[bytes, bytes]:
    """Return the lines of payloads that follow a chain hash, and the chain hash of the last line."""
    lines = []
    for payload in payloads:
        chain = _hash(chain, payload)
        lines += [chain, b" ", payload, b"\n"]
    return b"".join(lines), chain


def encode_header(fixed: bytes, count: int, chain: bytes) -> bytes:
    """Return the header of a journal with `count` lines; the size does not depend on the count."""
    state = b'"lines":"%*d","chain":"%s"' % (_COUNT_LENGTH, count, chain)
    return b'%s%s,"checksum":"%s"}\n' % (fixed, state, _checksum(fixed, state))


def decode_journal(content: bytes, header: JournalHeader) -> JournalContents:
    """Return the contents of a journal file.

    A last line without a line feed that the header does not count was left by a killed writer and is ignored. Raises
    UnusableFilesError for any other deviation from the format.
    """
    fixed, count, last = _decode_header(content)
    if fixed != header.fixed:
        raise UnusableFilesError(QuarantineReason.DAMAGED, "the journal belongs to another epoch or manifest")
    start = content.index(b"\n") + 1
    lines = content[start:].split(b"\n")
    rest = lines.pop()
    if len(lines) < count:
        raise UnusableFilesError(
            QuarantineReason.DAMAGED, f"the journal has {len(lines)} lines, its header counts {count}"
        )
    chain, payloads = first_hash(fixed), list[bytes]()
    if count == 0 and last != chain:
        raise UnusableFilesError(QuarantineReason.DAMAGED, "the header of the journal does not fit its lines")
    for number, line in enumerate(lines, start=1):
        chain = verify_line(chain, line, number)
        payloads.append(parse_payload(line))
        if number == count and chain != last:
            raise UnusableFilesError(QuarantineReason.DAMAGED, "the header of the journal does not fit its lines")
    return JournalContents(payloads, chain, len(content) - len(rest))


def verify_line(chain: bytes, line: bytes, number: int) -> bytes:
    """Return the chain hash of a line after verifying that it follows `chain`; raises UnusableFilesError if not."""
    line_hash = line[:_HASH_LENGTH]
    if line[_HASH_LENGTH : _HASH_LENGTH + 1] != b" " or line_hash != _hash(chain, line[_HASH_LENGTH + 1 :]):
        raise UnusableFilesError(QuarantineReason.DAMAGED, f"line {number} of the journal does not match its hash")
    return line_hash


def parse_payload(line: bytes) -> bytes:
    """Return the payload of a line."""
    return line[_HASH_LENGTH + 1 :]


def initial_chain_hash(header_line: bytes) -> bytes:
    """Return the chain hash that precedes the first line, from the header line; raises UnusableFilesError."""
    return first_hash(_decode_header(header_line)[0])


def read_label(content: bytes) -> str | None:
    """Return the episode's label from the header, or None if the header is damaged."""
    try:
        fixed, _, _ = _decode_header(content)
    except UnusableFilesError:
        return None
    return str(orjson.loads(fixed[:-1] + b"}")["id"])


def _decode_header(content: bytes) -> tuple[bytes, int, bytes]:
    matched = _HEADER.match(content)
    if matched is None:
        prefix = _FORMAT_PREFIX.match(content)
        if prefix is not None and int(prefix[1]) != FORMAT:
            raise UnusableFilesError(
                QuarantineReason.FORMAT, f"the journal has format {int(prefix[1])}, this version reads {FORMAT}"
            )
        raise UnusableFilesError(QuarantineReason.DAMAGED, "the journal has no header")
    fixed, state, count, chain, checksum = matched.groups()
    if checksum != _checksum(fixed, state):
        raise UnusableFilesError(QuarantineReason.DAMAGED, "the header of the journal does not match its checksum")
    return fixed, int(count), chain


def _hash(previous: bytes, payload: bytes) -> bytes:
    return sha256(previous + payload).hexdigest()[:_HASH_LENGTH].encode()


def _checksum(fixed: bytes, state: bytes) -> bytes:
    return sha256(fixed + state).hexdigest()[:_CHECKSUM_LENGTH].encode()
