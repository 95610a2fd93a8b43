"""Bodies read under a limit, answers held until their transaction is decided, answers sent with their report."""

from __future__ import annotations

from dataclasses import dataclass

from fastapi.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from companyos_shared.chassis.errors import BodyTooLarge
from companyos_shared.wire.context import REPORT_HEADER
from companyos_shared.wire.control import Report

_REPORT_HEADER = REPORT_HEADER.lower()


@dataclass(slots=True)
class HeldAnswer:
    """An answer of the inner app that was not sent yet, and its report as it travels. Header names are lower case."""

    status: int
    headers: list[tuple[str, str]]
    body: bytes
    report: bytes = b""

    @classmethod
    def of(cls, response: Response) -> HeldAnswer:
        """Take over a ready answer."""
        return cls(response.status_code, _decoded(response.raw_headers), bytes(response.body))

    def attach(self, report: Report) -> None:
        """Put the report behind the body."""
        self.report = report.model_dump_json(exclude_defaults=True).encode()

    @property
    def media_type(self) -> str:
        """The content type."""
        return next((value for name, value in self.headers if name == "content-type"), "application/json")


async def run_held(app: ASGIApp, scope: Scope, body: bytes) -> HeldAnswer:
    """Let the app answer a body that was read already, and hold what it answers."""
    held = HeldAnswer(500, [], b"")

    async def hold(message: Message) -> None:
        if message["type"] == "http.response.start":
            held.status, held.headers = message["status"], _decoded(message.get("headers", ()))
        elif message["type"] == "http.response.body":
            held.body += message.get("body", b"")

    await app(scope, replay(body), hold)
    return held


async def read_body(receive: Receive, limit: int) -> bytes:
    """Read a whole body, counting while reading; raises BodyTooLarge (413) beyond `limit` bytes."""
    body = bytearray()
    while True:
        message = await receive()
        body += message.get("body", b"")
        if len(body) > limit:
            raise BodyTooLarge(f"The body is larger than {limit} bytes.")
        if not message.get("more_body", False):
            return bytes(body)


def replay(body: bytes) -> Receive:
    """Return a receive channel that gives a body that was read already."""
    messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> Message:
        return messages.pop() if messages else {"type": "http.disconnect"}

    return receive


async def send_held(send: Send, answer: HeldAnswer, *, with_report: bool) -> None:
    """Send an answer; its report is appended to the body and the length in bytes told in a header."""
    body, headers = answer.body, [(name, value) for name, value in answer.headers if name != "content-length"]
    if with_report:
        body += answer.report
        headers.append((_REPORT_HEADER, str(len(answer.report))))
    headers.append(("content-length", str(len(body))))
    raw = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers]
    await send({"type": "http.response.start", "status": answer.status, "headers": raw})
    await send({"type": "http.response.body", "body": body})


def _decoded(headers: list[tuple[bytes, bytes]]) -> list[tuple[str, str]]:
    return [(name.decode("latin-1"), value.decode("latin-1")) for name, value in headers]
