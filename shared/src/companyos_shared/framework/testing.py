"""Test harness of a service: the app in process, signed calls and a clock that the test advances."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from pathlib import Path
from types import TracebackType
from typing import Any

import httpx
from fastapi import FastAPI
from pydantic import SecretStr
from pydantic_core import to_json

from companyos_shared.framework.app import create_app
from companyos_shared.framework.change_capture import read_rows
from companyos_shared.framework.schemas import SeedDocument
from companyos_shared.framework.service import Service
from companyos_shared.framework.sessions import Session
from companyos_shared.framework.settings import ServiceSettings
from companyos_shared.wire.context import (
    CONTEXT_HEADER,
    CONTROL_LIFETIME_S,
    REPORT_HEADER,
    SIGNATURE_HEADER,
    Actor,
    CallContext,
    Fault,
    encode_context,
    sign,
)
from companyos_shared.wire.control import (
    CheckReply,
    DigestReply,
    EvidenceReply,
    InventoryReply,
    LoadReply,
    QuarantineReply,
    Report,
    SnapshotReply,
)
from companyos_shared.wire.nonces import new_nonce, wall_clock

_KEY = "a key for tests"
_READS = frozenset({"GET", "HEAD"})


class ServiceHarness:
    """One episode of one service. Each write is a new step unless `step` is given. A passed folder is not deleted."""

    def __init__(
        self,
        service: Service[Any],
        seed: SeedDocument | None = None,
        *,
        episode: str = "test",
        folder: Path | None = None,
    ) -> None:
        self.service = service
        self.seed = seed if seed is not None else service.demo_seed()
        self.document: dict[str, Any] = self.seed.model_dump(mode="json")
        self.source = service.source_of(to_json(self.document))
        self.episode = episode
        self.epoch = 1
        self.step = 0
        self.now: datetime = self.seed.started_at
        self.generation = self.written_step = self.written_seq = 0
        self.last_report = Report()
        self._temporary: tempfile.TemporaryDirectory[str] | None = None
        if folder is None:
            self._temporary = tempfile.TemporaryDirectory(prefix="companyos-test-")
            folder = Path(self._temporary.name)
        self.folder = folder
        self.app = self.restart()

    def restart(self) -> FastAPI:
        """Create the app again on the same files, as after a restart of the process."""
        if hasattr(self, "app"):
            self.app.state.episodes.close()
        settings = ServiceSettings(service_key=SecretStr(_KEY), service_key_file=None, data_dir=self.folder)
        self.app = create_app(self.service, settings)
        self.client = httpx.AsyncClient(transport=httpx.ASGITransport(self.app), base_url="http://service")
        return self.app

    async def __aenter__(self) -> ServiceHarness:
        await self.load()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.client.aclose()
        self.app.state.episodes.close()
        if self._temporary is not None:
            self._temporary.cleanup()

    async def load(self) -> LoadReply:
        """Load the seed."""
        response = await self.load_document(self.document)
        return LoadReply.model_validate_json(response.raise_for_status().content)

    async def load_document(self, document: Mapping[str, Any], *, is_base: bool = False) -> httpx.Response:
        """Send a load request for a document, or for a base if `is_base`."""
        path = "/control/load-base" if is_base else "/control/load"
        content = to_json(document)
        context = self._fresh_context().model_copy(update={"source": self.service.source_of(content)})
        return await self.client.send(self.signed(self.client.build_request("POST", path, content=content), context))

    async def get(self, url: str, **options: Any) -> httpx.Response:
        """Send a GET request."""
        return await self.request("GET", url, **options)

    async def post(self, url: str, **options: Any) -> httpx.Response:
        """Send a POST request."""
        return await self.request("POST", url, **options)

    async def patch(self, url: str, **options: Any) -> httpx.Response:
        """Send a PATCH request."""
        return await self.request("PATCH", url, **options)

    async def put(self, url: str, **options: Any) -> httpx.Response:
        """Send a PUT request."""
        return await self.request("PUT", url, **options)

    async def delete(self, url: str, **options: Any) -> httpx.Response:
        """Send a DELETE request."""
        return await self.request("DELETE", url, **options)

    async def request(
        self, method: str, url: str, *, fault: Fault | None = None, step: int | None = None, **options: Any
    ) -> httpx.Response:
        """Send a signed call of the agent; move the report from the body to `last_report`."""
        if step is None and method not in _READS:
            self.step += 1
        request = self.client.build_request(method, url, **options)
        response = await self.client.send(self.signed(request, self.context(step, fault)))
        length = int(response.headers.get(REPORT_HEADER, "0"))
        if not length:
            return response
        content = response.content
        self.last_report = Report.model_validate_json(content[-length:])
        headers = [(n, v) for n, v in response.headers.items() if n not in ("content-length", REPORT_HEADER)]
        return httpx.Response(response.status_code, headers=headers, content=content[:-length], request=request)

    async def advance(self, *, minutes: int) -> Report:
        """Advance the clock and settle."""
        self.now += timedelta(minutes=minutes)
        self.last_report = Report.model_validate(await self._control("settle", {}))
        return self.last_report

    async def evidence(self) -> EvidenceReply:
        """Return the evidence of the episode."""
        return EvidenceReply.model_validate(await self._control("evidence", {}))

    async def digest(self) -> DigestReply:
        """Return the digests over all content rows."""
        return DigestReply.model_validate(await self._control("digest", {}))

    async def snapshot(self) -> str:
        """Create a snapshot and return its source id."""
        return SnapshotReply.model_validate(await self._control("snapshot", {})).source

    async def check(self, source: str) -> CheckReply:
        """Check that an epoch can start from the source."""
        return CheckReply.model_validate(await self._control("check", {"source": source}))

    async def forget(self, source: str) -> None:
        """Delete a snapshot."""
        await self._control("forget", {"source": source})

    async def inventory(self) -> InventoryReply:
        """Return all episodes and snapshots of the service."""
        return InventoryReply.model_validate(await self._control("inventory", {}))

    async def quarantine(self, *, episodes: Iterable[str] = (), sources: Iterable[str] = ()) -> QuarantineReply:
        """Move episodes and snapshots to quarantine."""
        named = {"episodes": list(episodes), "sources": list(sources), "reason": "a test"}
        return QuarantineReply.model_validate(await self._control("quarantine", named))

    async def export(self) -> bytes:
        """Return the episode's database as one file."""
        return (await self.control("export", {})).raise_for_status().content

    async def drop(self) -> None:
        """Delete the episode."""
        await self._control("drop", {"episodes": [self.episode]})

    async def rows(self, table: str) -> dict[str, dict[str, Any]]:
        """Return a table's current rows by key."""
        return read_rows(self.session().db, self.service.metadata)[table]

    def session(self) -> Session:
        """Return the open epoch, for tests of internals."""
        session: Session = self.app.state.episodes.session(self.context())
        return session

    async def control(self, verb: str, body: dict[str, Any]) -> httpx.Response:
        """Send a signed control request."""
        request = self.client.build_request("POST", f"/control/{verb}", json=body)
        return await self.client.send(self.signed(request))

    async def _control(self, verb: str, body: dict[str, Any]) -> Any:
        return (await self.control(verb, body)).raise_for_status().json()

    def context(self, step: int | None = None, fault: Fault | None = None) -> CallContext:
        """Return the context of a step, by default the current one."""
        return CallContext(
            episode=self.episode,
            epoch=self.epoch,
            source=self.source,
            step=self.step if step is None else step,
            actor=Actor.AGENT,
            now=self.now,
            fault=fault,
            generation=self.generation,
            written_step=self.written_step,
            written_seq=self.written_seq,
        )

    def _fresh_context(self) -> CallContext:
        """Return the context of a control call with a new nonce, which is accepted once."""
        freshness = {"nonce": new_nonce(), "expires_at": wall_clock() + CONTROL_LIFETIME_S}
        return self.context().model_copy(update=freshness)

    def signed(
        self, request: httpx.Request, context: CallContext | None = None, *, audience: str | None = None
    ) -> httpx.Request:
        """Sign a request; without a context it is a control request."""
        encoded = encode_context(context or self._fresh_context())
        target = request.url.raw_path.decode()
        request.headers[CONTEXT_HEADER] = encoded
        request.headers[SIGNATURE_HEADER] = sign(
            _KEY.encode(),
            audience=audience or self.service.name,
            method=request.method,
            target=target,
            body=request.content,
            context=encoded,
            headers=[(name.decode("latin-1"), value.decode("latin-1")) for name, value in request.headers.raw],
        )
        return request
