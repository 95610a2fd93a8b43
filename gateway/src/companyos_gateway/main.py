"""ASGI app for `uvicorn companyos_gateway.main:app`, an alternative to `python -m companyos_gateway`."""

from __future__ import annotations

from companyos.openenv_preload import preload_openenv

preload_openenv()  # shortens the start: /web imports Gradio at its first request

from companyos_gateway.app import create_app  # noqa: E402
from companyos_gateway.process.environment import remove_secrets_from_environment  # noqa: E402
from companyos_gateway.runtime import GatewayRuntime  # noqa: E402
from companyos_gateway.settings import Settings  # noqa: E402

app = create_app(GatewayRuntime(Settings()))
remove_secrets_from_environment()
