"""Quarantine routes: list, restore and delete files that a start could not use. For trainers only."""

from __future__ import annotations

from typing import Annotated

from fastapi import Path

from companyos.schemas import QUARANTINE_ID, QuarantineItem
from companyos_gateway.api.openapi import ERROR_RESPONSES
from companyos_gateway.api.query_params import STRICT_QUERY
from companyos_gateway.runtime import GatewayRuntime
from companyos_shared.web.lazy_routes import LazyRouter

ItemId = Annotated[str, Path(description="ID of the item in quarantine.", pattern=QUARANTINE_ID)]


def quarantine_router(runtime: GatewayRuntime) -> LazyRouter:
    """Return the routes of the quarantine."""
    router = LazyRouter(prefix="/v1/quarantine", tags=["Trainer"], responses=ERROR_RESPONSES, dependencies=STRICT_QUERY)

    @router.get("")
    async def list_quarantine() -> list[QuarantineItem]:
        """List the items in quarantine, oldest first."""
        return runtime.quarantine().items()

    @router.get("/{item_id}")
    async def get_quarantine_item(item_id: ItemId) -> QuarantineItem:
        """Get an item in quarantine with the reason."""
        return runtime.quarantine().get(item_id)

    @router.post("/{item_id}/restore")
    async def restore_quarantine_item(item_id: ItemId) -> QuarantineItem:
        """Move an item back to its original location. The gateway reads it at the next start."""
        return await runtime.quarantine().restore(item_id)

    @router.delete("/{item_id}", status_code=204)
    async def remove_quarantine_item(item_id: ItemId) -> None:
        """Delete an item permanently, including its databases."""
        item = runtime.quarantine().get(item_id)
        await runtime.quarantine().remove(item_id)
        await runtime.snapshots().forget_sources(item.internal_id or item_id, item.sources)

    return router
