"""Security headers: every response of a service has them, for signed calls and in standalone mode."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import httpx
import pytest
from pydantic import SecretStr

from companyos_shared.framework import ServiceSettings, create_app

if TYPE_CHECKING:
    from companyos_shared.framework.testing import ServiceHarness

HEADERS = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",
    "content-security-policy": "frame-ancestors 'none'",
    "cross-origin-resource-policy": "same-origin",
}


@pytest.mark.parametrize("key", [None, SecretStr("a key")])
@pytest.mark.parametrize("path", ["/livez", "/openapi.json", "/docs", "/books/B-1", "/nothing", "/books?limit=x"])
async def test_every_response_has_the_headers(
    library: ServiceHarness, tmp_path: Path, key: SecretStr | None, path: str
) -> None:
    app = create_app(library.service, ServiceSettings(service_key=key, service_key_file=None, data_dir=tmp_path))
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://service") as http:
        answer = await http.get(path)
    assert {name: answer.headers.get(name) for name in HEADERS} == HEADERS
