"""Format of small files with a checksum: a JSON object of a format number, a checksum, and the content it covers."""

from __future__ import annotations

import re
from hashlib import sha256

from companyos_gateway.engine.errors import QuarantineReason, UnusableFilesError

_FORMAT = re.compile(rb'\{"format":(\d{1,9}),')


def add_checksum(name: str, format_: int, content: bytes) -> tuple[bytes, str]:
    """Wrap JSON content as member `name` of an object with a checksum; return that object and the SHA-256."""
    checksum = sha256(content).hexdigest()
    return b"%s%s}" % (_prefix(name, format_, checksum), content), checksum


def verify_checksum(name: str, format_: int, document: bytes) -> tuple[bytes, str]:
    """Return the content of such an object and its SHA-256; raises UnusableFilesError for any other bytes."""
    match = _FORMAT.match(document)
    if match is not None and int(match[1]) != format_:
        raise UnusableFilesError(
            QuarantineReason.FORMAT, f"the {name} has format {int(match[1])}, this version reads {format_}"
        )
    content = document[len(_prefix(name, format_, "0" * 64)) : -1]
    checksum = sha256(content).hexdigest()
    if add_checksum(name, format_, content)[0] != document:
        raise UnusableFilesError(QuarantineReason.DAMAGED, f"the {name} does not match its checksum")
    return content, checksum


def _prefix(name: str, format_: int, checksum: str) -> bytes:
    return f'{{"format":{format_},"checksum":"{checksum}","{name}":'.encode()
