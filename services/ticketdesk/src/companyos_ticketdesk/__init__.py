"""TicketDesk: a service of CompanyOS."""
