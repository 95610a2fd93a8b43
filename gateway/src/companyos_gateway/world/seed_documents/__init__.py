"""Seed documents that the services load, as typed rows: the only place in the world that defines their columns."""

from companyos_gateway.world.seed_documents.approvalflow import ApprovalFlowDocument
from companyos_gateway.world.seed_documents.datahub import DataHubDocument
from companyos_gateway.world.seed_documents.ticketdesk import TicketDeskDocument

__all__ = ["ApprovalFlowDocument", "DataHubDocument", "TicketDeskDocument"]
