"""The gateway as an app: `uvicorn companyos_gateway.main:app`, or `python -m companyos_gateway`."""

from __future__ import annotations

from companyos.openenv_preload import preload_openenv

preload_openenv()  # a host that starts this app by itself waits for it; /web brings its toolkit when it is opened

from companyos_gateway.app import create_app  # noqa: E402
from companyos_gateway.process.environment import remove_secrets_from_environment  # noqa: E402
from companyos_gateway.runtime import GatewayRuntime  # noqa: E402
from companyos_gateway.settings import Settings  # noqa: E402

app = create_app(GatewayRuntime(Settings()))
remove_secrets_from_environment()
