"""The app that the pages belong to."""

from companyos_shared.chassis import Pages

PAGES = Pages("companyos_ticketdesk.pages", app="ticketdesk", title="TicketDesk")
