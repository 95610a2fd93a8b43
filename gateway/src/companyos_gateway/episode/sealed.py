"""Small files that show when they were altered: a JSON object of a format, a checksum, and the content it covers."""

from __future__ import annotations

import re
from hashlib import sha256

from companyos_gateway.episode.errors import Reason, UnusableError

_FORMAT = re.compile(rb'\{"format":(\d+),')


def seal(name: str, format_: int, content: bytes) -> tuple[bytes, str]:
    """Return a JSON object as the last member, called `name`, of a sealed one, and its SHA-256."""
    checksum = sha256(content).hexdigest()
    return b"%s%s}" % (_start(name, format_, checksum), content), checksum


def unseal(name: str, format_: int, sealed: bytes) -> tuple[bytes, str]:
    """Return the content of a sealed object and its SHA-256; raises UnusableError for any other bytes."""
    found = _FORMAT.match(sealed)
    if found is not None and int(found[1]) != format_:
        raise UnusableError(Reason.FORMAT, f"the {name} has format {int(found[1])}, this version reads {format_}")
    content = sealed[len(_start(name, format_, "0" * 64)) : -1]
    checksum = sha256(content).hexdigest()
    if seal(name, format_, content)[0] != sealed:
        raise UnusableError(Reason.DAMAGED, f"the {name} has another checksum")
    return content, checksum


def _start(name: str, format_: int, checksum: str) -> bytes:
    return f'{{"format":{format_},"checksum":"{checksum}","{name}":'.encode()
