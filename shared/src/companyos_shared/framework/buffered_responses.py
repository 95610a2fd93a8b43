"""Request bodies with a size limit, and buffered responses that are sent after their transaction ends."""

from __future__ import annotations

from dataclasses import dataclass

from fastapi.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from companyos_shared.framework.errors import BodyTooLargeError
from companyos_shared.wire.context import REPORT_HEADER
from companyos_shared.wire.control import Report


@dataclass(slots=True)
class BufferedResponse:
    """A buffered response of the inner app and its serialized report. Header names are lower case."""

    status: int
    headers: list[tuple[str, str]]
    body: bytes
    report: bytes = b""

    @classmethod
    def of(cls, response: Response) -> BufferedResponse:
        """Return a buffered copy of a response."""
        return cls(response.status_code, _decode_headers(response.raw_headers), bytes(response.body))

    def attach(self, report: Report) -> None:
        """Serialize the report that is appended to the body."""
        self.report = report.model_dump_json(exclude_defaults=True).encode()

    @property
    def media_type(self) -> str:
        """The content type."""
        return next((value for name, value in self.headers if name == "content-type"), "application/json")


async def run_buffered(app: ASGIApp, scope: Scope, body: bytes) -> BufferedResponse:
    """Run the app on a body that was already read, and return the buffered response."""
    buffered = BufferedResponse(500, [], b"")

    async def capture(message: Message) -> None:
        if message["type"] == "http.response.start":
            buffered.status, buffered.headers = message["status"], _decode_headers(message.get("headers", ()))
        elif message["type"] == "http.response.body":
            buffered.body += message.get("body", b"")

    await app(scope, replay(body), capture)
    return buffered


async def read_body(receive: Receive, limit: int) -> bytes:
    """Return the whole request body; raises BodyTooLargeError (413) as soon as it exceeds `limit` bytes."""
    body = bytearray()
    while True:
        message = await receive()
        body += message.get("body", b"")
        if len(body) > limit:
            raise BodyTooLargeError(f"The body must have at most {limit} bytes.")
        if not message.get("more_body", False):
            return bytes(body)


async def _disconnected() -> Message:
    return {"type": "http.disconnect"}


def replay(body: bytes, after: Receive = _disconnected) -> Receive:
    """Return a receive channel that replays a body that was already read, and continues with another channel."""
    messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> Message:
        return messages.pop() if messages else await after()

    return receive


async def send_buffered(send: Send, response: BufferedResponse, *, with_report: bool) -> None:
    """Send a response. A report is appended to the body, and a header states its length in bytes."""
    body, headers = response.body, [(name, value) for name, value in response.headers if name != "content-length"]
    if with_report:
        body += response.report
        headers.append((REPORT_HEADER, str(len(response.report))))
    headers.append(("content-length", str(len(body))))
    raw = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers]
    await send({"type": "http.response.start", "status": response.status, "headers": raw})
    await send({"type": "http.response.body", "body": body})


def _decode_headers(headers: list[tuple[bytes, bytes]]) -> list[tuple[str, str]]:
    return [(name.decode("latin-1"), value.decode("latin-1")) for name, value in headers]
