"""The tokens of episodes, derived from the gateway's secret on demand, so that none is stored or logged."""

from __future__ import annotations

import hmac
import secrets
from base64 import urlsafe_b64encode
from collections.abc import Collection
from hashlib import sha256
from pathlib import Path

from companyos_gateway.engine.episode_files import write_file

SECRET_FILE = "secret"  # noqa: S105 - a file's name
SECRET_BYTES = 32
TOKEN_LENGTH = 43
MAX_STALE_DIGESTS = 1024


class InvalidSecretError(Exception):
    """The file of the gateway's secret does not contain a valid secret."""


class EpisodeTokens:
    """Tokens of episodes: base64url of HMAC-SHA256(secret, internal id), which reveals neither."""

    def __init__(self, secret: bytes) -> None:
        if len(secret) < SECRET_BYTES:
            raise ValueError(f"the secret of tokens must have at least {SECRET_BYTES} bytes")
        self._secret = secret
        self._owners: dict[bytes, str] = {}
        self._digests: dict[str, bytes] = {}

    def __repr__(self) -> str:
        return "EpisodeTokens(...)"

    def token(self, internal_id: str) -> str:
        """Return the token of an episode."""
        return _base64url(hmac.digest(self._secret, internal_id.encode(), sha256))

    def find(self, token: str, internal_ids: Collection[str]) -> str | None:
        """Return the internal id of the token's episode, or None.

        The lookup is by the token's digest, so that response times reveal nothing about tokens. A wrong token costs
        at most one pass over the ids.
        """
        if len(token) != TOKEN_LENGTH:
            return None
        digest = _digest(token)
        if digest not in self._owners:
            self._index(internal_ids)
        owner = self._owners.get(digest)
        return owner if owner in internal_ids else None

    def _index(self, internal_ids: Collection[str]) -> None:
        """Add missing digests of tokens; evict those of removed episodes if there are more than MAX_STALE_DIGESTS."""
        if len(self._digests) > len(internal_ids) + MAX_STALE_DIGESTS:
            self._digests = {kept: self._digests[kept] for kept in internal_ids if kept in self._digests}
            self._owners = {digest: internal_id for internal_id, digest in self._digests.items()}
        for internal_id in internal_ids:
            if internal_id not in self._digests:
                digest = self._digests[internal_id] = _digest(self.token(internal_id))
                self._owners[digest] = internal_id


def service_signature(token: str, service: str) -> str:
    """Return the signature in the URL of a service of an episode: base64url of HMAC-SHA256(episode token, service)."""
    return _base64url(hmac.digest(token.encode(), service.encode(), sha256))


def _base64url(digest: bytes) -> str:
    return urlsafe_b64encode(digest).rstrip(b"=").decode()


def _digest(token: str) -> bytes:
    return sha256(token.encode()).digest()


def read_or_create_secret(folder: Path, initial: bytes | None = None) -> bytes:
    """Return the secret in a folder, which the first call creates: `initial`, or one drawn at random.

    The file is created atomically, and only its owner can read it. Gateways must not share a folder. Raises
    InvalidSecretError and OSError.
    """
    path = folder / SECRET_FILE
    if not path.exists():
        temporary = path.with_name(f"{path.name}.tmp")
        write_file(temporary, (initial or secrets.token_bytes(SECRET_BYTES)).hex().encode(), durable=True)
        temporary.rename(path)
    try:
        secret = bytes.fromhex(path.read_text(encoding="ascii").strip())
    except ValueError:
        secret = b""
    if len(secret) != SECRET_BYTES:
        raise InvalidSecretError(f"{path} must contain a secret of {SECRET_BYTES} bytes in hexadecimal")
    return secret
