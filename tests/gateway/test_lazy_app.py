"""Parts of the gateway that their first request starts: a failure is not kept."""

from __future__ import annotations

from typing import Any

import pytest

from companyos_gateway.api import mcp
from companyos_gateway.middleware.json_rpc import MCP_PATHS
from companyos_gateway.ui.playground import routes
from tests.gateway.conftest import OpenGateway

LIST_TOOLS: dict[str, Any] = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
ACCEPT = {"Accept": "application/json, text/event-stream"}


@pytest.mark.parametrize(
    ("module", "builder", "method", "path"),
    [
        (mcp, "_make_app", "POST", MCP_PATHS[0]),
        (routes, "_build_page", "GET", f"{routes.PLAYGROUND_PATH}/"),
    ],
    ids=["MCP", "playground"],
)
async def test_the_next_request_starts_it_again_after_a_failure(
    open_gateway: OpenGateway, monkeypatch: pytest.MonkeyPatch, module: Any, builder: str, method: str, path: str
) -> None:
    build, failures = getattr(module, builder), iter([OSError(24, "Too many open files")])

    def fail_once(*arguments: Any) -> Any:
        for failure in failures:
            raise failure
        return build(*arguments)

    monkeypatch.setattr(module, builder, fail_once)
    async with open_gateway(web=True) as gateway:
        await gateway.reset(episode_id="mine")
        headers = {**ACCEPT, "X-CompanyOS-Episode": "mine"}
        with pytest.raises(OSError, match="Too many open files"):
            await gateway.http.request(method, path, json=LIST_TOOLS, headers=headers)
        assert (await gateway.http.request(method, path, json=LIST_TOOLS, headers=headers)).status_code == 200
