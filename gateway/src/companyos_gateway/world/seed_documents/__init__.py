"""Seed documents that the services load, as typed rows: the only place in the world that defines their columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic_core import from_json

from companyos_gateway.world.seed_documents.approvalflow import ApprovalFlowDocument
from companyos_gateway.world.seed_documents.datahub import DataHubDocument
from companyos_gateway.world.seed_documents.ticketdesk import TicketDeskDocument

__all__ = ["ApprovalFlowDocument", "DataHubDocument", "SeedDocuments", "TicketDeskDocument"]


class SeedDocuments(Mapping[str, dict[str, Any]]):
    """Seed documents by service, stored as JSON. A document is parsed at its first use and must not be changed."""

    def __init__(self, contents: Mapping[str, bytes]) -> None:
        self.contents = contents
        """The JSON of each document, as the services load it."""
        self._parsed: dict[str, dict[str, Any]] = {}

    def __getitem__(self, service: str) -> dict[str, Any]:
        if service not in self._parsed:
            self._parsed[service] = from_json(self.contents[service])
        return self._parsed[service]

    def __contains__(self, service: object) -> bool:
        return service in self.contents

    def __iter__(self) -> Iterator[str]:
        return iter(self.contents)

    def __len__(self) -> int:
        return len(self.contents)
