"""Pages of TicketDesk."""

from companyos_ticketdesk.pages import lists, ticket
from companyos_ticketdesk.pages.app import PAGES

__all__ = ["PAGES", "lists", "ticket"]
