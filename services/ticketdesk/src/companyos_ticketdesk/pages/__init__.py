"""The pages of TicketDesk: the list, the board, a ticket, a new one."""

from companyos_ticketdesk.pages import lists, ticket
from companyos_ticketdesk.pages.app import PAGES

__all__ = ["PAGES", "lists", "ticket"]
