"""Employee offboarding: a leaver's tickets, requests, authority and access are handed over or ended in time."""
