"""The gateway as an app: `uvicorn companyos_gateway.main:app`, or `python -m companyos_gateway`."""

from __future__ import annotations

from companyos_gateway.server.app import create_app
from companyos_gateway.server.house import House
from companyos_gateway.settings import Settings

app = create_app(House(Settings()))
