"""Request bodies with a size limit, and buffered responses that are sent after their transaction ends."""

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
    """A buffered response of the inner app and its serialized report. Header names are lower case."""

    status: int
    headers: list[tuple[str, str]]
    body: bytes
    report: bytes = b""

    @classmethod
    def of(cls, response: Response) -> HeldAnswer:
        """Return a buffered copy of a response."""
        return cls(response.status_code, _decoded(response.raw_headers), bytes(response.body))

    def attach(self, report: Report) -> None:
        """Serialize the report that is appended to the body."""
        self.report = report.model_dump_json(exclude_defaults=True).encode()

    @property
    def media_type(self) -> str:
        """The content type."""
        return next((value for name, value in self.headers if name == "content-type"), "application/json")


async def run_held(app: ASGIApp, scope: Scope, body: bytes) -> HeldAnswer:
    """Run the app on a body that was already read, and return the buffered response."""
    held = HeldAnswer(500, [], b"")

    async def hold(message: Message) -> None:
        if message["type"] == "http.response.start":
            held.status, held.headers = message["status"], _decoded(message.get("headers", ()))
        elif message["type"] == "http.response.body":
            held.body += message.get("body", b"")

    await app(scope, replay(body), hold)
    return held


async def read_body(receive: Receive, limit: int) -> bytes:
    """Return the whole request body; raises BodyTooLarge (413) as soon as it exceeds `limit` bytes."""
    body = bytearray()
    while True:
        message = await receive()
        body += message.get("body", b"")
        if len(body) > limit:
            raise BodyTooLarge(f"The body must have at most {limit} bytes.")
        if not message.get("more_body", False):
            return bytes(body)


def replay(body: bytes) -> Receive:
    """Return a receive channel that replays a body that was already read."""
    messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> Message:
        return messages.pop() if messages else {"type": "http.disconnect"}

    return receive


async def send_held(send: Send, answer: HeldAnswer, *, with_report: bool) -> None:
    """Send a response. A report is appended to the body, and a header states its length in bytes."""
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
