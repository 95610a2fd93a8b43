"""Middleware that adds security headers to every response."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from companyos_shared.web.lazy_routes import LazyRoute

NO_FRAMES = "'none'"

_STARTS = frozenset({"http.response.start", "websocket.http.response.start"})


class ProtectedApp(FastAPI):
    """A FastAPI app with lazy routes, and with security headers on every response, including internal errors.

    `frame_ancestors` names the pages that may embed it, in Content-Security-Policy syntax.
    """

    def __init__(self, *, frame_ancestors: str = NO_FRAMES, **options: Any) -> None:
        super().__init__(**options)
        self.router.route_class = LazyRoute
        self._frame_ancestors = frame_ancestors

    def build_middleware_stack(self) -> ASGIApp:
        """Return the app with its middleware; the headers wrap Starlette's error handling."""
        return ResponseHeadersMiddleware(super().build_middleware_stack(), frame_ancestors=self._frame_ancestors)


class ResponseHeadersMiddleware:
    """ASGI middleware that adds security headers that a response does not set."""

    def __init__(self, app: ASGIApp, *, frame_ancestors: str = NO_FRAMES) -> None:
        self._app = app
        self._headers = (
            (b"x-content-type-options", b"nosniff"),
            # `no-referrer` would make browsers send `Origin: null` with the forms of a page.
            (b"referrer-policy", b"same-origin"),
            (b"content-security-policy", f"frame-ancestors {frame_ancestors}".encode()),
            (b"cross-origin-resource-policy", b"same-origin"),
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] in _STARTS:
                headers = list(message.get("headers", ()))
                names = {name.lower() for name, _ in headers}
                message["headers"] = [*headers, *(header for header in self._headers if header[0] not in names)]
            await send(message)

        await self._app(scope, receive, send_with_headers)
