"""Small files that show when they were altered: a JSON object of a format, a checksum, and the content it covers."""

from __future__ import annotations

import re
from hashlib import sha256

from companyos_gateway.engine.errors import QuarantineReason, UnusableFilesError

_FORMAT = re.compile(rb'\{"format":(\d+),')


def add_checksum(name: str, format_: int, content: bytes) -> tuple[bytes, str]:
    """Return a JSON object as the last member, called `name`, of a sealed one, and its SHA-256."""
    checksum = sha256(content).hexdigest()
    return b"%s%s}" % (_prefix(name, format_, checksum), content), checksum


def verify_checksum(name: str, format_: int, document: bytes) -> tuple[bytes, str]:
    """Return the content of a sealed object and its SHA-256; raises UnusableFilesError for any other bytes."""
    match = _FORMAT.match(document)
    if match is not None and int(match[1]) != format_:
        raise UnusableFilesError(
            QuarantineReason.FORMAT, f"the {name} has format {int(match[1])}, this version reads {format_}"
        )
    content = document[len(_prefix(name, format_, "0" * 64)) : -1]
    checksum = sha256(content).hexdigest()
    if add_checksum(name, format_, content)[0] != document:
        raise UnusableFilesError(QuarantineReason.DAMAGED, f"the {name} has another checksum")
    return content, checksum


def _prefix(name: str, format_: int, checksum: str) -> bytes:
    return f'{{"format":{format_},"checksum":"{checksum}","{name}":'.encode()
